"""Chainer's devices, made from numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer as chainer

if TYPE_CHECKING:
    from compatgrad.chainer.backend import Device


def get_device(device_id: int | None = None, use_chainerx: bool = False) -> Device:
    """The device with a given number.

    Args:
        device_id: number of a GPU; None is the CPU.
        use_chainerx: True asks for ChainerX's device, which is not available.

    Returns:
        A device of Chainer.

    Raises:
        RuntimeError: a GPU or ChainerX is not available.

    Example:
        >>> import compatgrad.chainermn.testing
        >>> chainermn.testing.get_device()
        <CpuDevice (numpy)>

    Source: `chainermn.testing.get_device` of Chainer 7.8.1.
    """
    if device_id is None:
        return chainer.get_device("native:0" if use_chainerx else "@numpy")
    return chainer.get_device(f"cuda:{device_id}" if use_chainerx else f"@cupy:{device_id}")
