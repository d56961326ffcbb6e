"""Shift: each group of channels moves in its own direction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed, _spatial
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.pad import pad
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_pair = _spatial.pair  # Chainer has this name here too, and programs import it


class Shift(_composed.ComposedFunction):
    documented = "shift"

    def __init__(self, ksize: IntOrInts = 3, dilate: IntOrInts = 1) -> None:
        super().__init__()
        self.kh, self.kw = _spatial.pair(ksize)
        if self.kh % 2 != 1:
            raise ValueError(f"kh must be odd. Actual: {self.kh}")
        if self.kw % 2 != 1:
            raise ValueError(f"kw must be odd. Actual: {self.kw}")
        self.dy, self.dx = _spatial.pair(dilate)

    @type_check._expects
    def check_type_forward(self, x):
        return x.dtype.kind == "f", x.ndim == 4, x.shape[1] >= self.kh * self.kw

    def compose(self, x: Variable) -> Variable:
        channels, height, width = x.shape[1:]
        directions = list(range(self.kh * self.kw))
        # The last group, which takes the channels that are left over, stays where it is.
        last, middle = len(directions) - 1, (len(directions) - 1) // 2
        directions[last], directions[middle] = middle, last
        py, px = self.kh // 2 * abs(self.dy), self.kw // 2 * abs(self.dx)
        x = pad(x, ((0, 0), (0, 0), (py, py), (px, px)), "constant")
        size = channels // len(directions)
        groups = []
        for i, direction in enumerate(directions):
            top = py - (direction // self.kw - self.kh // 2) * self.dy
            left = px - (direction % self.kw - self.kw // 2) * self.dx
            to = (i + 1) * size if i < last else None
            groups.append(x[:, i * size : to, top : top + height, left : left + width])
        return concat(groups)


def shift(x: VariableOrArray, ksize: IntOrInts = 3, dilate: IntOrInts = 1) -> Variable:
    """Shifts each group of channels in its own direction, one for each position of a window; zeros fill the free
    pixels.

    Args:
        x: floating, (n, c, h, w), where c is at least the number of positions of the window.
        ksize: height and width of the window, odd, or one number for both.
        dilate: distance between the positions of the window along each axis, or one number for both.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        ValueError: `ksize` is not odd.
        chainer.utils.type_check.InvalidType: `x` is not floating-point or not of four axes, or has too few channels.

    Example:
        >>> y = F.shift(np.ones((1, 3, 1, 3)), ksize=(1, 3))
        >>> y.array[0, :, 0]  # the first channel moves to the left, the second to the right, the last stays
        array([[1., 1., 0.],
               [0., 1., 1.],
               [1., 1., 1.]])

    Source: `chainer.functions.shift` of Chainer 7.8.1; Wu et al. 2017.
    """
    return Shift(ksize, dilate).apply((x,))[0]
