import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.normalization.batch_normalization import highprec_parameter


class GroupNormalization(link.Link):
    """Group normalisation (https://arxiv.org/abs/1803.08494) of channels in `groups`; the first input may
    tell `size`.

    ValueError for an input with fewer than two axes.
    """

    def __init__(self, groups, size=None, eps=1e-5, initial_gamma=None, initial_beta=None):
        super().__init__()
        dtype = chainer.get_dtype(None, map_mixed16=numpy.float32)
        with self.init_scope():
            self.groups = groups
            self.gamma = highprec_parameter(initial_gamma, 1, dtype)
            self.beta = highprec_parameter(initial_beta, 0, dtype)
            self.eps = eps
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size):
        self.gamma.initialize(size)
        self.beta.initialize(size)

    def forward(self, x):
        """Normalises the groups of each sample of `x`."""
        if self.gamma.tensor is None:
            if x.ndim < 2:
                raise ValueError(
                    "Input dimension must be at least 2, including batch size dimension (first dimension)."
                )
            self._initialize_params(x.shape[1])
        return F.group_normalization(x, self.groups, self.gamma, self.beta, self.eps)
