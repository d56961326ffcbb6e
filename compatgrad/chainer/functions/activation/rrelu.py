"""Randomized leaky rectified linear unit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import argument, type_check
from compatgrad.chainer.variable import as_array as _as_array

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class RReLU(_native.NativeFunction):
    """The node of `chainer.functions.rrelu` in the graph: a leaky ReLU with slopes from the global random stream.

    Args:
        lower: the smallest slope.
        upper: the upper bound of slopes.
        r: slopes to use instead of drawn ones, of the shape and dtype of the input; None draws them.

    Raises:
        ValueError: not 0 <= lower < upper < 1.

    Example:
        >>> node = F.activation.rrelu.RReLU(0.1, 0.3, r=np.array([0.25, 0.25]))
        >>> node.apply((np.array([-1.0, 2.0]),))[0].array
        array([-0.25,  2.  ])

    Source: `chainer.functions.activation.rrelu.RReLU` of Chainer 7.8.1.
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, r: NdArray | None = None) -> None:
        if not 0.0 <= lower < 1.0:
            raise ValueError(f"lower must be in the range [0, 1). Actual: {lower}")
        if not 0.0 <= upper < 1.0:
            raise ValueError(f"upper must be in the range [0, 1). Actual: {upper}")
        if not lower < upper:
            raise ValueError(f"lower must be less than upper. Actual: {lower} and {upper}")
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.r = r

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 1)
        x = in_types[0]
        type_check.expect(x.dtype.kind == "f")
        if self.r is not None:
            type_check.expect(x.dtype == self.r.dtype, x.shape == self.r.shape)

    def _run_bound(self, inputs):
        x = _as_array(inputs[0])
        xp = backend.get_array_module(x)
        if not configuration.config.train:
            self.r = xp.full(x.shape, (self.lower + self.upper) / 2, dtype=x.dtype)
        elif self.r is None:
            self.r = xp.random.uniform(self.lower, self.upper, x.shape).astype(x.dtype, copy=False)
        return _bound.mul._apply_as(self, inputs[0], xp.where(x >= 0, x.dtype.type(1), self.r))


def rrelu(
    x: VariableOrArray,
    l: float = 1.0 / 8,  # noqa: E741
    u: float = 1.0 / 3,
    **kwargs: Any,
) -> Variable | tuple[Variable, NdArray]:
    """`x` where it is not negative, else `r * x` with slopes r drawn from [l, u).

    In test mode every slope is (l + u) / 2. The draws come from `numpy.random.uniform` (cupy's on a GPU).

    Args:
        x: floating, any shape.
        l: the smallest slope.
        u: the upper bound of slopes.
        **kwargs: `r`, an array of the shape and dtype of `x`: slopes to use instead of drawn ones; `return_r=True`:
            the slopes are returned too.

    Returns:
        Variable of the shape and dtype of `x`; with `return_r` the pair of it and the slopes.

    Raises:
        ValueError: not 0 <= l < u < 1, or `train` is given.
        TypeError: another keyword is given.
        chainer.utils.type_check.InvalidType: `x` is not floating-point, or `r` has another shape or dtype.

    Example:
        >>> with chainer.using_config("train", False):
        ...     F.rrelu(np.array([-1.0, 2.0]), l=0.1, u=0.3).array
        array([-0.2,  2. ])

    Source: `chainer.functions.rrelu` of Chainer 7.8.1; Xu et al. 2015.
    """
    r, return_r = None, False
    if kwargs:
        r, return_r = argument.parse_kwargs(
            kwargs, ("r", r), ("return_r", return_r),
            train="train argument is not supported anymore. Use chainer.using_config",
        )  # fmt: skip
    function = RReLU(l, u, r)
    y = function.apply((x,))[0]
    return (y, function.r) if return_r else y
