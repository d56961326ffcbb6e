"""Batch normalization (Ioffe and Szegedy 2015)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy

from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import IntOrInts, VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable

_KEYWORDS = {"train": "train argument is not supported anymore. Use chainer.using_config"}


def _compute_axis(x_ndim, gamma_ndim, axis):
    return axis if axis is not None else (0, *range(gamma_ndim + 1, x_ndim))


def _compute_key_axis(x_ndim, gamma_ndim, axis):
    """The axes of x that gamma has."""
    axis = _compute_axis(x_ndim, gamma_ndim, axis)
    return tuple(i for i in range(x_ndim) if i not in axis)


class _Normalization(_native.NativeFunction):
    def __init__(self, axis: IntOrInts | None, **params: Any) -> None:
        if isinstance(axis, Sequence):
            if any(a >= b for a, b in zip(axis, axis[1:], strict=False)):
                raise RuntimeError(f"numbers in axis must be sorted in ascending order. Actual: {axis}")
            axis = tuple(axis)
        elif isinstance(axis, int):
            axis = (axis,)
        elif axis is not None:
            raise RuntimeError(f"axis must be int, tuple of int or None. Actual: {axis!r}")
        super().__init__(axis=axis, **params)

    axis = _native.parameter("axis")
    eps = _native.parameter("eps")

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
    """The node of `chainer.functions.batch_normalization` in the graph, its result's `creator`.

    Args:
        eps: small number that is added to the variance, so that the divisor is not 0.
        mean: array of the running mean, updated in place; None for none.
        var: array of the running variance, updated in place; None for none.
        decay: weight of the old value when the running statistics are updated.
        axis: the axes over which statistics are computed, an int or a tuple in ascending order; None: the first one and
            those that `gamma` does not have.

    Raises:
        RuntimeError: `axis` is not sorted, or neither an int nor a tuple.

    Example:
        >>> x = np.array([[0.0], [2.0]])
        >>> node = F.batch_normalization(x, np.ones(1), np.zeros(1), eps=0.01).creator
        >>> node.label, node.eps, node.axis
        ('BatchNormalization', 0.01, None)

    Source: `chainer.functions.normalization.batch_normalization.BatchNormalization` of Chainer 7.8.1.
    """

    op = "batch_normalization"
    _inputs = 3

    def __init__(
        self,
        eps: float = 2e-5,
        mean: NdArray | None = None,
        var: NdArray | None = None,
        decay: float = 0.9,
        axis: IntOrInts | None = None,
    ) -> None:
        super().__init__(axis, eps=eps, running_mean=mean, running_var=var, decay=decay)

    running_mean = _native.parameter("running_mean")
    running_var = _native.parameter("running_var")


class FixedBatchNormalization(_Normalization):
    op = "fixed_batch_normalization"
    _inputs = 5

    def __init__(self, eps: float = 2e-5, axis: IntOrInts | None = None) -> None:
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
        text = "F.batch_normalization got length 1 along all axes over which statistics are computed, and gives zeros."
    warnings.warn(text, UserWarning, stacklevel=3)


def batch_normalization(x: VariableOrArray, gamma: VariableOrArray, beta: VariableOrArray, **kwargs: Any) -> Variable:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` with the mean and variance of this batch.

    Args:
        x: floating, (n, ...): n samples.
        gamma, beta: floating, scale and shift, of the shape of the axes of `x` over which no statistics are computed.
        **kwargs: `eps` (2e-5), added to the variance; `running_mean` and `running_var` (None), arrays of the shape of
            `gamma` that are updated in place, the variance unbiased; `decay` (0.9), the weight of the old value in the
            update; `axis` (None), the axes over which statistics are computed, an int or a tuple in ascending order, by
            default the first one and those that `gamma` does not have.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        RuntimeError: `axis` is not sorted.
        ValueError: a running array is read-only.
        TypeError: there is an unknown option, or `running_mean` is given without `running_var`.

    Note: where each mean is over one value, the result is `beta`, with a UserWarning.

    Example:
        >>> x, gamma, beta, mean, var = np.array([[0.0], [2.0]]), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1)
        >>> F.batch_normalization(x, gamma, beta, running_mean=mean, running_var=var).array.round(3)
        array([[-1.],
               [ 1.]])
        >>> mean, var
        (array([0.1]), array([1.1]))

    Source: `chainer.functions.batch_normalization` of Chainer 7.8.1; Ioffe and Szegedy 2015.
    """
    eps, running_mean, running_var, decay, axis = argument.parse_kwargs(
        kwargs, ("eps", 2e-5), ("running_mean", None), ("running_var", None), ("decay", 0.9), ("axis", None),
        **_KEYWORDS,
    )  # fmt: skip
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        # the kernel would write beyond the memory of a shorter array
        if running is not None and tuple(running.shape) != tuple(gamma.shape):
            raise ValueError(f"{name} must have the shape of gamma, {tuple(gamma.shape)}, not {tuple(running.shape)}")
        if isinstance(running, numpy.ndarray) and not running.flags.writeable:
            raise ValueError("output array is read-only")  # the kernel would write to the read-only array
    if running_var is None and running_mean is not None:
        raise TypeError(
            "running_mean is given: running_var must be given too, an array of the shape of gamma, not None"
        )
    if isinstance(axis, int):
        axis = (axis,)
    if x.shape[0] == 1 or axis is not None and 0 not in axis:
        _warn_of_single_values(x.shape, _compute_axis(x.ndim, gamma.ndim, axis))
    if axis is not None and sorted(axis) != list(axis):
        return _checked(x, gamma, beta, eps, axis, running_mean, running_var, decay)
    return _batch_normalization(x, gamma, beta, eps, axis, running_mean, running_var, decay)


def fixed_batch_normalization(
    x: VariableOrArray,
    gamma: VariableOrArray,
    beta: VariableOrArray,
    mean: VariableOrArray,
    var: VariableOrArray,
    eps: float = 2e-5,
    axis: IntOrInts | None = None,
) -> Variable:
    """`gamma * (x - mean) / sqrt(var + eps) + beta` with the given mean and variance.

    Args:
        x: floating, (n, ...): n samples.
        gamma, beta: floating, scale and shift, of the shape of the axes of `x` over which no statistics are computed.
        mean: of the shape and dtype of `gamma`.
        var: of the shape and dtype of `gamma`.
        eps: added to the variance.
        axis: the axes that `mean` and `var` do not have, an int or a tuple in ascending order; None: the first one and
            those that `gamma` does not have.

    Returns:
        Variable of the shape and dtype of `x`.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        RuntimeError: `axis` is not sorted, or neither an int nor a tuple.

    Example:
        >>> x, gamma, beta = np.array([[3.0]]), np.ones(1), np.ones(1)
        >>> F.fixed_batch_normalization(x, gamma, beta, np.array([1.0]), np.array([4.0]), eps=0).array
        array([[2.]])

    Source: `chainer.functions.fixed_batch_normalization` of Chainer 7.8.1; Ioffe and Szegedy 2015.
    """
    if axis is not None and not (isinstance(axis, tuple) and sorted(axis) == list(axis)):
        return _checked_fixed(x, gamma, beta, mean, var, eps, axis)
    return _fixed_batch_normalization(x, gamma, beta, mean, var, eps, axis)
