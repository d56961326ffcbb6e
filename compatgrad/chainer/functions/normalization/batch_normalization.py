"""Batch normalisation (Ioffe and Szegedy 2015)."""

import warnings
from collections.abc import Sequence

import numpy

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check

_KEYWORDS = {"train": "train argument is not supported anymore. Use chainer.using_config"}


def _compute_axis(x_ndim, gamma_ndim, axis):
    return axis if axis is not None else (0, *range(gamma_ndim + 1, x_ndim))


def _compute_key_axis(x_ndim, gamma_ndim, axis):
    """The axes that gamma has, of those of x."""
    axis = _compute_axis(x_ndim, gamma_ndim, axis)
    return tuple(i for i in range(x_ndim) if i not in axis)


class _Normalization(_native.NativeFunction):
    def __init__(self, axis, **params):
        if isinstance(axis, Sequence):
            if any(a >= b for a, b in zip(axis, axis[1:], strict=False)):
                raise RuntimeError(f"numbers in axis must be sorted in ascending order. Actual: {axis}")
            axis = tuple(axis)
        elif isinstance(axis, int):
            axis = (axis,)
        elif axis is not None:
            raise RuntimeError(f"axis must be int, tuple of int or None. Actual: {axis!r}")
        super().__init__(axis=axis, **params)

    axis = property(lambda self: self.op_params["axis"])
    eps = property(lambda self: self.op_params["eps"])

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == self._inputs)
        x, gamma = in_types[:2]
        type_check.expect(x.dtype.kind == "f", gamma.dtype.kind == "f")
        for t in in_types[2:]:
            type_check.expect(t.dtype == gamma.dtype, t.shape == gamma.shape)
        ndim = type_check.eval(x.ndim)
        axis = _compute_axis(ndim, type_check.eval(gamma.ndim), self.axis)
        type_check.expect(x.ndim >= len(axis))
        key_axis = _compute_key_axis(ndim, type_check.eval(gamma.ndim), axis)
        type_check.expect(gamma.ndim == len(key_axis))
        for i, k in enumerate(key_axis):
            type_check.expect(x.shape[k] == gamma.shape[i])


class BatchNormalization(_Normalization):
    op = "batch_normalization"
    _inputs = 3

    def __init__(self, eps=2e-5, mean=None, var=None, decay=0.9, axis=None):
        super().__init__(axis, eps=eps, running_mean=mean, running_var=var, decay=decay)

    running_mean = property(lambda self: self.op_params["running_mean"])
    running_var = property(lambda self: self.op_params["running_var"])


class FixedBatchNormalization(_Normalization):
    op = "fixed_batch_normalization"
    _inputs = 5

    def __init__(self, eps=2e-5, axis=None):
        super().__init__(axis, eps=eps)


def _checked(x, gamma, beta, eps, axis, running_mean, running_var, decay):
    return BatchNormalization(eps, running_mean, running_var, decay, axis).apply((x, gamma, beta))[0]


def _checked_fixed(x, gamma, beta, mean, var, eps, axis):
    return FixedBatchNormalization(eps, axis).apply((x, gamma, beta, mean, var))[0]


_batch_normalization = frontend.bind("batch_normalization", _checked)
_fixed_batch_normalization = frontend.bind("fixed_batch_normalization", _checked_fixed)


def _warn_of_single_values(shape, axis):
    if any(shape[i] != 1 for i in axis):
        return
    if 0 in axis:
        text = (
            "A batch with no more than one sample has been given to F.batch_normalization, which then gives "
            "zeros. Was evaluation run while chainer.config.train is True, or is this an epoch's last batch?"
        )
    else:
        text = "F.batch_normalization got length 1 along all axes that statistics are over, and gives zeros."
    warnings.warn(text, UserWarning, stacklevel=3)


def batch_normalization(x, gamma, beta, **kwargs):
    """`gamma * (x - mean) / sqrt(var + eps) + beta`, with mean and variance over `axis` of this batch.

    Keywords: `eps` (2e-5), `running_mean` and `running_var` (arrays that are updated in place with `decay`,
    0.9; the variance unbiased), `axis` (None: all but the second, or those gamma does not have). Raises
    InvalidType where shapes or dtypes do not fit, RuntimeError where `axis` is not sorted.
    """
    eps, running_mean, running_var, decay, axis = argument.parse_kwargs(
        kwargs, ("eps", 2e-5), ("running_mean", None), ("running_var", None), ("decay", 0.9), ("axis", None),
        **_KEYWORDS,
    )  # fmt: skip
    for running in (running_mean, running_var):
        if isinstance(running, numpy.ndarray) and not running.flags.writeable:
            raise ValueError("output array is read-only")  # the kernel would write to it all the same
    if isinstance(axis, int):
        axis = (axis,)
    if x.shape[0] == 1 or axis is not None and 0 not in axis:
        _warn_of_single_values(x.shape, _compute_axis(x.ndim, gamma.ndim, axis))
    if axis is not None and sorted(axis) != list(axis):
        return _checked(x, gamma, beta, eps, axis, running_mean, running_var, decay)
    return _batch_normalization(x, gamma, beta, eps, axis, running_mean, running_var, decay)


def fixed_batch_normalization(x, gamma, beta, mean, var, eps=2e-5, axis=None):
    """`gamma * (x - mean) / sqrt(var + eps) + beta` with the given mean and variance."""
    if axis is not None and not (isinstance(axis, tuple) and sorted(axis) == list(axis)):
        return _checked_fixed(x, gamma, beta, mean, var, eps, axis)
    return _fixed_batch_normalization(x, gamma, beta, mean, var, eps, axis)
