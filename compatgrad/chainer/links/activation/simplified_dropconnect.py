import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link
from compatgrad.chainer.links import _weights


class SimplifiedDropconnect(link.Link):
    """Fully connected layer whose weights are dropped with probability `ratio`.

    `in_size=None` lets the first input tell the size.
    """

    def __init__(self, in_size, out_size, ratio=0.5, nobias=False, initialW=None, initial_bias=None):
        super().__init__()
        self.out_size = out_size
        self.ratio = ratio
        if initialW is None:
            initialW = initializers.HeNormal(1.0 / numpy.sqrt(2))
        _weights.register(self, initialW, in_size, nobias, initial_bias, out_size)

    def _initialize_params(self, in_size):
        self.W.initialize((self.out_size, in_size))

    def forward(self, x, train=True, mask=None, use_batchwise_mask=True):
        """Applies the layer; a given `mask` is used instead of a random one, and kept as a persistent
        value."""
        if self.W.tensor is None:
            self._initialize_params(x.size // len(x))
        if mask is not None and "mask" not in self.__dict__:
            self.add_persistent("mask", mask)
        return F.simplified_dropconnect(x, self.W, self.b, self.ratio, train, mask, use_batchwise_mask)
