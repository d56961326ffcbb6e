"""Cells: one step of a recurrent network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ndarray
from ...base import numeric_types
from ...ndarray._operator import op
from ...ndarray.nn_rnn import LSTM_GATES
from ..block import Block, HybridBlock
from ..nn import LeakyReLU
from ..utils import _indent
from ._sequence import (
    _cells_begin_state,
    _cells_state_info,
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
    _reverse_sequences,
    is_merged,
    made_state,
    named_steps,
)

__all__ = ["RecurrentCell", "HybridRecurrentCell", "RNNCell", "LSTMCell", "GRUCell", "SequentialRNNCell",
           "HybridSequentialRNNCell", "DropoutCell", "ModifierCell", "ZoneoutCell", "ResidualCell",
           "BidirectionalCell"]  # fmt: skip


class RecurrentCell(Block):
    """Base class of cells. A cell is called with the input of a step and the list of states before it.

    It gives the output of the step, and the list of states after it. A subclass defines `state_info` and `forward`.
    """

    def __init__(self, prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._modified = False
        self.reset()

    def reset(self) -> None:
        """Forgets what cells remember between steps; unroll begins with it."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children.values():
            cell.reset()

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """A dict with `shape` and `__layout__` for each state."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    def _check_unmodified(self) -> None:
        if self._modified:
            raise AssertionError(
                f"{self.name}: after a modifier cell (such as ZoneoutCell) was put around this cell, call that one"
            )

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step: `func(name=…, shape=…, **kwargs)` for each state."""
        self._check_unmodified()
        states = []
        for info in self.state_info(batch_size):
            self._init_counter += 1
            name = f"{self._prefix}begin_state_{self._init_counter}"
            states.append(made_state(func, name, info or {}, kwargs))
        return states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """Runs `length` steps. Returns the outputs and the states after them.

        Args:
            inputs: one array with the axes `layout` ('NTC' or 'TNC'), or a list of an array (batch size, …) for each
                step.
            begin_state: states before the first step; zeros by default.
            merge_outputs: True for outputs in one array, False for a list, None for what is quicker.
            valid_length: array of shape (batch size,), how many steps of each sample count: later outputs are 0, and
                states are those after them.
        """
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, False)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size, layout)
        outputs: Any = []
        history = []
        for i in range(length):
            output, states = self(inputs[i], states)
            outputs.append(output)
            if valid_length is not None:
                history.append(states)
        if valid_length is not None:
            options = {"sequence_length": valid_length, "use_sequence_length": True, "axis": 0}
            states = [F.SequenceLast(F.stack(*steps, axis=0), **options) for steps in zip(*history, strict=True)]
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, True)
        return _format_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, F: Any, inputs: Any, activation: Any, **kwargs: Any) -> Any:
        """`activation` of the inputs: a name, a LeakyReLU, or a function."""
        if isinstance(activation, str):
            direct = getattr(F, activation, None) if activation in ("tanh", "sigmoid", "relu", "softsign") else None
            return F.Activation(inputs, act_type=activation, **kwargs) if direct is None else direct(inputs, **kwargs)
        if isinstance(activation, LeakyReLU):
            return F.LeakyReLU(inputs, act_type="leaky", slope=activation._alpha, **kwargs)
        return activation(inputs, **kwargs)

    def forward(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        self._counter += 1
        return super().forward(inputs, states)


class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base class of cells that define `hybrid_forward(F, inputs, states, **parameters)`."""

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward")


def _fit(gates: Any, state: Any, count: int) -> bool:
    """Whether the op of the cell takes them; for all else the composed form has the errors."""
    shape = (state.shape[0], count * state.shape[1]) if len(state.shape) == 2 else None
    return gates.shape == shape and gates.dtype == state.dtype


class _GatedCell(HybridRecurrentCell):
    """A cell whose gates are i2h_weight @ input + i2h_bias and h2h_weight @ (first state) + h2h_bias."""

    _gates = 1
    _states = 1

    def __init__(
        self,
        hidden_size: int,
        state_size: int,
        input_size: int,
        initializers: tuple[Any, Any, Any, Any],
        prefix: str | None,
        params: Any,
        more: tuple[tuple[str, tuple[int, ...], Any], ...] = (),
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        width = self._gates * hidden_size
        shapes = (width, input_size), (width, state_size), (width,), (width,)
        names = "i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"
        own = list(zip(names, shapes, initializers, strict=True))
        for name, shape, init in (*own[:2], *more, *own[2:]):  # weights, then biases
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Sets the width of i2h_weight from an input of shape (batch size, …)."""
        width = 1
        for n in inputs.shape[1:]:
            width *= n
        self.i2h_weight.shape = (self.i2h_weight.shape[0], width)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self._states)]

    def __repr__(self) -> str:
        width, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {width})"

    def _linear(self, F: Any, x: Any, weight: Any, bias: Any) -> Any:
        return F.FullyConnected(x, weight, bias, num_hidden=self._gates * self._hidden_size)


