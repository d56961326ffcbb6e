"""Xception (Chollet 2016)."""

from .base import ImageNetBase, _parts

__all__ = ["Xception"]


class Xception(ImageNetBase):
    """Xception. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _file = "Xception"
    _size = (3, 299, 299)
    _augmentation = "ImageAugmentation"
    _pooling = "Unit/AveragePooling"
    _dropouts = ("Unit/Dropout",)
    _KEY_VARIABLE = _parts("Unit/Affine", "Unit/AveragePooling", "Unit/SeparableConv_13/SepConvBN", "Unit/ReLU_14")
