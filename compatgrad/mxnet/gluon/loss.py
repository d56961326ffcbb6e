"""Losses: one number per sample, the mean (or sum) over the other axes."""

from __future__ import annotations

import math
from functools import lru_cache
from inspect import signature
from typing import Any

from .. import ndarray
from ..base import MXNetError, numeric_types
from ..ndarray import NDArray
from ..ndarray._operator import op
from .block import HybridBlock

__all__ = [
    "Loss",
    "L2Loss",
    "L1Loss",
    "SigmoidBinaryCrossEntropyLoss",
    "SigmoidBCELoss",
    "SoftmaxCrossEntropyLoss",
    "SoftmaxCELoss",
    "KLDivLoss",
    "CTCLoss",
    "HuberLoss",
    "HingeLoss",
    "SquaredHingeLoss",
    "LogisticLoss",
    "TripletLoss",
    "PoissonNLLLoss",
    "CosineEmbeddingLoss",
    "SDMLLoss",
]


def _apply_weighting(F: Any, loss: NDArray, weight: float | None = None, sample_weight: NDArray | None = None):
    """`loss` times a number and times an array that broadcasts to it, whichever of them is given."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight) if F is not ndarray else loss * sample_weight
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise AssertionError(f"weight must be a number, not {type(weight).__name__}")
        if weight != 1:
            loss = loss * weight
    return loss


def _reshape_like(F: Any, x: NDArray, y: NDArray) -> NDArray:
    """`x` in the shape of `y`."""
    if F is not ndarray:
        return F.reshape_like(x, y)
    shape = y.shape
    if x.shape != shape and x.size != y.size:
        raise MXNetError(f"the label's shape {x.shape} does not fit the prediction's, {shape}")
    return x if x.shape == shape else x.reshape(shape)


@lru_cache(64)
def _other_axes(ndim: int, axis: int) -> tuple[int, ...]:
    return tuple(i for i in range(ndim) if i != axis % ndim)


class _OnSymbols:
    """The engine's ops that losses use, made of MXNet's operators: for symbols."""

    def __init__(self, F: Any) -> None:
        self.F = F

    def squared_error(self, a: Any, b: Any) -> Any:
        return self.F.square(a - b)

    def softplus(self, x: Any) -> Any:
        return self.F.Activation(x, act_type="softrelu")

    def maximum_scalar(self, x: Any, value: float) -> Any:
        return self.F.maximum(x, value)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.F, name)


def _ops(F: Any) -> Any:
    return op if F is ndarray else _OnSymbols(F)


def _softplus_of_minus_abs(o: Any, x: NDArray) -> NDArray:
    return o.softplus(-o.abs(x))


class Loss(HybridBlock):
    """Base class of losses. A subclass defines ``hybrid_forward(F, pred, label, sample_weight=None)``.

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def forward(self, x: Any, *args: Any) -> Any:
        try:
            # a loss has no parameters: nothing to infer, to fetch or to cache
            if type(x) is NDArray and x._ctx is None and not self._reg_params:
                return self.hybrid_forward(ndarray, x, *args)
            return super().forward(x, *args)
        except (AssertionError, AttributeError, MXNetError, TypeError) as error:
            self._check_arrays(args, error)
            raise

    def _check_arrays(self, args: tuple[Any, ...], error: Exception) -> None:
        # NumPy's labels are a frequent mistake, and an operator inside tells of its own inputs only
        names = list(signature(self.hybrid_forward).parameters)[2:]
        for name, value in zip(names, args, strict=False):
            if value is not None and not hasattr(value, "list_outputs") and not isinstance(value, NDArray):
                kind = ValueError if self._active else AssertionError if isinstance(error, MXNetError) else type(error)
                got = f"{type(value).__module__}.{type(value).__name__}"
                words = f"{type(self).__name__}: {name} must be an NDArray (mx.nd.array makes one), got {got}"
                raise kind(words) from None

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not define hybrid_forward")

    def _mean(self, F: Any, loss: NDArray) -> NDArray:
        if F is not ndarray:
            return F.mean(loss, axis=self._batch_axis, exclude=True)
        axes = _other_axes(loss.ndim, self._batch_axis)
        return op.mean(loss, axis=axes) if axes else loss

    def _sum(self, F: Any, loss: NDArray) -> NDArray:
        if F is not ndarray:
            return F.sum(loss, axis=self._batch_axis, exclude=True)
        axes = _other_axes(loss.ndim, self._batch_axis)
        return op.sum(loss, axis=axes) if axes else loss


class _ElementwiseLoss(Loss):
    """A loss of pairs of elements: `_each`, weighted, and the mean over all axes but that of the batch.

    Call with `pred`, `label` of as many elements, and optionally `sample_weight` that broadcasts to `pred`; the result
    has shape (batch size,).
    """

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        raise NotImplementedError

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = self._each(_ops(F), pred, _reshape_like(F, label, pred))
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class L2Loss(_ElementwiseLoss):
    """Half the squared difference of `pred` and `label`, averaged over each sample, times `weight`."""

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = _ops(F).squared_error(pred, _reshape_like(F, label, pred))
        half = 0.5 if self._weight is None else self._weight / 2
        return self._mean(F, _apply_weighting(F, loss, half, sample_weight))


