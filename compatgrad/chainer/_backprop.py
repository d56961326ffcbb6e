"""`chainer.backward`, as Chainer 7.8.1 has it."""

from __future__ import annotations

import warnings

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.function_node import _check_sequence, grad
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import Variable, as_variable
from compatgrad.core import backprop


def backward(outputs, grad_outputs=None, **kwargs):
    """Backprop from several outputs at once, to all leaves, which accumulate.

    `backward(outputs, grad_outputs=None, *, enable_double_backprop=False)`. An output without a gradient,
    given or its own, starts nothing: no gradient is set by default; where its own is missing,
    RuntimeWarning. Own gradients are used up. TypeError for anything but sequences of Variables, ValueError
    for sequences of different lengths.
    """
    (enable_double_backprop,) = argument.parse_kwargs(
        kwargs,
        ("enable_double_backprop", False),
        retain_grad="chainer.backward has no retain_grad: its meaning for several outputs is not settled",
        loss_scale="chainer.backward does not support loss_scale option",
    )
    _check_sequence("outputs", outputs, None, None, optional=False)
    for y in outputs:
        if not isinstance(y, _C.Variable):
            raise TypeError(f"each output must be a Variable, not {type(y)}")
    _check_sequence("grad_outputs", grad_outputs, outputs, "outputs")
    used = []
    if grad_outputs is None:
        grad_outputs = []
        for y in outputs:
            gy = y.grad_var
            if gy is None:
                warnings.warn(
                    "an output has no grad, or is given twice; chainer.backward sets no default grad",
                    RuntimeWarning,
                    stacklevel=2,
                )
            else:
                y.cleargrad_()
                used.append((y, gy))
            grad_outputs.append(gy)
    starts = [(y, as_variable(gy)) for y, gy in zip(outputs, grad_outputs, strict=True) if gy is not None]
    try:
        _C.backward(frontend, [y for y, _ in starts], [gy for _, gy in starts], False, None, enable_double_backprop)
    except BaseException:
        for y, gy in used:
            Variable.grad_var.fset(y, gy)
        raise


backprop.follow("chainer", grad=grad, backward=backward)
