"""Padding."""

import numpy

from compatgrad.chainer import backend, function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check


class Pad(function_node.FunctionNode):
    """Padding by any mode of numpy.pad. As in Chainer, no gradient comes from the padding."""

    def __init__(self, pad_width, mode, **keywords):
        self.mode = mode
        self.keywords = keywords
        self.pad_width = pad_width

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        return (xp.pad(inputs[0], self.pad_width, mode=self.mode, **self.keywords),)

    def backward(self, indexes, grad_outputs):
        shape = self.inputs[0].shape
        widths = _per_axis(self.pad_width, len(shape))
        return (grad_outputs[0][tuple([slice(w[0], w[0] + n) for w, n in zip(widths, shape, strict=True)])],)


class _ConstantPad(_native.NativeFunction):
    op = "pad"

    @property
    def label(self):
        return "Pad"

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        type_check.expect(in_types[0].dtype.kind == "f")


def _per_axis(pad_width, ndim):
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * ndim
    return numpy.broadcast_to(numpy.asarray(pad_width), (ndim, 2)).tolist()


_pad = frontend.bind("pad", lambda x, widths, value: _ConstantPad(pad_width=widths, value=value).apply((x,))[0])


def pad(x, pad_width, mode, **keywords):
    """`x` with `pad_width` values around it: an int, (before, after), or such a pair for each axis.

    `mode` and `keywords` (`constant_values`, …) are those of numpy.pad. As in Chainer, the gradient of `x` is
    the inner part of that of the result: copies of elements in the padding do not count.
    """
    value = keywords.get("constant_values", 0)
    if mode != "constant" or keywords.keys() - {"constant_values"} or not numpy.isscalar(value):
        return Pad(pad_width, mode, **keywords).apply((x,))[0]
    widths = [n for pair in _per_axis(pad_width, x.ndim) for n in pair]
    return _pad(x, widths, value)
