"""Transformations of images by random numbers."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .... import image
from ...._docs import sharing
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential
from ._image_operator import ImageOperator, operators_of, pair

_FLIP = """
    Call: `transform(x)`, x an image (height, width, channels).

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.{name}()(x).shape
        (4, 6, 3)

    Source: `mxnet.gluon.data.vision.transforms.{name}` of MXNet 1.9.1.
"""
_COLOURS = """
    Call: `transform(x)`, x an image (height, width, 3), uint8 or floating point.

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.{name}({given})(x).shape
        (4, 6, 3)

    Source: `mxnet.gluon.data.vision.transforms.{name}` of MXNet 1.9.1.
"""


@sharing(_FLIP)
class RandomFlipLeftRight(ImageOperator):
    """Exchanges left and right in half of all calls."""

    _operator = "random_flip_left_right"

    def __init__(self) -> None:
        super().__init__()


@sharing(_FLIP)
class RandomFlipTopBottom(ImageOperator):
    """Exchanges top and bottom in half of all calls."""

    _operator = "random_flip_top_bottom"

    def __init__(self) -> None:
        super().__init__()


class _Jitter(ImageOperator):
    """An image operator with a random factor between 1 - amount, but at least 0, and 1 + amount."""

    def __init__(self, amount: float) -> None:
        super().__init__(max(0, 1 - amount), 1 + amount)


@sharing(_COLOURS, given=0.3)
class RandomBrightness(_Jitter):
    """Multiplies images by a random number.

    Args:
        brightness: the number is drawn between 1 - brightness (or 0) and 1 + brightness.
    """

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


@sharing(_COLOURS, given=0.3)
class RandomContrast(_Jitter):
    """Multiplies the difference from the mean grey by a random number.

    Args:
        contrast: the number is drawn between 1 - contrast (or 0) and 1 + contrast.
    """

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


@sharing(_COLOURS, given=0.3)
class RandomSaturation(_Jitter):
    """Multiplies the difference from the grey image by a random number.

    Args:
        saturation: the number is drawn between 1 - saturation (or 0) and 1 + saturation.
    """

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


@sharing(_COLOURS, given=0.1)
class RandomHue(_Jitter):
    """Rotates the hue by a random angle.

    Args:
        hue: the largest angle, as a part of the circle.
    """

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


@sharing(_COLOURS, given="brightness=0.3, hue=0.1")
class RandomColorJitter(ImageOperator):
    """Random brightness, contrast, saturation and hue, in random order.

    Args:
        brightness: as in RandomBrightness; 0 leaves it out, and so on.
        contrast: as in RandomContrast.
        saturation: as in RandomSaturation.
        hue: as in RandomHue.
    """

    _operator = "random_color_jitter"

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__(brightness, contrast, saturation, hue)


@sharing(_COLOURS, given=0.1)
class RandomLighting(ImageOperator):
    """Adds random multiples of the principal components of colours, as AlexNet's authors did.

    Args:
        alpha: the standard deviation of the multiples.
    """

    _operator = "random_lighting"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)


class RandomGray(HybridBlock):
    """All three channels become grey, with a probability.

    Call: `transform(x)`, x an image (height, width, 3), uint8 or floating point.

    Args:
        p: the probability.

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.array([[[255, 0, 0]]])
        >>> gluon.data.vision.transforms.RandomGray(p=1.0)(x).asnumpy()
        array([[[76.244995, 76.244995, 76.244995]]], dtype=float32)

    Source: `mxnet.gluon.data.vision.transforms.RandomGray` of MXNet 2.0.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # the whole weight on the grey image: a saturation of 0
        return operators_of(F).image.random_saturation(x, 0.0, 0.0) if random.random() < self.p else x