class L1Loss(_ElementwiseLoss):
    """The absolute difference of `pred` and `label`, averaged over each sample."""

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        return o.abs(label - pred)


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of labels in [0, 1] and sigmoid(pred) (`from_sigmoid`: and `pred` itself).

    Call with `pred`, `label` of as many elements, and optionally `sample_weight` that broadcasts to `pred` and
    `pos_weight`, a factor on the positive part that broadcasts to `pred`. The result has shape (batch size,).
    """

    def __init__(
        self, from_sigmoid: bool = False, weight: float | None = None, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        sample_weight: NDArray | None = None,
        pos_weight: NDArray | None = None,
    ) -> NDArray:
        label = _reshape_like(F, label, pred)
        each = self._of_probabilities if self._from_sigmoid else self._of_logits
        loss = _apply_weighting(F, each(_ops(F), pred, label, pos_weight), self._weight, sample_weight)
        return self._mean(F, loss)

    @staticmethod
    def _of_logits(o: Any, pred: NDArray, label: NDArray, pos_weight: NDArray | None) -> NDArray:
        if pos_weight is None:
            return o.relu(pred) - pred * label + _softplus_of_minus_abs(o, pred)
        # log(1 + exp(-pred)), in a form that does not overflow
        minus_log_sigmoid = _softplus_of_minus_abs(o, pred) + o.relu(-pred)
        return pred - pred * label + (1 + (pos_weight - 1) * label) * minus_log_sigmoid

    @staticmethod
    def _of_probabilities(o: Any, pred: NDArray, label: NDArray, pos_weight: NDArray | None) -> NDArray:
        eps = 1e-12
        positive = o.log(pred + eps) * label
        if pos_weight is not None:
            positive = positive * pos_weight
        return -(positive + o.log(1.0 - pred + eps) * (1.0 - label))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross entropy of labels and softmax(pred) along `axis`.

    Args:
        sparse_label: labels are numbers of classes, in the shape of `pred` without `axis`, in any dtype; otherwise they
            are probabilities in the shape of `pred`.
        from_logits: `pred` already is a log probability.

    Optional last argument of a call: `sample_weight`, which broadcasts to `pred` with length 1 along `axis`. The result
    has shape (batch size,), averaged over the other axes.
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        axis = self._axis
        if F is ndarray and self._sparse_label and not self._from_logits:
            one_each = sample_weight is None and pred.ndim == 2 and self._batch_axis == 0 and axis in (-1, 1)
            try:
                loss = op.pick_cross_entropy(pred, label, axis=axis, keepdims=not one_each)
            except (ValueError, TypeError, RuntimeError) as e:
                raise MXNetError(f"SoftmaxCrossEntropyLoss: {e}") from None
            if one_each:
                return loss if self._weight is None else _apply_weighting(F, loss, self._weight)
        else:
            if not self._from_logits:
                pred = _ops(F).log_softmax(pred, axis=axis)
            if self._sparse_label:
                loss = -F.pick(pred, label, axis=axis, keepdims=True)
            else:
                loss = -_ops(F).sum(pred * _reshape_like(F, label, pred), axis=axis, keepdims=True)
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """Divergence of `label`, a probability, from `pred`, a log probability, summed over each sample.

    Without `from_logits`, `pred` goes through log_softmax along `axis` first. The result has shape (batch size,).
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        o = _ops(F)
        if not self._from_logits:
            pred = o.log_softmax(pred, axis=self._axis)
        loss = label * (o.log(label + 1e-12) - pred)
        return self._sum(F, _apply_weighting(F, loss, self._weight, sample_weight))


