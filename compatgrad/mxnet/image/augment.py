"""Augmenters, which take an image of shape (height, width, channels) and give one, and CreateAugmenter."""

from __future__ import annotations

import random
import warnings
from typing import Any

from .. import ndarray as nd
from ._augmenter import Augmenter, RandomOrderAug, SequentialAug
from ._colour_augment import (
    BrightnessJitterAug,
    ColorJitterAug,
    ColorNormalizeAug,
    ContrastJitterAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
    SaturationJitterAug,
    colour_augmenters,
)
from .image import (
    _get_interp_method,
    center_crop,
    imresize,
    random_crop,
    random_size_crop,
    resize_short,
)

__all__ = [
    "Augmenter",
    "SequentialAug",
    "RandomOrderAug",
    "ResizeAug",
    "ForceResizeAug",
    "RandomCropAug",
    "RandomSizedCropAug",
    "CenterCropAug",
    "BrightnessJitterAug",
    "ContrastJitterAug",
    "SaturationJitterAug",
    "HueJitterAug",
    "ColorJitterAug",
    "LightingAug",
    "ColorNormalizeAug",
    "RandomGrayAug",
    "HorizontalFlipAug",
    "CastAug",
    "CreateAugmenter",
]


class ResizeAug(Augmenter):
    """Resizes an image in its proportions, by its shorter side.

    Args:
        size: the shorter side, in pixels.
        interp: the interpolation, as in `imresize`; 9 chooses by the sizes, 10 at random.

    Raises:
        ValueError: in a call, there is no such interpolation, or the image has not three axes.

    Example:
        >>> mx.image.ResizeAug(2)(nd.zeros((4, 6, 3))).shape
        (2, 3, 3)

    Source: `mxnet.image.ResizeAug` of MXNet 1.9.1.
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return resize_short(src, self.size, self.interp)


class _Sized(Augmenter):
    """An augmenter with a size, (width, height), and an interpolation."""

    def __init__(self, size: tuple[int, int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp


class ForceResizeAug(_Sized):
    """Resizes an image to a size, without keeping its aspect ratio.

    Args:
        size: (width, height).
        interp: the interpolation, as in `imresize`; 9 chooses by the sizes, 10 at random.

    Raises:
        ValueError: in a call, there is no such interpolation.
        MXNetError: in a call, the image has not three axes.

    Example:
        >>> mx.image.ForceResizeAug((5, 2))(nd.zeros((4, 6, 3))).shape
        (2, 5, 3)

    Source: `mxnet.image.ForceResizeAug` of MXNet 1.9.1.
    """

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, *self.size, interp=_get_interp_method(self.interp, sizes))


class RandomCropAug(_Sized):
    """A random part of an image; see `random_crop`.

    Args:
        size: (width, height).
        interp: the interpolation if the image is smaller; see `ResizeAug`.

    Raises:
        ValueError: in a call, there is no such interpolation, or the image has not three axes.

    Example:
        >>> mx.image.RandomCropAug((3, 2))(nd.zeros((4, 6, 3))).shape
        (2, 3, 3)

    Source: `mxnet.image.RandomCropAug` of MXNet 1.9.1.
    """

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A random part of an image, of random size and proportions, resized; see `random_size_crop`.

    Args:
        size: (width, height) of the result.
        area: share of the image's area: (smallest, largest), or the smallest, and the largest is 1.
        ratio: (smallest, largest) width over height.
        interp: the interpolation; see `ResizeAug`.
        **kwargs: `min_area`, an older name of `area`.

    Raises:
        AssertionError: there is another keyword argument.

    Example:
        >>> mx.image.RandomSizedCropAug((3, 2), 0.5, (0.75, 1.33))(nd.zeros((4, 6, 3))).shape
        (2, 3, 3)

    Source: `mxnet.image.RandomSizedCropAug` of MXNet 1.9.1.
    """

    def __init__(
        self, size: tuple[int, int], area: Any, ratio: tuple[float, float], interp: int = 2, **kwargs: Any
    ) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        if "min_area" in kwargs:
            warnings.warn("`min_area` is deprecated. Please use `area` instead.", DeprecationWarning, stacklevel=2)
            area = kwargs.pop("min_area")
        if kwargs:
            raise AssertionError(f"RandomSizedCropAug: unexpected arguments {sorted(kwargs)}")
        self.size, self.area, self.ratio, self.interp = size, area, ratio, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_Sized):
    """The middle of an image; see `center_crop`.

    Args:
        size: (width, height).
        interp: the interpolation if the image is smaller; see `ResizeAug`.

    Raises:
        ValueError: in a call, there is no such interpolation, or the image has not three axes.

    Example:
        >>> mx.image.CenterCropAug((1, 1))(nd.array([[[1], [2], [3]]])).asnumpy().ravel()
        array([2.], dtype=float32)

    Source: `mxnet.image.CenterCropAug` of MXNet 1.9.1.
    """

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Flips an image horizontally, with a probability.

    Args:
        p: the probability.

    Example:
        >>> mx.image.HorizontalFlipAug(1)(nd.array([[[1], [2], [3]]])).asnumpy().ravel()
        array([3., 2., 1.], dtype=float32)

    Source: `mxnet.image.HorizontalFlipAug` of MXNet 1.9.1.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converts an image to a dtype.

    Args:
        typ: the dtype.

    Raises:
        TypeError: in a call, arrays have no such dtype.

    Example:
        >>> mx.image.CastAug("uint8")(nd.ones((1, 1, 3))).dtype
        <class 'numpy.uint8'>

    Source: `mxnet.image.CastAug` of MXNet 1.9.1.
    """

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return src.astype(self.typ)


def CreateAugmenter(
    data_shape: tuple[int, int, int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: Any = None,
    std: Any = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """The usual augmenters for images.

    Args:
        data_shape: (channels, height, width) of the result; the augmenters have the channels last.
        resize: first resizes the shorter side to it; 0 for not.
        rand_crop: a random part, otherwise the middle.
        rand_resize: a random part of random size and proportions, which needs `rand_crop`.
        rand_mirror: flips images horizontally, with probability 0.5.
        mean, std: arrays of one or three numbers: the first is subtracted, the second divides; True is that of
            ImageNet, None none.
        brightness, contrast, saturation, hue: the largest change of each, 0 for none.
        pca_noise: standard deviation of the multiples of principal components that are added, 0 for none.
        rand_gray: probability of grey.
        inter_method: the interpolation; see `ResizeAug`.

    Returns:
        A list of augmenters.

    Raises:
        AssertionError: `rand_resize` without `rand_crop`, or another `mean` or `std`.

    Example:
        >>> augmenters = mx.image.CreateAugmenter((3, 2, 2), resize=3, rand_mirror=True, mean=True)
        >>> [type(a).__name__ for a in augmenters]
        ['ResizeAug', 'CenterCropAug', 'HorizontalFlipAug', 'CastAug', 'ColorNormalizeAug']

    Source: `mxnet.image.CreateAugmenter` of MXNet 1.9.1.
    """
    size = (data_shape[2], data_shape[1])
    crop: Augmenter
    if rand_resize:
        if not rand_crop:
            raise AssertionError("CreateAugmenter: rand_resize needs rand_crop")
        crop = RandomSizedCropAug(size, 0.08, (3.0 / 4.0, 4.0 / 3.0), inter_method)
    else:
        crop = (RandomCropAug if rand_crop else CenterCropAug)(size, inter_method)
    augmenters: list[Augmenter] = [ResizeAug(resize, inter_method)] if resize > 0 else []
    augmenters.append(crop)
    if rand_mirror:
        augmenters.append(HorizontalFlipAug(0.5))
    augmenters.append(CastAug())
    return augmenters + colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
