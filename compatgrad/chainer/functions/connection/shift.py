"""Shift: each group of channels moves in its own direction."""

from compatgrad.chainer.functions import _composed, _spatial
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.pad import pad
from compatgrad.chainer.utils import type_check

_pair = _spatial.pair  # programs find it here


class Shift(_composed.ComposedFunction):
    def __init__(self, ksize=3, dilate=1):
        super().__init__()
        self.kh, self.kw = _spatial.pair(ksize)
        if self.kh % 2 != 1:
            raise ValueError(f"kh must be odd. Actual: {self.kh}")
        if self.kw % 2 != 1:
            raise ValueError(f"kw must be odd. Actual: {self.kw}")
        self.dy, self.dx = _spatial.pair(dilate)

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x",))
        x = in_types[0]
        type_check.expect(x.dtype.kind == "f", x.ndim == 4, x.shape[1] >= self.kh * self.kw)

    def compose(self, x):
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


def shift(x, ksize=3, dilate=1):
    """Moves each group of channels of x (N, C, H, W) by its own place in a window of `ksize`, filled with
    zeros.

    `ksize` and `dilate` are an int or a pair; a `ksize` that is not odd is a ValueError, fewer channels than
    places an InvalidType. Wu et al. 2017.
    """
    return Shift(ksize, dilate).apply((x,))[0]
