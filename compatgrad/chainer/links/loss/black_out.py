from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.utils import walker_alias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.device_resident import DeviceResidentsVisitor
    from compatgrad.chainer.variable import Variable


class BlackOut(link.Link):
    """BlackOut loss of a large classifier: it compares the label with `sample_size` labels, which are drawn in
    proportion to their frequencies. Inputs are a floating-point array of shape (batch, in_size) and int32 labels of
    shape (batch,); the result is the mean over the batch, of shape ().

    Args:
        in_size: length of the input vectors.
        counts: how often each label occurs; its length is the number of labels.
        sample_size: number of labels drawn for each sample.

    Example:
        >>> link = L.BlackOut(2, counts=[10, 5, 5], sample_size=2)
        >>> link.W.array[:] = 0
        >>> link.sample_data = np.array([[1, 2]], np.int32)  # instead of random labels
        >>> float(link(np.array([[1, 2]], np.float32), np.array([0], np.int32)).array)
        1.909542441368103

    Source: `chainer.links.BlackOut` of Chainer 7.8.1; Ji et al., 2016.
    """

    sample_data = None  # samples to use instead of drawn ones; None draws them

    def __init__(self, in_size: int, counts: Sequence[int], sample_size: int) -> None:
        super().__init__()
        self.sampler = walker_alias.WalkerAlias(numpy.array(counts, dtype=numpy.float32))
        self.sample_size = sample_size
        with self.init_scope():
            self.W = variable.Parameter(shape=(len(counts), in_size))

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        self.sampler.device_resident_accept(visitor)

    def forward(self, x: VariableOrArray, t: VariableOrArray) -> Variable:
        """The loss of (batch, in_size) and labels (batch,)."""
        samples = self.sample_data
        if samples is None:
            samples = self.sampler.sample((x.shape[0], self.sample_size))
        return F.black_out(x, t, self.W, variable.Variable(samples, requires_grad=False))
