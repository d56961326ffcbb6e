"""A converter to images with channels in the second axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...variable import Variable
from ._layout import LayoutModifier

__all__ = ["ChannelFirstModifier"]


class ChannelFirstModifier(LayoutModifier):
    """Changes a graph of images (samples, height, width, channels) to one of images (samples, channels, height, width).

    Weights become new parameters next to the old ones, with "_cf" appended to their names.

    Args:
        inputs: the images of the old graph.
        inputs_cf: the images of the new graph; None for transposed copies.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> x = nn.Variable.from_numpy_array(np.zeros((1, 8, 8, 3)))
        >>> y = PF.convolution(x, 4, (3, 3), channel_last=True)
        >>> modifier = GC.ChannelFirstModifier([x])  # knows what reads x
        >>> y = GC.GraphConverter([modifier]).convert(y)
        >>> modifier.inputs_cf[0].shape, y.shape
        ((1, 3, 8, 8), (1, 4, 6, 6))

    Source: `nnabla.experimental.graph_converters.ChannelFirstModifier` of nnabla 1.39.0.
    """

    _order = (0, 3, 1, 2)
    _suffix = "cf"
    _channel_last = False

    def __init__(self, inputs: Sequence[Variable], inputs_cf: Sequence[Variable] | None = None) -> None:
        super().__init__(inputs, inputs_cf)

    @property
    def inputs_cf(self) -> list[Variable]:
        """The images of the new graph, in the order of those of the old one."""
        return self._moved
