"""Cells made of cells: stacks, modifiers such as ZoneoutCell, and BidirectionalCell."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from ... import ndarray
from ...base import numeric_types
from .._layer_docs import layer
from ..utils import _indent
from ._cell import HybridRecurrentCell, RecurrentCell
from ._sequence import (
    _cells_begin_state,
    _cells_state_info,
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
    _reverse_sequences,
    is_merged,
    named_steps,
)


class _Stack:
    """The base class of both stacks of cells; the children are the cells, from the input to the output."""

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
        """Pairs of each cell and its part of the states."""
        at = 0
        for cell in self._children.values():
            n = len(cell.state_info())
            yield cell, states[at : at + n]
            at += n

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        self.__dict__["_counter"] += 1  # as in RecurrentCell.forward
        after: list[Any] = []
        for cell, before in self._with_states(states):
            if isinstance(cell, BidirectionalCell):
                raise AssertionError(f"{self.name}: a BidirectionalCell has no single steps; use unroll")
            inputs, new = cell(inputs, before)
            after.extend(new)
        return inputs, after

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        """Runs each cell over all steps before the next cell."""
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


@layer
class SequentialRNNCell(_Stack, RecurrentCell):
    """Cells on top of each other; the states are those of all cells in one list.

    `add` puts a cell on top.

    Raises:
        TypeError: an argument is not known.
        AssertionError: a BidirectionalCell is called for a single step.

    Example:
        >>> cell = gluon.rnn.SequentialRNNCell()
        >>> cell.add(gluon.rnn.LSTMCell(3))
        >>> cell.add(gluon.rnn.GRUCell(6))
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 6), 3)
    """


@layer
class HybridSequentialRNNCell(_Stack, HybridRecurrentCell):
    """Cells that are HybridBlocks on top of each other; the states are those of all cells in one list.

    `add` puts a cell on top.

    Raises:
        TypeError: an argument is not known.
        ValueError: a cell that is added is no HybridBlock.
        AssertionError: a BidirectionalCell is called for a single step.

    Example:
        >>> cell = gluon.rnn.HybridSequentialRNNCell()
        >>> cell.add(gluon.rnn.LSTMCell(3))
        >>> cell.add(gluon.rnn.GRUCell(6))
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 6), 3)
    """

    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        return self(inputs, states)


@layer
class DropoutCell(HybridRecurrentCell):
    """Dropout of inputs in training; it has no states.

    Args:
        rate: the probability with which an element becomes 0.
        axes: along these axes all elements share their fate.

    Raises:
        AssertionError: `rate` is no number.
        mxnet.base.MXNetError: in a call in training, `rate` is not between 0 and 1.

    Example:
        >>> cell = gluon.rnn.DropoutCell(0.5)
        >>> cell(nd.ones((1, 2)), [])[0].asnumpy()  # not in training
        array([[1., 1.]], dtype=float32)
    """

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

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        """If all steps are in one array, draws one mask for all steps."""
        self.reset()
        inputs, _, F, _ = _format_sequence(length, inputs, layout, merge_outputs)
        if is_merged(inputs):
            return self.hybrid_forward(F, inputs, begin_state or [])
        return super()._unroll(length, inputs, begin_state, layout, merge_outputs, None)


# ---- cells around cells ---------------------------------------------------------------------------------------------
@layer
class ModifierCell(HybridRecurrentCell):
    """Base class of cells around another one, whose parameters and states they have.

    Raises:
        AssertionError: another modifier is around `base_cell` already.

    Example:
        >>> inner = gluon.rnn.RNNCell(3)
        >>> outer = gluon.rnn.ResidualCell(inner)
        >>> isinstance(outer, gluon.rnn.ModifierCell), outer.params is inner.params
        (True, True)
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
        with self._inner() as cell:
            return cell.begin_state(func=func, **kwargs)

    @contextlib.contextmanager
    def _inner(self) -> Iterator[RecurrentCell]:
        """Inside the `with` block, the inner cell may be called although this cell is around it."""
        self.base_cell._modified = False
        try:
            yield self.base_cell
        finally:
            self.base_cell._modified = True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_cell})"


@layer
class ZoneoutCell(ModifierCell):
    """In training, elements of the output and of the states keep their values of the step before with certain
    probabilities.

    Krueger and others, 2017.

    Args:
        zoneout_outputs: the probability for an element of the output.
        zoneout_states: the probability for an element of a state.

    Raises:
        AssertionError: another modifier is around `base_cell` already, or it is a BidirectionalCell.

    Example:
        >>> cell = gluon.rnn.ZoneoutCell(gluon.rnn.RNNCell(4), zoneout_states=0.2)
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 4), 1)
    """

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


@layer
class ResidualCell(ModifierCell):
    """Adds the input of each step to the output of a cell.

    Raises:
        AssertionError: another modifier is around `base_cell` already.

    Example:
        >>> cell = gluon.rnn.ResidualCell(gluon.rnn.RNNCell(4))
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 4), 1)
    """

    def _alias(self) -> str:
        return "residualcell"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        output, states = self.base_cell(inputs, states)
        return F.elemwise_add(output, inputs, name="fwd"), states

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        self.reset()
        with self._inner() as cell:
            outputs, states = cell.unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)
        merge = is_merged(outputs)
        inputs, axis, F, _ = _format_sequence(length, inputs, layout, merge)
        if valid_length is not None:
            inputs = _mask_sequence_variable_length(F, inputs, length, valid_length, axis, merge)
        if merge:
            return outputs + inputs, states
        return [a + b for a, b in zip(outputs, inputs, strict=True)], states


@layer
class BidirectionalCell(HybridRecurrentCell):
    """Two cells, one over the sequence and one over its reverse; their outputs are joined along the last axis.

    Only `unroll` runs it: it has no single steps.

    Args:
        l_cell: the cell that begins at the first step.
        r_cell: the cell that begins at the last step.
        output_prefix: what the names of the outputs start with.

    Raises:
        NotImplementedError: it is called for a single step.

    Example:
        >>> cell = gluon.rnn.BidirectionalCell(gluon.rnn.LSTMCell(3), gluon.rnn.LSTMCell(3))
        >>> cell.initialize()
        >>> outputs, states = cell.unroll(5, nd.zeros((2, 5, 4)), merge_outputs=True)
        >>> outputs.shape, len(states)
        ((2, 5, 6), 4)
    """

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

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
        """Runs both cells; the width of the outputs is the sum of both cells' widths."""
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
