"""Random numbers as NDArrays, and the seed of everything random."""

from __future__ import annotations

from typing import Any

from compatgrad.core import notes

from .base import integer_types
from .context import Context
from .ndarray import random as _random
from .ndarray._random_state import seed_all, seed_device
from .ndarray.random import *  # noqa: F403

__all__ = ["seed", *_random.__all__]


def seed(seed_state: int, ctx: Any = "all") -> None:
    """Seeds the random generators, so that the numbers drawn after it are repeatable.

    Args:
        seed_state: the seed, an integer.
        ctx: the context whose numbers it sets, or "all": each device gets the seed plus its number, so that devices
            draw different numbers.

    Raises:
        ValueError: `seed_state` is no integer.
        MXNetError: `ctx` is a GPU that does not exist.

    Example:
        >>> mx.random.seed(7)
        >>> x = nd.random.normal(shape=(3,))
        >>> mx.random.seed(7)
        >>> bool((x == nd.random.normal(shape=(3,))).asnumpy().all())
        True

    Source: `mxnet.random.seed` of MXNet 1.9.1.
    """
    if not isinstance(seed_state, integer_types):
        raise ValueError(f"random.seed: seed_state must be an integer, got {seed_state!r}")
    notes.note_difference("random")
    if ctx == "all":
        seed_all(int(seed_state))
    else:
        seed_device(int(seed_state), Context(ctx).torch_device)
