"""A function that Theano compiled, in Chainer's graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import function
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class TheanoFunction(function.Function):
    """The function of `theano_function` in the graph. It runs on the CPU and cannot be differentiated twice.

    Args:
        forward_func: compiled Theano function of the inputs.
        backward_func: compiled Theano function of the inputs and of the gradients of the outputs.

    Raises:
        chainer.utils.type_check.InvalidType: the inputs differ in number, axes or dtype from those of `forward_func`.

    Example:
        >>> import types  # `compiled` stands for `theano.function([x], [y])`
        >>> def compiled(f, ndim):
        ...     kind = types.SimpleNamespace(ndim=ndim, numpy_dtype=np.dtype("float32"))
        ...     f.indices = [(types.SimpleNamespace(variable=types.SimpleNamespace(type=kind)),)]
        ...     return f
        >>> twice = compiled(lambda x: [x * 2], ndim=1)
        >>> function = F.theano.theano_function.TheanoFunction(twice, lambda x, gy: [gy * 2])
        >>> function(np.array([1, 2], np.float32)).array
        array([2., 4.], dtype=float32)

    Source: `chainer.functions.theano.theano_function.TheanoFunction` of Chainer 7.8.1.
    """

    def __init__(self, forward_func: Any, backward_func: Any) -> None:
        self.forward_func = forward_func
        self.backward_func = backward_func

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == len(self.forward_func.indices))
        for given, (taken, *_) in zip(in_types, self.forward_func.indices, strict=True):
            expected = taken.variable.type
            type_check.expect(given.ndim == expected.ndim, given.dtype == expected.numpy_dtype)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        return _run(self.forward_func, inputs)

    def backward(self, inputs: tuple[NdArray, ...], grads: tuple[NdArray, ...]) -> tuple[NdArray | None, ...]:
        gxs = _run(self.backward_func, inputs + grads)
        return tuple(
            gx.astype(x.dtype, copy=False) if x.dtype.kind == "f" else None for gx, x in zip(gxs, inputs, strict=True)
        )


def _run(compiled, arrays):
    on_gpu = any(isinstance(x, cuda.ndarray) for x in arrays)
    results = compiled(*[_cpu._to_cpu(x) for x in arrays])
    return tuple(cuda.to_gpu(y) for y in results) if on_gpu else tuple(results)


def theano_function(forward_func: Any, backward_func: Any, *inputs: VariableOrArray) -> Variable | tuple[Variable, ...]:
    """The outputs of a compiled Theano function, in Chainer's graph. It runs on the CPU and cannot be differentiated
    twice.

    Args:
        forward_func: compiled Theano function of the inputs.
        backward_func: compiled Theano function of the inputs and of the gradients of the outputs; it gives the
            gradients of the inputs.
        *inputs: arrays or Variables.

    Returns:
        Variable, or a tuple of them, as many as `forward_func` has outputs.

    Raises:
        chainer.utils.type_check.InvalidType: the inputs differ in number, axes or dtype from those of `forward_func`.

    Example:
        >>> import types  # `compiled` stands for `theano.function([x], [y])`
        >>> def compiled(f, ndim):
        ...     kind = types.SimpleNamespace(ndim=ndim, numpy_dtype=np.dtype("float32"))
        ...     f.indices = [(types.SimpleNamespace(variable=types.SimpleNamespace(type=kind)),)]
        ...     return f
        >>> twice = compiled(lambda x: [x * 2], ndim=1)
        >>> x = chainer.Variable(np.array([1], np.float32))
        >>> F.theano.theano_function.theano_function(twice, lambda x, gy: [gy * 2], x).backward()
        >>> x.grad
        array([2.], dtype=float32)

    Source: `chainer.functions.theano.theano_function.theano_function` of Chainer 7.8.1.
    """
    return TheanoFunction(forward_func, backward_func)(*inputs)
