"""Random changes of images, as objects: each gets an image of shape (height, width, channels) and gives one."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ndarray as nd
from .image import (
    _get_interp_method,
    center_crop,
    color_normalize,
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


class Augmenter:
    """Base class; keyword arguments are what `dumps` writes."""

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = {k: self._plain(v) for k, v in kwargs.items()}

    @staticmethod
    def _plain(value: Any) -> Any:
        if isinstance(value, nd.NDArray):
            value = value.asnumpy()
        return value.tolist() if isinstance(value, np.ndarray) else value

    def dumps(self) -> Any:
        """The name and the arguments, as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class SequentialAug(Augmenter):
    """Several augmenters, one after the other."""

    def __init__(self, ts: Sequence[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Any:
        return [type(self).__name__.lower(), [t.dumps() for t in self.ts]]

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        for t in self.ts:
            src = t(src)
        return src


class RandomOrderAug(SequentialAug):
    """Several augmenters, in a new order each time."""

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        random.shuffle(self.ts)
        return super().__call__(src)


class ResizeAug(Augmenter):
    """Resizes the shorter side to `size`."""

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return resize_short(src, self.size, self.interp)


class ForceResizeAug(Augmenter):
    """Resizes to (width, height) `size`."""

    def __init__(self, size: tuple[int, int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        sizes = (src.shape[0], src.shape[1], self.size[1], self.size[0])
        return imresize(src, *self.size, interp=_get_interp_method(self.interp, sizes))


class RandomCropAug(Augmenter):
    """A random part of (width, height) `size`."""

    def __init__(self, size: tuple[int, int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """A random part of random size and proportions, resized to (width, height) `size`; see random_size_crop."""

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


class CenterCropAug(Augmenter):
    """The middle of (width, height) `size`."""

    def __init__(self, size: tuple[int, int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size, self.interp = size, interp

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return center_crop(src, self.size, self.interp)[0]


def _grey_weights() -> nd.NDArray:
    return nd.array([[[0.299, 0.587, 0.114]]])


class BrightnessJitterAug(Augmenter):
    """Multiplies by a random number in 1 ± `brightness`."""

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Mixes with the image's mean grey, by a random number in 1 ± `contrast`."""

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = _grey_weights()

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        alpha = 1.0 + random.uniform(-self.contrast, self.contrast)
        grey = src * self.coef
        mean = (3.0 * (1.0 - alpha) / grey.size) * nd.sum(grey)
        src *= alpha
        src += mean
        return src


class SaturationJitterAug(Augmenter):
    """Mixes with the grey image, by a random number in 1 ± `saturation`."""

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = _grey_weights()

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        alpha = 1.0 + random.uniform(-self.saturation, self.saturation)
        grey = nd.sum(src * self.coef, axis=2, keepdims=True) * (1.0 - alpha)
        src *= alpha
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Turns colours by a random angle of at most `hue` times 180 degrees, in the space YIQ."""

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue
        self.tyiq = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
        self.ityiq = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        angle = random.uniform(-self.hue, self.hue) * np.pi
        u, w = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, u, -w], [0.0, w, u]])
        return nd.dot(src, nd.array((self.ityiq @ turn @ self.tyiq).T))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation at random, in random order; 0 leaves one out."""

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds = (
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        )
        super().__init__([kind(amount) for kind, amount in kinds if amount > 0])


class LightingAug(Augmenter):
    """Adds random multiples of the principal components of colours."""

    def __init__(self, alphastd: float, eigval: np.ndarray, eigvec: np.ndarray) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts `mean` and divides by `std`; None leaves one out."""

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, nd.NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, nd.NDArray) else nd.array(std)

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """With probability `p`, all three channels become grey."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return nd.dot(src, self.mat) if random.random() < self.p else src


class HorizontalFlipAug(Augmenter):
    """With probability `p`, left and right change places."""

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converts to a dtype."""

    def __init__(self, typ: str = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return src.astype(self.typ)


_PCA_VALUES = np.array([55.46, 4.794, 1.148])
_PCA_VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


def _statistics(name: str, value: Any, of_imagenet: list[float]) -> Any:
    if value is True:
        return nd.array(of_imagenet)
    if value is not None and not (isinstance(value, (np.ndarray, nd.NDArray)) and value.shape[0] in (1, 3)):
        raise AssertionError(f"CreateAugmenter: {name} must be True, None, or an array of 1 or 3 numbers")
    return value


def _colour_augmenters(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: Any,
    std: Any,
) -> list[Augmenter]:
    """Those of the changes of colour that are asked for, the normalisation last."""
    augmenters: list[Augmenter] = []
    if brightness or contrast or saturation:
        augmenters.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        augmenters.append(HueJitterAug(hue))
    if pca_noise > 0:
        augmenters.append(LightingAug(pca_noise, _PCA_VALUES, _PCA_VECTORS))
    if rand_gray > 0:
        augmenters.append(RandomGrayAug(rand_gray))
    mean = _statistics("mean", mean, [123.68, 116.28, 103.53])
    std = _statistics("std", std, [58.395, 57.12, 57.375])
    if mean is not None or std is not None:
        augmenters.append(ColorNormalizeAug(mean, std))
    return augmenters


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
    """The usual augmenters for images of shape `data_shape` (channels, height, width), as a list.

    Args:
        resize: first resizes the shorter side to it.
        rand_crop, rand_resize: a random part, of random size and proportions (which needs `rand_crop`); otherwise the
            middle.
        mean, std: arrays that are subtracted and divided by; True is that of ImageNet.
        The others: how strong each random change is, 0 for none.
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
    return augmenters + _colour_augmenters(brightness, contrast, saturation, hue, pca_noise, rand_gray, mean, std)
