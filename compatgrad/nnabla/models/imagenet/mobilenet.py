"""MobileNet (Howard et al. 2017) and MobileNet-v2 (Sandler et al. 2018)."""

from ...utils.nnp_graph import NnpNetworkPass
from ...variable import Variable
from .base import ImageNetBase, _parts

__all__ = ["MobileNet", "MobileNetV2"]


class MobileNet(ImageNetBase):
    """MobileNet. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _file = "MobileNet"
    _KEY_VARIABLE = _parts("Affine", "AveragePooling", "BatchNormalization_19", "ReLU_19")


class MobileNetV2(ImageNetBase):
    """MobileNet-v2. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu"."""

    _file = "MobileNet-v2"
    _KEY_VARIABLE = _parts("Reshape", "AveragePooling", "BatchNormalization_2", "ReLU_2")

    def _take_input(self, callback: NnpNetworkPass, x: Variable) -> None:
        callback.drop_function(self._augmentation)
        callback.set_variable(self._augmentation, x)
