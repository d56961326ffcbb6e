"""DenseNet-161 (Huang et al. 2016, "Densely Connected Convolutional Networks")."""

from .base import ImageNetBase

__all__ = ["DenseNet"]


class DenseNet(ImageNetBase):
    """DenseNet-161. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _network = "Train"
    _pooling = "DenseNet/AveragePooling_4"
    _KEY_VARIABLE = {
        "classifier": "DenseNet/Affine",
        "pool": "DenseNet/AveragePooling_4",
        "lastconv": "DenseNet/BatchNormalization_5",
        "lastconv+relu": "DenseNet/ReLU_5",
    }

    def __init__(self) -> None:
        self._load_nnp("DenseNet-161.nnp", "DenseNet-161/DenseNet-161.nnp")
