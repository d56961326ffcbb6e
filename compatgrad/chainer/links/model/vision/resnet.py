from __future__ import annotations

import collections
import functools
import os
import warnings
from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link
from compatgrad.chainer.links.connection.convolution_2d import Convolution2D
from compatgrad.chainer.links.connection.linear import Linear
from compatgrad.chainer.links.model.vision import _pretrained
from compatgrad.chainer.links.model.vision._pretrained import available as available
from compatgrad.chainer.links.normalization.batch_normalization import BatchNormalization
from compatgrad.chainer.serializers import npz

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from compatgrad.chainer._typing import Initializer, IntOrInts, VariableOrArray
    from compatgrad.chainer.variable import Variable

_MEAN = [103.063, 115.903, 123.152]
_BLOCKS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}


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
        >>> chainer.links.model.vision.resnet.prepare(np.full((3, 4, 6), 128), size=None)[:, 0, 0]
        array([24.936996 , 12.097    ,  4.8479996], dtype=float32)

    Source: `chainer.links.model.vision.resnet.prepare` of Chainer 7.8.1.
    """
    return _pretrained.prepare(image, size, _MEAN)


def _max_pooling_2d(x):
    return F.max_pooling_2d(x, ksize=3, stride=2)


def _global_average_pooling_2d(x):
    n, channels, rows, cols = x.shape
    return F.reshape(F.average_pooling_2d(x, (rows, cols), stride=1), (n, channels))


def _find_caffemodel(name, folder):
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        raise OSError(
            "The pre-trained caffemodel does not exist. Please download it from "
            f"'https://github.com/KaimingHe/deep-residual-networks', and place it on {path}"
        )
    return path


def _copy_normalized(conv, bn, source, conv_name, suffix):
    # In Caffe, batch normalization is two layers: one with the statistics, one with scale and bias.
    _pretrained.copy_weights(conv, source[conv_name])
    statistics, scale = source[f"bn{suffix}"], source[f"scale{suffix}"]
    bn.avg_mean[:] = statistics.avg_mean
    bn.avg_var[:] = statistics.avg_var
    bn.gamma.array[:] = scale.W.array
    bn.beta.array[:] = scale.bias.b.array


class ResNetLayers(_pretrained.PretrainedChain):
    """ResNet with 50, 101 or 152 layers, for images of 224x224 pixels and 1000 classes. `link(x, layers)` takes a
    floating-point array of shape (batch, 3, height, width) and returns a dict of Variables by layer name; `predict`
    and `extract` take images.

    Args:
        pretrained_model: path of an .npz file of weights; "auto", or a name that ends with .caffemodel, for the file
            among the downloaded data, which is converted from the Caffe model that the user has put there (OSError
            where it is missing); None for random weights.
        n_layers: 50, 101 or 152.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.

    Raises:
        ValueError: `n_layers` is not 50, 101 or 152.

    Example:
        >>> chainer.links.model.vision.resnet.ResNetLayers(None, n_layers=34)
        Traceback (most recent call last):
          ...
        ValueError: The n_layers argument should be either 50, 101, or 152, but 34 was given.

    Source: `chainer.links.model.vision.resnet.ResNetLayers` of Chainer 7.8.1; He et al., 2016.
    """

    _mean = _MEAN
    _feature_layer = "pool5"

    def __init__(self, pretrained_model: str | None, n_layers: int, downsample_fb: bool = False) -> None:
        super().__init__()
        init = initializers.Zero() if pretrained_model else initializers.HeNormal(scale=1.0)
        if n_layers not in _BLOCKS:
            raise ValueError(f"The n_layers argument should be either 50, 101, or 152, but {n_layers} was given.")
        block = _BLOCKS[n_layers]
        with self.init_scope():
            self.conv1 = Convolution2D(3, 64, 7, 2, 3, initialW=init)
            self.bn1 = BatchNormalization(64)
            self.res2 = BuildingBlock(block[0], 64, 64, 256, 1, init, downsample_fb)
            self.res3 = BuildingBlock(block[1], 256, 128, 512, 2, init, downsample_fb)
            self.res4 = BuildingBlock(block[2], 512, 256, 1024, 2, init, downsample_fb)
            self.res5 = BuildingBlock(block[3], 1024, 512, 2048, 2, init, downsample_fb)
            self.fc6 = Linear(2048, 1000)
        if pretrained_model:
            name = f"ResNet-{n_layers}-model"
            file = f"{name}.caffemodel" if pretrained_model == "auto" else pretrained_model
            find = functools.partial(_find_caffemodel, file)
            self._load(pretrained_model, name, find, n_layers=n_layers)

    @classmethod
    def convert_caffemodel_to_npz(cls, path_caffemodel: str, path_npz: str, n_layers: int = 50) -> None:
        """Writes the weights of a Caffe model to an npz file. Raises ValueError unless `n_layers` is 50, 101 or 152."""
        from compatgrad.chainer.links.caffe import caffe_function

        source = caffe_function.CaffeFunction(path_caffemodel)
        model = ResNetLayers(None, n_layers)
        _copy_normalized(model.conv1, model.bn1, source, "conv1", "_conv1")
        for stage, n_blocks in enumerate(_BLOCKS[n_layers], 2):
            numbered = n_layers > 50 and stage in (3, 4)
            for i in range(n_blocks):
                bottleneck = model[f"res{stage}"]["a" if i == 0 else f"b{i}"]
                name = f"{stage}b{i}" if numbered and i else f"{stage}{'abcdef'[i]}"
                branches = ("2a", "2b", "2c", "1") if i == 0 else ("2a", "2b", "2c")
                for k, branch in enumerate(branches, 1):
                    conv, bn = bottleneck[f"conv{k}"], bottleneck[f"bn{k}"]
                    _copy_normalized(conv, bn, source, f"res{name}_branch{branch}", f"{name}_branch{branch}")
        _pretrained.copy_weights(model.fc6, source.fc1000)
        npz.save_npz(path_npz, model, compression=False)

    @property
    def functions(self) -> Mapping[str, list[Callable[..., Any]]]:
        return collections.OrderedDict(
            conv1=[self.conv1, self.bn1, F.relu],
            pool1=[_max_pooling_2d],
            res2=[self.res2],
            res3=[self.res3],
            res4=[self.res4],
            res5=[self.res5],
            pool5=[_global_average_pooling_2d],
            fc6=[self.fc6],
            prob=[F.softmax],
        )


class ResNet50Layers(ResNetLayers):
    """ResNet with 50 layers. See `ResNetLayers`.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.

    Example:
        >>> model = L.ResNet50Layers(pretrained_model=None)
        >>> model.available_layers
        ['conv1', 'pool1', 'res2', 'res3', 'res4', 'res5', 'pool5', 'fc6', 'prob']

    Source: `chainer.links.ResNet50Layers` of Chainer 7.8.1; He et al., 2016.
    """

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 50, downsample_fb)


class ResNet101Layers(ResNetLayers):
    """ResNet with 101 layers. See `ResNetLayers`.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.

    Example:
        >>> issubclass(L.ResNet101Layers, chainer.links.model.vision.resnet.ResNetLayers)
        True

    Source: `chainer.links.ResNet101Layers` of Chainer 7.8.1; He et al., 2016.
    """

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 101, downsample_fb)


class ResNet152Layers(ResNetLayers):
    """ResNet with 152 layers. See `ResNetLayers`.

    Args:
        pretrained_model: path of an .npz file of weights; "auto" for the file among the downloaded data; None for
            random weights.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.

    Example:
        >>> issubclass(L.ResNet152Layers, chainer.links.model.vision.resnet.ResNetLayers)
        True

    Source: `chainer.links.ResNet152Layers` of Chainer 7.8.1; He et al., 2016.
    """

    def __init__(self, pretrained_model: str | None = "auto", downsample_fb: bool = False) -> None:
        super().__init__(pretrained_model, 152, downsample_fb)


class BuildingBlock(link.Chain):
    """`n_layers` bottlenecks `a`, `b1`, `b2`, ... in order, of which the first changes size and channels. Inputs are
    floating-point arrays of shape (batch, in_channels, height, width).

    Args:
        n_layers: number of bottlenecks.
        in_channels: channels of the input.
        mid_channels: channels between the convolutions.
        out_channels: channels of the output.
        stride: step of the first bottleneck.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.
        **kwargs: `n_layer`, the old name of `n_layers`.

    Example:
        >>> block = chainer.links.model.vision.resnet.BuildingBlock(2, 4, 2, 8, stride=2)
        >>> block(np.zeros((1, 4, 6, 6), np.float32)).shape
        (1, 8, 3, 3)

    Source: `chainer.links.model.vision.resnet.BuildingBlock` of Chainer 7.8.1.
    """

    def __init__(
        self,
        n_layers: int = None,
        in_channels: int | None = None,
        mid_channels: int = None,
        out_channels: int = None,
        stride: IntOrInts = None,
        initialW: Initializer = None,
        downsample_fb: bool = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if "n_layer" in kwargs:
            warnings.warn(
                "Argument `n_layer` is deprecated. Please use `n_layers` instead",
                DeprecationWarning,
                stacklevel=2,
            )
            n_layers = kwargs["n_layer"]
        with self.init_scope():
            self.a = BottleneckA(in_channels, mid_channels, out_channels, stride, initialW, downsample_fb)
            self._forward = ["a"]
            for i in range(1, n_layers):
                setattr(self, f"b{i}", BottleneckB(out_channels, mid_channels, initialW))
                self._forward.append(f"b{i}")

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the bottlenecks in order."""
        for name in self._forward:
            x = getattr(self, name)(x)
        return x


