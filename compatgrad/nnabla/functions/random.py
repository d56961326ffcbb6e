"""Random functions. Those with a `seed` other than -1 have a generator of their own, the others share one.

The numbers are those that the original draws on a CPU for the same seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from compatgrad import ops
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.random import generator_of

__all__ = [
    "dropout",
    "image_augmentation",
    "rand",
    "rand_beta",
    "rand_binomial",
    "rand_gamma",
    "randint",
    "randn",
    "random_choice",
    "random_crop",
    "random_erase",
    "random_flip",
    "random_shift",
]


class _Draw:
    """Draws arrays of one distribution; made once for each function, since its generator moves on with each call."""

    kind = ""
    names = ("", "")

    def __init__(self, shape: Sequence[int] = (), seed: int = -1, **parameters: Any):
        self.shape = [] if shape is None else [int(n) for n in shape]
        self.parameters = [float(parameters[n]) for n in self.names]
        self.generator = generator_of(seed)

    def __call__(self, shapes: Any) -> list[torch.Tensor]:
        a, b = self.parameters
        return [ops.draw(self.generator, kind=self.kind, a=a, b=b, shape=self.shape).tensor]

    def meta(self, shapes: Any) -> list[torch.Tensor]:
        """What is drawn, without data."""
        dtype = torch.int32 if self.kind == "integer" else torch.float32
        return [torch.empty(self.shape, dtype=dtype, device="meta")]


def _draws(kind: str, a: str, b: str) -> type[_Draw]:
    return type(f"_Draw{kind.title()}", (_Draw,), {"kind": kind, "names": (a, b)})


@function("Rand", "", draws=_draws("uniform", "low", "high"), drawn=("y",))
def rand(y: Any, low: float = 0, high: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """Uniform numbers from [low, high)."""
    return y


@function("Randint", "", draws=_draws("integer", "low", "high"), drawn=("y",))
def randint(y: Any, low: int = 0, high: int = 1, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """Uniform integers (int32) from [low, high)."""
    return y


@function("Randn", "", draws=_draws("normal", "mu", "sigma"), drawn=("y",))
def randn(y: Any, mu: float = 0, sigma: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """Normal numbers of mean `mu` and standard deviation `sigma`."""
    return y


@function("RandBinomial", "", draws=_draws("binomial", "n", "p"), drawn=("y",))
def rand_binomial(y: Any, n: int = 1, p: float = 0.5, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """How many of `n` trials succeed, each with probability `p`."""
    return y


@function("RandBeta", "", draws=_draws("beta", "alpha", "beta"), drawn=("y",))
def rand_beta(y: Any, alpha: float = 0.5, beta: float = 0.5, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """Numbers of the beta distribution with parameters `alpha` and `beta`."""
    return y


@function("RandGamma", "", draws=_draws("gamma", "k", "theta"), drawn=("y",))
def rand_gamma(y: Any, k: float = 0.5, theta: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Any:
    """Numbers of the gamma distribution with shape `k` and scale `theta`."""
    return y


@function("Dropout", "x", primitive=True)
def dropout(x: Any, p: float = 0.5, seed: int = -1) -> Any:
    """x with each element set to 0 with probability `p` and the others divided by 1 - p.

    RuntimeError unless 0 <= p < 1. There is no test mode: leave the function out.
    """
    p = 0.5 if p is None else p
    if not 0 <= p < 1:
        raise RuntimeError(f"dropout: p must be in [0.0, 1.0), but is {p}.")
    return op.dropout_drawn(x, p=p, rng=generator_of(seed))


@function("RandomChoice", "x, w", primitive=True)
def random_choice(x: Any, w: Any, shape: Sequence[int] = (), replace: bool = True, seed: int = -1) -> Any:
    """Elements of x's last axis, drawn with probabilities proportional to the weights w.

    x, w: one shape (..., n). Gives (..., *shape), with shape (1,) if empty. Without `replace` each element is drawn
    once at most. The gradient of a choice goes to the element and to its weight. RuntimeError for weights that are
    negative, or too few positive ones.
    """
    shape = [] if shape is None else [int(n) for n in shape]
    if tuple(x.shape) != tuple(w.shape) or x.ndim < 1:
        raise RuntimeError(
            "random_choice: dimensions of inputs must match. "
            f"inputs[0]: {tuple(x.shape)} != inputs[1]: {tuple(w.shape)}."
        )
    return op.random_choice(x, w, shape=shape, replace=replace is None or bool(replace), rng=generator_of(seed))


@function("RandomCrop", "x", primitive=True, defaults={"shape": lambda x: list(x.shape)})
def random_crop(x: Any, shape: Sequence[int] | None = None, base_axis: int = 1, seed: int = -1) -> Any:
    """A part of x that has `shape` along the last axes, at another place for each sample.

    base_axis: where a sample's axes begin. RuntimeError where `shape` is larger than x.
    """
    shape = list(x.shape if shape is None else shape)
    lead = x.ndim - len(shape)
    if lead < 0 or any(n > m for n, m in zip(shape, x.shape[lead:], strict=True)):
        raise RuntimeError(f"random_crop: shape must be smaller than input shape. {tuple(shape)} > {tuple(x.shape)}.")
    base_axis = check_axis("random_crop", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    return op.random_crop(x, shape=shape, base_axis=base_axis, rng=generator_of(seed))


@function("RandomFlip", "x", primitive=True, defaults={"axes": lambda x: [x.ndim - 1]})
def random_flip(x: Any, axes: Sequence[int] | None = None, base_axis: int = 1, seed: int = -1) -> Any:
    """x with the order on each of `axes` (the last if None) reversed with probability 1/2, for each sample anew."""
    axes = [check_axis("random_flip", a, x.ndim) for a in ([x.ndim - 1] if axes is None else axes)]
    base_axis = check_axis("random_flip", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    return op.random_flip(x, axes=axes, base_axis=base_axis, rng=generator_of(seed))


@function("RandomShift", "x", primitive=True, defaults={"shifts": lambda x: [0] * x.ndim})
def random_shift(
    x: Any,
    shifts: Sequence[int] | None = None,
    border_mode: str = "nearest",
    constant_value: float = 0,
    base_axis: int = 1,
    seed: int = -1,
) -> Any:
    """x moved along its last axes by up to shifts[i] elements to either side, by other steps for each sample.

    border_mode: what moves in, as in `shift`, or "constant" for `constant_value`. RuntimeError for another one.
    """
    if border_mode not in ("nearest", "reflect", "constant"):
        raise RuntimeError(
            f"random_shift: border_mode must be 'nearest', 'reflect' or 'constant', not {border_mode!r}."
        )
    shifts = [0] * x.ndim if shifts is None else list(shifts)
    if len(shifts) > x.ndim:
        raise RuntimeError(f"random_shift: {len(shifts)} shifts were given for x of shape {tuple(x.shape)}.")
    base_axis = check_axis("random_shift", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    return op.random_shift(
        x,
        shifts=shifts,
        border_mode=border_mode,
        constant_value=constant_value or 0.0,
        base_axis=base_axis,
        rng=generator_of(seed),
    )


@function("RandomErase", "x", primitive=True)
def random_erase(
    x: Any,
    prob: float = 0.5,
    area_ratios: Sequence[float] = (0.02, 0.4),
    aspect_ratios: Sequence[float] = (0.3, 3.3333),
    replacements: Sequence[float] = (0.0, 255.0),
    n: int = 1,
    share: bool = True,
    inplace: bool = False,
    base_axis: int = 1,
    seed: int = -1,
    channel_last: bool = False,
    ste_fine_grained: bool = True,
) -> Any:
    """Images with rectangles replaced by uniform numbers from `replacements`.

    x: (..., channels, height, width) from `base_axis` on, or channels last. n: rectangles, each there with
    probability `prob`, its area a part of the image's and its sides' ratio from the given ranges; share: the same in
    all channels. ste_fine_grained: no gradient where numbers were replaced; else it passes everywhere.
    """
    n = 1 if n is None else n
    if not 0 <= prob <= 1:
        raise RuntimeError(f"random_erase: prob must be in [0.0, 1.0]. prob = {prob}.")
    for name, value in (("area_ratios", area_ratios), ("aspect_ratios", aspect_ratios), ("replacements", replacements)):
        if len(value) != 2:
            raise RuntimeError(f"random_erase: length of {name} must be 2, not {len(value)}.")
    if n <= 0:
        raise RuntimeError(f"random_erase: n must be positive. n = {n}.")
    base_axis = check_axis("random_erase", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    if x.ndim - base_axis != 3:
        raise RuntimeError(
            "random_erase: an image needs 3 axes (channels and two in space) from base_axis "
            f"{base_axis} on, but x has shape {tuple(x.shape)}."
        )
    return op.random_erase(
        x,
        prob=prob,
        area_low=area_ratios[0],
        area_high=area_ratios[1],
        aspect_low=aspect_ratios[0],
        aspect_high=aspect_ratios[1],
        low=replacements[0],
        high=replacements[1],
        n=n,
        share=share,
        base_axis=base_axis,
        channel_last=channel_last,
        ste_fine_grained=ste_fine_grained,
        rng=generator_of(seed),
    )


@function("ImageAugmentation", "x", primitive=True, defaults={"shape": lambda x: list(x.shape)})
def image_augmentation(
    x: Any,
    shape: Sequence[int] | None = None,
    pad: Sequence[int] = (0, 0),
    min_scale: float = 1.0,
    max_scale: float = 1.0,
    angle: float = 0.0,
    aspect_ratio: float = 1.0,
    distortion: float = 0.0,
    flip_lr: bool = False,
    flip_ud: bool = False,
    brightness: float = 0.0,
    brightness_each: bool = False,
    contrast: float = 1.0,
    contrast_center: float = 0.0,
    contrast_each: bool = False,
    noise: float = 0.0,
    seed: int = -1,
) -> Any:
    """Images changed at random, each in its own way.

    x: (..., channels, height, width); shape: the result's last axes. pad: (height, width) added before; scale from
    [min_scale, max_scale]; rotation by up to `angle` radians; the sides' ratio, lens distortion, mirroring; brightness
    up to +-`brightness` and contrast from [1 / contrast, contrast] around `contrast_center`, for each channel if
    `..._each`; normal noise. Drawn from a generator as the other random functions do.
    """
    shape = [int(n) for n in (x.shape if shape is None else shape)]
    if len(shape) < 2 or x.ndim < len(shape):
        raise RuntimeError(
            "image_augmentation: shape must have at least two axes (height and width), and no more than "
            f"x of shape {tuple(x.shape)}, not {tuple(shape)}."
        )
    if len(pad) != 2:
        raise RuntimeError(f"image_augmentation: pad must be 2D (height and width), not {tuple(pad)}.")
    return op.image_augmentation(
        x,
        shape=shape,
        pad=list(pad),
        min_scale=min_scale,
        max_scale=max_scale,
        angle=angle,
        aspect_ratio=aspect_ratio,
        distortion=distortion,
        flip_lr=flip_lr,
        flip_ud=flip_ud,
        brightness=brightness,
        brightness_each=brightness_each,
        contrast=contrast,
        contrast_center=contrast_center,
        contrast_each=contrast_each,
        noise=noise,
        rng=generator_of(seed),
    )
