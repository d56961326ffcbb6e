"""Walker's alias method. Mirrors ``chainer.utils.walker_alias``."""

import numpy

from compatgrad.chainer import device_resident
from compatgrad.chainer.backends import cuda


class WalkerAlias(device_resident.DeviceResident):
    """Draws from a categorical distribution in constant time per sample.

    `probs` are the weights of the entries, normalised to sum 1. Bin i of n gives ``values[2 * i]`` below
    ``threshold[i]`` and ``values[2 * i + 1]`` above it.
    """

    def __init__(self, probs):
        super().__init__()
        n = len(probs)
        weights = numpy.array(probs, numpy.float32)
        weights /= numpy.sum(weights)
        threshold = numpy.empty(n, numpy.float32)
        values = numpy.zeros(2 * n, numpy.int32)
        # From the lightest entry on: each gets the next bin to itself, and what it has above 1 first fills
        # up the bins that are not full yet. The order and the precision matter: a seed must give the
        # original's samples.
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

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.threshold = visitor.visit_array(self.threshold)
        self.values = visitor.visit_array(self.values)

    def sample(self, shape):
        """An int32 array of samples on the device, drawn from the array module's global stream."""
        with self.device.create_context():
            return self.sample_xp(self.xp, shape)

    def sample_xp(self, xp, shape):
        """As `sample`, from the global stream of `xp`."""
        place = xp.random.uniform(0, len(self.threshold), shape)
        index = place.astype(numpy.int32)
        dtype = self.threshold.dtype
        above = self.threshold[index] < place.astype(dtype) - index.astype(dtype)
        return self.values[index * 2 + above.astype(numpy.int32)]
