"""A converter to images with channels in the last axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...variable import Variable
from ._layout import LayoutModifier

__all__ = ["ChannelLastModifier"]


class ChannelLastModifier(LayoutModifier):
    """Changes a graph of images (samples, channels, height, width) to one of images (samples, height, width, channels).

    Weights become new parameters next to the old ones, with "_cl" appended to their names.

    Args:
        inputs: the images of the old graph.
        inputs_cl: the images of the new graph; None for transposed copies.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> x = nn.Variable.from_numpy_array(np.zeros((1, 3, 8, 8)))
        >>> y = PF.convolution(x, 4, (3, 3))
        >>> modifier = GC.ChannelLastModifier([x])  # knows what reads x
        >>> y = GC.GraphConverter([modifier]).convert(y)
        >>> modifier.inputs_cl[0].shape, y.shape
        ((1, 8, 8, 3), (1, 6, 6, 4))

    Source: `nnabla.experimental.graph_converters.ChannelLastModifier` of nnabla 1.39.0.
    """

    _order = (0, 2, 3, 1)
    _suffix = "cl"
    _channel_last = True

    def __init__(self, inputs: Sequence[Variable], inputs_cl: Sequence[Variable] | None = None) -> None:
        super().__init__(inputs, inputs_cl)

    @property
    def inputs_cl(self) -> list[Variable]:
        """The images of the new graph, in the order of those of the old one."""
        return self._moved
