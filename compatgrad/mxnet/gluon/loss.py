"""Losses: one number per sample, the mean (or sum) over the other axes."""

from __future__ import annotations

import math
from typing import Any

from .. import ndarray
from ..base import MXNetError
from ..ndarray import NDArray
from ..ndarray._operator import op
from ._loss import (
    HingeLoss,
    HuberLoss,
    L1Loss,
    L2Loss,
    LogisticLoss,
    Loss,
    SquaredHingeLoss,
    _apply_weighting,
    _ops,
    _reshape_like,
    _softplus_of_minus_abs,
)

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


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross entropy of labels in [0, 1] and sigmoid(pred), averaged over each sample.

    Call: `loss(pred, label, sample_weight=None, pos_weight=None)`. `pred` is floating point of any shape, `label` has
    as many elements; `sample_weight` and `pos_weight`, a factor on the part of positive labels, broadcast to `pred`.
    The result has shape (batch size,).

    Args:
        from_sigmoid: `pred` is a probability already; otherwise it is a score, which is the safer choice for large
            values.
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `label` has another number of elements than `pred`.

    Example:
        >>> loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()
        >>> loss(nd.array([[0.0], [100.0]]), nd.array([[1.0], [0.0]])).asnumpy()
        array([  0.6931472, 100.       ], dtype=float32)

    Source: `mxnet.gluon.loss.SigmoidBinaryCrossEntropyLoss` of MXNet 1.9.1.
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
    """Cross entropy of labels and softmax(pred) along `axis`, averaged over the other axes of each sample.

    Call: `loss(pred, label, sample_weight=None)`. `pred` is floating point, its classes along `axis`; `sample_weight`
    broadcasts to `pred` with length 1 along `axis`. The result has shape (batch size,).

    Args:
        axis: axis of the classes in `pred`.
        sparse_label: labels are numbers of classes, in the shape of `pred` without `axis`, in any dtype; otherwise they
            are probabilities in the shape of `pred`.
        from_logits: `pred` is a log probability already (the result of log_softmax).
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, the shape of `label` does not fit that of `pred`.

    Example:
        >>> loss = gluon.loss.SoftmaxCrossEntropyLoss()
        >>> loss(nd.array([[0.0, 0.0], [0.0, 100.0]]), nd.array([1, 1])).asnumpy()
        array([0.6931472, 0.       ], dtype=float32)

    Source: `mxnet.gluon.loss.SoftmaxCrossEntropyLoss` of MXNet 1.9.1.
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
    """The Kullback-Leibler divergence of `label` from `pred`: the sum of label * (log(label) - pred) over each sample.

    Call: `loss(pred, label, sample_weight=None)`. `pred` holds log probabilities, `label` probabilities, both floating
    point and of one shape; `sample_weight` broadcasts to `pred`. The result has shape (batch size,).

    Args:
        from_logits: `pred` is a log probability already; otherwise log_softmax along `axis` makes it one.
        axis: axis of the classes, where `from_logits` is false.
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, the shapes of `label` and `pred` do not broadcast.

    Example:
        >>> loss = gluon.loss.KLDivLoss(from_logits=False)
        >>> loss(nd.array([[0.0, 0.0]]), nd.array([[1.0, 0.0]])).asnumpy()
        array([0.6931472], dtype=float32)

    Source: `mxnet.gluon.loss.KLDivLoss` of MXNet 1.9.1.
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
    """Connectionist temporal classification: minus the log probability of a label sequence without an alignment.

    Call: `loss(pred, label, pred_lengths=None, label_lengths=None, sample_weight=None)`. `pred` holds scores of shape
    (batch, time, classes) in the order of `layout`, without a softmax; its last class is the blank. `label` has shape
    (batch, longest) in the order of `label_layout`, numbers of classes, padded with -1. The lengths and `sample_weight`
    have shape (batch size,), and so has the result.

    Args:
        layout: "NTC" or "TNC", the order of the axes batch, time and classes of `pred`.
        label_layout: "NT" or "TN", the order of the axes of `label`.
        weight: number that every loss is multiplied by; None is 1.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        AssertionError: another `layout` or `label_layout`.

    Example:
        >>> loss = gluon.loss.CTCLoss()
        >>> pred = nd.zeros((1, 2, 3))  # two steps, of two classes and the blank
        >>> loss(pred, nd.array([[1, -1]])).asnumpy()  # three of nine paths: 1 1, 1 blank, blank 1
        array([1.0986123], dtype=float32)

    Source: `mxnet.gluon.loss.CTCLoss` of MXNet 1.9.1. Graves, Fernandez, Gomez, Schmidhuber, 2006.
    """

    def __init__(
        self, layout: str = "NTC", label_layout: str = "NT", weight: float | None = None, **kwargs: Any
    ) -> None:
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


