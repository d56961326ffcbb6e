"""VGG (Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition")."""

from typing import Any

from .base import ImageNetBase, WithLayers, _parts, _variant  # noqa: F401  programs find the first one here

__all__ = ["VGG", "VGG11", "VGG13", "VGG16"]


class VGG(WithLayers):
    """VGG of 11, 13 or 16 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv", "lastconv+relu" or "lastfeature".

    Args:
        num_layers: 11, 13 or 16. Raises AssertionError for another number.
    """

    _file = "VGG"
    _layers = (11, 13, 16)
    _input = "TrainingInput"
    _pooling = None
    _dropouts = ("{scope}/Dropout_1", "{scope}/Dropout_2")
    _KEY_VARIABLE = _parts(
        "{scope}/Affine_3",
        "{scope}/MaxPooling_5",
        "{scope}/Convolution_{last}",
        "{scope}/ReLU_{last}",
        lastfeature="{scope}/Affine_2",
    )

    def __init__(self, num_layers: int = 11) -> None:
        super().__init__(num_layers)

    def _names(self) -> dict[str, Any]:
        return {"scope": f"VGG{self.num_layers}", "last": 13 if self.num_layers == 16 else 12}


VGG11 = _variant(VGG, "VGG11", 11, "VGG of 11 layers.")
VGG13 = _variant(VGG, "VGG13", 13, "VGG of 13 layers.")
VGG16 = _variant(VGG, "VGG16", 16, "VGG of 16 layers.")
