"""Losses, and output layers whose gradient is that of a loss."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch

from compatgrad import _C
from compatgrad.core.configuration import force_backprop_mode
from compatgrad.core.function import FunctionNodeBase

from .._frontend import fe
from ..base import MXNetError
from ._arguments import choice, public_names, require_ndim, require_shape
from ._operator import op, operator
from .ndarray import NDArray, is_recording


# ---- softmax ---------------------------------------------------------------------------------------------------------
@operator("data, label", aliases=("_softmax_cross_entropy",))
def softmax_cross_entropy(data, label):
    """The sum of -log(softmax(data))[label] over the rows of data (batch, classes), with shape (1,).

    label: (batch,); a class out of range stands for the nearest class. MXNetError for other shapes.

    Args:
        data: scores, floating point, shape (batch, classes).
        label: classes, shape (batch,).

    Returns:
        NDArray of the dtype of `data`, shape (1,).

    Example:
        >>> nd.softmax_cross_entropy(nd.zeros((1, 2)), nd.array([1])).asnumpy().round(3)
        array([0.693], dtype=float32)
    """
    require_ndim("softmax_cross_entropy", "data", data, 2)
    require_shape("softmax_cross_entropy", "label", label.shape, data.shape[:1])
    return op.reshape(op.sum(op.pick_cross_entropy(data, label, axis=1)), shape=(1,))


def _one_hot(label: torch.Tensor, classes: int, axis: int, smooth: float, like: torch.Tensor) -> torch.Tensor:
    """1 - smooth for the class of a label, smooth / (classes - 1) for the others; all 0 for a label out of range."""
    places = label.to(torch.int64).unsqueeze(axis)
    known = (places >= 0) & (places < classes)
    shape = list(places.shape)
    shape[axis] = classes
    target = torch.full(shape, smooth / (classes - 1) if smooth else 0.0, dtype=like.dtype, device=like.device)
    target.scatter_(axis, places.clamp(0, classes - 1), 1 - smooth)
    return target * known


def _count(normalization: str, batch: int, label: torch.Tensor, ignore: float) -> float:
    """The number by which `normalization` divides the gradient."""
    if normalization == "valid":
        return max(int((label != ignore).sum()), 1)
    return batch if normalization == "batch" else 1


@operator("data, label", aliases=("Softmax",))
def SoftmaxOutput(
    data, label, grad_scale=1.0, ignore_label=-1.0, multi_output=False, use_ignore=False, preserve_shape=False,
    normalization="null", out_grad=False, smooth_alpha=0.0,
):  # fmt: skip
    """Softmax, whose gradient is that of the cross entropy with `label`, for any gradient of the result.

    All axes of data but the first are classes; with `preserve_shape` only the last axis, with `multi_output` only axis
    1. label: numbers of classes, or probabilities in data's shape. The gradient is (softmax - target) * grad_scale,
    divided by the size of the batch (normalization "batch") or the number of labels that are not `ignore_label`
    ("valid"); otherwise, with `multi_output`, by the number of positions in a sample. `use_ignore`: the gradient is 0
    where label is ignore_label. `smooth_alpha`: the part of a label that goes to the other classes. `out_grad`: the
    gradient is also multiplied by that of the result. MXNetError if shapes do not fit.

    Args:
        data: scores, floating point, shape (batch, classes, ...).
        label: classes, shape (batch, ...), or probabilities of the shape of `data`.

    Example:
        >>> x = nd.zeros((1, 2))
        >>> x.attach_grad()
        >>> with autograd.record():
        ...     y = nd.SoftmaxOutput(x, nd.array([1]))
        >>> y.backward()
        >>> x.grad.asnumpy()
        array([[ 0.5, -0.5]], dtype=float32)
    """
    name = "SoftmaxOutput"
    choice(name, "normalization", normalization)
    shape, labels = data.shape, label.tensor
    if len(shape) < 2:
        raise MXNetError(f"{name}: data must have at least 2 axes, got the shape {shape}")
    if multi_output:
        rest = shape[2:]
        if labels.numel() != shape[0] * math.prod(rest):
            require_shape(name, "label", label.shape, (shape[0], *rest))
        classes, axis, smooth = shape[1], 1, 0.0
        x = op.reshape(data, shape=(shape[0], classes, math.prod(rest))) if len(shape) != 3 else data
        labels, probable = labels.reshape(shape[0], -1), False
        scale = 1.0 if normalization == "valid" else 1.0 / math.prod(rest)
        batch = shape[0]
    else:
        probable = label.shape == shape
        if not probable:
            require_shape(name, "label", label.shape, shape[:-1])
        classes = shape[-1] if preserve_shape else math.prod(shape[1:])
        axis, scale, smooth = 1, 1.0, smooth_alpha
        samples = math.prod(shape[:-1] if preserve_shape else shape[:1])
        x = data if len(shape) == 2 else op.reshape(data, shape=(samples, classes))
        batch = labels.numel()
        labels = labels.reshape(x.shape) if probable else labels.reshape(-1)[: x.shape[0]]
    y = op.softmax(x, axis=axis)
    if not is_recording() and not _C.traced():  # the result alone is asked for
        return y if x is data else op.reshape(y, shape=shape)
    if probable:
        target, scale = labels.to(x.tensor.dtype), grad_scale
    else:
        target = _one_hot(labels, classes, axis, smooth, x.tensor)
        scale *= grad_scale / _count(normalization, batch, label.tensor, ignore_label)
    g = op.sub(y, NDArray(target))
    if scale != 1:
        g = op.mul_scalar(g, value=scale)
    if use_ignore and not probable:
        g = op.dropout_mask(g, mask=(labels != ignore_label).unsqueeze(axis).expand(x.shape))
    y = op.loss_output(x, y, g, multiply=out_grad)
    return y if x is data else op.reshape(y, shape=shape)


# ---- regression and margins ------------------------------------------------------------------------------------------
def _regression(name: str, data: NDArray, label: NDArray, grad_scale: float, output: Callable[[NDArray], NDArray],
                slope: Callable[[NDArray], NDArray]) -> NDArray:  # fmt: skip
    if label.tensor.numel() != data.tensor.numel():
        require_shape(name, "label", label.shape, data.shape)
    y = output(data)
    numbers = data.tensor.numel() // max(data.shape[0], 1)
    d = slope(op.sub(y, NDArray(label.tensor.reshape(data.shape).to(data.tensor.dtype))))
    return op.loss_output(data, y, op.mul_scalar(d, value=grad_scale / max(numbers, 1)))


@operator("data, label")
def LinearRegressionOutput(data, label, grad_scale=1.0):
    """data; its gradient is (data - label) * grad_scale / (elements per sample), for any gradient of the result.

    label has as many elements as data. MXNetError otherwise.

    Args:
        data: floating point, any shape.
        label: of the size of `data`.

    Example:
        >>> nd.LinearRegressionOutput(nd.array([1.0]), nd.array([3.0])).asnumpy()
        array([1.], dtype=float32)
    """
    return _regression("LinearRegressionOutput", data, label, grad_scale, op.copy, lambda d: d)


@operator("data, label")
def LogisticRegressionOutput(data, label, grad_scale=1.0):
    """sigmoid(data), whose gradient is (sigmoid(data) - label) * grad_scale / (elements per sample).

    It does not depend on the gradient of the result. label has as many elements as data. MXNetError otherwise.

    Args:
        data: floating point, any shape.
        label: of the size of `data`, 0 or 1.

    Example:
        >>> nd.LogisticRegressionOutput(nd.array([0.0]), nd.array([1.0])).asnumpy()
        array([0.5], dtype=float32)
    """
    return _regression("LogisticRegressionOutput", data, label, grad_scale, op.sigmoid, lambda d: d)


@operator("data, label")
def MAERegressionOutput(data, label, grad_scale=1.0):
    """data, whose gradient is sign(data - label) * grad_scale / (elements per sample).

    It does not depend on the gradient of the result. label has as many elements as data. MXNetError otherwise.

    Args:
        data: floating point, any shape.
        label: of the size of `data`.

    Example:
        >>> nd.MAERegressionOutput(nd.array([1.0]), nd.array([3.0])).asnumpy()
        array([1.], dtype=float32)
    """
    return _regression("MAERegressionOutput", data, label, grad_scale, op.copy, op.sign)


@operator("data, label")
def SVMOutput(data, label, margin=1.0, regularization_coefficient=1.0, use_linear=False):
    """data (batch, classes), whose gradient is that of a hinge loss with label (batch,).

    The loss sums how far the label's score is below `margin`, and how far the other scores are above -margin, squared
    unless `use_linear`, times `regularization_coefficient`. It does not depend on the gradient of the result.
    MXNetError for other shapes.

    Args:
        data: scores, floating point, shape (batch, classes).
        label: classes, shape (batch,).

    Example:
        >>> nd.SVMOutput(nd.array([[1.0, 2.0]]), nd.array([0])).asnumpy()
        array([[1., 2.]], dtype=float32)
    """
    require_ndim("SVMOutput", "data", data, 2)
    require_shape("SVMOutput", "label", label.shape, data.shape[:1])
    sign = NDArray(1 - 2 * _one_hot(label.tensor, data.shape[1], 1, 0.0, data.tensor))
    excess = op.add_scalar(op.mul(data, sign), value=margin)
    if use_linear:
        g = op.mul_scalar(op.mul(op.greater_scalar(excess, value=0), sign), value=regularization_coefficient)
    else:
        g = op.mul_scalar(op.mul(op.relu(excess), sign), value=2 * regularization_coefficient)
    return op.loss_output(data, op.copy(data), g)


@operator("data", method=False)
def smooth_l1(data, scalar=1.0):
    """(scalar * x) ** 2 / 2 where |x| < 1 / scalar ** 2, else |x| - 0.5 / scalar ** 2.

    Args:
        scalar: the square becomes linear at |x| = 1 / scalar ** 2.

    Example:
        >>> nd.smooth_l1(nd.array([0.5, 2.0]), scalar=1.0).asnumpy()
        array([0.125, 1.5  ], dtype=float32)
    """
    square = scalar * scalar
    if square == 0:  # no |x| reaches the limit
        return op.mul_scalar(op.square(data), value=0.0)
    y = op.huber_loss(data, NDArray(torch.zeros_like(data.tensor)), delta=1 / square)
    return y if square == 1 else op.mul_scalar(y, value=square)


class _SparsityPenalty(FunctionNodeBase):
    """The identity; its backward pass updates a running average of the input and adds a penalty's gradient."""

    _raw = staticmethod(lambda x: x.tensor)
    _variable_type = NDArray
    _frontend = fe

    def __init__(self, average: torch.Tensor, target: float, penalty: float, momentum: float) -> None:
        super().__init__()
        self._average, self._target, self._penalty, self._momentum = average, target, penalty, momentum

    def backward(self, target_input_indexes, grad_outputs):
        (x,), (gy,) = self.get_retained_inputs(), grad_outputs
        average = self._average
        columns = x.tensor.flatten(1)
        require_shape("IdentityAttachKLSparseReg", "data, with its axes after the first joined,", columns.shape[1:],
                      tuple(average.shape))  # fmt: skip
        average.mul_(self._momentum).add_(columns.mean(0), alpha=1 - self._momentum)
        slope = self._penalty * ((1 - self._target) / (1 - average) - self._target / average)
        return (op.add(gy, NDArray(slope.expand(columns.shape).reshape(x.shape))),)


