"""VGG networks."""

from ....initializer import Xavier
from ... import nn
from ._parts import Classifier, named, sequence, with_weights

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


class VGG(Classifier):
    """Groups of convolutions of size 3 with pooling after each, and three Dense layers.

    layers, filters: how many convolutions each group has and how many channels they give. batch_norm: normalises
    after each convolution.
    """

    def __init__(self, layers, filters, classes=1000, batch_norm=False, **kwargs):
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


def get_vgg(num_layers, pretrained=False, ctx=None, root=None, **kwargs):
    """The network of 11, 13, 16 or 19 layers; KeyError for another number."""
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
