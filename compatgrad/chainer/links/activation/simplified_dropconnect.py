from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link
from compatgrad.chainer.links import _weights

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Array, Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class SimplifiedDropconnect(link.Link):
    """Fully connected layer x W^T + b whose weights are dropped with probability `ratio` in training, and divided by 1
    - ratio. Inputs are floating-point arrays of shape (batch, in_size), results (batch, out_size).

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        ratio: the probability with which a weight is dropped.
        nobias: True leaves out the bias.
        initialW: initializer of W, of shape (out_size, in_size); None is `HeNormal(1 / sqrt(2))`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.

    Example:
        >>> link = L.SimplifiedDropconnect(3, 2, ratio=0.5, initialW=1)
        >>> mask = np.array([[True, False, True], [False, False, True]])
        >>> link(np.array([[1, 2, 3]], np.float32), mask=mask, use_batchwise_mask=False).array
        array([[8., 6.]], dtype=float32)

    Source: `chainer.links.SimplifiedDropconnect` of Chainer 7.8.1; Wan et al., 2013.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        ratio: float = 0.5,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        self.ratio = ratio
        if initialW is None:
            initialW = initializers.HeNormal(1.0 / numpy.sqrt(2))
        _weights.register(self, initialW, in_size, nobias, initial_bias, out_size)

    def _initialize_params(self, in_size):
        self.W.initialize((self.out_size, in_size))

    def forward(
        self, x: VariableOrArray, train: bool = True, mask: Array | None = None, use_batchwise_mask: bool = True
    ) -> Variable:
        """Applies the layer; a given `mask` is used instead of a random one, and kept as a persistent
        value."""
        if self.W.tensor is None:
            self._initialize_params(x.size // len(x))
        if mask is not None and "mask" not in self.__dict__:
            self.add_persistent("mask", mask)
        return F.simplified_dropconnect(x, self.W, self.b, self.ratio, train, mask, use_batchwise_mask)
