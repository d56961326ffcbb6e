"""ResNet (He et al. 2015, "Deep Residual Learning for Image Recognition")."""

from typing import Any

from .base import ImageNetBase

__all__ = ["ResNet", "ResNet101", "ResNet152", "ResNet18", "ResNet34", "ResNet50"]


class ResNet(ImageNetBase):
    """ResNet of 18, 34, 50, 101 or 152 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        num_layers: 18, 34, 50, 101 or 152. Raises AssertionError for another number.
    """

    _KEY_VARIABLE = {
        "classifier": "Affine",
        "pool": "AveragePooling",
        "lastconv": "Add2_7_RepeatStart_4[{index}]",
        "lastconv+relu": "ReLU_25_RepeatStart_4[{index}]",
    }

    def __init__(self, num_layers: int = 18) -> None:
        assert num_layers in (18, 34, 50, 101, 152), f"num_layers must be 18, 34, 50, 101 or 152, not {num_layers}"
        self.num_layers = num_layers
        self._load_nnp(f"Resnet-{num_layers}.nnp", f"Resnet-{num_layers}/Resnet-{num_layers}.nnp")

    def _names(self) -> dict[str, Any]:
        return {"index": 0 if self.num_layers == 18 else 1}


class ResNet18(ResNet):
    """ResNet of 18 layers."""

    def __init__(self) -> None:
        super().__init__(18)


class ResNet34(ResNet):
    """ResNet of 34 layers."""

    def __init__(self) -> None:
        super().__init__(34)


class ResNet50(ResNet):
    """ResNet of 50 layers."""

    def __init__(self) -> None:
        super().__init__(50)


class ResNet101(ResNet):
    """ResNet of 101 layers."""

    def __init__(self) -> None:
        super().__init__(101)


class ResNet152(ResNet):
    """ResNet of 152 layers."""

    def __init__(self) -> None:
        super().__init__(152)
