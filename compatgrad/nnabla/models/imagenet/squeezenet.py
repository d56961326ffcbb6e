"""SqueezeNet (Iandola et al. 2016)."""

from typing import Any

from .base import ImageNetBase

__all__ = ["SqueezeNet", "SqueezeNetV10", "SqueezeNetV11"]


class SqueezeNet(ImageNetBase):
    """SqueezeNet of `version` "v1.0" or "v1.1".

    It ends in `use_up_to` "classifier", "pool", "lastconv" or "lastconv+relu".

    Args:
        version: "v1.0" or "v1.1". Raises AssertionError for another.
    """

    _size = (3, 227, 227)
    _input = "TrainingInput"
    _pooling = "{prefix}AveragePooling"
    _dropouts = ("{prefix}Dropout",)
    _KEY_VARIABLE = {
        "classifier": "{prefix}Reshape",
        "pool": "{prefix}AveragePooling",
        "lastconv": "{prefix}Convolution_2",
        "lastconv+relu": "{prefix}ReLU_2",
    }

    def __init__(self, version: str = "v1.1") -> None:
        assert version in ("v1.0", "v1.1"), f"version must be 'v1.0' or 'v1.1', not {version!r}"
        self.version = version
        name = f"SqueezeNet-{version[1:]}"
        self._load_nnp(f"{name}.nnp", f"{name}/{name}.nnp")

    def _names(self) -> dict[str, Any]:
        return {"prefix": "SqueezeNet/" if self.version == "v1.1" else ""}


class SqueezeNetV10(SqueezeNet):
    """SqueezeNet v1.0."""

    def __init__(self) -> None:
        super().__init__("v1.0")


class SqueezeNetV11(SqueezeNet):
    """SqueezeNet v1.1."""

    def __init__(self) -> None:
        super().__init__("v1.1")
