"""DenseNet-161 (Huang et al. 2016, "Densely Connected Convolutional Networks")."""

from .base import ImageNetBase, _parts

__all__ = ["DenseNet"]


class DenseNet(ImageNetBase):
    """DenseNet-161. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _file = "DenseNet-161"
    _network = "Train"
    _pooling = "DenseNet/AveragePooling_4"
    _KEY_VARIABLE = _parts(
        "DenseNet/Affine", "DenseNet/AveragePooling_4", "DenseNet/BatchNormalization_5", "DenseNet/ReLU_5"
    )
