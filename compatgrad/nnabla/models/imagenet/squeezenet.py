"""SqueezeNet (Iandola et al. 2016)."""

from typing import Any

from .base import ImageNetBase, _parts, _variant

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
    _KEY_VARIABLE = _parts("{prefix}Reshape", "{prefix}AveragePooling", "{prefix}Convolution_2", "{prefix}ReLU_2")

    def __init__(self, version: str = "v1.1") -> None:
        assert version in ("v1.0", "v1.1"), f"version must be 'v1.0' or 'v1.1', not {version!r}"
        self.version = version
        self._load(f"SqueezeNet-{version[1:]}")

    def _names(self) -> dict[str, Any]:
        return {"prefix": "SqueezeNet/" if self.version == "v1.1" else ""}


SqueezeNetV10 = _variant(SqueezeNet, "SqueezeNetV10", "v1.0", "SqueezeNet v1.0.")
SqueezeNetV11 = _variant(SqueezeNet, "SqueezeNetV11", "v1.1", "SqueezeNet v1.1.")
