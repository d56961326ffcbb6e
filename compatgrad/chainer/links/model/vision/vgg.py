from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.model.vision import _pretrained
from compatgrad.chainer.links.model.vision._pretrained import available as available

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

_URL = "https://www.robots.ox.ac.uk/%7Evgg/software/very_deep/caffe/{}.caffemodel"
_MEAN = [103.939, 116.779, 123.68]


def prepare(image: Any, size: tuple[int, int] | None = (224, 224)) -> np.ndarray:
    """An image as the network's input: resized, with channels in the order blue, green, red, and the mean pixel of the
    training images subtracted.

    Args:
        image: a PIL image, or an array of shape (height, width), (1, height, width) or (3, height, width) with values
            from 0 to 255.
        size: width and height of the result; None keeps the image's.

    Returns:
        Array of shape (3, height, width) and dtype `chainer.config.dtype`.

    Raises:
        ImportError: Pillow is not installed.

    Example:
        >>> chainer.links.model.vision.vgg.prepare(np.full((3, 4, 6), 128), size=None)[:, 0, 0]
        array([24.060997 , 11.221001 ,  4.3199997], dtype=float32)

    Source: `chainer.links.model.vision.vgg.prepare` of Chainer 7.8.1.
    """
    return _pretrained.prepare(image, size, _MEAN)


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=2)


class VGGLayers(_pretrained.PretrainedChain):
    """VGG with 16 or 19 layers, for images of 224x224 pixels and 1000 classes. `link(x, layers)` takes a floating-point
    array of shape (batch, 3, 224, 224) and returns a dict of Variables by layer name; `predict` and `extract` take
    images.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.
        n_layers: 16 or 19.

    Raises:
        ValueError: another number of layers.

    Example:
        >>> chainer.links.model.vision.vgg.VGGLayers(None, n_layers=17)
        Traceback (most recent call last):
          ...
        ValueError: The n_layers argument should be either 16 or 19, but 17 was given.

    Source: `chainer.links.model.vision.vgg.VGGLayers` of Chainer 7.8.1; Simonyan and Zisserman, 2014.
    """

    _mean = _MEAN
    _feature_layer = "fc7"

    def __init__(self, pretrained_model: str | None = "auto", n_layers: int = 16) -> None:
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
    def functions(self) -> Mapping[str, list[Callable[..., Any]]]:
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
    """VGG with 16 layers. See `VGGLayers`.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.

    Example:
        >>> issubclass(L.VGG16Layers, chainer.links.model.vision.vgg.VGGLayers)
        True

    Source: `chainer.links.VGG16Layers` of Chainer 7.8.1; Simonyan and Zisserman, 2014.
    """

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__(pretrained_model, 16)


class VGG19Layers(VGGLayers):
    """VGG with 19 layers. See `VGGLayers`.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.

    Example:
        >>> issubclass(L.VGG19Layers, chainer.links.model.vision.vgg.VGGLayers)
        True

    Source: `chainer.links.VGG19Layers` of Chainer 7.8.1; Simonyan and Zisserman, 2014.
    """

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__(pretrained_model, 19)
