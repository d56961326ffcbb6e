"""The function x log(x), from which entropies are computed."""

import warnings

import compatgrad.chainer as chainer
from compatgrad.chainer import function_node
from compatgrad.chainer import functions as F
from compatgrad.chainer.backend import get_array_module


class _XLogX(function_node.FunctionNode):
    """x log(x), and 0 at 0, where there is no gradient."""

    def forward(self, inputs):
        (x,) = inputs
        xp = get_array_module(x)
        self.retain_inputs((0,))
        return (xp.asarray(x * xp.log(xp.where(x > 0, x, 1)), dtype=x.dtype),)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        positive = x.array > 0
        if (x.array == 0).any():
            warnings.warn("cannot calculate gradient for zero input.", RuntimeWarning, stacklevel=2)
        slope = 1 + F.log(F.where(x.xp.asarray(positive), x, x.xp.ones_like(x.array)))
        return (grad_outputs[0] * F.where(x.xp.asarray(positive), slope, x.xp.zeros_like(x.array)),)


def _modified_xlogx(x):
    return _XLogX().apply((chainer.as_variable(x),))[0]
