"""Randomized leaky rectified linear unit."""

from compatgrad.chainer import backend, configuration
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check
from compatgrad.chainer.variable import as_array

_mul = frontend.bind("mul", dtype="any")


class RReLU(_native.NativeFunction):
    """A leaky ReLU, the slopes of which are drawn from the global stream."""

    op = None

    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, r=None):
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

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 1)
        x = in_types[0]
        type_check.expect(x.dtype.kind == "f")
        if self.r is not None:
            type_check.expect(x.dtype == self.r.dtype, x.shape == self.r.shape)

    def _run_bound(self, inputs):
        x = as_array(inputs[0])
        xp = backend.get_array_module(x)
        if not configuration.config.train:
            self.r = xp.full(x.shape, (self.lower + self.upper) / 2, dtype=x.dtype)
        elif self.r is None:
            self.r = xp.random.uniform(self.lower, self.upper, x.shape).astype(x.dtype, copy=False)
        return _mul._apply_as(self, inputs[0], xp.where(x >= 0, x.dtype.type(1), self.r))


def rrelu(x, l=1.0 / 8, u=1.0 / 3, **kwargs):  # noqa: E741
    """`x` where positive, else `r * x`, r drawn from [l, u) by numpy.random.uniform.

    In test mode r is (l + u) / 2. `r`: the slopes to use instead of drawn ones. `return_r`: give (y, r).
    ValueError unless 0 <= l < u < 1 (Xu et al. 2015).
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
