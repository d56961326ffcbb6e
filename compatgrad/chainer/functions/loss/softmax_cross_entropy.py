"""Cross entropy of softmax."""

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
        self, normalize=True, cache_score=True, class_weight=None, ignore_label=-1, reduce="mean",
        soft_target_loss="cross-entropy",
    ):  # fmt: skip
        _check_class_weight_option(class_weight)
        _check_reduce_option(reduce)
        super().__init__(ignore_label=ignore_label, normalize=normalize, reduce=reduce)
        self.cache_score = cache_score
        self.class_weight = class_weight
        self.soft_target_loss = soft_target_loss

    ignore_label = property(lambda self: self.op_params["ignore_label"])
    normalize = property(lambda self: self.op_params["normalize"])
    reduce = property(lambda self: self.op_params["reduce"])

    @property
    def y(self):
        """softmax(x) of a recorded function, made when asked for; None before or without `cache_score`."""
        if not (self.is_native and self.cache_score):
            return None
        x = self.inputs[0].data
        return None if x is None else softmax(x).array

    def check_type_forward(self, in_types):
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
        loss._function = function  # else `creator` would be made anew, without this option
    return loss


_softmax_cross_entropy = frontend.bind("softmax_cross_entropy", _checked)


def _composed(x, t, normalize, class_weight, ignore_label, reduce):
    # The functions that Chainer's hooks and graphs show where double backprop is asked for.
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
    x, t, normalize=True, cache_score=True, class_weight=None, ignore_label=-1, reduce="mean",
    enable_double_backprop=False, soft_target_loss="cross-entropy",
):  # fmt: skip
    """Cross entropy of softmax(x) (N, C, …) and the labels `t` (N, …), int, or distributions `t` of the shape
    of x.

    Labels equal to `ignore_label` count nothing; `class_weight` (C,) scales each class. `reduce="mean"`: the
    mean over the counted labels (`normalize`) or over the batch; "no": one loss per label. Differentiable any
    number of times, whatever `enable_double_backprop` says. Raises InvalidType, or ValueError for bad
    options; in debug mode for labels out of range, which are an IndexError otherwise.
    """
    if soft_target_loss not in ("cross-entropy", "kl-divergence"):
        raise ValueError(f"soft_target_loss must be 'cross-entropy' or 'kl-divergence'. Actual: {soft_target_loss!r}")
    if enable_double_backprop:
        return _composed(x, t, normalize, class_weight, ignore_label, reduce)
    if class_weight is None and cache_score and t.dtype.kind == "i" and not _get_mode("debug"):
        return _softmax_cross_entropy(x, t, None, ignore_label, normalize, reduce)
    return _checked(x, t, class_weight, ignore_label, normalize, reduce, cache_score, soft_target_loss)
