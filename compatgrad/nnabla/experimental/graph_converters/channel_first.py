"""Graphs for images with channels in the second axis."""

from __future__ import annotations

from collections.abc import Sequence

from ...variable import Variable
from ._layout import LayoutModifier

__all__ = ["ChannelFirstModifier"]


class ChannelFirstModifier(LayoutModifier):
    """From images (samples, height, width, channels) to (samples, channels, height, width).

    inputs: the images of the old graph; inputs_cf: those of the new one, by default copies, here as `inputs_cf`.
    """

    _order = (0, 3, 1, 2)
    _suffix = "cf"
    _channel_last = False

    def __init__(self, inputs: Sequence[Variable], inputs_cf: Sequence[Variable] | None = None) -> None:
        super().__init__(inputs, inputs_cf)

    @property
    def inputs_cf(self) -> list[Variable]:
        return self._moved
