"""Negative sampling."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.softplus import softplus
from compatgrad.chainer.functions.array.cast import cast
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.squeeze import squeeze
from compatgrad.chainer.functions.connection.embed_id import embed_id
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import argument, type_check


class NegativeSamplingFunction(_composed.ComposedFunction):
    ignore_label = -1
    samples = None

    def __init__(self, sampler, sample_size, reduce="sum"):
        super().__init__()
        _composed.check_reduce(reduce, "sum", "no")
        self.sampler = sampler
        self.sample_size = sample_size
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("x", "t", "W"))
        x, t, w = in_types
        type_check.expect(
            x.dtype.kind == "f",
            x.ndim == 2,
            t.dtype == "int32",
            t.ndim == 1,
            x.shape[0] == t.shape[0],
            w.dtype == x.dtype,
            w.ndim == 2,
        )

    def _make_samples(self, t):
        samples = self.sampler((len(t), self.sample_size + 1))
        samples[:, 0] = t
        return samples

    def compose(self, x, t, W):
        if self.samples is None:
            self.samples = self._make_samples(t.array)
        dtype = x.dtype
        if dtype == "float16":
            x, W = cast(x, "float32"), cast(W, "float32")
        sign = t.xp.ones(self.sample_size + 1, dtype=x.dtype)
        sign[0] = -1
        w = embed_id(self.samples, W, self.ignore_label)
        wx = squeeze(matmul(w, expand_dims(x, 2)), 2) * sign
        loss = _sum(softplus(wx), axis=1) * (t.array != self.ignore_label)
        if self.reduce == "sum":
            loss = _sum(loss)
        return loss if loss.dtype == dtype else cast(loss, dtype)


def negative_sampling(x, t, W, sampler, sample_size, reduce="sum", **kwargs):
    """Loss of x (N, K) with label t (N,), int32, against `sample_size` negative samples; 0 where the label is
    -1.

    W (vocabulary, K) has a row per label; `sampler(shape)` gives an array of labels. `reduce`: "sum", or "no"
    for one loss per row; ValueError for another. `return_samples=True`: also the labels (N, sample_size + 1),
    the given one first. InvalidType where shapes or dtypes do not fit. Mikolov et al. 2013.
    """
    return_samples = False
    if kwargs:
        (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
    function = NegativeSamplingFunction(sampler, sample_size, reduce)
    loss = function.apply((x, t, W))[0]
    return (loss, function.samples) if return_samples else loss
