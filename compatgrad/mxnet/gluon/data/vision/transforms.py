"""Transformations of images, as blocks: for `dataset.transform_first`."""

from __future__ import annotations

import random  # noqa: F401  programs find it here, as in MXNet
from collections.abc import Sequence
from typing import Any

import numpy as np  # noqa: F401  programs find it here, as in MXNet

from .... import image
from ....base import numeric_types  # noqa: F401  programs find it here, as in MXNet
from ....util import is_np_array  # noqa: F401  programs find it here, as in MXNet
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential
from ._image_operator import ImageOperator, operators_of, pair
from ._random_transforms import (
    HybridRandomApply,
    RandomApply,
    RandomBrightness,
    RandomColorJitter,
    RandomContrast,
    RandomCrop,
    RandomFlipLeftRight,
    RandomFlipTopBottom,
    RandomGray,
    RandomHue,
    RandomLighting,
    RandomResizedCrop,
    RandomRotation,
    RandomSaturation,
)

__all__ = [
    "Compose",
    "HybridCompose",
    "Cast",
    "ToTensor",
    "Normalize",
    "Rotate",
    "RandomRotation",
    "RandomResizedCrop",
    "RandomCrop",
    "CropResize",
    "CenterCrop",
    "Resize",
    "RandomFlipLeftRight",
    "RandomFlipTopBottom",
    "RandomBrightness",
    "RandomContrast",
    "RandomSaturation",
    "RandomHue",
    "RandomColorJitter",
    "RandomLighting",
    "RandomGray",
    "RandomApply",
    "HybridRandomApply",
]

for _known in (
    RandomFlipLeftRight,
    RandomFlipTopBottom,
    RandomBrightness,
    RandomContrast,
    RandomSaturation,
    RandomHue,
    RandomColorJitter,
    RandomLighting,
    RandomGray,
    RandomCrop,
    RandomResizedCrop,
    RandomRotation,
    RandomApply,
    HybridRandomApply,
):
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles


class Compose(Sequential):
    """Transformations, one after the other.

    Call: `transform(x)`, with what the first one takes.

    Args:
        transforms: a list of blocks; None among them is left out.

    Raises:
        TypeError: in a call, one of them cannot be called.

    Example:
        >>> T = gluon.data.vision.transforms
        >>> transform = T.Compose([T.CenterCrop(4), T.ToTensor(), T.Normalize(0.5, 0.5)])
        >>> transform(nd.zeros((6, 6, 3), dtype="uint8")).shape
        (3, 4, 4)

    Source: `mxnet.gluon.data.vision.transforms.Compose` of MXNet 1.9.1.
    """

    def __init__(self, transforms: Sequence[Block]) -> None:
        super().__init__()
        for each in transforms:
            if each is not None:
                self.add(each)


class HybridCompose(HybridSequential):
    """Transformations that are HybridBlocks, one after the other.

    Call: `transform(x)`, with what the first one takes.

    Args:
        transforms: a list of HybridBlocks.

    Raises:
        ValueError: one of them is no HybridBlock.

    Example:
        >>> T = gluon.data.vision.transforms
        >>> transform = T.HybridCompose([T.ToTensor(), T.Normalize(0.5, 0.5)])
        >>> transform(nd.zeros((6, 6, 3), dtype="uint8")).shape
        (3, 6, 6)

    Source: `mxnet.gluon.data.vision.transforms.HybridCompose` of MXNet 2.0.
    """

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        for each in transforms:
            if not isinstance(each, HybridBlock):
                raise ValueError(f"HybridCompose: {each} is a {type(each).__name__}, not a HybridBlock")
            self.add(each)


class Cast(HybridBlock):
    """Converts to a dtype.

    Call: `transform(x)`, x of any shape and dtype.

    Args:
        dtype: the new dtype.

    Raises:
        TypeError: in a call, `dtype` is no dtype.

    Example:
        >>> gluon.data.vision.transforms.Cast("float16")(nd.array([1, 2])).dtype
        <class 'numpy.float16'>

    Source: `mxnet.gluon.data.vision.transforms.Cast` of MXNet 1.9.1.
    """

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return operators_of(F).cast(x, self._dtype)


class ToTensor(ImageOperator):
    """Puts the channels first, and divides by 255.

    Call: `transform(x)`, x an image (height, width, channels) or (batch, height, width, channels) with numbers from 0
    to 255; the result is float32, (channels, height, width) or with the batch before.

    Raises:
        mxnet.base.MXNetError: in a call, x has another number of axes.

    Example:
        >>> x = nd.full((1, 2, 3), 51, dtype="uint8")
        >>> gluon.data.vision.transforms.ToTensor()(x).asnumpy()[0]
        array([[0.2, 0.2]], dtype=float32)

    Source: `mxnet.gluon.data.vision.transforms.ToTensor` of MXNet 1.9.1.
    """

    _operator = "to_tensor"

    def __init__(self) -> None:
        super().__init__()


