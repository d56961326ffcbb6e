import collections

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.model.vision import _pretrained
from compatgrad.chainer.links.model.vision._pretrained import available as available

_URL = "https://www.robots.ox.ac.uk/%7Evgg/software/very_deep/caffe/{}.caffemodel"
_MEAN = [103.939, 116.779, 123.68]


def prepare(image, size=(224, 224)):
    """An image as input array. See `_pretrained.prepare`."""
    return _pretrained.prepare(image, size, _MEAN)


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=2)


class VGGLayers(_pretrained.PretrainedChain):
    """VGG with 16 or 19 layers (https://arxiv.org/abs/1409.1556). ValueError for another number.

    `pretrained_model` is the path of an npz file, "auto" for the one among the downloaded data (made from the
    Caffe model, which is downloaded), None for random weights.
    """

    _mean = _MEAN
    _feature_layer = "fc7"

    def __init__(self, pretrained_model="auto", n_layers=16):
        super().__init__()
        zero = initializers.Zero()
        init = {"initialW": zero if pretrained_model else initializers.Normal(0.01), "initial_bias": zero}
        if n_layers not in (16, 19):
            raise ValueError(f"The n_layers argument should be either 16 or 19, but {n_layers} was given.")
        self._deep = 4 if n_layers == 19 else 3
        with self.init_scope():
            for block, (n_in, n_out) in enumerate(_CHANNELS, 1):
                for i in range(1, 1 + min(_N_CONVS[block - 1], 3)):
                    self._add_conv(block, i, n_in if i == 1 else n_out, n_out, init)
            self.fc6 = Linear(512 * 7 * 7, 4096, **init)
            self.fc7 = Linear(4096, 4096, **init)
            self.fc8 = Linear(4096, 1000, **init)
            if self._deep == 4:
                for block in (3, 4, 5):
                    n_out = _CHANNELS[block - 1][1]
                    self._add_conv(block, 4, n_out, n_out, init)
        if pretrained_model:
            name = f"VGG_ILSVRC_{n_layers}_layers"
            self._load(pretrained_model, name, _pretrained.download_caffemodel(_URL.format(name)))

    def _add_conv(self, block, i, n_in, n_out, init):
        setattr(self, f"conv{block}_{i}", Convolution2D(n_in, n_out, 3, 1, 1, **init))

    @property
    def functions(self):
        layers = collections.OrderedDict()
        for block, n_convs in enumerate(_N_CONVS, 1):
            for i in range(1, 1 + (n_convs if n_convs == 2 else self._deep)):
                name = f"conv{block}_{i}"
                layers[name] = [getattr(self, name), F.relu]
            layers[f"pool{block}"] = [_max_pooling_2d]
        layers["fc6"] = [self.fc6, F.relu, F.dropout]
        layers["fc7"] = [self.fc7, F.relu, F.dropout]
        layers["fc8"] = [self.fc8]
        layers["prob"] = [F.softmax]
        return layers


_CHANNELS = ((3, 64), (64, 128), (128, 256), (256, 512), (512, 512))
_N_CONVS = (2, 2, 3, 3, 3)


class VGG16Layers(VGGLayers):
    """VGG with 16 layers. See `VGGLayers`."""

    def __init__(self, pretrained_model="auto"):
        super().__init__(pretrained_model, 16)


class VGG19Layers(VGGLayers):
    """VGG with 19 layers. See `VGGLayers`."""

    def __init__(self, pretrained_model="auto"):
        super().__init__(pretrained_model, 19)
