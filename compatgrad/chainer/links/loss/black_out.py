import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.utils import walker_alias


class BlackOut(link.Link):
    """BlackOut loss (https://arxiv.org/abs/1511.06909); `counts` are the frequencies of the labels."""

    sample_data = None  # when it is set, these samples are used

    def __init__(self, in_size, counts, sample_size):
        super().__init__()
        self.sampler = walker_alias.WalkerAlias(numpy.array(counts, dtype=numpy.float32))
        self.sample_size = sample_size
        with self.init_scope():
            self.W = variable.Parameter(shape=(len(counts), in_size))

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x, t):
        """The loss of (batch, in_size) and labels (batch,)."""
        samples = self.sample_data
        if samples is None:
            samples = self.sampler.sample((x.shape[0], self.sample_size))
        return F.black_out(x, t, self.W, variable.Variable(samples, requires_grad=False))
