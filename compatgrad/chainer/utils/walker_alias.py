"""Walker's alias method. Mirrors ``chainer.utils.walker_alias``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer import device_resident
from compatgrad.chainer.backends import cuda

if TYPE_CHECKING:
    from compatgrad.chainer.types import NdArray, ShapeSpec, Xp


class WalkerAlias(device_resident.DeviceResident):
    """Draws from a categorical distribution in constant time per sample, by Walker's alias method: of n bins, bin i
    returns `values[2 * i]` below `threshold[i]` and `values[2 * i + 1]` above it. Samples come from the global random
    stream of NumPy, or of CuPy on a GPU; a seed gives the same samples as in Chainer.

    Args:
        probs: the weights, a sequence or an array of n numbers that are not negative; they are normalized to sum 1.

    Example:
        >>> sampler = chainer.utils.WalkerAlias([0.0, 1.0, 0.0])
        >>> sampler.sample((2, 3))
        array([[1, 1, 1],
               [1, 1, 1]], dtype=int32)

    Source: `chainer.utils.WalkerAlias` of Chainer 7.8.1; A. J. Walker, "An efficient method for generating discrete
    random variables with general distributions", 1977.
    """

    def __init__(self, probs: Any) -> None:
        super().__init__()
        n = len(probs)
        weights = numpy.array(probs, numpy.float32)
        weights /= numpy.sum(weights)
        threshold = numpy.empty(n, numpy.float32)
        values = numpy.zeros(2 * n, numpy.int32)
        # Entries are taken in the order of their weights. Each gets a new bin; before that, the part of its weight
        # above 1 fills up earlier bins. Order and precision must be Chainer's, so that a seed gives the same samples.
        filled = 0
        for used, i in enumerate(sorted(range(n), key=lambda i: (weights[i], i))):
            p = float(weights[i]) * n
            while p > 1 and filled < used:
                values[2 * filled + 1] = i
                p -= 1.0 - float(threshold[filled])
                filled += 1
            threshold[used] = p
            values[2 * used] = i
        self.threshold = threshold
        self.values = values

    @property
    def use_gpu(self):
        """Whether samples are drawn on a GPU."""
        return self.xp is cuda.cupy

    def device_resident_accept(self, visitor: Any) -> None:
        """Moves the tables to the visitor's device."""
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    def sample(self, shape: ShapeSpec) -> NdArray:
        """An int32 array of samples on the device, drawn from the array module's global stream."""
        with self.device.create_context():
            return self.sample_xp(self.xp, shape)

    def sample_xp(self, xp: Xp, shape: ShapeSpec) -> NdArray:
        """As `sample`, from the global stream of `xp`."""
        place = xp.random.uniform(0, len(self.threshold), shape)
        index = place.astype(numpy.int32)
        dtype = self.threshold.dtype
        above = self.threshold[index] < place.astype(dtype) - index.astype(dtype)
        return self.values[index * 2 + above.astype(numpy.int32)]
