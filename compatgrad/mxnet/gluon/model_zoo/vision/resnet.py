"""Residual networks, versions 1 and 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...._docs import sharing
from ....context import Context
from ....ndarray import NDArray
from ... import nn
from ...block import HybridBlock
from ._parts import Classifier, documented, named, sequence, with_weights

__all__ = [
    "ResNetV1",
    "ResNetV2",
    "BasicBlockV1",
    "BasicBlockV2",
    "BottleneckV1",
    "BottleneckV2",
    "resnet18_v1",
    "resnet34_v1",
    "resnet50_v1",
    "resnet101_v1",
    "resnet152_v1",
    "resnet18_v2",
    "resnet34_v2",
    "resnet50_v2",
    "resnet101_v2",
    "resnet152_v2",
    "get_resnet",
]


def _conv3x3(channels, stride, in_channels):
    return nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=in_channels)


def _conv1x1(channels, stride=1, in_channels=0):
    return nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=in_channels)


class _BlockV1(HybridBlock):
    """relu(body(x) + x), with a convolution and normalization on x if `downsample`."""

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.body = sequence(*self._layers(channels, stride, in_channels))
        self.downsample = None
        if downsample:
            self.downsample = sequence(_conv1x1(channels, stride, in_channels), nn.BatchNorm())

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y = self.body(x)
        return F.Activation(y + (self.downsample(x) if self.downsample else x), act_type="relu")


_BLOCK = """
    Call: `block(x)`, x floating point, shape (batch, channels, height, width).

    Args:
        channels: the number of channels of the result.
        stride: the distance of windows of the {where} convolution.
        downsample: a convolution of size 1 fits x to the result before it is added; else both have one shape.
        in_channels: the number of channels of the data; 0 is inferred in the first call.

    Example:
        >>> block = gluon.model_zoo.vision.{name}(8, 2, downsample=True)
        >>> block.initialize()
        >>> block(nd.zeros((1, 4, 6, 6))).shape
        (1, 8, 3, 3)
"""


@documented
@sharing(_BLOCK, where="first")
class BasicBlockV1(_BlockV1):
    """Two convolutions of size 3, each followed by a normalization; x is added, then ReLU."""

    def _layers(self, channels, stride, in_channels):
        yield _conv3x3(channels, stride, in_channels)
        yield nn.BatchNorm()
        yield nn.Activation("relu")
        yield _conv3x3(channels, 1, channels)
        yield nn.BatchNorm()


@documented
@sharing(_BLOCK, where="first")
class BottleneckV1(_BlockV1):
    """A convolution of size 3 on a quarter of the channels, between two of size 1, each followed by a normalization; x
    is added, then ReLU.
    """

    def _layers(self, channels, stride, in_channels):
        yield nn.Conv2D(channels // 4, 1, stride)
        yield nn.BatchNorm()
        yield nn.Activation("relu")
        yield _conv3x3(channels // 4, 1, channels // 4)
        yield nn.BatchNorm()
        yield nn.Activation("relu")
        yield nn.Conv2D(channels, 1, 1)
        yield nn.BatchNorm()


class _BlockV2(HybridBlock):
    """Convolutions, each after normalization and ReLU, and x added to the result."""

    _depth = 2

    def __init__(
        self, channels: int, stride: int, downsample: bool = False, in_channels: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        for i, conv in enumerate(self._convolutions(channels, stride, in_channels), 1):
            # created in the order in which automatic names are numbered
            setattr(self, f"bn{i}", nn.BatchNorm())
            setattr(self, f"conv{i}", conv())
        self.downsample = _conv1x1(channels, stride, in_channels) if downsample else None

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y = shortcut = x
        for i in range(1, self._depth + 1):
            y = F.Activation(getattr(self, f"bn{i}")(y), act_type="relu")
            if i == 1 and self.downsample:
                shortcut = self.downsample(y)
            y = getattr(self, f"conv{i}")(y)
        return y + shortcut


@documented
@sharing(_BLOCK, where="first")
class BasicBlockV2(_BlockV2):
    """Two convolutions of size 3, each after a normalization and ReLU; x is added."""

    def _convolutions(self, channels, stride, in_channels):
        yield lambda: _conv3x3(channels, stride, in_channels)
        yield lambda: _conv3x3(channels, 1, channels)


@documented
@sharing(_BLOCK, where="second")
class BottleneckV2(_BlockV2):
    """A convolution of size 3 on a quarter of the channels, between two of size 1, each after a normalization and ReLU;
    x is added.
    """

    _depth = 3

    def _convolutions(self, channels, stride, in_channels):
        yield lambda: _conv1x1(channels // 4)
        yield lambda: _conv3x3(channels // 4, stride, channels // 4)
        yield lambda: _conv1x1(channels)


class _ResNet(Classifier):
    """The base class of both versions: a stem, one stage for each entry of `layers`, and a dense layer."""

    def __init__(
        self, block: Callable[..., HybridBlock], layers: Sequence[int], channels: Sequence[int], classes: int = 1000,
        thumbnail: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        assert len(layers) == len(channels) - 1, f"{len(layers)} stages need {len(layers) + 1} numbers of channels"
        with self.name_scope():
            self.features = sequence(*self._head())
            self.features.add(*self._stem(channels[0], thumbnail))
            for i, number in enumerate(layers):
                self.features.add(_stage(block, number, channels[i], channels[i + 1], i))
            self.features.add(*self._tail())
            self.output = nn.Dense(classes, in_units=channels[-1])

    def _head(self):
        return ()

    def _stem(self, channels, thumbnail):
        if thumbnail:
            yield _conv3x3(channels, 1, 0)
        else:
            yield nn.Conv2D(channels, 7, 2, 3, use_bias=False)
            yield nn.BatchNorm()
            yield nn.Activation("relu")
            yield nn.MaxPool2D(3, 2, 1)


def _stage(block, number, in_channels, channels, index):
    stage = nn.HybridSequential(prefix=f"stage{index + 1}_")
    with stage.name_scope():
        stage.add(block(channels, 1 if index == 0 else 2, channels != in_channels, in_channels=in_channels, prefix=""))
        for _ in range(number - 1):
            stage.add(block(channels, 1, False, in_channels=channels, prefix=""))
    return stage


_NETWORK = """
    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        block: the class of blocks.
        layers: the number of blocks of each stage.
        channels: the number of channels of the stem, then of each stage.
        thumbnail: a small stem, for images such as those of CIFAR.

    Raises:
        AssertionError: there is not one number of channels more than stages.
        TypeError: an argument is not known.

    Example:
        >>> vision = gluon.model_zoo.vision
        >>> net = vision.{name}(vision.BasicBlock{version}, [1, 1], [8, 8, 16], classes=10, thumbnail=True)
        >>> net.initialize()
        >>> net(nd.zeros((1, 3, 32, 32))).shape
        (1, 10)
