"""The gradient of interpolation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented, section
from compatgrad.nnabla.functions.geometry import _interpolation_plan, interpolate

__all__ = ["InterpolateDataGrad"]


@function("InterpolateDataGrad", "dy")
def _data_grad(
    dy, output_size, mode, align_corners=True, half_pixel=False, half_pixel_for_nn=False, channel_last=False, xshape=()
):
    first, plan = _interpolation_plan(
        xshape, output_size, mode, align_corners, half_pixel, half_pixel_for_nn, channel_last
    )
    if not any(plan):
        return op.identity(dy)
    for k, taps in enumerate(plan):
        if taps is not None:
            dy = op.resample_grad(dy, axis=first + k, index=taps[0], weight=taps[1], size=xshape[first + k])
    return dy


@documented(section(interpolate.__doc__, "Args"), source="nnabla.backward_function.interpolate", all_have=())
class InterpolateDataGrad:
    """The gradient of `interpolate` with respect to `x`. A call takes dy.

    Args:
        ctx: has no effect; the current context is used.

    Attributes:
        xshape: the shape of the result, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.interpolate import InterpolateDataGrad
        >>> f = InterpolateDataGrad(None, (4, 4), "linear")
        >>> f.xshape = (2, 2)
        >>> f(nn.Variable((4, 4))).shape
        (2, 2)
    """

    xshape: Sequence[int] = ()

    def __init__(
        self,
        ctx: Any,
        output_size: Sequence[int],
        mode: str,
        align_corners: bool = True,
        half_pixel: bool = False,
        half_pixel_for_nn: bool = False,
        channel_last: bool = False,
    ) -> None:
        self.ctx = ctx
        self.args = dict(
            output_size=output_size,
            mode=mode,
            align_corners=align_corners,
            half_pixel=half_pixel,
            half_pixel_for_nn=half_pixel_for_nn,
            channel_last=channel_last,
        )

    def __call__(self, dy: Any) -> Any:
        return _data_grad(dy, **self.args, xshape=tuple(self.xshape))
