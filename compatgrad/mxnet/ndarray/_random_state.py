"""The random generators, one for each device, which `mxnet.random.seed` seeds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["generator", "seed_all", "seed_device", "unmoved"]

_generators: dict[torch.device, torch.Generator] = {}
_seed: int | None = None  # the seed of generators that are created later


def _index(device: torch.device) -> int:
    return device.index or 0


def generator(device: torch.device) -> torch.Generator:
    """The generator of a device. It is created at the first call, with a random seed unless `seed_all` was called."""
    g = _generators.get(device)
    if g is None:
        g = _generators[device] = torch.Generator(device)
        if _seed is None:
            g.seed()
        else:
            g.manual_seed(_seed + _index(device))
    return g


@contextmanager
def unmoved() -> Iterator[None]:
    """Restores the states of the CPU's generators at the end of the `with` block: draws inside leave no trace."""
    generators = [generator(torch.device("cpu")), torch.default_generator]
    states = [g.get_state() for g in generators]
    try:
        yield
    finally:
        for g, state in zip(generators, states, strict=True):
            g.set_state(state)


def _seed_torch(device: torch.device | None, value: int) -> None:
    """Seeds PyTorch's generators too, from which the engine's random ops draw."""
    if device is None or device.type == "cpu":
        torch.default_generator.manual_seed(value)
    if torch.cuda.is_available() and device is None:
        torch.cuda.manual_seed_all(value)  # takes effect at the first use of the GPU
    elif device is not None and device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(value)


def seed_all(value: int) -> None:
    """Seeds the generators of all devices, each with `value` plus the device's number."""
    global _seed
    _seed = value % 2**63
    for device, g in _generators.items():
        g.manual_seed(_seed + _index(device))
    _seed_torch(None, _seed)


def seed_device(value: int, device: torch.device) -> None:
    """Seeds the generator of one device."""
    generator(device).manual_seed(value % 2**63)
    _seed_torch(device, value % 2**63)
