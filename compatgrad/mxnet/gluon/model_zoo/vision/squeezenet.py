"""SqueezeNet."""

from __future__ import annotations

from typing import Any

from ....context import Context
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ._parts import Classifier, documented, named, sequence, with_weights

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# channels and size of the stem; then fire modules by their squeezed channels, and poolings
_SPECS = {
    "1.0": ((96, 7), ("pool", 16, 16, 32, "pool", 32, 48, 48, 64, "pool", 64)),
    "1.1": ((64, 3), ("pool", 16, 16, "pool", 32, 32, "pool", 48, 48, 64, 64)),
}


def _conv(channels, size, padding=0):
    return sequence(nn.Conv2D(channels, size, padding=padding), nn.Activation("relu"))


def _fire(squeezed):
    squeeze = _conv(squeezed, 1)
    expand = HybridConcurrent(axis=1, prefix="")
    expand.add(_conv(4 * squeezed, 1), _conv(4 * squeezed, 3, 1))
    return sequence(squeeze, expand)


@documented
class SqueezeNet(Classifier):
    """Fire modules: a convolution of size 1 to few channels, then two side by side to many; the classes come from a
    convolution.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        version: "1.0" or "1.1".

    Raises:
        AssertionError: `version` has another value.
        TypeError: an argument is not known.

    Example:
        >>> len(gluon.model_zoo.vision.SqueezeNet("1.1", classes=10).features)
        14
    """

    def __init__(self, version: str, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        assert version in _SPECS, f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected"
        (channels, size), parts = _SPECS[version]
        with self.name_scope():
            self.features = sequence(nn.Conv2D(channels, size, 2), nn.Activation("relu"))
            for part in parts:
                self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True) if part == "pool" else _fire(part))
            self.features.add(nn.Dropout(0.5))
            self.output = sequence(nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


@documented
def get_squeezenet(
    version: str,
    pretrained: bool = False,
    ctx: Context | list[Context] | None = None,
    root: str | None = None,
    **kwargs: Any,
) -> HybridBlock:
    """SqueezeNet (Iandola and others, 2016) by its version.

    Args:
        version: "1.0" or "1.1", which computes less.

    Raises:
        AssertionError: `version` has another value.
        TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded.

    Example:
        >>> len(gluon.model_zoo.vision.squeezenet.get_squeezenet("1.0").features)
        14
    """
    return with_weights(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


squeezenet1_0 = named(get_squeezenet, "squeezenet1_0", "1.0")
squeezenet1_1 = named(get_squeezenet, "squeezenet1_1", "1.1")
