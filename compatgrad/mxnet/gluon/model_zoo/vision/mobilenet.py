"""MobileNet, versions 1 and 2."""

from __future__ import annotations

from typing import Any

from ...._docs import sharing
from ....context import Context
from ....ndarray import NDArray
from ... import nn
from ...block import HybridBlock
from ._parts import Classifier, documented, named, sequence, with_weights

__all__ = [
    "MobileNet",
    "MobileNetV2",
    "mobilenet1_0",
    "mobilenet_v2_1_0",
    "mobilenet0_75",
    "mobilenet_v2_0_75",
    "mobilenet0_5",
    "mobilenet_v2_0_5",
    "mobilenet0_25",
    "mobilenet_v2_0_25",
    "get_mobilenet",
    "get_mobilenet_v2",
]


@documented
class RELU6(HybridBlock):
    """x cut to [0, 6].

    Call: `block(x)`, x floating point, any shape.

    Args:
        prefix: the prefix of the block's name; None gives it a number.
        params: a ParameterDict to share, which has no effect without parameters.

    Example:
        >>> gluon.model_zoo.vision.mobilenet.RELU6()(nd.array([-1.0, 3.0, 9.0])).asnumpy()
        array([0., 3., 6.], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return F.clip(x, 0, 6, name="relu6")


def _conv(channels, size=1, stride=1, groups=1, activation=None):
    yield nn.Conv2D(channels, size, stride, size // 2, groups=groups, use_bias=False)
    yield nn.BatchNorm()
    if activation is not None:
        yield activation()


def _relu():
    return nn.Activation("relu")


@documented
class MobileNet(Classifier):
    """Pairs of a depthwise convolution and one of size 1.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        multiplier: the factor of all numbers of channels.

    Example:
        >>> net = gluon.model_zoo.vision.MobileNet(0.25, classes=10)
        >>> net.initialize()
        >>> net(nd.zeros((1, 3, 32, 32))).shape
        (1, 10)
    """

    # channels and stride of each pair
    _PAIRS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            before = int(32 * multiplier)
            self.features = sequence(*_conv(before, 3, 2, activation=_relu))
            for channels, stride in self._PAIRS:
                channels = int(channels * multiplier)
                self.features.add(*_conv(before, 3, stride, before, _relu), *_conv(channels, activation=_relu))
                before = channels
            self.features.add(nn.GlobalAvgPool2D(), nn.Flatten())
            self.output = nn.Dense(classes)


@documented
class LinearBottleneck(HybridBlock):
    """A depthwise convolution of `t` times the channels between two convolutions of size 1; no activation at the end.

    Call: `block(x)`, x floating point, shape (batch, in_channels, height, width), which is added to the result if
    shapes allow.

    Args:
        in_channels: the number of channels of the data.
        channels: the number of channels of the result.
        t: the factor of the channels inside.
        stride: the distance of windows of the convolution in the middle.

    Example:
        >>> block = gluon.model_zoo.vision.mobilenet.LinearBottleneck(4, 8, t=6, stride=2)
        >>> block.initialize()
        >>> block(nd.zeros((1, 4, 8, 8))).shape
        (1, 8, 4, 4)
    """

    def __init__(self, in_channels: int, channels: int, t: int, stride: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.use_shortcut = stride == 1 and in_channels == channels
        inner = in_channels * t
        with self.name_scope():
            self.out = nn.HybridSequential()
            self.out.add(*_conv(inner, activation=RELU6), *_conv(inner, 3, stride, inner, RELU6), *_conv(channels))

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        y = self.out(x)
        return F.elemwise_add(y, x) if self.use_shortcut else y


@documented
class MobileNetV2(Classifier):
    """A sequence of LinearBottlenecks; the classes come from a convolution.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        multiplier: the factor of all numbers of channels.

    Example:
        >>> net = gluon.model_zoo.vision.MobileNetV2(0.25, classes=10)
        >>> net.initialize()
        >>> net(nd.zeros((1, 3, 32, 32))).shape
        (1, 10)
    """

    # channels and number of blocks; the strides of the blocks
    _GROUPS = ((16, 1), (24, 2), (32, 3), (64, 4), (96, 3), (160, 3), (320, 1))
    _STRIDES = (1, 2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1)

    def __init__(self, multiplier: float = 1.0, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        widths = [channels for channels, number in self._GROUPS for _ in range(number)]
        with self.name_scope():
            before = int(32 * multiplier)
            self.features = nn.HybridSequential(prefix="features_")
            with self.features.name_scope():
                self.features.add(*_conv(before, 3, 2, activation=RELU6))
                for i, (width, stride) in enumerate(zip(widths, self._STRIDES, strict=True)):
                    channels = int(width * multiplier)
                    self.features.add(LinearBottleneck(before, channels, 6 if i else 1, stride))
                    before = channels
                last = int(1280 * multiplier) if multiplier > 1.0 else 1280
                self.features.add(*_conv(last, activation=RELU6), nn.GlobalAvgPool2D())
            self.output = nn.HybridSequential(prefix="output_")
            with self.output.name_scope():
                self.output.add(nn.Conv2D(classes, 1, use_bias=False, prefix="pred_"), nn.Flatten())


_FUNCTION = """
    Args:
        multiplier: the factor of all numbers of channels. There are trained parameters for 0.25, 0.5, 0.75 and 1.0.

    Example:
        >>> net = gluon.model_zoo.vision.{name}(0.25, classes=10)
        >>> isinstance(net, gluon.model_zoo.vision.{model})
        True
"""


@documented
@sharing(_FUNCTION, model="MobileNet")
def get_mobilenet(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context | list[Context] | None = None,
    root: str | None = None,
    **kwargs: Any,
) -> HybridBlock:
    """MobileNet (Howard and others, 2017) by its number of channels."""
    return with_weights(MobileNet(multiplier, **kwargs), f"mobilenet{multiplier}", pretrained, ctx, root)


@documented
@sharing(_FUNCTION, model="MobileNetV2")
def get_mobilenet_v2(
    multiplier: float,
    pretrained: bool = False,
    ctx: Context | list[Context] | None = None,
    root: str | None = None,
    **kwargs: Any,
) -> HybridBlock:
    """MobileNet 2 (Sandler and others, 2018) by its number of channels."""
    return with_weights(MobileNetV2(multiplier, **kwargs), f"mobilenetv2_{multiplier}", pretrained, ctx, root)


mobilenet1_0 = named(get_mobilenet, "mobilenet1_0", 1.0)
mobilenet0_75 = named(get_mobilenet, "mobilenet0_75", 0.75)
mobilenet0_5 = named(get_mobilenet, "mobilenet0_5", 0.5)
mobilenet0_25 = named(get_mobilenet, "mobilenet0_25", 0.25)
mobilenet_v2_1_0 = named(get_mobilenet_v2, "mobilenet_v2_1_0", 1.0)
mobilenet_v2_0_75 = named(get_mobilenet_v2, "mobilenet_v2_0_75", 0.75)
mobilenet_v2_0_5 = named(get_mobilenet_v2, "mobilenet_v2_0_5", 0.5)
mobilenet_v2_0_25 = named(get_mobilenet_v2, "mobilenet_v2_0_25", 0.25)
