"""SqueezeNet."""

from ... import nn
from ...contrib.nn import HybridConcurrent
from ._parts import Classifier, named, sequence, with_weights

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


class SqueezeNet(Classifier):
    """Version "1.0" or "1.1" (AssertionError for another); the classes come from a convolution."""

    def __init__(self, version, classes=1000, **kwargs):
        super().__init__(**kwargs)
        assert version in _SPECS, f"Unsupported SqueezeNet version {version}: 1.0 or 1.1 expected"
        (channels, size), parts = _SPECS[version]
        with self.name_scope():
            self.features = sequence(nn.Conv2D(channels, size, 2), nn.Activation("relu"))
            for part in parts:
                self.features.add(nn.MaxPool2D(3, 2, ceil_mode=True) if part == "pool" else _fire(part))
            self.features.add(nn.Dropout(0.5))
            self.output = sequence(nn.Conv2D(classes, 1), nn.Activation("relu"), nn.AvgPool2D(13), nn.Flatten())


def get_squeezenet(version, pretrained=False, ctx=None, root=None, **kwargs):
    """SqueezeNet of the version "1.0" or "1.1"."""
    return with_weights(SqueezeNet(version, **kwargs), f"squeezenet{version}", pretrained, ctx, root)


squeezenet1_0 = named(get_squeezenet, "squeezenet1_0", "1.0")
squeezenet1_1 = named(get_squeezenet, "squeezenet1_1", "1.1")
