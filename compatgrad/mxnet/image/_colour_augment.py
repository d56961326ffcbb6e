"""Random changes of an image's colours."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .. import ndarray as nd
from ._augmenter import Augmenter, RandomOrderAug
from .image import color_normalize

__all__ = [
    "BrightnessJitterAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "HueJitterAug",
    "LightingAug",
    "RandomGrayAug",
    "SaturationJitterAug",
    "colour_augmenters",
]


def _grey_weights() -> nd.NDArray:
    return nd.array([[[0.299, 0.587, 0.114]]])


class BrightnessJitterAug(Augmenter):
    """Multiplies an image, in place, by a random number in 1 ± `brightness`.

    Args:
        brightness: the largest change, such as 0.4.

    Example:
        >>> x = mx.image.BrightnessJitterAug(0.5)(nd.ones((1, 1, 3)))
        >>> bool((abs(x - 1) <= 0.5).asnumpy().all())
        True

    Source: `mxnet.image.BrightnessJitterAug` of MXNet 1.9.1.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        src *= 1.0 + random.uniform(-self.brightness, self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Mixes an image, in place, with its mean grey: alpha * image + (1 - alpha) * mean, for a random alpha in 1 ±
    `contrast`.

    Args:
        contrast: the largest change, such as 0.4.

    Raises:
        MXNetError: in a call, the image has not three channels, or is not float32.

    Example:
        >>> x = mx.image.ContrastJitterAug(0.5)(nd.ones((2, 2, 3)))  # an image of one colour stays
        >>> x.asnumpy().round(3)[0, 0]
        array([1., 1., 1.], dtype=float32)

    Source: `mxnet.image.ContrastJitterAug` of MXNet 1.9.1.
    """

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
    """Mixes an image, in place, with its grey one: alpha * image + (1 - alpha) * grey, for a random alpha in 1 ±
    `saturation`.

    Args:
        saturation: the largest change, such as 0.4.

    Raises:
        MXNetError: in a call, the image has not three channels, or is not float32.

    Example:
        >>> x = mx.image.SaturationJitterAug(0.5)(nd.ones((2, 2, 3)))  # a grey image stays
        >>> x.asnumpy().round(3)[0, 0]
        array([1., 1., 1.], dtype=float32)

    Source: `mxnet.image.SaturationJitterAug` of MXNet 1.9.1.
    """

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
    """Rotates the hues of an image by a random angle, in the colour space YIQ.

    Args:
        hue: the largest angle, in units of 180 degrees.

    Raises:
        MXNetError: in a call, the image has not three channels.

    Example:
        >>> mx.image.HueJitterAug(0.5)(nd.zeros((2, 2, 3))).shape
        (2, 2, 3)

    Source: `mxnet.image.HueJitterAug` of MXNet 1.9.1.
    """

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
    """Random brightness, contrast and saturation, in random order.

    Args:
        brightness, contrast, saturation: the largest change of each, 0 for none.

    Example:
        >>> [type(t).__name__ for t in mx.image.ColorJitterAug(0.1, 0, 0.2).ts]
        ['BrightnessJitterAug', 'SaturationJitterAug']

    Source: `mxnet.image.ColorJitterAug` of MXNet 1.9.1.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        kinds = (
            (BrightnessJitterAug, brightness),
            (ContrastJitterAug, contrast),
            (SaturationJitterAug, saturation),
        )
        super().__init__([kind(amount) for kind, amount in kinds if amount > 0])


class LightingAug(Augmenter):
    """Adds random multiples of the principal components of colours to an image, in place.

    Args:
        alphastd: standard deviation of the multiples, such as 0.1.
        eigval: the three eigenvalues of the colours' covariance.
        eigvec: its eigenvectors, in columns.

    Example:
        >>> augment = mx.image.LightingAug(0.0, np.ones(3), np.eye(3))  # multiples of 0
        >>> augment(nd.ones((1, 1, 3))).asnumpy().ravel()
        array([1., 1., 1.], dtype=float32)

    Source: `mxnet.image.LightingAug` of MXNet 1.9.1; Krizhevsky, Sutskever and Hinton, ImageNet Classification with
        Deep Convolutional Neural Networks, 2012.
    """

    def __init__(self, alphastd: float, eigval: np.ndarray, eigvec: np.ndarray) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd, self.eigval, self.eigvec = alphastd, eigval, eigvec

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        alpha = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * alpha, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """Subtracts the mean of colours from an image and divides by their standard deviation, in place.

    Args:
        mean: an array of one or three numbers, None for 0.
        std: an array of one or three numbers, None for 1.

    Raises:
        MXNetError: in a call, the image has another dtype than the arrays, which are float32 unless they are NDArrays.

    Example:
        >>> mx.image.ColorNormalizeAug(np.array([1.0, 2.0, 3.0]), None)(nd.ones((1, 1, 3))).asnumpy().ravel()
        array([ 0., -1., -2.], dtype=float32)

    Source: `mxnet.image.ColorNormalizeAug` of MXNet 1.9.1.
    """

    def __init__(self, mean: Any, std: Any) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, nd.NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, nd.NDArray) else nd.array(std)

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Makes all three channels of an image grey, with a probability.

    Args:
        p: the probability.

    Raises:
        MXNetError: in a call, the image has not three channels.

    Example:
        >>> mx.image.RandomGrayAug(1)(nd.array([[[1, 0, 0]]])).asnumpy().ravel()
        array([0.21, 0.21, 0.21], dtype=float32)

    Source: `mxnet.image.RandomGrayAug` of MXNet 1.9.1.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array([[0.21] * 3, [0.72] * 3, [0.07] * 3])

    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return nd.dot(src, self.mat) if random.random() < self.p else src


_PCA_VALUES = np.array([55.46, 4.794, 1.148])
_PCA_VECTORS = np.array([[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]])


def _statistics(name: str, value: Any, of_imagenet: list[float]) -> Any:
    if value is True:
        return nd.array(of_imagenet)
    if value is not None and not (isinstance(value, (np.ndarray, nd.NDArray)) and value.shape[0] in (1, 3)):
        raise AssertionError(f"CreateAugmenter: {name} must be True, None, or an array of 1 or 3 numbers")
    return value


def colour_augmenters(
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
    mean: Any,
    std: Any,
) -> list[Augmenter]:
    """The changes of colour that the arguments switch on; normalization is the last one."""
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
