"""MobileNet (Howard et al. 2017) and MobileNet-v2 (Sandler et al. 2018)."""

from ...utils.nnp_graph import NnpNetworkPass
from ...variable import Variable
from .base import ImageNetBase

__all__ = ["MobileNet", "MobileNetV2"]


class MobileNet(ImageNetBase):
    """MobileNet. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _KEY_VARIABLE = {
        "classifier": "Affine",
        "pool": "AveragePooling",
        "lastconv": "BatchNormalization_19",
        "lastconv+relu": "ReLU_19",
    }

    def __init__(self) -> None:
        self._load_nnp("MobileNet.nnp", "MobileNet/MobileNet.nnp")


class MobileNetV2(ImageNetBase):
    """MobileNet-v2. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _KEY_VARIABLE = {
        "classifier": "Reshape",
        "pool": "AveragePooling",
        "lastconv": "BatchNormalization_2",
        "lastconv+relu": "ReLU_2",
    }

    def __init__(self) -> None:
        self._load_nnp("MobileNet-v2.nnp", "MobileNet-v2/MobileNet-v2.nnp")

    def _take_input(self, callback: NnpNetworkPass, x: Variable) -> None:
        callback.drop_function(self._augmentation)
        callback.set_variable(self._augmentation, x)