class Normalize(ImageOperator):
    """(x - mean) / std for each channel.

    Call: `transform(x)`, x a floating-point image (channels, height, width) or (batch, channels, height, width).

    Args:
        mean: one number, or one for each channel.
        std: one number, or one for each channel, not 0.

    Raises:
        mxnet.base.MXNetError: in a call, there is another number of channels, or x is no image of this form.

    Example:
        >>> transform = gluon.data.vision.transforms.Normalize(mean=(0.0, 0.0, 1.0), std=0.5)
        >>> transform(nd.ones((3, 1, 1))).asnumpy().ravel()
        array([2., 2., 0.], dtype=float32)

    Source: `mxnet.gluon.data.vision.transforms.Normalize` of MXNet 1.9.1.
    """

    _operator = "normalize"

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__(mean, std)


class Resize(ImageOperator):
    """Gives images another size.

    Call: `transform(x)`, x an image (height, width, channels) or (batch, height, width, channels).

    Args:
        size: (width, height), or one number for both.
        keep_ratio: one number is the length of the shorter side, and the other one keeps the ratio.
        interpolation: 0: the nearest pixel, 1: bilinear, 2: bicubic, 3: by area, 4: Lanczos.

    Raises:
        mxnet.base.MXNetError: in a call, `size` is not positive, or x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.Resize((3, 2))(x).shape
        (2, 3, 3)
        >>> gluon.data.vision.transforms.Resize(2, keep_ratio=True)(x).shape
        (2, 3, 3)

    Source: `mxnet.gluon.data.vision.transforms.Resize` of MXNet 1.9.1.
    """

    _operator = "resize"

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__(size, keep_ratio, interpolation)


class CropResize(HybridBlock):
    """Crops images, and resizes the result.

    Call: `transform(x)`, x an image (height, width, channels) or (batch, height, width, channels).

    Args:
        x: the first column of the part.
        y: its first row.
        width: its width.
        height: its height.
        size: (width, height) of the result, or one number for both; None leaves the size of the part.
        interpolation: 0: the nearest pixel, 1: bilinear, 2: bicubic, 3: by area, 4: Lanczos. None is 1.

    Raises:
        mxnet.base.MXNetError: in a call, the part is not inside, or x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.CropResize(1, 0, width=4, height=2, size=(2, 1), interpolation=1)(x).shape
        (1, 2, 3)

    Source: `mxnet.gluon.data.vision.transforms.CropResize` of MXNet 1.9.1.
    """

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._box = (x, y, width, height)
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        operators = operators_of(F).image
        out = operators.crop(x, *self._box)
        return operators.resize(out, self._size, False, self._interpolation) if self._size else out


class CenterCrop(Block):
    """Cuts the middle out of an image.

    Call: `transform(x)`, x an image (height, width, channels); the middle of a smaller image is resized.

    Args:
        size: (width, height), or one number for both.
        interpolation: 0: the nearest pixel, 1: bilinear, 2: bicubic, 3: by area, 4: Lanczos.

    Raises:
        mxnet.base.MXNetError: in a call, x is no image of this form.

    Example:
        >>> x = nd.zeros((4, 6, 3), dtype="uint8")
        >>> gluon.data.vision.transforms.CenterCrop((3, 2))(x).shape
        (2, 3, 3)

    Source: `mxnet.gluon.data.vision.transforms.CenterCrop` of MXNet 1.9.1.
    """

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (pair(size), interpolation)

    def forward(self, x: Any) -> Any:
        return image.center_crop(x, *self._args)[0]


class Rotate(Block):
    """Rotates images about their centres.

    Call: `transform(x)`, x a float32 image (channels, height, width) or (batch, channels, height, width).

    Args:
        rotation_degrees: the angle, in degrees.
        zoom_in: enlarges, so that no empty border shows.
        zoom_out: reduces, so that the whole image shows.

    Raises:
        TypeError: in a call, x is not float32.
        ValueError: in a call, there are both `zoom_in` and `zoom_out`, or x is no image of this form.

    Example:
        >>> gluon.data.vision.transforms.Rotate(90)(nd.array([[[1.0, 2.0], [3.0, 4.0]]])).asnumpy().round(2)
        array([[[2., 4.],
                [1., 3.]]], dtype=float32)

    Source: `mxnet.gluon.data.vision.transforms.Rotate` of MXNet 1.9.1.
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        return image.imrotate(x, *self._args)
