"""ResNet (He et al. 2015, "Deep Residual Learning for Image Recognition")."""

from typing import Any

from .base import ImageNetBase, WithLayers, _parts, _variant  # noqa: F401  programs find the first one here

__all__ = ["ResNet", "ResNet101", "ResNet152", "ResNet18", "ResNet34", "ResNet50"]


class ResNet(WithLayers):
    """ResNet of 18, 34, 50, 101 or 152 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        num_layers: 18, 34, 50, 101 or 152. Raises AssertionError for another number.
    """

    _file = "Resnet"
    _layers = (18, 34, 50, 101, 152)
    _KEY_VARIABLE = _parts(
        "Affine", "AveragePooling", "Add2_7_RepeatStart_4[{index}]", "ReLU_25_RepeatStart_4[{index}]"
    )

    def __init__(self, num_layers: int = 18) -> None:
        super().__init__(num_layers)

    def _names(self) -> dict[str, Any]:
        return {"index": 0 if self.num_layers == 18 else 1}


ResNet18 = _variant(ResNet, "ResNet18", 18, "ResNet of 18 layers.")
ResNet34 = _variant(ResNet, "ResNet34", 34, "ResNet of 34 layers.")
ResNet50 = _variant(ResNet, "ResNet50", 50, "ResNet of 50 layers.")
ResNet101 = _variant(ResNet, "ResNet101", 101, "ResNet of 101 layers.")
ResNet152 = _variant(ResNet, "ResNet152", 152, "ResNet of 152 layers.")
