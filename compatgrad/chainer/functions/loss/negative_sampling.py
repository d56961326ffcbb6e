"""Negative sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.activation.softplus import softplus
from compatgrad.chainer.functions.array.cast import cast
from compatgrad.chainer.functions.array.expand_dims import expand_dims
from compatgrad.chainer.functions.array.squeeze import squeeze
from compatgrad.chainer.functions.connection.embed_id import embed_id
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class NegativeSamplingFunction(_composed.ComposedFunction):
    documented = "negative_sampling"
    ignore_label = -1
    samples = None

    def __init__(self, sampler: Callable[[tuple[int, ...]], NdArray], sample_size: int, reduce: str = "sum") -> None:
        super().__init__()
        _composed.check_reduce(reduce, "sum", "no")
        self.sampler = sampler
        self.sample_size = sample_size
        self.reduce = reduce

    @type_check._expects
    def check_type_forward(self, x, t, W):
        return (
            x.dtype.kind == "f",
            x.ndim == 2,
            t.dtype == "int32",
            t.ndim == 1,
            x.shape[0] == t.shape[0],
            W.dtype == x.dtype,
            W.ndim == 2,
        )

    def _make_samples(self, t):
        samples = self.sampler((len(t), self.sample_size + 1))
        samples[:, 0] = t
        return samples

    def compose(self, x: Variable, t: Variable, W: Variable) -> Variable:
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


def negative_sampling(
    x: VariableOrArray,
    t: VariableOrArray,
    W: VariableOrArray,
    sampler: Callable[[tuple[int, ...]], NdArray],
    sample_size: int,
    reduce: str = "sum",
    **kwargs: Any,
) -> Variable | tuple[Variable, NdArray]:
    """Loss of each vector with its label against sampled ones; 0 where the label is -1.

    The loss of vector x, label t and samples s is softplus(-x · W[t]) plus the sum of softplus(x · W[s]).

    Args:
        x: floating, (n, k): vectors.
        t: int32, (n,): labels, or -1.
        W: of the dtype of `x`, (vocabulary, k): a row for each label.
        sampler: called with a shape, returns an integer array of labels, such as `WalkerAlias(p).sample` of
            `chainer.utils`.
        sample_size: the number of samples of each vector.
        reduce: "sum", or "no" for one loss per vector.
        **kwargs: `return_samples` (False): True also returns the sampled labels.

    Returns:
        Variable of the dtype of `x` and shape (), or (n,) with `reduce="no"`; with `return_samples` a pair of it and an
        array (n, 1 + sample_size), the given label first.

    Raises:
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        IndexError: a label is out of range.
        TypeError: there is an unknown option.

    Example:
        >>> x, W = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0], [0.0, 1.0]])
        >>> F.negative_sampling(x, np.array([0], np.int32), W, lambda shape: np.ones(shape, int), sample_size=2).array
        array(1.51322237)

    Source: `chainer.functions.negative_sampling` of Chainer 7.8.1; Mikolov et al. 2013.
    """
    return_samples = False
    if kwargs:
        (return_samples,) = argument.parse_kwargs(kwargs, ("return_samples", False))
    function = NegativeSamplingFunction(sampler, sample_size, reduce)
    loss = function.apply((x, t, W))[0]
    return (loss, function.samples) if return_samples else loss