class BottleneckA(link.Chain):
    """Bottleneck relu(bn(conv1x1(bn(conv3x3(bn(conv1x1(x)))))) + bn(conv1x1(x))), whose shortcut is a convolution.
    Inputs are floating-point arrays of shape (batch, in_channels, height, width).

    Args:
        in_channels: channels of the input.
        mid_channels: channels between the convolutions.
        out_channels: channels of the output.
        stride: step of the filter, for all axes or one number for each.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        downsample_fb: True strides in the 3x3 convolutions, False in the 1x1 ones.

    Example:
        >>> chainer.links.model.vision.resnet.BottleneckA(4, 2, 8, stride=2)(np.zeros((1, 4, 6, 6), np.float32)).shape
        (1, 8, 3, 3)

    Source: `chainer.links.model.vision.resnet.BottleneckA` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_channels: int | None,
        mid_channels: int,
        out_channels: int,
        stride: IntOrInts = 2,
        initialW: Initializer = None,
        downsample_fb: bool = False,
    ) -> None:
        super().__init__()
        stride_1x1, stride_3x3 = (1, stride) if downsample_fb else (stride, 1)
        init = {"initialW": initialW, "nobias": True}
        with self.init_scope():
            self.conv1 = Convolution2D(in_channels, mid_channels, 1, stride_1x1, 0, **init)
            self.bn1 = BatchNormalization(mid_channels)
            self.conv2 = Convolution2D(mid_channels, mid_channels, 3, stride_3x3, 1, **init)
            self.bn2 = BatchNormalization(mid_channels)
            self.conv3 = Convolution2D(mid_channels, out_channels, 1, 1, 0, **init)
            self.bn3 = BatchNormalization(out_channels)
            self.conv4 = Convolution2D(in_channels, out_channels, 1, stride, 0, **init)
            self.bn4 = BatchNormalization(out_channels)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the bottleneck to (batch, channels, height, width)."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        h = self.bn3(self.conv3(h))
        return F.relu(h + self.bn4(self.conv4(x)))


class BottleneckB(link.Chain):
    """Bottleneck relu(bn(conv1x1(bn(conv3x3(bn(conv1x1(x)))))) + x), which keeps size and channels. Inputs are
    floating-point arrays of shape (batch, in_channels, height, width).

    Args:
        in_channels: channels of the input and the output.
        mid_channels: channels between the convolutions.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.

    Example:
        >>> chainer.links.model.vision.resnet.BottleneckB(4, 2)(np.zeros((1, 4, 6, 6), np.float32)).shape
        (1, 4, 6, 6)

    Source: `chainer.links.model.vision.resnet.BottleneckB` of Chainer 7.8.1.
    """

    def __init__(self, in_channels: int | None, mid_channels: int, initialW: Initializer = None) -> None:
        super().__init__()
        init = {"initialW": initialW, "nobias": True}
        with self.init_scope():
            self.conv1 = Convolution2D(in_channels, mid_channels, 1, 1, 0, **init)
            self.bn1 = BatchNormalization(mid_channels)
            self.conv2 = Convolution2D(mid_channels, mid_channels, 3, 1, 1, **init)
            self.bn2 = BatchNormalization(mid_channels)
            self.conv3 = Convolution2D(mid_channels, in_channels, 1, 1, 0, **init)
            self.bn3 = BatchNormalization(in_channels)

    def forward(self, x: VariableOrArray) -> Variable:
        """Applies the bottleneck to (batch, channels, height, width)."""
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + x)
