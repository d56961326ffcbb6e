"""What the networks for segmentation have in common."""

from __future__ import annotations

from .._base import TrainedNetwork
from ..object_detection.base import VOC_NAMES

__all__ = ["SemanticSegmentation"]


class SemanticSegmentation(TrainedNetwork):
    """A network that gives the scores of each category for each pixel."""

    _family = "semantic_segmentation"

    @property
    def category_names(self) -> list[str]:
        """The names of the categories of PASCAL VOC."""
        return list(VOC_NAMES)