class RNNCell(_GatedCell):
    """A plain recurrent cell: state = activation(W_i x + b_i + W_h state + b_h), which is also the output.

    Args:
        hidden_size: width of the state.
        activation: name of an activation, a LeakyReLU, or a function.
        input_size: width of inputs; 0 to take it from the first one.
    """

    def __init__(
        self,
        hidden_size: int,
        activation: Any = "tanh",
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        both = self._linear(F, inputs, i2h_weight, i2h_bias) + self._linear(F, states[0], h2h_weight, h2h_bias)
        output = self._get_activation(F, both, self._activation, name="out")
        return output, [output]


class LSTMCell(_GatedCell):
    """A cell with input, forget and output gates. States: the output and the memory.

    memory = f * memory + i * g and output = o * activation(memory), with i, f, g, o in this order along the rows of the
    weights; i, f and o go through `recurrent_activation`, g through `activation`.

    Args:
        hidden_size: width of each state.
        input_size: width of inputs; 0 to take it from the first one.
    """

    _gates = 4
    _states = 2

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    @property
    def _usual(self) -> bool:
        return self._activation == "tanh" and self._recurrent_activation == "sigmoid"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        gates = self._linear(F, inputs, i2h_weight, i2h_bias) + self._linear(F, states[0], h2h_weight, h2h_bias)
        if F is ndarray and self._usual and _fit(gates, states[1], 4):
            memory, output = op.lstm(states[1], gates, order=LSTM_GATES)
            return output, [output, memory]
        i, f, g, o = F.SliceChannel(gates, num_outputs=4)
        gate = self._recurrent_activation
        kept = self._get_activation(F, f, gate) * states[1]
        memory = kept + self._get_activation(F, i, gate) * self._get_activation(F, g, self._activation)
        shown = self._get_activation(F, memory, self._activation)
        output = F.elemwise_mul(self._get_activation(F, o, gate), shown, name="out")
        return output, [output, memory]


class GRUCell(_GatedCell):
    """A cell with reset and update gates, the reset gate behind the matrix product.

    n = tanh(W_in x + b_in + r * (W_hn state + b_hn)) and state = (1 - z) * n + z * state, which is also the output; r,
    z, n in this order along the rows of the weights.

    Args:
        hidden_size: width of the state.
        input_size: width of inputs; 0 to take it from the first one.
    """

    _gates = 3

    def __init__(
        self,
        hidden_size: int,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        input_size: int = 0,
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)

    def _alias(self) -> str:
        return "gru"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        before = states[0]
        of_input = self._linear(F, inputs, i2h_weight, i2h_bias)
        of_state = self._linear(F, before, h2h_weight, h2h_bias)
        if F is ndarray and _fit(of_input, before, 3) and _fit(of_state, before, 3):
            output = op.gru(before, of_input, of_state)
            return output, [output]
        i_r, i_z, i_n = F.SliceChannel(of_input, num_outputs=3)
        h_r, h_z, h_n = F.SliceChannel(of_state, num_outputs=3)
        n = F.tanh(i_n + F.sigmoid(i_r + h_r) * h_n)
        z = F.sigmoid(i_z + h_z)
        output = F.elemwise_add(n, z * (before - n), name="out")
        return output, [output]


# ---- several cells --------------------------------------------------------------------------------------------------
class _Stack:
    """What both kinds of stacks of cells have in common; the children are the cells, from the input on."""

    def __repr__(self) -> str:
        cells = "\n".join(f"({i}): {_indent(repr(cell), 2)}" for i, cell in self._children.items())
        return f"{type(self).__name__}(\n{cells}\n)"

    def add(self, cell: RecurrentCell) -> None:
        """Puts a cell on top."""
        self.register_child(cell)

    def __getitem__(self, i: int) -> Any:
        return self._children[str(i)]

    def __len__(self) -> int:
        return len(self._children)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:
        """The states of all cells before the first step."""
        self._check_unmodified()
        return _cells_begin_state(self._children.values(), **kwargs)

    def _with_states(self, states: Any) -> Any:
        """Each cell with its part of the states."""
        at = 0
        for cell in self._children.values():
            n = len(cell.state_info())
            yield cell, states[at : at + n]
            at += n

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        self._counter += 1
        after: list[Any] = []
        for cell, before in self._with_states(states):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError(f"{self.name}: a BidirectionalCell has no single steps; use unroll")
            inputs, new = cell(inputs, before)
            after.extend(new)
        return inputs, after

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """As RecurrentCell.unroll: each cell over all steps, then the next."""
        self.reset()
        inputs, _, F, batch_size = _format_sequence(length, inputs, layout, None)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size, layout)
        after: list[Any] = []
        last = len(self._children) - 1
        for i, (cell, before) in enumerate(self._with_states(states)):
            inputs, new = cell.unroll(
                length,
                inputs=inputs,
                begin_state=before,
                layout=layout,
                merge_outputs=merge_outputs if i == last else None,
                valid_length=valid_length,
            )
            after.extend(new)
        return inputs, after


