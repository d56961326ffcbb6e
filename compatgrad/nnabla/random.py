"""The generators of initial parameters and of random functions. Initializers draw from `prng`, a NumPy RandomState that
is seeded with `pseed`. Functions such as `F.randn` draw from another generator, which is seeded by the operating system
until `seed` is called. Read `prng` and `pseed` as attributes of this module, because `seed` replaces them.
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
    """Makes the state of a generator (std::mt19937) for random functions.

    Args:
        value: the seed, modulo 2**32; None gets one from the operating system.

    Returns:
        A torch tensor of bytes, which is changed by functions that draw from it.

    Raises:
        TypeError: `value` is a str.

    Example:
        >>> from compatgrad.nnabla import random
        >>> torch.equal(random.new_generator(1), random.new_generator(1))
        True

    Source: compatgrad's own.
    """
    if value is None:
        value = int.from_bytes(os.urandom(4), "little")
    return ops.new_generator(torch.tensor(value % 2**32)).tensor


_functions = new_generator()


def generator_of(value: Any) -> torch.Tensor:
    """The generator for the argument `seed` of a function.

    Args:
        value: a seed; None and -1 stand for the generator that all functions share.

    Returns:
        The state of the generator, a torch tensor of bytes.

    Raises:
        ValueError: `value` is a str that is not a number.

    Example:
        >>> from compatgrad.nnabla import random
        >>> random.generator_of(-1) is random.generator_of(None), random.generator_of(1) is random.generator_of(1)
        (True, False)

    Source: compatgrad's own.
    """
    return _functions if value is None or value == -1 else new_generator(int(value))


def seed(seed_value: int, set_function_seed: bool = True, set_parameter_seed: bool = True) -> None:
    """Seeds the generator of initial parameters, `prng`, and that of random functions.

    Args:
        seed_value: the seed.
        set_function_seed: whether to seed the generator of functions.
        set_parameter_seed: whether to seed the generator of parameters.

    Raises:
        AssertionError: `seed_value` is not an int; NumPy's integers are not accepted.
        ValueError: `seed_value` seeds parameters and is not between 0 and 2**32 - 1.

    Example:
        >>> from compatgrad.nnabla import random
        >>> nn.seed(3)
        >>> random.prng.randint(100), random.pseed
        (24, 3)
        >>> nn.seed(313)

    Source: `nnabla.seed` of nnabla 1.39.0.
    """
    global pseed, prng
    assert isinstance(seed_value, int), f"seed: seed_value must be an integer, not {seed_value!r}"
    if set_parameter_seed:
        pseed = seed_value
        prng = np.random.RandomState(seed_value)
    if set_function_seed:  # in place, because functions refer to this tensor
        _functions.copy_(new_generator(seed_value))


def set_parameter_seed(seed_value: int) -> None:
    """Seeds the generator of initializers, whose seed should be the same in all processes of a distributed program.

    Args:
        seed_value: the seed, initially 313.

    Raises:
        AssertionError: `seed_value` is not an int; NumPy's integers are not accepted.
        ValueError: `seed_value` is not between 0 and 2**32 - 1.

    Example:
        >>> from compatgrad.nnabla import random
        >>> random.set_parameter_seed(3)
        >>> random.prng.randint(100)
        24
        >>> random.set_parameter_seed(313)

    Source: `nnabla.random.set_parameter_seed` of nnabla 1.39.0.
    """
    seed(seed_value, set_function_seed=False, set_parameter_seed=True)


def set_function_seed(seed_value: int) -> None:
    """Seeds the generator of random functions, whose seed should differ between the processes of a distributed program.

    Args:
        seed_value: the seed, modulo 2**32; the initial one is from the operating system.

    Raises:
        AssertionError: `seed_value` is not an int; NumPy's integers are not accepted.

    Example:
        >>> from compatgrad.nnabla import random
        >>> drawn = []
        >>> for _ in range(2):
        ...     random.set_function_seed(7)
        ...     y = F.rand(0, 1, (2,))
        ...     y.forward()
        ...     drawn.append(y.d.copy())
        >>> np.array_equal(*drawn)
        True

    Source: `nnabla.random.set_function_seed` of nnabla 1.39.0.
    """
    seed(seed_value, set_function_seed=True, set_parameter_seed=False)
