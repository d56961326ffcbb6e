from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


def _parameter(initial, shape):
    if isinstance(initial, chainer.get_array_types()):
        assert initial.shape == shape, f"the initial array must have shape {shape}, not {initial.shape}"
    return variable.Parameter(initializers._get_initializer(initial), shape)


class Bilinear(link.Link):
    """e1 W e2 + e1 V1 + e2 V2 + b for each sample: float arrays of shape (batch, left_size) and (batch, right_size)
    give one of shape (batch, out_size). W has shape (left_size, right_size, out_size), V1 (left_size, out_size), V2
    (right_size, out_size) and b (out_size,).

    Args:
        left_size: length of the vectors e1.
        right_size: length of the vectors e2.
        out_size: length of the output vectors.
        nobias: True leaves out V1, V2 and b.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializers of V1, V2 and b; None is `LeCunNormal()` for V1 and V2 and 0 for b.

    Raises:
        ValueError: `initial_bias` is neither a tuple nor None.

    Example:
        >>> link = L.Bilinear(2, 2, 1, nobias=True, initialW=1)
        >>> link(np.array([[1, 2]], np.float32), np.array([[3, 4]], np.float32)).array  # (1 + 2) * (3 + 4)
        array([[21.]], dtype=float32)

    Source: `chainer.links.Bilinear` of Chainer 7.8.1.
    """

    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: tuple[Initializer, Initializer, Initializer] | None = None,
    ) -> None:
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        with self.init_scope():
            self.W = _parameter(initialW, (left_size, right_size, out_size))
            if not nobias:
                if initial_bias is None:
                    initial_bias = None, None, 0
                elif not isinstance(initial_bias, tuple):
                    raise ValueError(f"initial_bias must be tuple or None. Actual: {type(initial_bias).__name__}")
                V1, V2, b = initial_bias
                self.V1 = _parameter(V1, (left_size, out_size))
                self.V2 = _parameter(V2, (right_size, out_size))
                self.b = _parameter(b, (out_size,))

    def forward(self, e1: VariableOrArray, e2: VariableOrArray) -> Variable:
        """Applies the layer to (batch, left_size) and (batch, right_size)."""
        if self.nobias:
            return F.bilinear(e1, e2, self.W)
        return F.bilinear(e1, e2, self.W, self.V1, self.V2, self.b)

    def zero_grads(self) -> None:
        """Same as `zerograds`."""
        self.zerograds()
