import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializer, link
from compatgrad.chainer.links.connection.linear import Linear


def _flattened(init, name, shape, flat_shape):
    # An initializer of the given shape as one for the flattened array.
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
    """Fully connected maxout layer (https://arxiv.org/abs/1302.4389): the maximum of `pool_size` linear
    functions.

    `initialW` has shape (out_size, pool_size, in_size), `initial_bias` (out_size, pool_size), None for no
    bias; ValueError for arrays with another number of axes.
    """

    def __init__(self, in_size, out_size, pool_size, initialW=None, initial_bias=0):
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

    def forward(self, x):
        """Applies the layer to (batch, in_size)."""
        return F.maxout(self.linear(x), self.pool_size)
