"""Methods of Variable and Link that need functions and links, which themselves import these classes."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer._link import _COPY_MODES, Link, _bad_copy_mode
from compatgrad.chainer.functions.array.copy import copy as _copy
from compatgrad.chainer.functions.array.reshape import reshape as _reshape
from compatgrad.chainer.functions.array.transpose import transpose as _transpose
from compatgrad.chainer.functions.math.average import average as _average
from compatgrad.chainer.sequential import Sequential
from compatgrad.chainer.variable import Variable


def _reversed_axes(self):
    """All axes reversed."""
    return _transpose(self)


def addgrad(self: Variable, var: Variable) -> None:
    """Adds the gradient of `var` to this one's, also between devices. Nothing happens where `var` has none."""
    if var.grad is None:
        return
    src = var.grad_var
    if self.tensor is None:
        self.initialize(var.shape)
    dst = self.grad_var
    if src.device != self.device:
        src = _copy(src, self.device)
    self.grad_var = src if dst is None else src + dst


def mean(self: Variable, axis: Any = None, *, weights: Any = None, keepdims: bool = False) -> Variable:
    """`chainer.functions.average`."""
    return _average(self, axis, weights, keepdims)


def reshape(self: Variable, *shape: Any) -> Variable:
    """`chainer.functions.reshape`; the shape as one tuple or as arguments."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = shape[0]
    return _reshape(self, shape)


def transpose(self: Variable, *axes: Any) -> Variable:
    """`chainer.functions.transpose`; the axes as one tuple or as arguments."""
    if not axes:
        axes = None
    elif len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        axes = axes[0]
    return _transpose(self, axes)


def repeat(self: Link, n_repeat: int, mode: str = "init") -> Sequential:
    """A Sequential of `n_repeat` copies made with `mode`, see `copy`. Raises ValueError for an unknown mode."""
    ret = Sequential()
    if n_repeat <= 0:
        return ret
    if mode not in _COPY_MODES:
        raise _bad_copy_mode(mode)
    for _ in range(n_repeat):
        ret.append(self.copy(mode))
    return ret


Variable.T = property(_reversed_axes)
Variable.addgrad = addgrad
Variable.mean = mean
Variable.reshape = reshape
Variable.transpose = transpose
Link.repeat = repeat
