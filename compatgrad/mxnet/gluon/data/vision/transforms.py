"""Transformations of images, as blocks: for `dataset.transform_first`."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from .... import image
from ....base import numeric_types
from ....util import is_np_array
from ...block import Block, HybridBlock
from ...nn import HybridSequential, Sequential

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


def _operators(F: Any) -> Any:
    """Where the operators on images are."""
    return F.npx if is_np_array() and hasattr(F, "npx") else F


def _pair(size: Any) -> Any:
    return (size, size) if isinstance(size, numeric_types) else size


class Compose(Sequential):
    """Transformations, one after the other."""

    def __init__(self, transforms: Sequence[Block]) -> None:
        super().__init__()
        for each in transforms:
            if each is not None:
                self.add(each)


class HybridCompose(HybridSequential):
    """Transformations that are HybridBlocks, one after the other."""

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        for each in transforms:
            if not isinstance(each, HybridBlock):
                raise ValueError(f"HybridCompose: {each} is a {type(each).__name__}, not a HybridBlock")
            self.add(each)


class _ImageOperator(HybridBlock):
    """An operator of `nd.image` with fixed arguments."""

    _operator: str

    def __init__(self, *args: Any) -> None:
        super().__init__()
        self._args = args

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return getattr(_operators(F).image, self._operator)(x, *self._args)


class Cast(HybridBlock):
    """Converts to a dtype."""

    def __init__(self, dtype: Any = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return _operators(F).cast(x, self._dtype)


class ToTensor(_ImageOperator):
    """Images (…, height, width, channels) in [0, 255] as float32 (…, channels, height, width) in [0, 1]."""

    _operator = "to_tensor"

    def __init__(self) -> None:
        super().__init__()


class Normalize(_ImageOperator):
    """(x - mean) / std of images (…, channels, height, width): one number for each channel, or one for all."""

    _operator = "normalize"

    def __init__(self, mean: Any = 0.0, std: Any = 1.0) -> None:
        super().__init__(mean, std)


class Resize(_ImageOperator):
    """Resizes images (…, height, width, channels).

    Args:
        size: (width, height), or one number for both, or for the shorter side with `keep_ratio`.
        interpolation: 0 nearest, 1 bilinear, 2 bicubic, 3 area, 4 Lanczos.
    """

    _operator = "resize"

    def __init__(self, size: Any, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__(size, keep_ratio, interpolation)


class CropResize(HybridBlock):
    """The part of images (…, height, width, channels) from (x, y) on, then resized to `size` (width, height)."""

    def __init__(
        self, x: int, y: int, width: int, height: int, size: Any = None, interpolation: int | None = None
    ) -> None:
        super().__init__()
        self._box = (x, y, width, height)
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        operators = _operators(F).image
        out = operators.crop(x, *self._box)
        return operators.resize(out, self._size, False, self._interpolation) if self._size else out


class RandomFlipLeftRight(_ImageOperator):
    """Exchanges left and right, in half of all calls."""

    _operator = "random_flip_left_right"

    def __init__(self) -> None:
        super().__init__()


class RandomFlipTopBottom(_ImageOperator):
    """Exchanges top and bottom, in half of all calls."""

    _operator = "random_flip_top_bottom"

    def __init__(self) -> None:
        super().__init__()


class _Jitter(_ImageOperator):
    """By a random number in [1 - amount, 1 + amount], which is not negative."""

    def __init__(self, amount: float) -> None:
        super().__init__(max(0, 1 - amount), 1 + amount)


class RandomBrightness(_Jitter):
    """Multiplies by a random number in 1 ± `brightness`."""

    _operator = "random_brightness"

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness)


class RandomContrast(_Jitter):
    """Multiplies the difference from the mean grey by a random number in 1 ± `contrast`."""

    _operator = "random_contrast"

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast)


class RandomSaturation(_Jitter):
    """Multiplies the difference from the grey image by a random number in 1 ± `saturation`."""

    _operator = "random_saturation"

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation)


class RandomHue(_Jitter):
    """Turns the hue by at most `hue` of the circle."""

    _operator = "random_hue"

    def __init__(self, hue: float) -> None:
        super().__init__(hue)


class RandomColorJitter(_ImageOperator):
    """Random brightness, contrast, saturation and hue, in random order; 0 leaves one out."""

    _operator = "random_color_jitter"

    def __init__(self, brightness: float = 0, contrast: float = 0, saturation: float = 0, hue: float = 0) -> None:
        super().__init__(brightness, contrast, saturation, hue)


class RandomLighting(_ImageOperator):
    """Adds random multiples, of standard deviation `alpha`, of the principal components of colours."""

    _operator = "random_lighting"

    def __init__(self, alpha: float) -> None:
        super().__init__(alpha)


class RandomGray(HybridBlock):
    """With probability `p`, all three channels of an image (height, width, 3) become grey (of MXNet 2)."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        # the whole weight on the grey image: a saturation of 0
        return _operators(F).image.random_saturation(x, 0.0, 0.0) if random.random() < self.p else x


class RandomCrop(Block):
    """A random part of `size`, of an image with `pad` zeros (`pad_value`) around it (of MXNet 2).

    Args:
        size: (width, height), or one number for both. A part of a smaller image is resized.
        pad: pixels on each side, or ((top, bottom), (left, right)).
    """

    def __init__(self, size: Any, pad: Any = None, pad_value: float = 0, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_pair(size), interpolation)
        self._pad = ((pad, pad), (pad, pad)) if isinstance(pad, int) else pad
        self._pad_value = pad_value

    def forward(self, x: Any) -> Any:
        if self._pad:
            (top, bottom), (left, right) = self._pad[:2]
            x = image.copyMakeBorder(x, top, bottom, left, right, value=self._pad_value)
        return image.random_crop(x, *self._args)[0]


class RandomResizedCrop(Block):
    """A random part of random size and proportions, resized to `size`.

    Args:
        size: (width, height), or one number for both.
        scale: (smallest, largest) share of the image's area.
        ratio: (smallest, largest) width over height.
        interpolation: see Resize.
    """

    def __init__(
        self,
        size: Any,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = (_pair(size), scale, ratio, interpolation)

    def forward(self, x: Any) -> Any:
        return image.random_size_crop(x, *self._args)[0]


class CenterCrop(Block):
    """The middle of `size` (width, height), or one number for both; of a smaller image resized."""

    def __init__(self, size: Any, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_pair(size), interpolation)

    def forward(self, x: Any) -> Any:
        return image.center_crop(x, *self._args)[0]


class Rotate(Block):
    """Rotates float32 images (…, channels, height, width) by an angle, about their centres.

    Args:
        zoom_in: enlarges, so that no empty border shows.
        zoom_out: reduces, so that the whole image shows.
    """

    def __init__(self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: Any) -> Any:
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Rotates as Rotate, by random angles in (lower, upper) `angle_limits`, with probability `rotate_with_proba`."""

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
    """Applies a transformation with probability `p`."""

    def __init__(self, transforms: Block, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any) -> Any:
        return x if self.p < random.random() else self.transforms(x)


class HybridRandomApply(HybridSequential):
    """Applies a HybridBlock with probability `p` (of MXNet 2)."""

    def __init__(self, transforms: HybridBlock, p: float = 0.5) -> None:
        super().__init__()
        if not isinstance(transforms, HybridBlock):
            raise AssertionError(f"HybridRandomApply: expected a HybridBlock, got {type(transforms).__name__}")
        self.transforms = transforms
        self.p = p

    def forward(self, x: Any, *args: Any) -> Any:
        return x if self.p < random.random() else self.transforms(x)
