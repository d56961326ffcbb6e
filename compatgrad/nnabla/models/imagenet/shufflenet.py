"""ShuffleNet (Zhang et al. 2017)."""

from .base import ImageNetBase, _parts, _variant

__all__ = ["ShuffleNet", "ShuffleNet05", "ShuffleNet10", "ShuffleNet20"]

_FILES = {
    10: ("ShuffleNet.nnp", "ShuffleNet/ShuffleNet.nnp"),
    5: ("ShuffleNet-.05x.nnp", "ShuffleNet-0.5x/ShuffleNet-0.5x.nnp"),
    20: ("ShuffleNet-2.0x.nnp", "ShuffleNet-2.0x/ShuffleNet-2.0x.nnp"),
}


class ShuffleNet(ImageNetBase):
    """ShuffleNet with half, all or twice its channels (`scaling_factor` 5, 10 or 20).

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        scaling_factor: tenths of the channels: 5, 10 or 20. Raises AssertionError for another number.
    """

    _KEY_VARIABLE = _parts("Affine", "AveragePooling", "Add2_3_RepeatStart_3[2]", "ReLU_8_RepeatStart_3[2]")

    def __init__(self, scaling_factor: int = 10) -> None:
        assert scaling_factor in _FILES, f"scaling_factor must be 5, 10 or 20, not {scaling_factor}"
        self.scaling_factor = scaling_factor
        self._load_nnp(*_FILES[scaling_factor])


ShuffleNet10 = _variant(ShuffleNet, "ShuffleNet10", 10, "ShuffleNet.")
ShuffleNet05 = _variant(ShuffleNet, "ShuffleNet05", 5, "ShuffleNet with half its channels.")
ShuffleNet20 = _variant(ShuffleNet, "ShuffleNet20", 20, "ShuffleNet with twice its channels.")
