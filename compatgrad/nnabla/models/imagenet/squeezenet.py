"""SqueezeNet (Iandola et al. 2016)."""

from functools import partialmethod
from typing import Any

from .base import ImageNetBase, parts

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
    _KEY_VARIABLE = parts("{prefix}Reshape", "{prefix}AveragePooling", "{prefix}Convolution_2", "{prefix}ReLU_2")

    def __init__(self, version: str = "v1.1") -> None:
        assert version in ("v1.0", "v1.1"), f"version must be 'v1.0' or 'v1.1', not {version!r}"
        self.version = version
        self._load(f"SqueezeNet-{version[1:]}")

    def _names(self) -> dict[str, Any]:
        return {"prefix": "SqueezeNet/" if self.version == "v1.1" else ""}


class SqueezeNetV10(SqueezeNet):
    """SqueezeNet v1.0."""

    __init__ = partialmethod(SqueezeNet.__init__, "v1.0")


class SqueezeNetV11(SqueezeNet):
    """SqueezeNet v1.1."""

    __init__ = partialmethod(SqueezeNet.__init__, "v1.1")
