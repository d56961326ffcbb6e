import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import link, variable
from compatgrad.chainer.functions.loss import negative_sampling
from compatgrad.chainer.utils import argument, walker_alias


class NegativeSampling(link.Link):
    """Negative sampling loss of word2vec; labels are sampled by `counts ** power`."""

    def __init__(self, in_size, counts, sample_size, power=0.75, dtype=None):
        super().__init__()
        dtype = chainer.get_dtype(dtype)
        self.sample_size = sample_size
        p = numpy.array(counts, dtype)
        numpy.power(p, dtype.type(power), p)
        self.sampler = walker_alias.WalkerAlias(p)
        with self.init_scope():
            self.W = variable.Parameter(0, (len(counts), in_size))

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x, t, reduce="sum", **kwargs):
        """The loss of (batch, in_size) and labels (batch,); with `return_samples=True` also the samples."""
        return_samples = False
        if kwargs:
            (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
        return negative_sampling.negative_sampling(
            x,
            t,
            self.W,
            self.sampler.sample,
            self.sample_size,
            reduce=reduce,
            return_samples=return_samples,
        )
