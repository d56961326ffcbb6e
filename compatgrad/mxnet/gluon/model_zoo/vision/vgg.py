"""VGG networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import Context
from ....initializer import Xavier
from ... import nn
from ...block import HybridBlock
from ._parts import Classifier, documented, named, sequence, with_weights

__all__ = [
    "VGG",
    "vgg11",
    "vgg13",
    "vgg16",
    "vgg19",
    "vgg11_bn",
    "vgg13_bn",
    "vgg16_bn",
    "vgg19_bn",
    "get_vgg",
]

_FILTERS = (64, 128, 256, 512, 512)
_LAYERS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}


@documented
class VGG(Classifier):
    """Groups of convolutions of size 3 with pooling after each, and three dense layers.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        layers: how many convolutions each group has.
        filters: how many channels they give.
        batch_norm: normalizes after each convolution.

    Raises:
        AssertionError: `layers` and `filters` differ in length.
        TypeError: an argument is not known.

    Example:
        >>> gluon.model_zoo.vision.VGG([1, 1], [8, 16], classes=10).output
        Dense(None -> 10, linear)
    """

    def __init__(
        self, layers: Sequence[int], filters: Sequence[int], classes: int = 1000, batch_norm: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        assert len(layers) == len(filters), f"{len(layers)} groups of layers, {len(filters)} numbers of filters"
        with self.name_scope():
            self.features = sequence()
            for number, channels in zip(layers, filters, strict=True):
                for _ in range(number):
                    self.features.add(*self._convolution(channels, batch_norm))
                self.features.add(nn.MaxPool2D(strides=2))
            for _ in range(2):
                self.features.add(self._dense(4096, "relu"))
                self.features.add(nn.Dropout(rate=0.5))
            self.output = self._dense(classes)

    @staticmethod
    def _convolution(channels, batch_norm):
        init = Xavier(rnd_type="gaussian", factor_type="out", magnitude=2)
        yield nn.Conv2D(channels, 3, padding=1, weight_initializer=init, bias_initializer="zeros")
        if batch_norm:
            yield nn.BatchNorm()
        yield nn.Activation("relu")

    @staticmethod
    def _dense(units, activation=None):
        return nn.Dense(units, activation=activation, weight_initializer="normal", bias_initializer="zeros")


@documented
def get_vgg(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | list[Context] | None = None,
    root: str | None = None,
    **kwargs: Any,
) -> HybridBlock:
    """A network of the Visual Geometry Group (Simonyan, Zisserman, 2014) by its depth.

    Args:
        num_layers: the number of layers: 11, 13, 16 or 19.

    Raises:
        KeyError: `num_layers` has another value.
        TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded.

    Example:
        >>> gluon.model_zoo.vision.get_vgg(11, classes=10, batch_norm=True).output
        Dense(None -> 10, linear)
    """
    name = f"vgg{num_layers}{'_bn' if kwargs.get('batch_norm') else ''}"
    return with_weights(VGG(_LAYERS[num_layers], _FILTERS, **kwargs), name, pretrained, ctx, root)


vgg11 = named(get_vgg, "vgg11", 11)
vgg13 = named(get_vgg, "vgg13", 13)
vgg16 = named(get_vgg, "vgg16", 16)
vgg19 = named(get_vgg, "vgg19", 19)
vgg11_bn = named(get_vgg, "vgg11_bn", 11, batch_norm=True)
vgg13_bn = named(get_vgg, "vgg13_bn", 13, batch_norm=True)
vgg16_bn = named(get_vgg, "vgg16_bn", 16, batch_norm=True)
vgg19_bn = named(get_vgg, "vgg19_bn", 19, batch_norm=True)
