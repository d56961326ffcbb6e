from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.connection.inception import Inception
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.model.vision import _pretrained
from compatgrad.chainer.links.model.vision._pretrained import available as available

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

_URL = "http://dl.caffe.berkeleyvision.org/bvlc_googlenet.caffemodel"
_BLOCKS = "3a 3b 4a 4b 4c 4d 4e 5a 5b".split()
_CAFFE_INCEPTION = {
    "conv1": "1x1",
    "proj3": "3x3_reduce",
    "conv3": "3x3",
    "proj5": "5x5_reduce",
    "conv5": "5x5",
    "projp": "pool_proj",
}
_CAFFE_NAMES = {
    "conv1": "conv1/7x7_s2",
    "conv2_reduce": "conv2/3x3_reduce",
    "conv2": "conv2/3x3",
    "loss1_conv": "loss1/conv",
    "loss1_fc1": "loss1/fc",
    "loss1_fc2": "loss1/classifier",
    "loss2_conv": "loss2/conv",
    "loss2_fc1": "loss2/fc",
    "loss2_fc2": "loss2/classifier",
    "loss3_fc": "loss3/classifier",
}
_MEAN = [104.0, 117.0, 123.0]


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
        >>> chainer.links.model.vision.googlenet.prepare(np.full((3, 4, 6), 128), size=None)[:, 0, 0]
        array([24., 11.,  5.], dtype=float32)

    Source: `chainer.links.model.vision.googlenet.prepare` of Chainer 7.8.1.
    """
    return _pretrained.prepare(image, size, _MEAN)


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=3, stride=2)


def _local_response_normalization(x):
    return F.local_response_normalization(x, n=5, k=1, alpha=1e-4 / 5)


def _average_pooling_2d_k5(x):
    return F.average_pooling_2d(x, ksize=5, stride=3)


def _average_pooling_2d_k7(x):
    return F.average_pooling_2d(x, ksize=7, stride=1)


def _dropout(x):
    return F.dropout(x, ratio=0.4)


class GoogLeNet(_pretrained.PretrainedChain):
    """GoogLeNet with its two auxiliary classifiers, for images of 224x224 pixels and 1000 classes. `link(x, layers)`
    takes a floating-point array of shape (batch, 3, 224, 224) and returns a dict of Variables by layer name; `predict`
    and `extract` take images.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.

    Example:
        >>> model = L.GoogLeNet(pretrained_model=None)
        >>> model.available_layers[-4:]
        ['loss3_fc', 'prob', 'loss1_fc2', 'loss2_fc2']

    Source: `chainer.links.GoogLeNet` of Chainer 7.8.1; Szegedy et al., 2015.
    """

    _mean = _MEAN
    _feature_layer = "pool5"
    _old_argument = "train"

    def __init__(self, pretrained_model: str | None = "auto") -> None:
        super().__init__()
        init = initializers.Zero() if pretrained_model else initializers.LeCunUniform(scale=1.0)
        init = {"initialW": init}
        with self.init_scope():
            self.conv1 = Convolution2D(3, 64, 7, stride=2, pad=3, **init)
            self.conv2_reduce = Convolution2D(64, 64, 1, **init)
            self.conv2 = Convolution2D(64, 192, 3, stride=1, pad=1, **init)
            self.inc3a = Inception(192, 64, 96, 128, 16, 32, 32)
            self.inc3b = Inception(256, 128, 128, 192, 32, 96, 64)
            self.inc4a = Inception(480, 192, 96, 208, 16, 48, 64)
            self.inc4b = Inception(512, 160, 112, 224, 24, 64, 64)
            self.inc4c = Inception(512, 128, 128, 256, 24, 64, 64)
            self.inc4d = Inception(512, 112, 144, 288, 32, 64, 64)
            self.inc4e = Inception(528, 256, 160, 320, 32, 128, 128)
            self.inc5a = Inception(832, 256, 160, 320, 32, 128, 128)
            self.inc5b = Inception(832, 384, 192, 384, 48, 128, 128)
            self.loss3_fc = Linear(1024, 1000, **init)
            self.loss1_conv = Convolution2D(512, 128, 1, **init)
            self.loss1_fc1 = Linear(2048, 1024, **init)
            self.loss1_fc2 = Linear(1024, 1000, **init)
            self.loss2_conv = Convolution2D(528, 128, 1, **init)
            self.loss2_fc1 = Linear(2048, 1024, **init)
            self.loss2_fc2 = Linear(1024, 1000, **init)
        if pretrained_model:
            self._load(pretrained_model, "bvlc_googlenet", _pretrained.download_caffemodel(_URL))

    @classmethod
    def _from_caffe(cls, caffemodel):
        model = cls(pretrained_model=None)
        for name, caffe_name in _CAFFE_NAMES.items():
            _pretrained.copy_weights(model[name], caffemodel[caffe_name])
        for block in _BLOCKS:
            for name, caffe_name in _CAFFE_INCEPTION.items():
                child = model[f"inc{block}"][name]
                _pretrained.copy_weights(child, caffemodel[f"inception_{block}/{caffe_name}"])
        return model

    @property
    def functions(self) -> Mapping[str, list[Callable[..., Any]]]:
        layers = collections.OrderedDict()
        layers["conv1"] = [self.conv1, F.relu]
        layers["pool1"] = [_max_pooling_2d, _local_response_normalization]
        layers["conv2_reduce"] = [self.conv2_reduce, F.relu]
        layers["conv2"] = [self.conv2, F.relu, _local_response_normalization]
        layers["pool2"] = [_max_pooling_2d]
        for pool, names in (("pool3", "3a 3b"), ("pool4", "4a 4b 4c 4d 4e"), ("pool5", "5a 5b")):
            for name in names.split():
                layers[f"inception_{name}"] = [getattr(self, f"inc{name}")]
            layers[pool] = [_average_pooling_2d_k7 if pool == "pool5" else _max_pooling_2d]
        layers["loss3_fc"] = [_dropout, self.loss3_fc]
        layers["prob"] = [F.softmax]
        # At the end of the dict, so that they are computed only where `layers` names them.
        for k in "12":
            conv, fc1, fc2 = (getattr(self, f"loss{k}_{name}") for name in ("conv", "fc1", "fc2"))
            layers[f"loss{k}_fc2"] = [_average_pooling_2d_k5, conv, F.relu, fc1, F.relu, fc2]
        return layers

    def _inputs(self):
        return {"loss1_fc2": "inception_4a", "loss2_fc2": "inception_4d"}
