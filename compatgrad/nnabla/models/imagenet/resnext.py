"""ResNeXt (Xie et al. 2016, "Aggregated Residual Transformations for Deep Neural Networks")."""

from .base import ImageNetBase

__all__ = ["ResNeXt", "ResNeXt101", "ResNeXt50"]


class ResNeXt(ImageNetBase):
    """ResNeXt of 50 or 101 layers.

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        num_layers: 50 or 101. Raises AssertionError for another number.
    """

    _KEY_VARIABLE = {
        "classifier": "Affine",
        "pool": "AveragePooling",
        "lastconv": "Add2_7_RepeatStart_4[1]",
        "lastconv+relu": "ReLU_25_RepeatStart_4[1]",
    }

    def __init__(self, num_layers: int = 50) -> None:
        assert num_layers in (50, 101), f"num_layers must be 50 or 101, not {num_layers}"
        self.num_layers = num_layers
        self._load_nnp(f"ResNeXt-{num_layers}.nnp", f"ResNeXt-{num_layers}/ResNeXt-{num_layers}.nnp")


class ResNeXt50(ResNeXt):
    """ResNeXt of 50 layers."""

    def __init__(self) -> None:
        super().__init__(50)


class ResNeXt101(ResNeXt):
    """ResNeXt of 101 layers."""

    def __init__(self) -> None:
        super().__init__(101)
