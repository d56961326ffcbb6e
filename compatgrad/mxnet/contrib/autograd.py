"""`mx.contrib.autograd`: the interface that `mx.autograd` replaced."""

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
    """Turns recording and training on or off together, in this thread.

    Args:
        is_train: on or off.

    Returns:
        Whether it was recording before.

    Raises:
        Nothing.

    Example:
        >>> old = mx.contrib.autograd.set_is_training(True)
        >>> autograd.is_recording(), autograd.is_training()
        (True, True)
        >>> mx.contrib.autograd.set_is_training(old)
        True

    Source: `mxnet.contrib.autograd.set_is_training` of MXNet 1.9.1.
    """
    _autograd.set_training(is_train)
    return _autograd.set_recording(is_train)


class TrainingStateScope:
    """A scope in which recording and training are on or off.

    Args:
        enter_state: on or off.

    Example:
        >>> with mx.contrib.autograd.TrainingStateScope(True):
        ...     print(autograd.is_recording(), autograd.is_training())
        True True

    Source: `mxnet.contrib.autograd.TrainingStateScope` of MXNet 1.9.1.
    """

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = enter_state
        self._scope: Any = None

    def __enter__(self) -> None:
        self._scope = (_autograd.record if self._enter_state else _autograd.pause)(self._enter_state)
        self._scope.__enter__()

    def __exit__(self, *exc: Any) -> None:
        self._scope.__exit__(*exc)


def train_section() -> TrainingStateScope:
    """A scope that records, in training mode.

    Returns:
        A context manager.

    Example:
        >>> with mx.contrib.autograd.train_section():
        ...     print(autograd.is_recording(), autograd.is_training())
        True True

    Source: `mxnet.contrib.autograd.train_section` of MXNet 1.9.1.
    """
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope that does not record, in prediction mode.

    Returns:
        A context manager.

    Example:
        >>> with mx.contrib.autograd.test_section():
        ...     print(autograd.is_recording(), autograd.is_training())
        False False

    Source: `mxnet.contrib.autograd.test_section` of MXNet 1.9.1.
    """
    return TrainingStateScope(False)


test_section.__test__ = False  # type: ignore[attr-defined]  # no test of ours


def backward(outputs: list[NDArray], out_grads: list[NDArray | None] | None = None, retain_graph: bool = False) -> None:
    """Writes gradients into the gradient arrays of the marked variables; see `mx.autograd.backward`.

    Args:
        outputs: a list of recorded arrays.
        out_grads: their gradients, a list; None for ones.
        retain_graph: keeps the graph for another `backward`.

    Raises:
        AssertionError: `outputs` is no list, or there are not as many `out_grads`.
        MXNetError: `outputs` is empty, or one was not recorded.

    Example:
        >>> x = nd.array([3])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = x * x
        >>> mx.contrib.autograd.backward([y])
        >>> x.grad.asnumpy()
        array([6.], dtype=float32)

    Source: `mxnet.contrib.autograd.backward` of MXNet 1.9.1.
    """
    assert isinstance(outputs, (list, tuple)), "outputs must be a list or tuple of NDArrays"
    _autograd.backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: list[NDArray]) -> None:
    """`backward` with ones as gradients of the outputs.

    Args:
        outputs: a list of recorded arrays.

    Raises:
        AssertionError: `outputs` is no list.
        MXNetError: `outputs` is empty, or one was not recorded.

    Example:
        >>> x = nd.array([3])
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = x * x
        >>> mx.contrib.autograd.compute_gradient([y])
        >>> x.grad.asnumpy()
        array([6.], dtype=float32)

    Source: `mxnet.contrib.autograd.compute_gradient` of MXNet 1.9.1.
    """
    backward(outputs)


def _chosen(args: tuple[Any, ...], argnum: int | list[int] | None) -> list[NDArray]:
    if argnum is not None:
        args = tuple(args[i] for i in ([argnum] if isinstance(argnum, int) else argnum))
    for x in args:
        assert isinstance(x, NDArray), f"the arguments to differentiate must be NDArrays, got {type(x)}"
    return list(args)


def grad_and_loss(func: Callable[..., Any], argnum: int | list[int] | None = None) -> Callable[..., Any]:
    """A function that gives the gradients of another one, and its outputs.

    Args:
        func: the function of NDArrays, which gives an NDArray or a list of them.
        argnum: number, or list of numbers, of the arguments to differentiate with respect to; None for all.

    Returns:
        A function of the same arguments that gives a list of gradients and the outputs. It raises AssertionError if
            such an argument is no NDArray.

    Raises:
        Nothing.

    Example:
        >>> both = mx.contrib.autograd.grad_and_loss(lambda x, y: x * y, argnum=0)
        >>> (gx,), z = both(nd.array([2]), nd.array([5]))
        >>> gx.asnumpy(), z.asnumpy()
        (array([5.], dtype=float32), array([10.], dtype=float32))

    Source: `mxnet.contrib.autograd.grad_and_loss` of MXNet 1.9.1.
    """

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
    """A function that gives the gradients of another one.

    Args:
        func: the function of NDArrays, which gives an NDArray or a list of them.
        argnum: number, or list of numbers, of the arguments to differentiate with respect to; None for all.

    Returns:
        A function of the same arguments that gives a list of gradients. It raises AssertionError if such an argument
            is no NDArray.

    Raises:
        Nothing.

    Example:
        >>> (gx,) = mx.contrib.autograd.grad(lambda x: x * x)(nd.array([3]))
        >>> gx.asnumpy()
        array([6.], dtype=float32)

    Source: `mxnet.contrib.autograd.grad` of MXNet 1.9.1.
    """
    both = grad_and_loss(func, argnum)
    return functools.wraps(func)(lambda *args: both(*args)[0])
