"""The parameters and inputs of the networks of `chainer_leaving`, `nnabla_leaving` and `mxnet_leaving`."""

from __future__ import annotations

import zlib

import numpy as np


def numbers(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The values of a parameter: they depend on its name only. Scales and variances are positive."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    leaf = name.replace("/", "_").rpartition("_")[2]
    if leaf in ("gamma", "var"):
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 10
    return random.normal(0, (2 / fan_in) ** 0.5, shape).astype(np.float32)


def images(*shape: int) -> np.ndarray:
    """Inputs."""
    return np.random.RandomState(0).uniform(-1, 1, shape).astype(np.float32)
