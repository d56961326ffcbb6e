"""A function that Theano compiled, in Chainer's graph."""

from compatgrad.chainer import function
from compatgrad.chainer.backends import _cpu, cuda
from compatgrad.chainer.utils import type_check


class TheanoFunction(function.Function):
    """Forward and backward by two compiled Theano functions, on the CPU. It cannot be differentiated twice.

    `forward_func` takes the inputs, `backward_func` the inputs and the gradients of the outputs.
    """

    def __init__(self, forward_func, backward_func):
        self.forward_func = forward_func
        self.backward_func = backward_func

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == len(self.forward_func.indices))
        for given, (taken, *_) in zip(in_types, self.forward_func.indices, strict=True):
            expected = taken.variable.type
            type_check.expect(given.ndim == expected.ndim, given.dtype == expected.numpy_dtype)

    def forward(self, inputs):
        return _run(self.forward_func, inputs)

    def backward(self, inputs, grads):
        gxs = _run(self.backward_func, inputs + grads)
        return tuple(
            gx.astype(x.dtype, copy=False) if x.dtype.kind == "f" else None for gx, x in zip(gxs, inputs, strict=True)
        )


def _run(compiled, arrays):
    on_gpu = any(isinstance(x, cuda.ndarray) for x in arrays)
    results = compiled(*[_cpu._to_cpu(x) for x in arrays])
    return tuple(cuda.to_gpu(y) for y in results) if on_gpu else tuple(results)


def theano_function(forward_func, backward_func, *inputs):
    """The outputs of `forward_func`, a compiled Theano function, differentiable by `backward_func`."""
    return TheanoFunction(forward_func, backward_func)(*inputs)
