"""RecurrentCell and HybridRecurrentCell, the base classes of cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import ndarray
from .._layer_docs import layer
from ..block import Block, HybridBlock
from ..nn import LeakyReLU
from ._sequence import (
    _format_sequence,
    _get_begin_state,
    _mask_sequence_variable_length,
    made_state,
)


@layer
class RecurrentCell(Block):
    """Base class of cells: one step of a recurrent network.

    A cell is called with the input of a step and the list of states before it, and gives the output of the step and the
    list of states after it; `begin_state` makes the first ones, `unroll` runs all steps. A subclass defines
    `state_info` and `forward`.

    Raises:
        TypeError: an argument is not known.
        NotImplementedError: the subclass does not define them.
        AssertionError: the cell is called although a modifier cell is around it; a sequence has another length.

    Example:
        >>> cell = gluon.rnn.RNNCell(3)
        >>> isinstance(cell, gluon.rnn.RecurrentCell), cell.state_info(batch_size=2)
        (True, [{'shape': (2, 3), '__layout__': 'NC'}])
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
            self.__dict__["_init_counter"] = number = self._init_counter + 1  # as in `forward`
            name = f"{self._prefix}begin_state_{number}"
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
        inputs, begin_state, valid_length = self._entered((inputs, begin_state, valid_length))
        return self._unroll(length, inputs, begin_state, layout, merge_outputs, valid_length)

    def _unroll(self, length, inputs, begin_state, layout, merge_outputs, valid_length):
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
        # __setattr__ would search the value for blocks, and note that the block was changed
        self.__dict__["_counter"] += 1
        return super().forward(inputs, states)


@layer
class HybridRecurrentCell(RecurrentCell, HybridBlock):
    """Base class of cells that define `hybrid_forward(F, inputs, states, **parameters)`.

    Raises:
        TypeError: an argument is not known.
        NotImplementedError: the subclass does not define it, or no `state_info`.

    Example:
        >>> class Sum(gluon.rnn.HybridRecurrentCell):
        ...     def state_info(self, batch_size=0):
        ...         return [{"shape": (batch_size, 1), "__layout__": "NC"}]
        ...     def hybrid_forward(self, F, inputs, states):
        ...         total = inputs + states[0]
        ...         return total, [total]
        >>> outputs, states = Sum().unroll(3, nd.array([[[1.0], [2.0], [3.0]]]), merge_outputs=True)
        >>> outputs.asnumpy().ravel()
        array([1., 3., 6.], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward")
