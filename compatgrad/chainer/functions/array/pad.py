"""Padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import backend, function_node
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Pad(function_node.FunctionNode):
    documented = "pad"

    def __init__(self, pad_width: Any, mode: str, **keywords: Any) -> None:
        self.mode = mode
        self.keywords = keywords
        self.pad_width = pad_width

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        xp = backend.get_array_module(*inputs)
        return (xp.pad(inputs[0], self.pad_width, mode=self.mode, **self.keywords),)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        shape = self.inputs[0].shape
        widths = _per_axis(self.pad_width, len(shape))
        return (grad_outputs[0][tuple([slice(w[0], w[0] + n) for w, n in zip(widths, shape, strict=True)])],)


class _ConstantPad(_native.NativeFunction):
    op = "pad"

    @property
    def label(self):
        return "Pad"

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype.kind == "f"


def _per_axis(pad_width, ndim):
    if isinstance(pad_width, int):
        return [(pad_width, pad_width)] * ndim
    return numpy.broadcast_to(numpy.asarray(pad_width), (ndim, 2)).tolist()


_pad = frontend.bind("pad", lambda x, widths, value: _ConstantPad(pad_width=widths, value=value).apply((x,))[0])


def pad(x: VariableOrArray, pad_width: Any, mode: str, **keywords: Any) -> Variable:
    """`x` with values around it, as numpy.pad.

    As in Chainer, the gradient of `x` is the inner part of that of the result: the gradients of copies in the padding
    are ignored.

    Args:
        x: floating, any shape.
        pad_width: numbers of values: an int for all sides, (before, after) for all axes, or such a pair for each axis.
        mode: one of numpy.pad's, such as "constant" or "edge".
        **keywords: options of the mode, such as `constant_values`.

    Returns:
        Variable of the dtype of `x`.

    Raises:
        ValueError: `pad_width` is negative or has another shape, or `mode` or a keyword is unknown.
        chainer.utils.type_check.InvalidType: `x` is not floating-point.

    Example:
        >>> F.pad(np.array([1.0, 2.0]), (1, 2), "constant", constant_values=7.0).array
        array([7., 1., 2., 7., 7.])

    Source: `chainer.functions.pad` of Chainer 7.8.1.
    """
    value = keywords.get("constant_values", 0)
    if mode != "constant" or keywords.keys() - {"constant_values"} or not numpy.isscalar(value):
        return Pad(pad_width, mode, **keywords).apply((x,))[0]
    widths = [n for pair in _per_axis(pad_width, x.ndim) for n in pair]
    return _pad(x, widths, value)
