"""ResNeXt (Xie et al. 2016, "Aggregated Residual Transformations for Deep Neural Networks")."""

from .base import ImageNetBase, WithLayers, _parts, _variant  # noqa: F401  programs find the first one here

__all__ = ["ResNeXt", "ResNeXt101", "ResNeXt50"]


class ResNeXt(WithLayers):
    """ResNeXt of 50 or 101 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        num_layers: 50 or 101. Raises AssertionError for another number.
    """

    _file = "ResNeXt"
    _layers = (50, 101)
    _KEY_VARIABLE = _parts("Affine", "AveragePooling", "Add2_7_RepeatStart_4[1]", "ReLU_25_RepeatStart_4[1]")

    def __init__(self, num_layers: int = 50) -> None:
        super().__init__(num_layers)


ResNeXt50 = _variant(ResNeXt, "ResNeXt50", 50, "ResNeXt of 50 layers.")
ResNeXt101 = _variant(ResNeXt, "ResNeXt101", 101, "ResNeXt of 101 layers.")
