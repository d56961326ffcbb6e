"""Cells made of other cells: stacks, bidirectional cells, and modifiers such as ZoneoutCell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import symbol
from ..base import numeric_types
from .rnn_cell import BaseRNNCell, RNNParams, _normalize_sequence

__all__ = [
    "BidirectionalCell",
    "DropoutCell",
    "ModifierCell",
    "ResidualCell",
    "SequentialRNNCell",
    "ZoneoutCell",
]


class _Container(BaseRNNCell):
    """A cell with the parameters and states of the cells inside."""

    def __init__(self, params: RNNParams | None) -> None:
        super().__init__(prefix="", params=params)
        self._override_cell_params = params is not None
        self._cells: list[BaseRNNCell] = []

    def _take(self, cells: list[BaseRNNCell]) -> None:
        for cell in cells:
            self._cells.append(cell)
            if self._override_cell_params:
                assert cell._own_params, f"Either specify params for {type(self).__name__} or child cells, not both."
                cell.params._params.update(self.params._params)
        for cell in cells:
            self.params._params.update(cell.params._params)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the states of all cells."""
        return [info for cell in self._cells for info in cell.state_info]

    def begin_state(self, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The first states of all cells."""
        self._check_unmodified()
        return [state for cell in self._cells for state in cell.begin_state(**kwargs)]

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """A copy of a dict of parameters with an array for each gate of each cell."""
        for cell in self._cells:
            args = cell.unpack_weights(args)
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """The reverse of `unpack_weights`."""
        for cell in self._cells:
            args = cell.pack_weights(args)
        return args

    def _states_of(self, states: Any) -> list[Any]:
        """The states of each cell."""
        parts, end = [], 0
        for cell in self._cells:
            begin, end = end, end + len(cell.state_info)
            parts.append(states[begin:end])
        return parts


class SequentialRNNCell(_Container):
    """Cells one after the other; see `add`.

    Args:
        params: variables for all cells inside, which then must not have their own; None for the cells' own.

    Raises:
        AssertionError: in `add`, there are `params`, and the cell has some of its own; in a call, a cell runs in both
            directions.

    Example:
        >>> stack = mx.rnn.SequentialRNNCell()
        >>> stack.add(mx.rnn.LSTMCell(4, prefix="l0_"))
        >>> stack.add(mx.rnn.LSTMCell(6, prefix="l1_"))
        >>> outputs, states = stack.unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 6)]

    Source: `mxnet.rnn.SequentialRNNCell` of MXNet 1.9.1.
    """

    def __init__(self, params: RNNParams | None = None) -> None:
        super().__init__(params)

    def add(self, cell: BaseRNNCell) -> None:
        """Adds a cell at the end."""
        self._take([cell])

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step of all cells; cells in both directions cannot be stepped (AssertionError)."""
        self._counter += 1
        after: list[Any] = []
        for cell, own in zip(self._cells, self._states_of(states), strict=True):
            assert not isinstance(cell, BidirectionalCell)
            inputs, own = cell(inputs, own)
            after += own
        return inputs, after

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """See BaseRNNCell.unroll: cell after cell over all steps."""
        self.reset()
        states = self.begin_state() if begin_state is None else begin_state
        after: list[Any] = []
        last = len(self._cells) - 1
        for i, (cell, own) in enumerate(zip(self._cells, self._states_of(states), strict=True)):
            inputs, own = cell.unroll(length, inputs, own, layout, merge_outputs if i == last else None)
            after += own
        return inputs, after