@operator("data, moving_avg", states="moving_avg")
def IdentityAttachKLSparseReg(data, moving_avg, sparseness_target=0.1, penalty=0.001, momentum=0.9):
    """data; its gradient gets that of a penalty on units whose mean activation is not `sparseness_target`.

    The penalty is the Kullback-Leibler divergence of the running mean of each unit, a column of data, from the target,
    times `penalty`. The backward pass updates the running means first, with weight 1 - momentum for data's own.
    MXNetError if shapes do not fit, or a number is not from 0 to 1.

    Args:
        data: activations between 0 and 1, floating point, shape (batch, units).
        moving_avg: the running means, shape (units,).
        sparseness_target: the wanted mean activation, from 0 to 1.
        penalty: the weight of the penalty.

    Example:
        >>> nd.IdentityAttachKLSparseReg(nd.array([[0.5, 0.25]]), nd.array([0.5, 0.5])).asnumpy()
        array([[0.5 , 0.25]], dtype=float32)
    """
    for name, value in (("sparseness_target", sparseness_target), ("momentum", momentum)):
        if not 0 <= value <= 1:
            raise MXNetError(f"IdentityAttachKLSparseReg: {name}: expected a number from 0 to 1, got {value}")
    require_shape("IdentityAttachKLSparseReg", "moving_avg", moving_avg.shape, data.shape[1:2])
    y = op.copy(data)
    if not _C.in_graph(y):
        return y
    node = _SparsityPenalty(moving_avg.tensor, sparseness_target, penalty, momentum)
    with force_backprop_mode():  # Variables of other frontends are recorded outside of `autograd.record`, too
        return node._record((data,), (y.tensor,), (0,), ())[0]


