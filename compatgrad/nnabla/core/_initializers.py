"""Makes initializers from their descriptions in files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import initializer as I

__all__ = ["create_initializer"]

_SCALED = re.compile("(Normal|Uniform)(Affine|Convolution|CLConv)(He|HeForward|HeBackward|Glorot)")


def _fans(layer: str, shape: Sequence[int]) -> tuple[int, int, Sequence[int]]:
    if layer == "Affine":
        return shape[0], int(np.prod(shape[1:])), (1, 1)
    if layer == "Convolution":
        return shape[-3], shape[0], shape[-2:]
    return shape[-1], shape[0], shape[1:3]


def create_initializer(v: Any, rng: Any) -> Callable[..., np.ndarray] | None:
    """Makes the initializer that the Initializer of a Variable message describes; None for an unknown type, or where
    there is none."""
    message = v.initializer
    if message is None:
        return None
    factor = message.multiplier
    if message.type == "Normal":
        return I.NormalInitializer(factor, rng=rng)
    if message.type == "Uniform":
        return I.UniformInitializer((-factor, factor), rng=rng)
    if message.type == "Range":
        return I.RangeInitializer(0, factor)
    if message.type == "Constant":
        return I.ConstantInitializer(factor)
    match = _SCALED.fullmatch(message.type)
    if match is None:
        return None
    kind, layer, rule = match.groups()

    def start(shape: Sequence[int]) -> np.ndarray:
        fans = _fans(layer, shape)
        if kind == "Uniform":
            return I.UniformInitializer(I.calc_uniform_lim_glorot(*fans), rng=rng)(shape) * factor
        rules = {"Glorot": I.calc_normal_std_glorot, "HeBackward": I.calc_normal_std_he_backward}
        deviation = rules.get(rule, I.calc_normal_std_he_forward)(*fans)
        return I.NormalInitializer(deviation, rng=rng)(shape) * factor

    return start
