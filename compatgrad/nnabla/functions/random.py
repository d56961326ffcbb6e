"""Random functions. A function with a `seed` other than -1 has its own generator; the others share one. The numbers are
those that nnabla draws on a CPU for the same seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from compatgrad import _C, ops
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis
from compatgrad.nnabla.random import generator_of

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array
    from compatgrad.nnabla.variable import Variable

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


# Conditions on the parameters of distributions, without which sampling might not end.
_RULES: dict[str, tuple[Callable[[float, float], bool], str]] = {
    "uniform": (lambda low, high: high > low, "high must be larger than low"),
    "integer": (lambda low, high: high > low, "high must be larger than low"),
    "binomial": (lambda n, p: n > 0 and 0 < p < 1, "n must be positive and p between 0 and 1"),
    "beta": (lambda alpha, beta: alpha > 0 and beta > 0, "alpha and beta must be positive"),
    "gamma": (lambda k, theta: k > 0 and theta > 0, "k and theta must be positive"),
}

# The shared sections of docstrings: of all functions, of those without inputs, and of those with `base_axis`.
_SEED = """
Args:
    seed: seed of the function's own generator; -1 uses the generator that all functions share and that
        `nnabla.random.set_function_seed` seeds.
"""
_NUMBERS = """
Args:
    shape: the shape of the result.

Returns:
    Variable of `shape`, float32. Each forward pass draws new numbers; no gradient passes.

Raises:
    TypeError: `shape` is a single number.
    ValueError: a length is negative.
"""
_SAMPLES = """
Args:
    base_axis: the first axis of a sample, negative ones counted from the last.
"""


class _Draw:
    """Draws arrays from one distribution. Each function has its own instance, because each call advances the
    generator."""

    function, kind = "", ""
    names = ("", "")

    def __init__(self, shape: Sequence[int] = (), seed: int = -1, **parameters: Any):
        self.shape = [] if shape is None else [int(n) for n in shape]
        self.parameters = [float(parameters[n]) for n in self.names]
        fits, rule = _RULES.get(self.kind, (None, ""))
        if fits and not fits(*self.parameters):
            given = " and ".join(f"{n} is {parameters[n]}" for n in self.names)
            raise RuntimeError(f"{self.function}: {rule}, but {given}.")
        self.generator = generator_of(seed)

    def __call__(self, shapes: Any) -> list[torch.Tensor]:
        a, b = self.parameters
        return [ops.draw(self.generator, kind=self.kind, a=a, b=b, shape=self.shape).tensor]

    def meta(self, shapes: Any) -> list[torch.Tensor]:
        """A tensor of the shape and dtype of the drawn numbers, without data."""
        dtype = torch.int32 if self.kind == "integer" else torch.float32
        return [torch.empty(self.shape, dtype=dtype, device="meta")]


def _draws(function: str, kind: str, a: str, b: str) -> type[_Draw]:
    return type(f"_Draw{kind.title()}", (_Draw,), {"function": function, "kind": kind, "names": (a, b)})


@function("Rand", "", draws=_draws("rand", "uniform", "low", "high"), drawn=("y",), shared=(_NUMBERS, _SEED))
def rand(y: Any, low: float = 0, high: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Uniform numbers from [low, high).

    Args:
        low: the smallest number.
        high: the upper end, which is not included.

    Raises:
        RuntimeError: `high` is not larger than `low`.

    Example:
        >>> with nn.auto_forward():
        ...     F.rand(shape=(3,), seed=5).d
        array([0.22199318, 0.05518012, 0.8707323 ], dtype=float32)
    """
    return y