class SequentialRNNCell(_Stack, RecurrentCell):
    """Cells on top of each other; states are those of all cells in one list."""


class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Cells that are HybridBlocks on top of each other; states are those of all cells in one list."""

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return self(inputs, states)


class DropoutCell(HybridRecurrentCell):
    """Dropout of inputs with probability `rate`, one mask along `axes`. It has no states."""

    def __init__(self, rate: float, axes: tuple[int, ...] = (), prefix: str | None = None, params: Any = None) -> None:
        super().__init__(prefix, params)
        if not isinstance(rate, numeric_types):
            raise AssertionError(f"DropoutCell: rate must be a number, not {type(rate).__name__}")
        self._rate = rate
        self._axes = axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rate={self._rate}, axes={self._axes})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return []

    def _alias(self) -> str:
        return "dropout"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, Any]:
        if self._rate > 0:
            inputs = F.Dropout(inputs, p=self._rate, axes=self._axes, name="fwd")
        return inputs, states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, Any]:
        """As RecurrentCell.unroll; one array of all steps is dropped from at once."""
        self.reset()
        inputs, _, F, _ = _format_sequence(length, inputs, layout, merge_outputs)
        if is_merged(inputs):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super().unroll(length, inputs, begin_state=begin_state, layout=layout, merge_outputs=merge_outputs)


# ---- cells around cells ---------------------------------------------------------------------------------------------
class ModifierCell(HybridRecurrentCell):
    """Base class of cells around another one, whose parameters and states they have.

    From then on the inner cell is called by this one alone; a second modifier around it is an AssertionError.
    """

    def __init__(self, base_cell: RecurrentCell) -> None:
        if base_cell._modified:
            raise AssertionError(f"Cell {base_cell.name} is already modified. One cell cannot be modified twice")
        base_cell._modified = True
        super().__init__(prefix=base_cell.prefix + self._alias(), params=None)
        self.base_cell = base_cell

    @property
    def params(self) -> Any:
        """The parameters of the inner cell."""
        return self.base_cell.params

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return self.base_cell.state_info(batch_size)

    def begin_state(self, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """The inner cell's states before the first step."""
        self._check_unmodified()
        self.base_cell._modified = False
        try:
            return self.base_cell.begin_state(func=func, **kwargs)
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


