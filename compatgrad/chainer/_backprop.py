"""`chainer.backward`, as Chainer 7.8.1 has it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.function_node import _check_sequence, grad
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import Variable, as_variable
from compatgrad.core import backprop

if TYPE_CHECKING:
    from compatgrad.chainer.variable import Variable


def backward(outputs: Sequence[Variable], grad_outputs: Sequence[Any] | None = None, **kwargs: Any) -> None:
    """Backpropagates from several outputs at once and adds the results to the gradients of all leaves. An output for
    which no gradient is given starts from its own `grad`, which is cleared. An output without a `grad` is left out with
    a RuntimeWarning: unlike `Variable.backward`, this function sets no default gradient.

    Args:
        outputs: the outputs.
        grad_outputs: a gradient for each output: a Variable, an array, or None, which leaves the output out. None
            instead of the list takes the outputs' own gradients.
        **kwargs: `enable_double_backprop`, default False: True records the computation of the gradients, so that they
            can be differentiated.

    Raises:
        TypeError: `outputs` is not a list or tuple of Variables, `grad_outputs` is not a list or tuple, or an unknown
            keyword is given.
        ValueError: the sequences differ in length, or `retain_grad` or `loss_scale` is given.

    Example:
        >>> x = chainer.Variable(np.array([1.0, 2.0]))
        >>> chainer.backward([x * 3, x * x], [np.ones(2), np.ones(2)])
        >>> x.grad
        array([5., 7.])

    Source: `chainer.backward` of Chainer 7.8.1.
    """
    (enable_double_backprop,) = argument.parse_kwargs(
        kwargs,
        ("enable_double_backprop", False),
        retain_grad="chainer.backward has no retain_grad: Chainer does not define it for several outputs",
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