class CTCLoss(Loss):
    """Connectionist temporal classification; the last class of `pred` is the blank.

    Args:
        layout: 'NTC' or 'TNC', the axes of `pred`: batch, time, classes.
        label_layout: 'NT' or 'TN', the axes of `label`, whose rows are padded with -1.

    Call with `pred`, `label`, and optionally `pred_lengths` and `label_lengths` of shape (batch size,) and
    `sample_weight`. The result has shape (batch size,).
    """

    def __init__(self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any):
        if layout not in ("NTC", "TNC"):
            raise AssertionError(f"CTCLoss: layout must be 'NTC' or 'TNC', not {layout!r}")
        if label_layout not in ("NT", "TN"):
            raise AssertionError(f"CTCLoss: label_layout must be 'NT' or 'TN', not {label_layout!r}")
        super().__init__(weight, label_layout.find("N"), **kwargs)
        self._layout = layout
        self._label_layout = label_layout

    def hybrid_forward(
        self,
        F: Any,
        pred: NDArray,
        label: NDArray,
        pred_lengths: NDArray | None = None,
        label_lengths: NDArray | None = None,
        sample_weight: NDArray | None = None,
    ) -> NDArray:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        loss = F.CTCLoss(
            pred,
            label,
            pred_lengths,
            label_lengths,
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(_ElementwiseLoss):
    """Quadratic below a difference of `rho`, linear above, averaged over each sample."""

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        error = o.abs(label - pred)
        return o.where(error > self._rho, error - 0.5 * self._rho, (0.5 / self._rho) * o.square(error))


class HingeLoss(_ElementwiseLoss):
    """max(0, margin - pred * label) for labels -1 and 1, averaged over each sample."""

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        return o.relu(self._margin - pred * label)


class SquaredHingeLoss(HingeLoss):
    """The square of HingeLoss's elements, averaged over each sample."""

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        return o.square(super()._each(o, pred, label))


class LogisticLoss(_ElementwiseLoss):
    """log(1 + exp(-pred * label)) for labels -1 and 1 (`label_format` 'binary': 0 and 1), averaged over each sample."""

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, label_format: str = "signed", **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise ValueError(f"LogisticLoss: label_format must be 'signed' or 'binary', not {label_format!r}")
        self._label_format = label_format

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        return o.relu(pred) - pred * label + _softplus_of_minus_abs(o, pred)


class TripletLoss(Loss):
    """max(0, |positive - pred|^2 - |negative - pred|^2 + margin) of each sample.

    All three arguments of a call have as many elements. The result has shape (batch size,).
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, positive: NDArray, negative: NDArray) -> NDArray:
        o = _ops(F)
        near = o.squared_error(_reshape_like(F, positive, pred), pred)
        far = o.squared_error(_reshape_like(F, negative, pred), pred)
        loss = o.relu(self._sum(F, near - far) + self._margin)
        return _apply_weighting(F, loss, self._weight)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts `target` under Poisson distributions, averaged over everything: shape (1,).

    Args:
        from_logits: `pred` is the logarithm of the rate; otherwise the rate itself.
        compute_full: adds Stirling's approximation of log(target!) where target > 1.

    Optional last arguments of a call: `sample_weight`, which broadcasts to `pred`, and `epsilon`, which keeps the
    logarithm of a rate finite.
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: NDArray, target: NDArray, sample_weight: NDArray | None = None, epsilon: float = 1e-08
    ) -> NDArray:
        o = _ops(F)
        target = _reshape_like(F, target, pred)
        if self._from_logits:
            loss = o.exp(pred) - target * pred
        else:
            loss = pred - target * o.log(pred + epsilon)
        if self._compute_full:
            large = target > 1
            # the approximation has no value at 0
            safe = o.maximum_scalar(target, value=1.0)
            stirling = safe * o.log(safe) - safe + 0.5 * o.log(2 * math.pi * safe)
            loss = loss + stirling * large
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """1 - cos(input1, input2) for label 1, max(0, cos(input1, input2) - margin) for label -1.

    The rows of two inputs of shape (batch size, n) are compared, `label` has shape (batch size,), the result
    (batch size, 1).
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, margin: float = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(
        self, F: Any, input1: NDArray, input2: NDArray, label: NDArray, sample_weight: NDArray | None = None
    ) -> NDArray:
        input1 = _reshape_like(F, input1, input2)
        label = label.reshape((-1, 1))
        cos = self._cosine_similarity(F, input1, input2)
        loss = (1 - cos) * (label == 1) + _ops(F).relu((label == -1) * (cos - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)

    def _cosine_similarity(self, F: Any, x: NDArray, y: NDArray, axis: int = -1) -> NDArray:
        o = _ops(F)
        norms = F.norm(x, axis=axis).reshape((-1, 1)) * F.norm(y, axis=axis).reshape((-1, 1))
        return o.sum(x * y, axis=axis).reshape((-1, 1)) / o.maximum_scalar(norms, value=1e-12)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: `x1[i]` and `x2[i]` belong together, all other rows of the batch do not.

    Divergence of the smoothed identity matrix from the softmax of minus the squared distances of all pairs of rows.
    Both inputs have shape (batch size, n), the result (batch size,).

    Args:
        smoothing_parameter: probability that is spread over the wrong pairs, below 1.
    """

    def __init__(
        self, smoothing_parameter: float = 0.3, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: NDArray, x2: NDArray) -> NDArray:
        if x1.shape != x2.shape:
            raise AssertionError(f"SDMLLoss: x1 has shape {x1.shape}, x2 {x2.shape}; they must be equal")
        n = x1.shape[0]
        distances = op.sum(op.squared_error(x1.expand_dims(1), x2.expand_dims(0)), axis=2)
        same = ndarray.eye(n, ctx=x1.context, dtype=x1.dtype)
        labels = same * (1 - self.smoothing_parameter) + (1 - same) * self.smoothing_parameter / (n - 1)
        return self.kl_loss(op.log_softmax(-distances, axis=1), labels)
