"""Zoneout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _bound, _native
from compatgrad.chainer.utils import argument, type_check

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable


class Zoneout(_native.NativeFunction):
    """The node of `chainer.functions.zoneout` in the graph, its result's `creator`. It draws from the global stream.

    Args:
        zoneout_ratio: probability with which an element keeps its old value.

    Example:
        >>> node = F.zoneout(np.zeros(2), np.ones(2), ratio=0.0).creator
        >>> node.label, node.flag_x  # where the new values are
        ('Zoneout', array([ True,  True]))

    Source: `chainer.functions.noise.zoneout.Zoneout` of Chainer 7.8.1.
    """

    def __init__(self, zoneout_ratio: float) -> None:
        super().__init__()
        self.zoneout_ratio = zoneout_ratio

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        type_check.expect(in_types.size() == 2)

    def _run_bound(self, inputs):
        h, x = inputs
        xp = backend.get_array_module(x)
        self.flag_x = xp.random.rand(*x.shape) >= self.zoneout_ratio
        self.flag_h = ~self.flag_x
        return _bound.where._apply_as(self, self.flag_x, x, h)


def zoneout(h: VariableOrArray, x: VariableOrArray, ratio: float = 0.5, **kwargs: Any) -> Variable:
    """Elements of the old state with probability `ratio`, else of the new one; in test mode the new state.

    The choice is drawn by `numpy.random.rand`, or CuPy's on a GPU. In test mode, the configuration's `train` is False.

    Args:
        h: the old state, any shape.
        x: of the shape and dtype of `h`: the new state.
        ratio: in [0, 1].
        **kwargs: none; removed options of older Chainer versions raise an error.

    Returns:
        Variable of the shape and dtype of `x`; in test mode `x` itself.

    Raises:
        ValueError: `h` and `x` differ in shape, or a removed option of older Chainer versions is given.
        TypeError: there is an unknown option.

    Example:
        >>> F.zoneout(np.zeros(2), np.ones(2), ratio=0.0).array
        array([1., 1.])

    Source: `chainer.functions.zoneout` of Chainer 7.8.1; Krueger et al. 2016.
    """
    if kwargs:
        argument.check_unexpected_kwargs(
            kwargs, train="train argument is not supported anymore. Use chainer.using_config"
        )
        argument.assert_kwargs_empty(kwargs)
    return Zoneout(ratio).apply((h, x))[0] if configuration.config.train else x
