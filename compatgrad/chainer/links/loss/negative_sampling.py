from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer import link, variable
from compatgrad.chainer.functions.loss import negative_sampling
from compatgrad.chainer.utils import argument, walker_alias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import DType, VariableOrArray
    from compatgrad.chainer.device_resident import DeviceResidentsVisitor
    from compatgrad.chainer.variable import Variable


class NegativeSampling(link.Link):
    """Negative sampling loss of word2vec: -log sigmoid(w_t x) - sum of log sigmoid(-w_s x) over `sample_size` labels s,
    drawn with probabilities proportional to counts ** power. Inputs are a floating-point array of shape (batch,
    in_size) and int32 labels of shape (batch,), of which -1 is ignored.

    Args:
        in_size: length of the input vectors.
        counts: how often each label occurs; its length is the number of labels.
        sample_size: number of labels drawn for each sample.
        power: exponent of the counts.
        dtype: of the sampler's probabilities; None is `chainer.config.dtype`.

    Example:
        >>> link = L.NegativeSampling(2, counts=[10, 5, 5], sample_size=2)
        >>> float(link(np.ones((1, 2), np.float32), np.array([0], np.int32)).array)  # W is 0 at first: 3 log 2
        2.079441547393799

    Source: `chainer.links.NegativeSampling` of Chainer 7.8.1; Mikolov et al., 2013.
    """

    def __init__(
        self, in_size: int, counts: Sequence[int], sample_size: int, power: float = 0.75, dtype: DType | None = None
    ) -> None:
        super().__init__()
        dtype = chainer.get_dtype(dtype)
        self.sample_size = sample_size
        p = numpy.array(counts, dtype)
        numpy.power(p, dtype.type(power), p)
        self.sampler = walker_alias.WalkerAlias(p)
        with self.init_scope():
            self.W = variable.Parameter(0, (len(counts), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: VariableOrArray, t: VariableOrArray, reduce: str = "sum", **kwargs: Any) -> Variable:
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