# ---- connectionist temporal classification ---------------------------------------------------------------------------
def _lengths(name: str, argument: str, given: NDArray | None, use: bool, batch: int) -> torch.Tensor | None:
    if bool(use) != (given is not None):
        raise MXNetError(f"{name}: {argument} must be given exactly with use_{argument}=True, got "
                         f"use_{argument}={bool(use)}")  # fmt: skip
    if given is None:
        return None
    require_shape(name, argument, given.shape, (batch,))
    return given.tensor.to(torch.int64)


def _label_lengths(label: torch.Tensor, padding: int) -> torch.Tensor:
    """The number of labels before the first padding."""
    return (label == padding).to(torch.int64).cumsum(1).eq(0).sum(1)


@operator(
    "data, label, data_lengths? if use_data_lengths, label_lengths? if use_label_lengths",
    aliases=("ctc_loss", "_contrib_CTCLoss", "_contrib_ctc_loss"), outputs="output, grad?",
)  # fmt: skip
def CTCLoss(
    data, label, data_lengths=None, label_lengths=None, use_data_lengths=False, use_label_lengths=False,
    blank_label="first",
):  # fmt: skip
    """Connectionist temporal classification: -log of the probability of label given data, (batch,).

    data: (time, batch, classes), before softmax; label: (batch, labels). The blank is the first class or the last
    one; without `label_lengths` a label ends at its first 0 (blank "first") or -1 ("last"). `data_lengths`: how many
    steps of each sample count. As in MXNet the loss is 0 where a label needs more steps than there are. MXNetError
    where shapes do not fit, or a label is no class.

    Args:
        data: scores, floating point, shape (length, batch, classes).
        label: classes, shape (batch, length of labels).

    Returns:
        NDArray of the dtype of `data`, shape (batch,).

    Example:
        >>> nd.CTCLoss(nd.zeros((2, 1, 2)), nd.array([[1.0]])).asnumpy().round(3)
        array([0.288], dtype=float32)
    """
    name = "CTCLoss"
    choice(name, "blank_label", blank_label)
    require_ndim(name, "data", data, 3)
    require_ndim(name, "label", label, 2)
    steps, batch, classes = data.shape
    require_shape(name, "label", label.shape, (batch, label.shape[1]))
    if label.shape[1] > steps or not steps:
        raise MXNetError(f"{name}: label of shape {label.shape} is longer than the {steps} steps of data")
    first = blank_label == "first"
    if use_label_lengths and not use_data_lengths and label_lengths is None:
        data_lengths, label_lengths = None, data_lengths  # without data_lengths, label_lengths is the third input
    labels = label.tensor.to(torch.int64)
    ends = _lengths(name, "data_lengths", data_lengths, use_data_lengths, batch)
    count = _lengths(name, "label_lengths", label_lengths, use_label_lengths, batch)
    if count is None:
        count = _label_lengths(labels, 0 if first else -1)
    blank = 0 if first else classes - 1
    there = torch.arange(labels.shape[1], device=labels.device) < count[:, None]
    chosen = labels[there]
    if chosen.numel() and not 0 <= int(chosen.min()) <= int(chosen.max()) < classes:
        raise MXNetError(f"{name}: label must name one of the {classes} classes, got "
                         f"{int(chosen.min())} to {int(chosen.max())}")  # fmt: skip
    ends = torch.full((batch,), steps, device=labels.device) if ends is None else ends
    return op.ctc_loss(data, *map(NDArray, (torch.where(there, labels, blank), ends, count)), blank=blank)


__all__ = public_names(globals())
