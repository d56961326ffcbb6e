"""Samples of normal distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class Gaussian(_native.NativeFunction):
    """The node of `chainer.functions.gaussian` in the graph, its result's `creator`.

    Args:
        eps: standard normal noise, an array; None draws it by `standard_normal` of `numpy.random`, or CuPy's on a GPU.

    Raises:
        chainer.utils.type_check.InvalidType: the inputs differ in shape or dtype, or are not floating-point.

    Example:
        >>> F.gaussian(np.array([1.0]), np.array([0.0]), eps=np.array([0.5])).creator.eps
        array([0.5])

    Source: `chainer.functions.noise.gaussian.Gaussian` of Chainer 7.8.1.
    """

    def __init__(self, eps: NdArray | None = None) -> None:
        super().__init__()
        self.eps = eps

    @type_check._expects
    def check_type_forward(self, mean, ln_var):
        return mean.dtype.kind == "f", mean.dtype == ln_var.dtype, mean.shape == ln_var.shape

    def _run_bound(self, inputs):
        mean, ln_var = inputs
        if self.eps is None:
            xp = backend.get_array_module(mean)
            self.eps = xp.asarray(xp.random.standard_normal(ln_var.shape), dtype=mean.dtype)
        return _bound.add._apply_as(self, mean, _bound.mul(_bound.exp(_bound.mul_scalar(ln_var, 0.5)), self.eps))


def gaussian(mean: VariableOrArray, ln_var: VariableOrArray, **kwargs: Any) -> Variable | tuple[Variable, NdArray]:
    """A sample of normal distributions that can be differentiated with respect to their parameters: mean + exp(ln_var /
    2) * eps.

    Args:
        mean: floating, any shape.
        ln_var: of the shape and dtype of `mean`: logarithms of the variances.
        **kwargs: `eps` (None): standard normal noise to use instead of drawn noise; `return_eps` (False): True also
            returns it.

    Returns:
        Variable of the shape and dtype of `mean`; with `return_eps` a pair of it and an array.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes differ, or are not floating-point.
        TypeError: there is an unknown option.

    Example:
        >>> F.gaussian(np.array([1.0]), np.array([0.0]), eps=np.array([0.5])).array
        array([1.5])

    Source: `chainer.functions.gaussian` of Chainer 7.8.1.
    """
    eps, return_eps = None, False
    if kwargs:
        eps, return_eps = argument.parse_kwargs(kwargs, ("eps", eps), ("return_eps", return_eps))
    function = Gaussian(eps)
    y = function.apply((mean, ln_var))[0]
    return (y, function.eps) if return_eps else y
