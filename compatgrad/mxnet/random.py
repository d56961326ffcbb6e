"""Random numbers as NDArrays, and the seed of everything random."""

from __future__ import annotations

from typing import Any

from .base import integer_types
from .context import Context
from .ndarray import random as _random
from .ndarray._random_state import seed_all, seed_device
from .ndarray.random import *  # noqa: F403

__all__ = ["seed", *_random.__all__]


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Makes what is drawn from now on repeatable, on all devices or on one context's.

    With "all" each device gets the seed plus its number, so that devices draw different numbers. ValueError unless
    `seed_state` is an integer.
    """
    if not isinstance(seed_state, integer_types):
        raise ValueError(f"random.seed: seed_state must be an integer, got {seed_state!r}")
    if ctx == "all":
        seed_all(int(seed_state))
    else:
        seed_device(int(seed_state), Context(ctx).torch_device)
