from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializer, link
from compatgrad.chainer.links.connection.linear import Linear

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


def _flattened(init, name, shape, flat_shape):
    # Turns an initializer of an array of `shape` into one of the flattened array.
    if init is None or numpy.isscalar(init) or isinstance(init, initializer.Initializer):
        return init
    if isinstance(init, chainer.get_array_types()):
        if init.ndim != len(shape):
            raise ValueError(f"{name}.ndim should be {len(shape)}")
        return init.reshape(flat_shape)
    if callable(init):

        def initialize(array):
            init(array.reshape(shape))

        return initialize
    return init


class Maxout(link.Chain):
    """Fully connected layer that takes the maximum of `pool_size` linear functions for each output element. Inputs are
    floating-point arrays of shape (batch, in_size), results (batch, out_size).

    Args:
        in_size: length of the input vectors; None takes it from the first input.
        out_size: length of the output vectors.
        pool_size: number of linear functions for each output.
        initialW: initializer of the weights, also an array of shape (out_size, pool_size, in_size); None is
            `LeCunNormal()`.
        initial_bias: initializer of the biases, also an array of shape (out_size, pool_size); None leaves the biases
            out.

    Raises:
        ValueError: an array with another number of axes.

    Example:
        >>> W = np.array([[[1], [-1]]], np.float32)  # one output: max(x, -x)
        >>> L.Maxout(1, 1, 2, initialW=W)(np.array([[-3], [2]], np.float32)).array
        array([[3.],
               [2.]], dtype=float32)

    Source: `chainer.links.Maxout` of Chainer 7.8.1; Goodfellow et al., 2013.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        pool_size: int,
        initialW: Initializer = None,
        initial_bias: Initializer = 0,
    ) -> None:
        super().__init__()
        linear_out_size = out_size * pool_size
        initialW = _flattened(initialW, "initialW", (out_size, pool_size, in_size), (linear_out_size, in_size))
        initial_bias = _flattened(initial_bias, "initial_bias", (out_size, pool_size), (linear_out_size,))
        with self.init_scope():
            self.linear = Linear(
                in_size,
                linear_out_size,
                nobias=initial_bias is None,
                initialW=initialW,
                initial_bias=initial_bias,
            )
        self.out_size = out_size
        self.pool_size = pool_size

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the layer to (batch, in_size)."""
        return F.maxout(self.linear(x), self.pool_size)
