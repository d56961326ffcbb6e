"""Random networks that are trained: layers, losses, hooks, optimizers, schedules, and what programs do in between.

Each framework's module has `run(seed, perturb)`: the numbers of each of 20 steps, and how a program would describe
itself. The module imports the framework by its own name, so that the same file runs on the original.
"""

import math

import numpy as np

STEPS = 20


def number(value):
    """A float as JSON has it; what is no finite number becomes a word."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


def digest(array):
    """Two numbers that change with each element of an array, and with their order."""
    flat = np.asarray(array, np.float64).ravel()
    with np.errstate(all="ignore"):
        return [number(np.abs(flat).sum()), number(flat @ np.cos(np.arange(flat.size)))]
