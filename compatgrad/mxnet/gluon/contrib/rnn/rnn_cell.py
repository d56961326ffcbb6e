"""Cells with one dropout mask for all steps, and with a projection."""

from __future__ import annotations

from typing import Any

from ..._layer_docs import layer
from ...rnn._cell import RecurrentCell
from ...rnn._combined import BidirectionalCell, ModifierCell
from ...rnn._gated import GatedCell
from ...rnn._gates import lstm_gates
from ...rnn._sequence import (
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
    as_list,
    is_merged,
    named_steps,
)

__all__ = ["VariationalDropoutCell", "LSTMPCell"]


@layer
class VariationalDropoutCell(ModifierCell):
    """In training, drops from the inputs, the outputs and the first state of a cell, with one mask of each for all
    steps until `reset`.

    Gal, Ghahramani, 2016.

    Raises:
        AssertionError: another modifier is around `base_cell` already; `drop_states` of a BidirectionalCell.

    Example:
        >>> cell = gluon.contrib.rnn.VariationalDropoutCell(gluon.rnn.RNNCell(3), drop_inputs=0.5)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 3), 1)
    """

    def __init__(
        self,
        base_cell: RecurrentCell,
        drop_inputs: float = 0.0,
        drop_states: float = 0.0,
        drop_outputs: float = 0.0,
    ) -> None:
        if drop_states and isinstance(base_cell, BidirectionalCell):
            raise AssertionError(
                "VariationalDropoutCell: a BidirectionalCell has no single steps; put dropout of states in its cells"
            )
        super().__init__(base_cell)
        self.drop_inputs = drop_inputs
        self.drop_states = drop_states
        self.drop_outputs = drop_outputs
        self._forget_masks()

    def _forget_masks(self) -> None:
        self.drop_inputs_mask: Any = None
        self.drop_states_mask: Any = None
        self.drop_outputs_mask: Any = None

    def _alias(self) -> str:
        return "vardrop"

    def reset(self) -> None:
        super().reset()
        self._forget_masks()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out = {self.drop_outputs}, p_state = {self.drop_states})"

    def _dropped(self, F: Any, x: Any, what: str) -> Any:
        rate, name = getattr(self, f"drop_{what}"), f"drop_{what}_mask"
        if not rate:
            return x
        if getattr(self, name) is None:
            setattr(self, name, F.Dropout(F.ones_like(x), p=rate))
        return x * getattr(self, name)

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        if self.drop_states:
            states = [self._dropped(F, states[0], "states"), *states[1:]]
        output, states = self.base_cell(self._dropped(F, inputs, "inputs"), states)
        return self._dropped(F, output, "outputs"), states

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        """Without dropout of states, applies the masks to the inputs and outputs of all steps at once."""
        if self.drop_states:
            return super()._unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, True)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size, layout)
        if self.drop_inputs:
            inputs = F.Dropout(inputs, p=self.drop_inputs, axes=(axis,))
        with self._inner() as cell:
            outputs, states = cell.unroll(length, inputs, states, layout, True, valid_length)
        if self.drop_outputs:
            outputs = F.Dropout(outputs, p=self.drop_outputs, axes=(axis,))
        merge = is_merged(outputs) if merge_outputs is None else merge_outputs
        outputs = _format_sequence(length, outputs, layout, merge)[0]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge)
        return outputs, states


@layer
class LSTMPCell(GatedCell):
    """An LSTMCell whose output a linear layer without bias projects; the first state is the projected output.

    Call: `cell(x, states)`, x floating point, shape (batch, input_size).

    Args:
        hidden_size: the width of the memory.
        projection_size: the width of the output.

    Example:
        >>> cell = gluon.contrib.rnn.LSTMPCell(6, 3)
        >>> cell.initialize()
        >>> output, states = cell(nd.zeros((2, 4)), cell.begin_state(batch_size=2))
        >>> output.shape, [s.shape for s in states]
        ((2, 3), [(2, 3), (2, 6)])
    """

    _gates = 4

    def __init__(
        self, hidden_size: int, projection_size: int, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, h2r_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", input_size: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        projection = "h2r_weight", (projection_size, hidden_size), h2r_weight_initializer
        super().__init__(hidden_size, projection_size, input_size, inits, prefix, params, (projection,))
        self._projection_size = projection_size

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        widths = self._projection_size, self._hidden_size
        return [{"shape": (batch_size, width), "__layout__": "NC"} for width in widths]

    def _alias(self) -> str:
        return "lstmp"

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]} -> {self.h2r_weight.shape[0]})"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, h2r_weight: Any, i2h_bias: Any,
        h2h_bias: Any,
    ) -> tuple[Any, list[Any]]:  # fmt: skip
        gates = self._sum(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        operators = "gates", "new", "shown"
        hidden, memory = lstm_gates(self, F, gates, states[1], name="hidden", operators=operators)
        output = F.FullyConnected(hidden, h2r_weight, num_hidden=self._projection_size, no_bias=True, name="out")
        return output, [output, memory]


def dynamic_unroll(
    cell: RecurrentCell, inputs: Any, begin_state: Any, drop_inputs: float = 0, drop_outputs: float = 0,
    layout: str = "TNC", valid_length: Any = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Runs a cell over all steps of a sequence.

    Args:
        cell: the cell.
        inputs: the sequence, an NDArray with the axes `layout`.
        begin_state: the states before the first step, a list.
        drop_inputs: the probability with which elements of the inputs become 0 in training, with one mask for all
            steps.
        drop_outputs: the probability for the outputs, likewise.
        layout: the order of the axes of inputs and outputs, "TNC" or "NTC".
        valid_length: how many steps of each sample count, shape (batch,): later ones leave the states alone, and their
            outputs are 0.

    Returns:
        The outputs, in one array, and the list of the states after them.

    Raises:
        AssertionError: `inputs` is None.
        mxnet.base.MXNetError: shapes or dtypes do not fit.

    Example:
        >>> cell = gluon.rnn.RNNCell(3)
        >>> cell.initialize()
        >>> unroll = gluon.contrib.rnn.rnn_cell.dynamic_unroll
        >>> outputs, states = unroll(cell, nd.zeros((5, 2, 4)), cell.begin_state(batch_size=2))
        >>> outputs.shape, states[0].shape
        ((5, 2, 3), (2, 3))

    Source: `mxnet.gluon.contrib.rnn.rnn_cell.dynamic_unroll` of MXNet 1.9.1.
    """
    inputs, axis, F, _ = _format_sequence(None, inputs, layout, True)
    if drop_inputs:
        inputs = F.Dropout(inputs, p=drop_inputs, axes=(axis,))
    length = inputs.shape[axis]
    states: Any = as_list(begin_state)
    outputs: Any = []
    for t, x in enumerate(_format_sequence(length, inputs, layout, False)[0]):
        output, new = cell(x, states)
        outputs.append(output)
        if valid_length is not None:
            goes_on = valid_length > t
            new = [F.where(goes_on, a, b) for a, b in zip(new, states, strict=True)]
        states = new
    outputs = F.stack(*outputs, axis=axis)
    if drop_outputs:
        outputs = F.Dropout(outputs, p=drop_outputs, axes=(axis,))
    if valid_length is not None:
        outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, True)
    return outputs, states
