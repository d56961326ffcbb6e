"""Orthogonal weights."""

import numpy

from compatgrad.chainer import backend
from compatgrad.chainer.initializers._random import _Random
from compatgrad.chainer.utils import size_of_shape

_MODES = {
    # must not have more inputs than outputs, must not have fewer
    "auto": (False, False),
    "projection": (False, True),
    "embedding": (True, False),
    "basis": (True, True),
}


class Orthogonal(_Random):
    """Rows or columns, whichever are fewer, are orthogonal and of length `scale`; all axes but the first
    are one.

    It is the Q of a QR decomposition of normal numbers, drawn on the CPU from `rng` or NumPy's global
    stream, with signs that make R's diagonal positive. Saxe et al., https://arxiv.org/abs/1312.6120. `mode`
    tells which shapes are taken: ``'auto'`` all, ``'projection'`` not fewer inputs than outputs,
    ``'embedding'`` not more, ``'basis'`` as many. Raises ValueError for another mode, shape or an empty
    array.
    """

    def __init__(self, scale=1.1, dtype=None, mode="auto", **kwargs):
        if mode not in _MODES:
            raise ValueError(f"Invalid mode: {mode!r}. Choose from {', '.join(map(repr, _MODES))}.")
        self.mode = mode
        super().__init__(scale, dtype, kwargs)

    def __call__(self, array):
        self._check_dtype(array)
        random = numpy.random if self.rng is None else self.rng
        if not array.shape:
            array[...] = self.scale * (2 * int(random.randint(2)) - 1)
            return
        if not array.size:
            raise ValueError(f"Array to be initialized must be non-empty, not of shape {array.shape}.")
        n_out, n_in = len(array), size_of_shape(array.shape[1:])
        no_more, no_fewer = _MODES[self.mode]
        if n_in > n_out and no_more or n_in < n_out and no_fewer:
            raise ValueError(
                f"Cannot make orthogonal {self.mode}. shape = {array.shape}, "
                f"interpreted as {n_in}-dim input and {n_out}-dim output."
            )
        a = backend.CpuDevice().send(random.normal(size=(n_out, n_in)))
        q, r = numpy.linalg.qr(a.T if n_in > n_out else a)
        q *= numpy.copysign(self.scale, numpy.diag(r))
        if n_in > n_out:
            q = q.T
        backend.copyto(array, q.reshape(array.shape).astype(array.dtype, copy=False))
