"""Base class of the pooling functions over any number of axes."""

import numpy

from compatgrad.chainer.functions import _native, _spatial
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.utils import conv_nd, type_check


class _PoolingND(_native.NativeFunction):
    def __init__(self, ndim, ksize, stride=None, pad=0, **params):
        if ndim <= 0:
            raise ValueError("pooling operation requires at least one spatial dimension.")
        super().__init__(
            ksize=conv_nd.as_tuple(ksize, ndim),
            stride=conv_nd.as_tuple(ksize if stride is None else stride, ndim),
            pad=conv_nd.as_tuple(pad, ndim),
            **params,
        )

    ndim = property(lambda self: len(self.ksize), doc="Number of axes over which the windows extend.")
    ksize = _native.parameter("ksize")
    stride = _native.parameter("stride")
    pad = _native.parameter("pad")

    def check_type_forward(self, in_types):
        type_check.expect(
            in_types.size() == 1,
            in_types[0].dtype.kind == "f",
            in_types[0].ndim == 2 + self.ndim,
            in_types[0].size > 0,
        )

    def _check_outsize(self, x):
        _spatial.outsize(x.shape[2:], self.ksize, self.stride, self.pad, cover_all=self.cover_all)

    def _run_bound(self, inputs):
        self._check_outsize(inputs[0])
        if self.ndim <= 3:
            return super()._run_bound(inputs)
        return self._run_in_steps(inputs[0])

    def _run_in_steps(self, x):
        """Pools more than three axes by two calls, as the op pools three at most: the last three axes, then the
        others."""
        windows = self.ksize, self.stride, self.pad
        for axes in (range(self.ndim - 3, self.ndim), range(self.ndim - 3)):
            others = [a for a in range(x.ndim) if a - 2 not in axes]
            order = (*others, *[2 + a for a in axes])
            x = transpose(x, order)
            batch, lengths = x.shape[: len(others)], x.shape[len(others) :]
            params = dict(zip(("ksize", "stride", "pad"), [[p[a] for a in axes] for p in windows], strict=True))
            step = type(self)(len(axes), **{**self.op_params, **params})
            y = step.apply((reshape(x, (1, -1, *lengths)),))[0]
            x = transpose(reshape(y, batch + y.shape[2:]), tuple(numpy.argsort(order).tolist()))
        return x