"""


@documented
@sharing(_NETWORK, version="V1")
class ResNetV1(_ResNet):
    """A residual network in which normalizations follow convolutions."""

    def _tail(self):
        yield nn.GlobalAvgPool2D()


@documented
@sharing(_NETWORK, version="V2")
class ResNetV2(_ResNet):
    """A residual network in which normalizations come before convolutions."""

    def _head(self):
        yield nn.BatchNorm(scale=False, center=False)

    def _tail(self):
        yield nn.BatchNorm()
        yield nn.Activation("relu")
        yield nn.GlobalAvgPool2D()
        yield nn.Flatten()


_BASIC, _BOTTLENECK = (64, 64, 128, 256, 512), (64, 256, 512, 1024, 2048)
# depth -> numbers of blocks, channels
_SPECS = {
    18: ((2, 2, 2, 2), _BASIC),
    34: ((3, 4, 6, 3), _BASIC),
    50: ((3, 4, 6, 3), _BOTTLENECK),
    101: ((3, 4, 23, 3), _BOTTLENECK),
    152: ((3, 8, 36, 3), _BOTTLENECK),
}
_CLASSES = {1: (ResNetV1, BasicBlockV1, BottleneckV1), 2: (ResNetV2, BasicBlockV2, BottleneckV2)}


@documented
def get_resnet(
    version: int, num_layers: int, pretrained: bool = False, ctx: Context | list[Context] | None = None,
    root: str | None = None, **kwargs: Any,
) -> HybridBlock:  # fmt: skip
    """A residual network (He, Zhang, Ren, Sun, 2015 and 2016) by its version and depth.

    Args:
        version: 1, where normalizations follow convolutions, or 2, where they come before.
        num_layers: the number of layers: 18, 34, 50, 101 or 152.

    Raises:
        AssertionError: `version` or `num_layers` has another value.
        TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded.

    Example:
        >>> gluon.model_zoo.vision.get_resnet(1, 18, classes=10).output
        Dense(512 -> 10, linear)
    """
    assert num_layers in _SPECS, f"Invalid number of layers: {num_layers}. Options are {list(_SPECS)}"
    assert version in _CLASSES, f"Invalid resnet version: {version}. Options are 1 and 2."
    layers, channels = _SPECS[num_layers]
    net_class, basic, bottleneck = _CLASSES[version]
    net = net_class(basic if channels is _BASIC else bottleneck, layers, channels, **kwargs)
    return with_weights(net, f"resnet{num_layers}_v{version}", pretrained, ctx, root)


resnet18_v1 = named(get_resnet, "resnet18_v1", 1, 18)
resnet34_v1 = named(get_resnet, "resnet34_v1", 1, 34)
resnet50_v1 = named(get_resnet, "resnet50_v1", 1, 50)
resnet101_v1 = named(get_resnet, "resnet101_v1", 1, 101)
resnet152_v1 = named(get_resnet, "resnet152_v1", 1, 152)
resnet18_v2 = named(get_resnet, "resnet18_v2", 2, 18)
resnet34_v2 = named(get_resnet, "resnet34_v2", 2, 34)
resnet50_v2 = named(get_resnet, "resnet50_v2", 2, 50)
resnet101_v2 = named(get_resnet, "resnet101_v2", 2, 101)
resnet152_v2 = named(get_resnet, "resnet152_v2", 2, 152)
