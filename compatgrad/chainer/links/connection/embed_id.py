from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class EmbedID(link.Link):
    """Vectors for integers: row i of W, of shape (in_size, out_size), for each element i of an integer array; zeros for
    `ignore_label`. The result has one axis more than the input.

    Args:
        in_size: number of different integers: inputs lie in [0, in_size).
        out_size: length of the output vectors.
        initialW: initializer of W; None is `Normal(1.0)`.
        ignore_label: the integer for which the result is zeros, without a gradient; None for none.

    Example:
        >>> link = L.EmbedID(3, 2, initialW=np.array([[0, 0], [1, 1], [2, 4]], np.float32), ignore_label=-1)
        >>> link(np.array([2, -1, 1], np.int32)).array
        array([[2., 4.],
               [0., 0.],
               [1., 1.]], dtype=float32)

    Source: `chainer.links.EmbedID` of Chainer 7.8.1.
    """

    ignore_label = None

    def __init__(
        self, in_size: int, out_size: int, initialW: Initializer = None, ignore_label: int | None = None
    ) -> None:
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            if initialW is None:
                initialW = initializers.Normal(1.0)
            self.W = variable.Parameter(initialW, (in_size, out_size))

    @classmethod
    def from_params(cls, W: VariableOrArray, ignore_label: int | None = None) -> EmbedID:
        """Makes the link from its array."""
        in_size, out_size = W.shape
        return cls(in_size, out_size, initialW=variable.as_array(W), ignore_label=ignore_label)

    def forward(self, x: VariableOrArray) -> Variable:
        """The rows of W with the indices `x`."""
        return F.embed_id(x, self.W, ignore_label=self.ignore_label)
