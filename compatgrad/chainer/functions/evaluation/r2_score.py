"""Coefficient of determination."""

from compatgrad.chainer import backend, function
from compatgrad.chainer.utils import type_check


class R2_score(function.Function):
    def __init__(self, sample_weight, multioutput):
        if sample_weight is not None:
            raise NotImplementedError("r2_score: sample_weight is not supported, as in Chainer")
        if multioutput not in ("uniform_average", "raw_values"):
            raise ValueError(
                f"invalid multioutput argument: {multioutput!r}. Expected 'uniform_average' or 'raw_values'"
            )
        self.multioutput = multioutput

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("pred", "true"))
        pred, true = in_types
        type_check.expect(pred.dtype.kind == "f", true.dtype.kind == "f", pred.shape == true.shape)

    def forward(self, inputs):
        xp = backend.get_array_module(*inputs)
        pred, true = inputs
        residual = xp.asarray(((pred - true) ** 2).sum(axis=0))
        total = xp.asarray(((true - true.mean(axis=0)) ** 2).sum(axis=0))
        constant = total == 0
        score = xp.where(constant, 0.0, 1 - residual / xp.where(constant, 1, total))
        score = score.astype(pred.dtype, copy=False)
        return (xp.asarray(score.mean()) if self.multioutput == "uniform_average" else score,)


def r2_score(pred, true, sample_weight=None, multioutput="uniform_average"):
    """R^2 of predictions: 1 - (sum of squared errors) / (sum of squared deviations).

    0 where `true` is constant. `multioutput`: "uniform_average" over the outputs or "raw_values".
    `sample_weight` must be None.
    """
    return R2_score(sample_weight, multioutput)(pred, true)