class TripletLoss(Loss):
    """max(0, |positive - pred|^2 - |negative - pred|^2 + margin) of each sample.

    Call: `loss(pred, positive, negative)`, three floating-point arrays of as many elements, in which the anchor `pred`
    is to be nearer to `positive` than to `negative`. The result has shape (batch size,).

    Args:
        margin: squared distance by which the negative has to be farther away.
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, another array has another number of elements than `pred`.

    Example:
        >>> anchor, near, far = nd.array([[0.0, 0.0]]), nd.array([[1.0, 0.0]]), nd.array([[1.0, 0.5]])
        >>> gluon.loss.TripletLoss()(anchor, near, far).asnumpy()
        array([0.75], dtype=float32)

    Source: `mxnet.gluon.loss.TripletLoss` of MXNet 1.9.1.
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: NDArray, positive: NDArray, negative: NDArray) -> NDArray:
        o = _ops(F)
        near = o.squared_error(_reshape_like(F, positive, pred), pred)
        far = o.squared_error(_reshape_like(F, negative, pred), pred)
        loss = F.relu(self._sum(F, near - far) + self._margin)
        return _apply_weighting(F, loss, self._weight)


class PoissonNLLLoss(Loss):
    """Negative log likelihood of counts under Poisson distributions, averaged over all elements and samples.

    Call: `loss(pred, target, sample_weight=None, epsilon=1e-08)`. `pred` is floating point, `target` has as many
    elements, `sample_weight` broadcasts to `pred`, `epsilon` keeps the logarithm of a rate finite. The result has shape
    (1,).

    Args:
        weight: number that the loss is multiplied by; None is 1.
        from_logits: `pred` is the logarithm of the rate; otherwise the rate itself.
        batch_axis: axis of the samples in `pred`.
        compute_full: adds Stirling's approximation of log(target!) where target > 1, which does not change gradients.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `target` has another number of elements than `pred`.

    Example:
        >>> loss = gluon.loss.PoissonNLLLoss(from_logits=False)
        >>> loss(nd.array([[1.0], [3.0]]), nd.array([[2.0], [0.0]])).asnumpy()
        array([2.], dtype=float32)

    Source: `mxnet.gluon.loss.PoissonNLLLoss` of MXNet 1.9.1.
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

    Call: `loss(input1, input2, label, sample_weight=None)`. The rows of two floating-point arrays of shape (batch size,
    n) are compared, `label` has shape (batch size,), the result (batch size, 1).

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples.
        margin: cosine, from -1 to 1, below which pairs of label -1 cost nothing.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `input1` has another number of elements than `input2`.

    Example:
        >>> x, y = nd.array([[1.0, 0.0], [1.0, 0.0]]), nd.array([[0.0, 1.0], [2.0, 0.0]])
        >>> gluon.loss.CosineEmbeddingLoss()(x, y, nd.array([1, -1])).asnumpy()
        array([[1.],
               [1.]], dtype=float32)

    Source: `mxnet.gluon.loss.CosineEmbeddingLoss` of MXNet 1.9.1.
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
        loss = (1 - cos) * (label == 1) + F.relu((label == -1) * (cos - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)

    def _cosine_similarity(self, F: Any, x: NDArray, y: NDArray, axis: int = -1) -> NDArray:
        o = _ops(F)
        norms = F.norm(x, axis=axis).reshape((-1, 1)) * F.norm(y, axis=axis).reshape((-1, 1))
        return o.sum(x * y, axis=axis).reshape((-1, 1)) / o.maximum_scalar(norms, value=1e-12)


class SDMLLoss(Loss):
    """Smoothed deep metric learning: `x1[i]` and `x2[i]` belong together, all other rows of the batch do not.

    Divergence of the smoothed identity matrix from the softmax of minus the squared distances of all pairs of rows.
    Call: `loss(x1, x2)`, floating-point arrays of shape (batch size, n); the result has shape (batch size,).

    Args:
        smoothing_parameter: probability that is spread over the wrong pairs, below 1.
        weight: kept for `repr`; the result is not multiplied by it.
        batch_axis: axis of the samples.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        AssertionError: in a call, the shapes of `x1` and `x2` differ.

    Example:
        >>> x = nd.array([[0.0, 0.0], [3.0, 4.0]])
        >>> loss = gluon.loss.SDMLLoss()
        >>> loss(x, x).asnumpy() < loss(x, x[::-1]).asnumpy()
        array([ True,  True])

    Source: `mxnet.gluon.loss.SDMLLoss` of MXNet 1.9.1. Bonadiman, Kumar, Mittal, 2019.
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
