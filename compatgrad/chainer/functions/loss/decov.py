"""DeCov penalty."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.loss.cross_covariance import _covariance, _reduced
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class DeCov(_composed.CallableFunction):
    documented = "decov"

    def __init__(self, reduce: str = "half_squared_sum") -> None:
        super().__init__()
        _composed.check_reduce(reduce, "half_squared_sum", "no")
        self.reduce = reduce

    @type_check._expects
    def check_type_forward(self, h):
        return h.dtype.kind == "f", h.ndim == 2

    def compose(self, h: Variable) -> Variable:
        covariance = _covariance(h, h)
        diagonal = h.xp.eye(h.shape[1], dtype=bool)
        return _reduced(where(diagonal, h.xp.zeros_like(covariance.array), covariance), self.reduce)


def decov(h: VariableOrArray, reduce: str = "half_squared_sum") -> Variable:
    """Half the sum of squares of the covariance between the columns of an array, without its diagonal.

    Args:
        h: floating, (n, k): n samples.
        reduce: "half_squared_sum", or "no" for the covariance with zeros on the diagonal.

    Returns:
        Variable of the dtype of `h` and shape (), or (k, k) with `reduce="no"`.

    Raises:
        ValueError: `reduce` is neither.
        chainer.utils.type_check.InvalidType: `h` is not floating-point, or not of two axes.

    Example:
        >>> F.decov(np.array([[1.0, 0.0], [3.0, 2.0]]), reduce="no").array
        array([[0., 1.],
               [1., 0.]])

    Source: `chainer.functions.decov` of Chainer 7.8.1; Cogswell et al. 2015.
    """
    return DeCov(reduce)(h)
