"""Gumbel-Softmax: relaxed samples of categorical distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, variable
from compatgrad.chainer.functions.activation.softmax import softmax

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


def gumbel_softmax(log_pi: VariableOrArray, tau: float = 0.1, axis: int = 1) -> Variable:
    """softmax((log_pi + g) / tau): a relaxed sample of categorical distributions, with g drawn by
    `numpy.random.gumbel`.

    Args:
        log_pi: floating: logarithms of probabilities, along `axis`.
        tau: temperature; the smaller, the closer the results are to 0 and 1.
        axis: the axis of the classes.

    Returns:
        Variable of the shape and dtype of `log_pi`; sums along `axis` are 1.

    Raises:
        chainer.utils.type_check.InvalidType: `log_pi` has no such axis.

    Example:
        >>> y = F.gumbel_softmax(np.log([[0.2, 0.3, 0.5]]))
        >>> y.shape, float(y.array.sum().round(6))
        ((1, 3), 1.0)

    Source: `chainer.functions.gumbel_softmax` of Chainer 7.8.1; Jang et al. 2016.
    """
    xp = backend.get_array_module(log_pi)
    if log_pi.ndim < 1:
        return variable.Variable(xp.ones((), log_pi.dtype))
    noise = xp.random.gumbel(size=log_pi.shape).astype(log_pi.dtype)
    return softmax((variable.as_variable(log_pi) + noise) / tau, axis=axis)