class ZoneoutCell(ModifierCell):
    """Keeps elements of the previous output and states with probabilities `zoneout_outputs` and `zoneout_states`."""

    def __init__(self, base_cell: RecurrentCell, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        if isinstance(base_cell, BidirectionalCell):
            raise AssertionError("ZoneoutCell: a BidirectionalCell has no single steps; put zoneout around its cells")
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self._prev_output: Any = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}(p_out={self.zoneout_outputs}, p_state={self.zoneout_states}, {self.base_cell})"

    def _alias(self) -> str:
        return "zoneout"

    def reset(self) -> None:
        super().reset()
        self._prev_output = None

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        output, new_states = self.base_cell(inputs, states)

        def mixed(p: float, new: Any, old: Any) -> Any:
            if p == 0.0:
                return new
            return F.where(F.Dropout(F.ones_like(new), p=p), new, F.zeros_like(new) if old is None else old)

        output = mixed(self.zoneout_outputs, output, self._prev_output)
        self._prev_output = output
        return output, [mixed(self.zoneout_states, new, old) for new, old in zip(new_states, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds the input to the output."""

    def _alias(self) -> str:
        return "residualcell"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name="fwd"), states

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """As RecurrentCell.unroll, by the inner cell's unroll."""
        self.reset()
        self.base_cell._modified = False
        try:
            outputs, states = self.base_cell.unroll(
                length,
                inputs=inputs,
                begin_state=begin_state,
                layout=layout,
                merge_outputs=merge_outputs,
                valid_length=valid_length,
            )
        finally:
            self.base_cell._modified = True
        merge = is_merged(outputs)
        inputs, axis, F, _ = _format_sequence(length, inputs, layout, merge)
        if valid_length is not None:
            inputs = _mask_sequence_variable_length(F, inputs, length, valid_length, axis, merge)
        if merge:
            return outputs + inputs, states
        return [a + b for a, b in zip(outputs, inputs, strict=True)], states


class BidirectionalCell(HybridRecurrentCell):
    """`l_cell` over the sequence and `r_cell` over its reverse, outputs side by side. Only `unroll` runs it."""

    def __init__(self, l_cell: RecurrentCell, r_cell: RecurrentCell, output_prefix: str = "bi_") -> None:
        super().__init__(prefix="", params=None)
        self.register_child(l_cell, "l_cell")
        self.register_child(r_cell, "r_cell")
        self._output_prefix = output_prefix

    def __call__(self, inputs: Any, states: Any) -> Any:
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def __repr__(self) -> str:
        cells = self._children
        return f"{type(self).__name__}(forward={cells['l_cell']}, backward={cells['r_cell']})"

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return _cells_state_info(self._children.values(), batch_size)

    def begin_state(self, **kwargs: Any) -> list[Any]:
        """The states of both cells before their first steps."""
        self._check_unmodified()
        return _cells_begin_state(self._children.values(), **kwargs)

    def unroll(
        self,
        length: int,
        inputs: Any,
        begin_state: Any = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
        valid_length: Any = None,
    ) -> tuple[Any, list[Any]]:
        """As RecurrentCell.unroll; the width of outputs is that of both cells together."""
        self.reset()
        inputs, axis, F, batch_size = _format_sequence(length, inputs, layout, False)
        states = _get_begin_state(self, F, begin_state, inputs, batch_size, layout)
        l_cell, r_cell = self._children.values()
        cut = len(l_cell.state_info(batch_size))
        l_outputs, l_states = l_cell.unroll(
            length, inputs, states[:cut], layout=layout, merge_outputs=merge_outputs, valid_length=valid_length
        )
        r_outputs, r_states = r_cell.unroll(
            length,
            _reverse_sequences(inputs, length, valid_length),
            states[cut:],
            layout=layout,
            merge_outputs=False,
            valid_length=valid_length,
        )
        r_outputs = _reverse_sequences(r_outputs, length, valid_length)
        merge = is_merged(l_outputs)
        if merge:
            outputs: Any = F.concat(l_outputs, F.stack(*r_outputs, axis=axis), dim=2, name=self._output_prefix + "out")
        else:
            names = [f"{self._output_prefix}t{i}" for i in range(length)]
            outputs = [F.concat(*pair, dim=1, name=n) for *pair, n in zip(l_outputs, r_outputs, names, strict=True)]
        if valid_length is not None:
            outputs = _mask_sequence_variable_length(F, outputs, length, valid_length, axis, merge)
        return outputs, l_states + r_states
