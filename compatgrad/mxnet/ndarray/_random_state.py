"""One generator per device for everything random; `mxnet.random.seed` seeds them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

__all__ = ["generator", "seed_all", "seed_device", "unmoved"]

_generators: dict[torch.device, torch.Generator] = {}
_seed: int | None = None  # of generators that are made later


def _index(device: torch.device) -> int:
    return device.index or 0


def generator(device: torch.device) -> torch.Generator:
    """The generator of a device, made (from the operating system's entropy unless seeded) when first asked for."""
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
    """What is drawn inside on the CPU is drawn again behind."""
    generators = [generator(torch.device("cpu")), torch.default_generator]
    states = [g.get_state() for g in generators]
    try:
        yield
    finally:
        for g, state in zip(generators, states, strict=True):
            g.set_state(state)


def _seed_torch(device: torch.device | None, value: int) -> None:
    """The engine's own random ops draw from PyTorch's generators."""
    if device is None or device.type == "cpu":
        torch.default_generator.manual_seed(value)
    if torch.cuda.is_available() and device is None:
        torch.cuda.manual_seed_all(value)  # waits for the first use of the GPU
    elif device is not None and device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(value)


def seed_all(value: int) -> None:
    """Seeds the generators of all devices, of each with the device's number added."""
    global _seed
    _seed = value % 2**63
    for device, g in _generators.items():
        g.manual_seed(_seed + _index(device))
    _seed_torch(None, _seed)


def seed_device(value: int, device: torch.device) -> None:
    """Seeds the generator of one device."""
    generator(device).manual_seed(value % 2**63)
    _seed_torch(device, value % 2**63)
