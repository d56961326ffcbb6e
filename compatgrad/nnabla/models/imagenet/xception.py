"""Xception (Chollet 2016)."""

from .base import ImageNetBase

__all__ = ["Xception"]


class Xception(ImageNetBase):
    """Xception. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _size = (3, 299, 299)
    _augmentation = "ImageAugmentation"
    _pooling = "Unit/AveragePooling"
    _dropouts = ("Unit/Dropout",)
    _KEY_VARIABLE = {
        "classifier": "Unit/Affine",
        "pool": "Unit/AveragePooling",
        "lastconv": "Unit/SeparableConv_13/SepConvBN",
        "lastconv+relu": "Unit/ReLU_14",
    }

    def __init__(self) -> None:
        self._load_nnp("Xception.nnp", "Xception/Xception.nnp")
