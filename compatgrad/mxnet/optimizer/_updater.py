"""`Updater`: an optimizer together with the states of the weights it has seen."""

from __future__ import annotations

import pickle
from inspect import signature
from typing import Any

from ..base import MXNetError
from ..ndarray import NDArray
from ._base import Optimizer

__all__ = ["Updater", "get_updater"]


def _on(state: Any, context: Any) -> Any:
    # a state, which may be nested, on another device
    if isinstance(state, NDArray):
        return state.as_in_context(context)
    if isinstance(state, (tuple, list)):
        return type(state)(_on(s, context) for s in state)
    return state


# exceptions of unpickling damaged bytes
_BROKEN = (pickle.UnpicklingError, EOFError, AttributeError, ImportError, LookupError, TypeError, ValueError)


class Updater:
    """A callable that updates weights in place, and keeps their states: `updater(index, grad, weight)`.

    Lists or tuples of all three are updated in one call. A state is made when its index is first seen.

    Args:
        optimizer: the optimizer.

    Attributes:
        states: the states, a dict by index.

    Raises:
        MXNetError, TypeError: in a call, shapes or dtypes do not fit, or a number of the optimizer is a str.

    Example:
        >>> updater = mx.optimizer.Updater(mx.optimizer.SGD(learning_rate=0.1, momentum=0.9))
        >>> w = nd.array([1.0])
        >>> updater(0, nd.array([0.5]), w)
        >>> w.asnumpy(), updater.states[0].asnumpy()
        (array([0.95], dtype=float32), array([-0.05], dtype=float32))

    Source: `mxnet.optimizer.Updater` of MXNet 1.9.1.
    """

    def __init__(self, optimizer: Optimizer) -> None:
        self.optimizer = optimizer
        self.states: dict[Any, Any] = {}
        self.states_synced: dict[Any, bool] = {}
        self.aggregate_updates = optimizer.aggregate_num > 0
        self._last: tuple[Any, ...] = ()  # the sequences of the last call, and their states

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        try:
            self._update(index, grad, weight)
        except (MXNetError, TypeError):
            self._check_numbers()
            raise

    def _check_numbers(self) -> None:
        # TypeError that names an option of the optimizer that is a str, such as one from the command line
        optimizer = self.optimizer
        for kind in type(optimizer).__mro__:
            arguments = signature(kind.__init__).parameters.values() if issubclass(kind, Optimizer) else ()
            for argument in arguments:
                name = argument.name
                value = vars(optimizer).get("lr" if name == "learning_rate" else name)
                is_number = argument.default is None or isinstance(argument.default, float)
                if is_number and isinstance(value, str):
                    who = type(optimizer).__name__
                    raise TypeError(f"{who}: {name} must be a number, got {value!r}") from None

    def _update(self, index: Any, grad: Any, weight: Any) -> None:
        last = self._last
        if last and index is last[0] and weight is last[1] and self.states is last[3]:
            states = last[2]
        else:
            if not isinstance(index, (list, tuple)):
                index, grad, weight = [index], [grad], [weight]
            index = [i.decode() if isinstance(i, bytes) else i for i in index] if _has_bytes(index) else index
            states = [self._state(i, w) for i, w in zip(index, weight, strict=True)]
            # tuples are immutable, so that the same objects in the next call have the same states
            self._last = (index, weight, states, self.states) if type(index) is type(weight) is tuple else ()
        if weight:
            self.optimizer._set_current_context(weight[0].context.device_id)
            self.optimizer.update_all(index, weight, grad, states)

    def _state(self, index: Any, weight: NDArray) -> Any:
        if index not in self.states:
            self.states[index] = self.optimizer.create_state_multi_precision(index, weight.as_nd_ndarray())
        elif not self.states_synced[index]:
            self.states[index] = _on(self.states[index], weight.context)
        self.states_synced[index] = True
        return self.states[index]

    def sync_state_context(self, state: Any, context: Any) -> Any:
        """The state (None, an NDArray, or a nest of tuples and lists of them) on the device `context`."""
        return _on(state, context)

    def set_states(self, states: bytes) -> None:
        """Restores the states from the bytes of `get_states`, and the optimizer if they have it."""
        loaded = pickle.loads(states)
        states, optimizer = loaded if isinstance(loaded, tuple) and len(loaded) == 2 else (loaded, self.optimizer)
        if not isinstance(states, dict):
            raise AttributeError(f"expected a dict of states, got {type(states).__name__}")
        self.states, self.optimizer = states, optimizer
        self.states_synced = dict.fromkeys(self.states, False)
        self._last = ()

    def load(self, file: Any) -> None:
        """Restores the states from a file; errors name the file, and leave the states unchanged."""
        with open(file, "rb") as source:
            states = source.read()
        try:
            self.set_states(states)
        except _BROKEN as e:
            kind = next(kind for kind in _BROKEN if isinstance(e, kind))
            raise kind(f"{file} holds no states of an optimizer: {e}") from e

    def get_states(self, dump_optimizer: bool = False) -> bytes:
        """The states as bytes; `dump_optimizer` adds the optimizer, with its counts of updates."""
        return pickle.dumps((self.states, self.optimizer) if dump_optimizer else self.states)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": ()}


def _has_bytes(index: Any) -> bool:
    return any(isinstance(i, bytes) for i in index)


def get_updater(optimizer: Optimizer) -> Updater:
    """An Updater for an optimizer.

    Args:
        optimizer: the optimizer.

    Returns:
        The Updater.

    Raises:
        AttributeError: `optimizer` is no Optimizer.

    Example:
        >>> w = nd.array([1.0])
        >>> mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.1))(0, nd.array([0.5]), w)
        >>> w.asnumpy()
        array([0.95], dtype=float32)

    Source: `mxnet.optimizer.get_updater` of MXNet 1.9.1.
    """
    return Updater(optimizer)