class RandomCrop(Block):
    """Cuts a random part out of an image.

    Call: `transform(x)`, x an image (height, width, channels); a part of a smaller image is resized.

    Args:
        size: (width, height), or one number for both.
        pad: how many pixels are added before on each side, or ((top, bottom), (left, right)).
        pad_value: the number that they get.
        interpolation: 0: the nearest pixel, 1: bilinear, 2: bicubic, 3: by area, 4: Lanczos.

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.RandomCrop((3, 2), pad=1)(x).shape
        (2, 3, 3)

    Source: `mxnet.gluon.data.vision.transforms.RandomCrop` of MXNet 2.0.
    """

    def __init__(self, size: Any, pad: Any = None, pad_value: float = 0, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (pair(size), interpolation)
        self._pad = ((pad, pad), (pad, pad)) if isinstance(pad, int) else pad
        self._pad_value = pad_value

    def forward(self, x: Any) -> Any:
        if self._pad:
            (top, bottom), (left, right) = self._pad[:2]
            x = image.copyMakeBorder(x, top, bottom, left, right, value=self._pad_value)
        return image.random_crop(x, *self._args)[0]


class RandomResizedCrop(Block):
    """Crops an image at random, with a random size and aspect ratio, and resizes the result.

    Call: `transform(x)`, x an image (height, width, channels).

    Args:
        size: (width, height), or one number for both.
        scale: the smallest and the largest share of the image's area.
        ratio: the smallest and the largest width over height.
        interpolation: 0: the nearest pixel, 1: bilinear, 2: bicubic, 3: by area, 4: Lanczos.

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.RandomResizedCrop((3, 2))(x).shape
        (2, 3, 3)

    Source: `mxnet.gluon.data.vision.transforms.RandomResizedCrop` of MXNet 1.9.1.
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = (pair(size), scale, ratio, interpolation)

    def forward(self, x: Any) -> Any:
        return image.random_size_crop(x, *self._args)[0]


class RandomRotation(Block):
    """Rotates images about their centres by random angles.

    Call: `transform(x)`, x a float32 image (channels, height, width) or (batch, channels, height, width).

    Args:
        angle_limits: the least and the largest angle, in degrees.
        zoom_in: enlarges, so that no empty border shows.
        zoom_out: reduces, so that the whole image shows.
        rotate_with_proba: the probability with which images are rotated at all.

    Raises:
        ValueError: `angle_limits` are not ascending, or `rotate_with_proba` is not between 0 and 1; in a call, there
            are both `zoom_in` and `zoom_out`.
        TypeError: in a call, x is not float32.

    Example:
        >>> gluon.data.vision.transforms.RandomRotation((-30, 30))(nd.zeros((3, 4, 6))).shape
        (3, 4, 6)

    Source: `mxnet.gluon.data.vision.transforms.RandomRotation` of MXNet 1.9.1.
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ValueError(f"RandomRotation: angle_limits must be (lower, upper), got {angle_limits}")
        if not 0 <= rotate_with_proba <= 1:
            raise ValueError(f"RandomRotation: rotate_with_proba must be in [0, 1], got {rotate_with_proba}")
        self._args = (angle_limits, zoom_in, zoom_out)
        self._rotate_with_proba = rotate_with_proba

    def forward(self, x: Any) -> Any:
        if np.random.random() > self._rotate_with_proba:
            return x
        return image.random_rotate(x, *self._args)


class RandomApply(Sequential):
    """Applies a transformation with a probability.

    Call: `transform(x)`, with an input of the transformation.

    Args:
        transforms: the transformation, a block.
        p: the probability.

    Raises:
        TypeError: in a call, `transforms` cannot be called.

    Example:
        >>> T = gluon.data.vision.transforms
        >>> T.RandomApply(T.Cast("float64"), p=1.0)(nd.array([1.0])).dtype
        <class 'numpy.float64'>

    Source: `mxnet.gluon.data.vision.transforms.RandomApply` of MXNet 1.9.1.
    """

    def __init__(self, transforms: Block, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any) -> Any:
        return x if self.p < random.random() else self.transforms(x)


class HybridRandomApply(HybridSequential):
    """Applies a transformation with a probability.

    Call: `transform(x)`, with an input of the transformation.

    Args:
        transforms: the transformation, a HybridBlock.
        p: the probability.

    Raises:
        AssertionError: `transforms` is no HybridBlock.

    Example:
        >>> T = gluon.data.vision.transforms
        >>> T.HybridRandomApply(T.Cast("float64"), p=1.0)(nd.array([1.0])).dtype
        <class 'numpy.float64'>

    Source: `mxnet.gluon.data.vision.transforms.HybridRandomApply` of MXNet 2.0.
    """

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            raise AssertionError(f"HybridRandomApply: expected a HybridBlock, got {type(transforms).__name__}")
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any, *args: Any) -> Any:
        return x if self.p < random.random() else self.transforms(x)
