"""Random numbers: the generator of initial parameters and that of random functions.

`prng` is NumPy's, seeded with `pseed`; initializers draw from it. Functions such as `F.randn` draw from a generator
of their own, seeded from the operating system until `seed` is called. Read both as attributes of this module: `seed`
replaces them.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch

from compatgrad import ops

__all__ = ["prng", "pseed", "seed", "set_function_seed", "set_parameter_seed"]

pseed: int = 313
prng = np.random.RandomState(pseed)


def new_generator(value: int | None = None) -> torch.Tensor:
    """The state of a generator (std::mt19937) for random functions; None: seeded from the operating system."""
    if value is None:
        value = int.from_bytes(os.urandom(4), "little")
    return ops.new_generator(torch.tensor(value % 2**32)).tensor


_functions = new_generator()


def generator_of(value: Any) -> torch.Tensor:
    """The generator of a function's `seed` argument: the shared one for None and -1, else a new one."""
    return _functions if value is None or value == -1 else new_generator(int(value))


def seed(seed_value: int, set_function_seed: bool = True, set_parameter_seed: bool = True) -> None:
    """Seeds the generator of parameters and that of functions; AssertionError unless `seed_value` is an integer."""
    global pseed, prng
    assert isinstance(seed_value, int), f"seed: seed_value must be an integer, not {seed_value!r}"
    if set_parameter_seed:
        pseed = seed_value
        prng = np.random.RandomState(seed_value)
    if set_function_seed:  # in place: functions hold the state
        _functions.copy_(new_generator(seed_value))


def set_parameter_seed(seed_value: int) -> None:
    """Seeds what initializers draw from: the same in all processes of a distributed program."""
    seed(seed_value, set_function_seed=False, set_parameter_seed=True)


def set_function_seed(seed_value: int) -> None:
    """Seeds what random functions draw from: another one in each process of a distributed program."""
    seed(seed_value, set_function_seed=True, set_parameter_seed=False)
