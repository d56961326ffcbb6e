"""Cross entropy of softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.activation.log_softmax import log_softmax
from compatgrad.chainer.functions.activation.softmax import softmax
from compatgrad.chainer.functions.array.broadcast import broadcast_to
from compatgrad.chainer.functions.array.cast import cast
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.rollaxis import rollaxis
from compatgrad.chainer.functions.array.select_item import select_item
from compatgrad.chainer.functions.math.logsumexp import logsumexp
from compatgrad.chainer.functions.math.sum import sum as _sum
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_array, as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable

_get_mode = _C.get_mode


def _check_class_weight_option(class_weight):
    if class_weight is None:
        return
    if class_weight.ndim != 1:
        raise ValueError(f"class_weight.ndim should be 1. Actual shape: {class_weight.shape}")
    if class_weight.dtype.kind != "f":
        raise ValueError(f"The dtype of class_weight should be 'f'. Actual: {class_weight.dtype}")
    if isinstance(class_weight, _C.Variable):
        raise ValueError("class_weight should be a numpy.ndarray or cupy.ndarray, not a chainer.Variable")


def _check_reduce_option(reduce):
    if reduce not in ("mean", "no"):
        raise ValueError(f"only 'mean' and 'no' are valid for 'reduce', but '{reduce}' is given")


def _check_input_values(x, t, ignore_label):
    if not (((0 <= t) & (t < x.shape[1])) | (t == ignore_label)).all():
        raise ValueError(f"Each label `t` need to satisfy `0 <= t < x.shape[1] or t == {ignore_label}`")


class SoftmaxCrossEntropy(_native.NativeFunction):
    op = "softmax_cross_entropy"
    cache_score = True
    class_weight = None
    eps = 1e-7

    def __init__(
        self,
        normalize: bool = True,
        cache_score: bool = True,
        class_weight: NdArray | None = None,
        ignore_label: int = -1,
        reduce: str = "mean",
        soft_target_loss: str = "cross-entropy",
    ) -> None:
        _check_class_weight_option(class_weight)
        _check_reduce_option(reduce)
        super().__init__(ignore_label=ignore_label, normalize=normalize, reduce=reduce)
        self.cache_score = cache_score
        self.class_weight = class_weight
        self.soft_target_loss = soft_target_loss

    ignore_label = _native.parameter("ignore_label")
    normalize = _native.parameter("normalize")
    reduce = _native.parameter("reduce")

    @property
    def y(self):
        """softmax(x), computed when it is read; None before the function has run, or without `cache_score`."""
        if not (self.is_native and self.cache_score):
            return None
        x = self.inputs[0].data
        return None if x is None else softmax(x).array

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check._argname(in_types, ("x", "t"))
        x, t = in_types
        type_check.expect(x.dtype.kind == "f")
        if type_check.eval(t.dtype.kind) == "i":
            type_check.expect(t.ndim == x.ndim - 1, x.shape[0] == t.shape[0], x.shape[2:] == t.shape[1:])
        else:
            type_check.expect(t.dtype.kind == "f", x.shape == t.shape)

    def _run_bound(self, inputs):
        x, t = inputs
        if x.shape == t.shape:
            return self._soft_target(x, as_array(t))  # targets get no gradient
        if _get_mode("debug"):
            _check_input_values(x, as_array(t), self.ignore_label)
        weight = self.class_weight
        if weight is not None:
            weight = backend.from_chx(weight).astype(x.dtype, copy=False)
        return self._bound._apply_as(self, x, t, weight, **self.op_params)

    def _soft_target(self, x, t):
        # Chainer's gradient is softmax(x) - t, also where t does not sum to 1.
        logz = logsumexp(x, axis=1)
        offset = (t.sum(axis=1) - 1) * logz.array
        if self.soft_target_loss == "kl-divergence":
            offset += (t * backend.get_array_module(t).log(t + self.eps)).sum(axis=1)
        loss = logz - _sum(t * as_variable(x), axis=1) + offset
        return loss if self.reduce == "no" else _sum(loss) * (x.shape[1] / x.size)


def _checked(x, t, class_weight, ignore_label, normalize, reduce, cache_score=True, soft_target_loss="cross-entropy"):
    function = SoftmaxCrossEntropy(normalize, cache_score, class_weight, ignore_label, reduce, soft_target_loss)
    loss = function.apply((x, t))[0]
    if not cache_score:
        loss._function = function  # a new `creator`, made for a lost one, would not have this option
    return loss


_softmax_cross_entropy = frontend.bind("softmax_cross_entropy", _checked)


def _composed(x, t, normalize, class_weight, ignore_label, reduce):
    # With enable_double_backprop, Chainer's hooks and graphs show these functions instead of one.
    t = as_array(t)
    _check_class_weight_option(class_weight)
    _check_reduce_option(reduce)
    if _get_mode("debug"):
        _check_input_values(x, t, ignore_label)
    loss = -log_softmax(x)
    if class_weight is not None:
        shape = [-1 if axis == 1 else 1 for axis in range(x.ndim)]
        loss = loss * broadcast_to(as_variable(class_weight.reshape(shape)), x.shape)
    in_use = (t != ignore_label).astype(x.dtype)
    loss = rollaxis(loss, 1, loss.ndim)
    loss = reshape(loss, (-1, loss.shape[-1]))
    loss = select_item(loss, t.clip(0, loss.shape[1] - 1).ravel())
    loss = reshape(loss, t.shape) * in_use
    if reduce == "no":
        return loss
    wide = numpy.float32 if x.dtype == numpy.float16 else x.dtype
    count = max(in_use.astype(wide, copy=False).sum() if normalize else len(x), 1.0)
    if wide == loss.dtype:
        return _sum(loss / count)
    return cast(_sum(cast(loss, wide) / count), x.dtype)


def softmax_cross_entropy(
    x: VariableOrArray,
    t: VariableOrArray,
    normalize: bool = True,
    cache_score: bool = True,
    class_weight: NdArray | None = None,
    ignore_label: int = -1,
    reduce: str = "mean",
    enable_double_backprop: bool = False,
    soft_target_loss: str = "cross-entropy",
) -> Variable:
    """Cross entropy of softmax(x) with labels or with distributions.

    The result can be differentiated any number of times, whatever `enable_double_backprop` says.

    Args:
        x: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k) or `ignore_label`; or floating and of the shape of `x`: probabilities,
            which get no gradient.
        normalize: True divides by the number of labels that count, False by n.
        cache_score: False leaves the attribute `y` of the function's node, softmax(x), empty.
        class_weight: floating array (k,) by which the losses of each class are multiplied; None for 1.
        ignore_label: the label that does not count.
        reduce: "mean", or "no" for one loss per label.
        enable_double_backprop: True records the loss as several functions, as Chainer shows them to hooks and in
            graphs.
        soft_target_loss: for probabilities, "cross-entropy" or "kl-divergence".

    Returns:
        Variable of the dtype of `x` and shape (), or (n, ...) with `reduce="no"`.

    Raises:
        ValueError: an option has an unknown value, `class_weight` is no floating array of one axis, or, in debug
            mode, a label is out of range.
        IndexError: a label is out of range.
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.

    Example:
        >>> x = np.array([[0.0, np.log(3.0)], [1.0, 1.0]])
        >>> F.softmax_cross_entropy(x, np.array([1, 0]), reduce="no").array
        array([0.28768207, 0.69314718])
        >>> F.softmax_cross_entropy(x, np.array([1, -1])).array  # the second label does not count
        array(0.28768207)

    Source: `chainer.functions.softmax_cross_entropy` of Chainer 7.8.1.
    """
    if soft_target_loss not in ("cross-entropy", "kl-divergence"):
        raise ValueError(f"soft_target_loss must be 'cross-entropy' or 'kl-divergence'. Actual: {soft_target_loss!r}")
    if enable_double_backprop and not _C.traced():  # the several functions read values, and a graph has no names
        return _composed(x, t, normalize, class_weight, ignore_label, reduce)
    if class_weight is None and cache_score and t.dtype.kind == "i" and not _get_mode("debug"):
        return _softmax_cross_entropy(x, t, None, ignore_label, normalize, reduce)
    return _checked(x, t, class_weight, ignore_label, normalize, reduce, cache_score, soft_target_loss)
