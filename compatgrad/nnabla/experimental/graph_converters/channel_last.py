"""Graphs for images with channels in the last axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...variable import Variable
from ._layout import LayoutModifier

__all__ = ["ChannelLastModifier"]


class ChannelLastModifier(LayoutModifier):
    """From images (samples, channels, height, width) to (samples, height, width, channels).

    inputs: the images of the old graph; inputs_cl: those of the new one, by default copies, here as `inputs_cl`.
    """

    _order = (0, 2, 3, 1)
    _suffix = "cl"
    _channel_last = True

    def __init__(self, inputs: Sequence[Variable], inputs_cl: Sequence[Variable] | None = None) -> None:
        super().__init__(inputs, inputs_cl)

    @property
    def inputs_cl(self) -> list[Variable]:
        return self._moved