class BidirectionalCell(_Container):
    """Two cells, of which one runs from the end; their outputs are joined.

    Args:
        l_cell, r_cell: the cell that runs forward, and the one that runs from the end.
        params: variables for both cells, which then must not have their own; None for the cells' own.
        output_prefix: what the names of the outputs start with.

    Raises:
        AssertionError: there are `params`, and a cell has some of its own.
        NotImplementedError: in a call; a step needs those after it.

    Example:
        >>> cell = mx.rnn.BidirectionalCell(mx.rnn.GRUCell(4, prefix="l_"), mx.rnn.GRUCell(4, prefix="r_"))
        >>> outputs, states = cell.unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 8)]

    Source: `mxnet.rnn.BidirectionalCell` of MXNet 1.9.1.
    """

    def __init__(
        self, l_cell: BaseRNNCell, r_cell: BaseRNNCell, params: RNNParams | None = None, output_prefix: str = "bi_"
    ) -> None:
        super().__init__(params)
        self._output_prefix = output_prefix
        self._take([l_cell, r_cell])

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """NotImplementedError: a step needs those after it."""
        raise NotImplementedError("Bidirectional cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """See BaseRNNCell.unroll; the states are a list of each direction's."""
        self.reset()
        inputs, axis = _normalize_sequence(length, inputs, layout, False)
        states = self._states_of(self.begin_state() if begin_state is None else begin_state)
        forward, backward = self._cells
        left, l_states = forward.unroll(length, inputs, states[0], layout, merge_outputs)
        right, r_states = backward.unroll(length, list(reversed(inputs)), states[1], layout, merge_outputs)
        if merge_outputs is None:
            merge_outputs = isinstance(left, symbol.Symbol) and isinstance(right, symbol.Symbol)
            if not merge_outputs:
                left, _ = _normalize_sequence(length, left, layout, False)
                right, _ = _normalize_sequence(length, right, layout, False)
        outputs: Any
        if merge_outputs:
            right = symbol.reverse(right, axis=axis)
            outputs = symbol.Concat(left, right, dim=2, name=f"{self._output_prefix}out")
        else:
            pairs = zip(left, reversed(list(right)), strict=True)
            outputs = [symbol.Concat(a, b, dim=1, name=f"{self._output_prefix}t{i}") for i, (a, b) in enumerate(pairs)]
        return outputs, [l_states, r_states]


class DropoutCell(BaseRNNCell):
    """Dropout of the input; it has no state.

    Args:
        dropout: the probability.
        prefix: accepted; there are no variables.
        params: accepted; there are no variables.

    Raises:
        AssertionError: `dropout` is no number.

    Example:
        >>> outputs, states = mx.rnn.DropoutCell(0.5).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 5)]

    Source: `mxnet.rnn.DropoutCell` of MXNet 1.9.1.
    """

    def __init__(self, dropout: float, prefix: str = "dropout_", params: RNNParams | None = None) -> None:
        super().__init__(prefix, params)
        assert isinstance(dropout, numeric_types), "dropout probability must be a number"
        self.dropout = dropout

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """An empty list: the cell has no state."""
        return []

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        return (symbol.Dropout(data=inputs, p=self.dropout) if self.dropout > 0 else inputs), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """See BaseRNNCell.unroll; one operator drops from all steps where they are one symbol."""
        self.reset()
        inputs, _ = _normalize_sequence(length, inputs, layout, merge_outputs)
        if isinstance(inputs, symbol.Symbol):
            return self(inputs, [])
        return super().unroll(length, inputs, begin_state, layout, merge_outputs)


class ModifierCell(BaseRNNCell):
    """Base class of cells that change another one, whose variables and states they have.

    Args:
        base_cell: the cell, which cannot be called by itself any more.

    Raises:
        AttributeError: `base_cell` is no cell.

    Example:
        >>> class Doubled(mx.rnn.ModifierCell):
        ...     def __call__(self, inputs, states):
        ...         output, states = self.base_cell(inputs, states)
        ...         return 2 * output, states
        >>> outputs, states = Doubled(mx.rnn.RNNCell(4)).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 4)]

    Source: `mxnet.rnn.ModifierCell` of MXNet 1.9.1.
    """

    def __init__(self, base_cell: Any) -> None:
        super().__init__()
        base_cell._modified = True
        self.base_cell = base_cell

    @property
    def params(self) -> RNNParams:
        """The variables of the cell."""
        self._own_params = False
        return self.base_cell.params

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the cell's states."""
        return self.base_cell.state_info

    def _unmodified(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Inside the `with` block, the inner cell may be called although this cell modifies it."""
        self.base_cell._modified = False
        try:
            return call(*args, **kwargs)
        finally:
            self.base_cell._modified = True

    def begin_state(self, init_sym: Any = symbol.zeros, **kwargs: Any) -> list[Any]:  # type: ignore[override]
        """The first states of the cell."""
        self._check_unmodified()
        return self._unmodified(self.base_cell.begin_state, func=init_sym, **kwargs)

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """See the cell."""
        return self.base_cell.unpack_weights(args)

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """See the cell."""
        return self.base_cell.pack_weights(args)


class ZoneoutCell(ModifierCell):
    """Keeps elements of the output and the states of the step before, with certain probabilities.

    Args:
        base_cell: the cell, which can be stepped.
        zoneout_outputs: probability for each number of the output.
        zoneout_states: probability for each number of a state.

    Raises:
        AssertionError: the cell cannot be stepped: it is fused, or runs in both directions.

    Example:
        >>> cell = mx.rnn.ZoneoutCell(mx.rnn.LSTMCell(4), zoneout_states=0.1)
        >>> outputs, states = cell.unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 4)]

    Source: `mxnet.rnn.ZoneoutCell` of MXNet 1.9.1; Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving
        Hidden Activations, 2016.
    """

    def __init__(self, base_cell: Any, zoneout_outputs: float = 0.0, zoneout_states: float = 0.0) -> None:
        assert not getattr(base_cell, "_is_fused", False), "FusedRNNCell doesn't support zoneout. Please unfuse first."
        bidirectional = isinstance(base_cell, BidirectionalCell) or (
            isinstance(base_cell, SequentialRNNCell)
            and any(isinstance(cell, BidirectionalCell) for cell in base_cell._cells)
        )
        assert not bidirectional, (
            f"{type(base_cell).__name__} of both directions doesn't support zoneout since it doesn't support step. "
            "Please add ZoneoutCell to the cells underneath instead."
        )
        super().__init__(base_cell)
        self.zoneout_outputs = zoneout_outputs
        self.zoneout_states = zoneout_states
        self.prev_output: Any = None

    def reset(self) -> None:
        """Counts steps from the beginning, and forgets the last output."""
        super().reset()
        self.prev_output = None

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""

        def mixed(p: float, new: Any, old: Any) -> Any:
            return symbol.where(symbol.Dropout(symbol.ones_like(new), p=p), new, old) if p else new

        output, after = self.base_cell(inputs, states)
        before = symbol.zeros_like(output) if self.prev_output is None else self.prev_output
        output = mixed(self.zoneout_outputs, output, before)
        self.prev_output = output
        return output, [mixed(self.zoneout_states, new, old) for new, old in zip(after, states, strict=True)]


class ResidualCell(ModifierCell):
    """Adds the input to the output of a cell.

    Args:
        base_cell: the cell, whose output has the input's size.

    Example:
        >>> cell = mx.rnn.ResidualCell(mx.rnn.GRUCell(5))
        >>> outputs, states = cell.unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 5)]

    Source: `mxnet.rnn.ResidualCell` of MXNet 1.9.1; Wu et al., Google's Neural Machine Translation System, 2016.
    """

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        output, states = self.base_cell(inputs, states)
        return symbol.elemwise_add(output, inputs, name=f"{output.name}_plus_residual"), states

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """See BaseRNNCell.unroll."""
        self.reset()
        outputs, states = self._unmodified(self.base_cell.unroll, length, inputs, begin_state, layout, merge_outputs)
        merged = isinstance(outputs, symbol.Symbol) if merge_outputs is None else merge_outputs
        inputs, _ = _normalize_sequence(length, inputs, layout, merged)

        def total(output: Any, x: Any) -> Any:
            return symbol.elemwise_add(output, x, name=f"{output.name}_plus_residual")

        if merged:
            return total(outputs, inputs), states
        return [total(y, x) for y, x in zip(outputs, inputs, strict=True)], states