@function("Randint", "", draws=_draws("randint", "integer", "low", "high"), drawn=("y",), shared=(_NUMBERS, _SEED))
def randint(y: Any, low: int = 0, high: int = 1, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Uniform integers from [low, high).

    Args:
        low: the smallest number.
        high: the upper end, which is not included.

    Returns:
        Variable of `shape`, int32. Each forward pass draws new numbers; no gradient passes.

    Raises:
        RuntimeError: `high` is not larger than `low`.

    Example:
        >>> with nn.auto_forward():
        ...     F.randint(0, 10, shape=(5,), seed=5).d
        array([2, 0, 8, 8, 2], dtype=int32)
    """
    return y


@function("Randn", "", draws=_draws("randn", "normal", "mu", "sigma"), drawn=("y",), shared=(_NUMBERS, _SEED))
def randn(y: Any, mu: float = 0, sigma: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Normal numbers.

    Args:
        mu: their mean.
        sigma: their standard deviation.

    Example:
        >>> with nn.auto_forward():
        ...     F.randn(10, 0.5, shape=(3,), seed=5).d
        array([10.049822, 10.055747,  9.721856], dtype=float32)
    """
    return y


@function(
    "RandBinomial", "", draws=_draws("rand_binomial", "binomial", "n", "p"), drawn=("y",), shared=(_NUMBERS, _SEED)
)
def rand_binomial(y: Any, n: int = 1, p: float = 0.5, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Binomial numbers: the number of successes in `n` trials.

    Args:
        n: the number of trials.
        p: the probability of success in a trial.

    Raises:
        RuntimeError: `n` is not positive, or `p` is not between 0 and 1.

    Example:
        >>> with nn.auto_forward():
        ...     F.rand_binomial(10, 0.5, shape=(5,), seed=5).d
        array([3., 4., 4., 6., 4.], dtype=float32)
    """
    return y


@function("RandBeta", "", draws=_draws("rand_beta", "beta", "alpha", "beta"), drawn=("y",), shared=(_NUMBERS, _SEED))
def rand_beta(y: Any, alpha: float = 0.5, beta: float = 0.5, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Numbers of the beta distribution.

    Args:
        alpha, beta: its parameters.

    Raises:
        RuntimeError: `alpha` or `beta` is not positive.

    Example:
        >>> with nn.auto_forward():
        ...     F.rand_beta(2, 2, shape=(3,), seed=5).d
        array([0.399363  , 0.5649583 , 0.16076666], dtype=float32)
    """
    return y


@function("RandGamma", "", draws=_draws("rand_gamma", "gamma", "k", "theta"), drawn=("y",), shared=(_NUMBERS, _SEED))
def rand_gamma(y: Any, k: float = 0.5, theta: float = 1, shape: Sequence[int] = (), seed: int = -1) -> Variable:
    """Numbers of the gamma distribution.

    Args:
        k: its shape.
        theta: its scale.

    Raises:
        RuntimeError: `k` or `theta` is not positive.

    Example:
        >>> with nn.auto_forward():
        ...     F.rand_gamma(2, 1, shape=(3,), seed=5).d
        array([1.7986441 , 1.8147881 , 0.76246727], dtype=float32)
    """
    return y


@function("Dropout", "x", primitive=True, shared=(_SEED,))
def dropout(x: Array, p: float = 0.5, seed: int = -1) -> Array:
    """Sets elements to 0 at random, and divides the others by 1 - p (Srivastava et al., 2014). There is no test mode:
    for inference, programs do not call this function.

    Args:
        x: any shape, computed in float32.
        p: the probability with which an element becomes 0.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `p` is not in [0, 1).

    Example:
        >>> F.dropout(nn.NdArray.from_numpy_array(np.ones(8)), p=0.25, seed=5).data
        array([1.3333334, 0.       , 1.3333334, 0.       , 1.3333334, 1.3333334,
               1.3333334, 1.3333334], dtype=float32)
    """
    p = 0.5 if p is None else p
    if not 0 <= p < 1:
        raise RuntimeError(f"dropout: p must be in [0.0, 1.0), but is {p}.")
    if _C.traced():  # the traced program must draw a mask in each run, which nnabla's generator cannot
        return op.dropout(x, ratio=p)
    return op.dropout_drawn(x, p=p, rng=generator_of(seed))


@function("RandomChoice", "x, w", primitive=True, shared=(_SEED,))
def random_choice(x: Array, w: Array, shape: Sequence[int] = (), replace: bool = True, seed: int = -1) -> Array:
    """Draws elements of the last axis with probabilities proportional to weights.

    The gradient of a drawn element is passed to that element and to its weight.

    Args:
        x: (..., n), the elements to draw from.
        w: weights, of the shape of `x`.
        shape: the shape of the drawn elements for each row; () means (1,).
        replace: whether an element may be drawn more than once.

    Returns:
        Array (..., *shape).

    Raises:
        RuntimeError: the shapes differ, a weight is negative, or, without `replace`, too few weights are positive.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([10.0, 20.0, 30.0]))
        >>> w = nn.NdArray.from_numpy_array(np.array([0.0, 0.5, 0.5]))
        >>> F.random_choice(x, w, shape=(5,), seed=5).data
        array([20., 30., 20., 30., 20.], dtype=float32)
    """
    shape = [] if shape is None else [int(n) for n in shape]
    if tuple(x.shape) != tuple(w.shape) or x.ndim < 1:
        raise RuntimeError(
            "random_choice: dimensions of inputs must match. "
            f"inputs[0]: {tuple(x.shape)} != inputs[1]: {tuple(w.shape)}."
        )
    return op.random_choice(x, w, shape=shape, replace=replace is None or bool(replace), rng=generator_of(seed))


@function("RandomCrop", "x", primitive=True, defaults={"shape": lambda x: list(x.shape)}, shared=(_SEED, _SAMPLES))
def random_crop(x: Array, shape: Sequence[int] | None = None, base_axis: int = 1, seed: int = -1) -> Array:
    """Crops each sample at a random position.

    Args:
        x: any shape.
        shape: the lengths of the last axes of the result; None: those of `x`.

    Returns:
        Array of the shape of `x`, except for these lengths.

    Raises:
        RuntimeError: `shape` is larger than that of `x`, or `x` does not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(10.0).reshape(2, 5))
        >>> F.random_crop(x, (3,), seed=5).data
        array([[2., 3., 4.],
               [5., 6., 7.]], dtype=float32)
    """
    shape = list(x.shape if shape is None else shape)
    lead = x.ndim - len(shape)
    if lead < 0 or any(n > m for n, m in zip(shape, x.shape[lead:], strict=True)):
        raise RuntimeError(f"random_crop: shape must be smaller than input shape. {tuple(shape)} > {tuple(x.shape)}.")
    base_axis = check_axis("random_crop", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    return op.random_crop(x, shape=shape, base_axis=base_axis, rng=generator_of(seed))


@function("RandomFlip", "x", primitive=True, defaults={"axes": lambda x: [x.ndim - 1]}, shared=(_SEED, _SAMPLES))
def random_flip(x: Array, axes: Sequence[int] | None = None, base_axis: int = 1, seed: int = -1) -> Array:
    """Reverses the order of elements with probability 1/2, independently for each axis and each sample.

    Args:
        x: any shape.
        axes: the axes, negative ones counted from the last; None for the last.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: `x` does not have an axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(9.0).reshape(3, 3))
        >>> F.random_flip(x, seed=5).data
        array([[0., 1., 2.],
               [5., 4., 3.],
               [6., 7., 8.]], dtype=float32)
    """
    axes = [check_axis("random_flip", a, x.ndim) for a in ([x.ndim - 1] if axes is None else axes)]
    base_axis = check_axis("random_flip", 1 if base_axis is None else base_axis, x.ndim, "base_axis")
    return op.random_flip(x, axes=axes, base_axis=base_axis, rng=generator_of(seed))


@function("RandomShift", "x", primitive=True, defaults={"shifts": lambda x: [0] * x.ndim}, shared=(_SEED, _SAMPLES))
def random_shift(
    x: Array,
    shifts: Sequence[int] | None = None,
    border_mode: str = "nearest",
    constant_value: float = 0,
    base_axis: int = 1,
    seed: int = -1,
) -> Array:
    """Shifts each sample along the last axes by random distances.

    Args:
        x: any shape.
        shifts: the largest distance, to either side, along each of the last axes; None: not at all.
        border_mode: the elements that move in: "nearest", the element at the edge, "reflect", the elements mirrored at
            the edge, or "constant".
        constant_value: the value that moves in with "constant".

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: the mode is unknown, there are more shifts than axes, or `x` does not have the axis.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(8.0).reshape(2, 4))
        >>> F.random_shift(x, (2,), seed=5).data
        array([[1., 2., 3., 3.],
               [4., 4., 4., 5.]], dtype=float32)
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


@function("RandomErase", "x", primitive=True, shared=(_SEED, _SAMPLES))
def random_erase(
    x: Array,
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
) -> Array:
    """Replaces random rectangles of images by uniform numbers (Zhong et al., 2017).

    Args:
        x: images (*samples, channels, height, width), or (*samples, height, width, channels) with `channel_last`.
        prob: the probability of a rectangle.
        area_ratios: the smallest and the largest area of a rectangle, as a fraction of the image's area.
        aspect_ratios: the smallest and the largest ratio of its sides.
        replacements: the range of the numbers.
        n: the number of rectangles.
        share: whether all channels have the same rectangles.
        inplace: has no effect; the result never shares memory with `x`.
        channel_last: whether the channels are the last axis.
        ste_fine_grained: True passes no gradient where numbers were replaced; False passes it everywhere.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: a sample does not have three axes, a range does not have two numbers, `prob` is not in [0, 1] or
            `n` is not positive.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.zeros((1, 1, 3, 4)))
        >>> F.random_erase(x, prob=1.0, area_ratios=(0.3, 0.3), replacements=(1, 2), seed=5).data[0, 0].astype(int)
        array([[0, 0, 0, 0],
               [0, 0, 0, 0],
               [1, 1, 1, 0]])
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


@function("ImageAugmentation", "x", primitive=True, defaults={"shape": lambda x: list(x.shape)}, shared=(_SEED,))
def image_augmentation(
    x: Array,
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
) -> Array:
    """Random augmentation: each image is changed independently.

    Args:
        x: images (..., channels, height, width).
        shape: the lengths of the last axes of the result, at least height and width; None: those of `x`.
        pad: numbers of pixels added first: (above and below, left and right).
        min_scale, max_scale: the range of the scale.
        angle: the largest angle of a rotation to either side, in radians.
        aspect_ratio: the largest ratio by which the sides are stretched differently.
        distortion: the largest lens distortion.
        flip_lr: whether to mirror images horizontally with probability 1/2.
        flip_ud: whether to mirror images vertically with probability 1/2.
        brightness: the largest number that is added or subtracted.
        brightness_each: whether each channel gets a different number.
        contrast: values are multiplied by a factor from 1 / contrast to contrast.
        contrast_center: the value that the contrast does not change.
        contrast_each: whether each channel gets a different contrast.
        noise: the standard deviation of normal noise.

    Returns:
        Array of the shape of `x`, except for the last lengths.

    Raises:
        RuntimeError: `shape` has fewer than two lengths or more than `x` has axes, or `pad` does not have two.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(1, 1, 2, 3))
        >>> F.image_augmentation(x, flip_lr=True, seed=1).data[0, 0]
        array([[2., 1., 0.],
               [5., 4., 3.]], dtype=float32)
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
