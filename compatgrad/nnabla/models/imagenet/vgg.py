"""VGG (Simonyan and Zisserman 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition")."""

from .base import ImageNetBase

__all__ = ["VGG", "VGG11", "VGG13", "VGG16"]


class VGG(ImageNetBase):
    """VGG of 11, 13 or 16 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv", "lastconv+relu" or "lastfeature".

    Args:
        num_layers: 11, 13 or 16. Raises AssertionError for another number.
    """

    _input = "TrainingInput"
    _pooling = None

    def __init__(self, num_layers: int = 11) -> None:
        assert num_layers in (11, 13, 16), f"num_layers must be 11, 13 or 16, not {num_layers}"
        self.num_layers = num_layers
        scope = f"VGG{num_layers}"
        last = 13 if num_layers == 16 else 12
        self._dropouts = (f"{scope}/Dropout_1", f"{scope}/Dropout_2")
        self._KEY_VARIABLE = {
            "classifier": f"{scope}/Affine_3",
            "pool": f"{scope}/MaxPooling_5",
            "lastconv": f"{scope}/Convolution_{last}",
            "lastconv+relu": f"{scope}/ReLU_{last}",
            "lastfeature": f"{scope}/Affine_2",
        }
        self._load_nnp(f"VGG-{num_layers}.nnp", f"VGG-{num_layers}/VGG-{num_layers}.nnp")


class VGG11(VGG):
    """VGG of 11 layers."""

    def __init__(self) -> None:
        super().__init__(11)


class VGG13(VGG):
    """VGG of 13 layers."""

    def __init__(self) -> None:
        super().__init__(13)


class VGG16(VGG):
    """VGG of 16 layers."""

    def __init__(self) -> None:
        super().__init__(16)
