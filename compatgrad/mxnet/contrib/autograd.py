"""The autograd interface from before `mx.autograd`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import autograd as _autograd
from ..ndarray import NDArray, zeros_like

__all__ = ["TrainingStateScope", "backward", "compute_gradient", "grad", "grad_and_loss", "mark_variables",
           "set_is_training", "test_section", "train_section"]  # fmt: skip

mark_variables = _autograd.mark_variables


def set_is_training(is_train: bool) -> bool:
    """Turns recording and training on or off together; returns whether it was recording."""
    _autograd.set_training(is_train)
    return _autograd.set_recording(is_train)


class TrainingStateScope:
    """`with` this, recording and training are on or off."""

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = enter_state
        self._scope: Any = None

    def __enter__(self) -> None:
        self._scope = (_autograd.record if self._enter_state else _autograd.pause)(self._enter_state)
        self._scope.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._scope.__exit__(*exc)


def train_section() -> TrainingStateScope:
    """A scope that records, in training mode."""
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope that does not record, in prediction mode."""
    return TrainingStateScope(False)


test_section.__test__ = False  # type: ignore[attr-defined]  # no test of ours


def backward(outputs: list[NDArray], out_grads: list[NDArray | None] | None = None, retain_graph: bool = False) -> None:
    """Gradients of a list of arrays into those of the marked ones; see `mx.autograd.backward`."""
    assert isinstance(outputs, (list, tuple)), "outputs must be a list or tuple of NDArrays"
    _autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: list[NDArray]) -> None:
    """`backward` with ones."""
    backward(outputs)


def _chosen(args: tuple[Any, ...], argnum: int | list[int] | None) -> list[NDArray]:
    if argnum is not None:
        args = tuple(args[i] for i in ([argnum] if isinstance(argnum, int) else argnum))
    for x in args:
        assert isinstance(x, NDArray), f"the arguments to differentiate must be NDArrays, got {type(x)}"
    return list(args)


def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """A function that gives the gradients with respect to the arguments (or those of `argnum`), and the outputs."""

    @functools.wraps(func)
    def both(*args: Any) -> tuple[list[NDArray], Any]:
        leaves = _chosen(args, argnum)
        gradients = [zeros_like(x) for x in leaves]
        mark_variables(leaves, gradients)
        with train_section():
            result = func(*args)
        backward(result if isinstance(result, (list, tuple)) else [result])
        return gradients, result

    return both


def grad(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """A function that gives the gradients alone."""
    both = grad_and_loss(func, argnum)
    return functools.wraps(func)(lambda *args: both(*args)[0])
