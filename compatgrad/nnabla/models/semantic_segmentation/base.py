"""The base class of the networks for segmentation."""

from __future__ import annotations

from .._base import TrainedNetwork
from ..object_detection.base import VOC_NAMES

__all__ = ["SemanticSegmentation"]


class SemanticSegmentation(TrainedNetwork):
    """A network that labels pixels: its output is the score of each category for each pixel.

    Example:
        >>> from compatgrad.nnabla.models.semantic_segmentation import DeepLabV3plus
        >>> network = DeepLabV3plus("voc")  # doctest: +SKIP
        >>> scores = network(nn.Variable((1, 3, 513, 513)))  # doctest: +SKIP

    Source: `nnabla.models.semantic_segmentation.base.SemanticSegmentation` of nnabla 1.39.0.
    """

    _family = "semantic_segmentation"

    @property
    def category_names(self) -> list[str]:
        """The names of the categories of PASCAL VOC."""
        return list(VOC_NAMES)
