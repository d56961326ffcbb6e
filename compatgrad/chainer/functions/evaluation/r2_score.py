"""Coefficient of determination."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class R2_score(function.Function):
    documented = "r2_score"

    def __init__(self, sample_weight: None, multioutput: str) -> None:
        if sample_weight is not None:
            raise NotImplementedError("r2_score: sample_weight is not supported, as in Chainer")
        if multioutput not in ("uniform_average", "raw_values"):
            raise ValueError(
                f"invalid multioutput argument: {multioutput!r}. Expected 'uniform_average' or 'raw_values'"
            )
        self.multioutput = multioutput

    @type_check._expects
    def check_type_forward(self, pred, true):
        return pred.dtype.kind == "f", true.dtype.kind == "f", pred.shape == true.shape

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        xp = backend.get_array_module(*inputs)
        pred, true = inputs
        residual = xp.asarray(((pred - true) ** 2).sum(axis=0))
        total = xp.asarray(((true - true.mean(axis=0)) ** 2).sum(axis=0))
        constant = total == 0
        score = xp.where(constant, 0.0, 1 - residual / xp.where(constant, 1, total))
        score = score.astype(pred.dtype, copy=False)
        return (xp.asarray(score.mean()) if self.multioutput == "uniform_average" else score,)


def r2_score(
    pred: VariableOrArray, true: VariableOrArray, sample_weight: None = None, multioutput: str = "uniform_average"
) -> Variable:
    """R² of predictions: 1 - (sum of squared errors) / (sum of squared deviations from the mean). Not differentiable.

    Args:
        pred: floating, (n, ...): predictions of n samples.
        true: floating, of the shape of `pred`: targets.
        sample_weight: None.
        multioutput: "uniform_average" for the mean over the outputs, "raw_values" for a value for each.

    Returns:
        Variable of the dtype of `pred` and shape (), or the shape of a sample; an output whose targets are all the same
        has 0.

    Raises:
        NotImplementedError: `sample_weight` is given.
        ValueError: `multioutput` has another value.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> F.r2_score(np.array([1.0, 2.0, 4.0]), np.array([1.0, 2.0, 3.0])).array
        array(0.5)

    Source: `chainer.functions.r2_score` of Chainer 7.8.1.
    """
    return R2_score(sample_weight, multioutput)(pred, true)
