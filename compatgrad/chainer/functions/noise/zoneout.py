"""Zoneout."""

from compatgrad.chainer import backend, configuration
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument, type_check

_where = frontend.bind("where", dtype="any")


class Zoneout(_native.NativeFunction):
    """New values where a mask from the global stream says so, old ones elsewhere."""

    op = None

    def __init__(self, zoneout_ratio):
        super().__init__()
        self.zoneout_ratio = zoneout_ratio

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 2)

    def _run_bound(self, inputs):
        h, x = inputs
        xp = backend.get_array_module(x)
        self.flag_x = xp.random.rand(*x.shape) >= self.zoneout_ratio
        self.flag_h = ~self.flag_x
        return _where._apply_as(self, self.flag_x, x, h)


def zoneout(h, x, ratio=0.5, **kwargs):
    """`h` with probability `ratio`, else `x`, element by element; in test mode, `x` (Krueger et al. 2016)."""
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train="train argument is not supported anymore. Use chainer.using_config"
        )
        argument.assert_kwargs_empty(kwargs)
    return Zoneout(ratio).apply((h, x))[0] if configuration.config.train else x
