"""SENet-154 (Hu et al. 2017, "Squeeze-and-Excitation Networks")."""

from .base import ImageNetBase, _parts

__all__ = ["SENet"]


class SENet(ImageNetBase):
    """SENet-154. It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    `force_global_pooling` and `check_global_pooling` apply to every pooling, because each block has a global pooling.
    """

    _file = "SENet-154"
    _pooling_is_type = True
    _dropouts = ("Dropout",)
    _KEY_VARIABLE = _parts("Affine", "AveragePooling", "Add2_7_RepeatStart_4[1]", "ReLU_25_RepeatStart_4[1]")
