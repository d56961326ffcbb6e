"""Loss, the base class, and the losses that compare predictions and labels element by element."""

from __future__ import annotations

from functools import lru_cache
from inspect import signature
from typing import Any

from .. import ndarray
from .._docs import sharing
from ..base import MXNetError, numeric_types
from ..ndarray import NDArray
from ..ndarray._operator import op
from .block import HybridBlock


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
    """The engine's ops that losses use, for symbols: each calls an operator of MXNet."""

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
    """Base class of losses. A subclass defines `hybrid_forward(F, pred, label, sample_weight=None)`.

    A loss is called with NDArrays or Symbols and gives one number for each sample of the batch. `backward` adds up the
    gradients of all samples, and `Trainer.step(batch_size)` divides them by the size of the batch.

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in the prediction.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        AssertionError: in a call, `weight` is no number.
        AssertionError, TypeError or ValueError: in a call, an argument after the first is no
            NDArray; the class is that of the original's error.

    Example:
        >>> class Cubic(gluon.loss.Loss):
        ...     def hybrid_forward(self, F, pred, label, sample_weight=None):
        ...         return F.mean(F.abs(pred - label) ** 3, axis=self._batch_axis, exclude=True)
        >>> Cubic(None, 0)(nd.array([[1.0, 3.0]]), nd.array([[1.0, 1.0]])).asnumpy()
        array([4.], dtype=float32)

    Source: `mxnet.gluon.loss.Loss` of MXNet 1.9.1.
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._weight = weight
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def forward(self, x: Any, *args: Any) -> Any:
        try:
            # without parameters, HybridBlock.forward would do nothing more
            if type(x) is NDArray and x._ctx is None and not self._reg_params:
                return self.hybrid_forward(ndarray, x, *args)
            return super().forward(x, *args)
        except (AssertionError, AttributeError, MXNetError, TypeError) as error:
            self._check_arrays(args, error)
            raise

    def _check_arrays(self, args: tuple[Any, ...], error: Exception) -> None:
        # NumPy arrays as labels are a frequent mistake, and an operator's error would not name the loss's argument
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
    """A loss `_each` of each element, which is weighted, and averaged over all axes but that of the batch.

    Call with `pred`, `label` of as many elements, and optionally `sample_weight` that broadcasts to `pred`; the result
    has shape (batch size,).
    """

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        raise NotImplementedError

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = self._each(_ops(F), pred, _reshape_like(F, label, pred))
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class L2Loss(_ElementwiseLoss):
    """Half the mean square of the difference: mean((label - pred)^2) / 2 over each sample, times `weight`.

    Call: `loss(pred, label, sample_weight=None)`. `pred` is floating point of any shape with the batch at `batch_axis`,
    `label` has as many elements and is taken in the shape of `pred`, `sample_weight` broadcasts to `pred` and
    multiplies its elements. The result has shape (batch size,) and the dtype of `pred`.

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `label` has another number of elements than `pred`.

    Example:
        >>> loss = gluon.loss.L2Loss()
        >>> loss(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[1.0, 0.0], [3.0, 3.0]])).asnumpy()
        array([1.  , 0.25], dtype=float32)

    Source: `mxnet.gluon.loss.L2Loss` of MXNet 1.9.1.
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: NDArray, label: NDArray, sample_weight: NDArray | None = None) -> NDArray:
        loss = _ops(F).squared_error(pred, _reshape_like(F, label, pred))
        half = 0.5 if self._weight is None else self._weight / 2
        return self._mean(F, _apply_weighting(F, loss, half, sample_weight))


class L1Loss(_ElementwiseLoss):
    """The mean absolute difference over each sample: mean(|label - pred|), times `weight`.

    Call: `loss(pred, label, sample_weight=None)`, with arrays as in L2Loss. The result has shape (batch size,).

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `label` has another number of elements than `pred`.

    Example:
        >>> loss = gluon.loss.L1Loss()
        >>> loss(nd.array([[1.0, 2.0], [3.0, 4.0]]), nd.array([[1.0, 0.0], [3.0, 3.0]])).asnumpy()
        array([1. , 0.5], dtype=float32)

    Source: `mxnet.gluon.loss.L1Loss` of MXNet 1.9.1.
    """

    def __init__(self, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        return o.abs(label - pred)


class HuberLoss(_ElementwiseLoss):
    """Squares below a difference of `rho`, absolute differences above it, averaged over each sample.

    With d = |label - pred|: d^2 / (2 rho) where d <= rho, else d - rho / 2.
    Call: `loss(pred, label, sample_weight=None)`, with arrays as in L2Loss. The result has shape (batch size,).

    Args:
        rho: the difference where the two parts meet, above 0.
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `label` has another number of elements than `pred`.

    Example:
        >>> gluon.loss.HuberLoss()(nd.array([[0.5], [3.0]]), nd.array([[0.0], [0.0]])).asnumpy()
        array([0.125, 2.5  ], dtype=float32)

    Source: `mxnet.gluon.loss.HuberLoss` of MXNet 1.9.1.
    """

    def __init__(self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        error = o.abs(label - pred)
        return o.where(error > self._rho, error - 0.5 * self._rho, (0.5 / self._rho) * o.square(error))


_HINGE = """
    Call: `loss(pred, label, sample_weight=None)`, with arrays as in L2Loss. The result has shape (batch size,).

    Args:
        margin: the value of pred * label from which the loss is 0.
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        MXNetError: in a call, `label` has another number of elements than `pred`.

    Source: `mxnet.gluon.loss.{name}` of MXNet 1.9.1.
    """


@sharing(_HINGE)
class HingeLoss(_ElementwiseLoss):
    """max(0, margin - pred * label) for labels -1 and 1, averaged over each sample.

    Example:
        >>> gluon.loss.HingeLoss()(nd.array([[0.5], [-2.0]]), nd.array([[1], [1]])).asnumpy()
        array([0.5, 3. ], dtype=float32)
    """

    def __init__(self, margin: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Any) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        excess = self._margin - pred * label
        return o.relu(excess, rule="slope") if o is op else o.relu(excess)


@sharing(_HINGE)
class SquaredHingeLoss(HingeLoss):
    """max(0, margin - pred * label)^2 for labels -1 and 1, averaged over each sample.

    Example:
        >>> gluon.loss.SquaredHingeLoss()(nd.array([[0.5], [-2.0]]), nd.array([[1], [1]])).asnumpy()
        array([0.25, 9.  ], dtype=float32)
    """

    def _each(self, o: Any, pred: NDArray, label: NDArray) -> NDArray:
        return o.square(super()._each(o, pred, label))


class LogisticLoss(_ElementwiseLoss):
    """log(1 + exp(-pred * label)) for labels -1 and 1, averaged over each sample.

    Call: `loss(pred, label, sample_weight=None)`, with arrays as in L2Loss. The result has shape (batch size,).

    Args:
        weight: number that every loss is multiplied by; None is 1.
        batch_axis: axis of the samples in `pred`.
        label_format: "signed" for labels -1 and 1, "binary" for labels 0 and 1.
        **kwargs: `prefix` and `params`, as in HybridBlock.

    Raises:
        ValueError: another `label_format`.

    Example:
        >>> loss = gluon.loss.LogisticLoss(label_format="binary")
        >>> loss(nd.array([[0.0], [100.0]]), nd.array([[1], [0]])).asnumpy()
        array([  0.6931472, 100.       ], dtype=float32)

    Source: `mxnet.gluon.loss.LogisticLoss` of MXNet 1.9.1.
    """

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
