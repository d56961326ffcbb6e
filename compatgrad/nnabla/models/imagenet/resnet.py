"""ResNet (He et al. 2015, "Deep Residual Learning for Image Recognition")."""

from functools import partialmethod
from typing import Any

from .base import WithLayers, parts

__all__ = ["ResNet", "ResNet101", "ResNet152", "ResNet18", "ResNet34", "ResNet50"]


class ResNet(WithLayers):
    """ResNet of 18, 34, 50, 101 or 152 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        num_layers: 18, 34, 50, 101 or 152. Raises AssertionError for another number.
    """

    _file = "Resnet"
    _layers = (18, 34, 50, 101, 152)
    _KEY_VARIABLE = parts("Affine", "AveragePooling", "Add2_7_RepeatStart_4[{index}]", "ReLU_25_RepeatStart_4[{index}]")

    def __init__(self, num_layers: int = 18) -> None:
        super().__init__(num_layers)

    def _names(self) -> dict[str, Any]:
        return {"index": 0 if self.num_layers == 18 else 1}


class ResNet18(ResNet):
    """ResNet of 18 layers."""

    __init__ = partialmethod(ResNet.__init__, 18)


class ResNet34(ResNet):
    """ResNet of 34 layers."""

    __init__ = partialmethod(ResNet.__init__, 34)


class ResNet50(ResNet):
    """ResNet of 50 layers."""

    __init__ = partialmethod(ResNet.__init__, 50)


class ResNet101(ResNet):
    """ResNet of 101 layers."""

    __init__ = partialmethod(ResNet.__init__, 101)


class ResNet152(ResNet):
    """ResNet of 152 layers."""

    __init__ = partialmethod(ResNet.__init__, 152)
