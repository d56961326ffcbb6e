"""Samples of normal distributions."""

from compatgrad.chainer import backend
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check

_exp = frontend.bind("exp", dtype="any")
_add = frontend.bind("add", dtype="any")
_mul = frontend.bind("mul", dtype="any")
_scaled = frontend.bind("mul_scalar", dtype="any")


class Gaussian(_native.NativeFunction):
    op = None

    def __init__(self, eps=None):
        super().__init__()
        self.eps = eps

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("mean", "ln_var"))
        m, v = in_types
        type_check.expect(m.dtype.kind == "f", m.dtype == v.dtype, m.shape == v.shape)

    def _run_bound(self, inputs):
        mean, ln_var = inputs
        if self.eps is None:
            xp = backend.get_array_module(mean)
            self.eps = xp.asarray(xp.random.standard_normal(ln_var.shape), dtype=mean.dtype)
        return _add._apply_as(self, mean, _mul(_exp(_scaled(ln_var, 0.5)), self.eps))


def gaussian(mean, ln_var, **kwargs):
    """A sample of the normal distributions with `mean` and variance exp(ln_var), differentiable by both.

    `eps`: the standard normal noise to use instead of drawn one (numpy.random.standard_normal).
    `return_eps`: give (y, eps). InvalidType where shapes or dtypes differ.
    """
    eps, return_eps = None, False
    if kwargs:
        eps, return_eps = argument.parse_kwargs(kwargs, ("eps", eps), ("return_eps", return_eps))
    function = Gaussian(eps)
    y = function.apply((mean, ln_var))[0]
    return (y, function.eps) if return_eps else y
