"""Devices by number."""

import compatgrad.chainer as chainer


def get_device(device_id=None, use_chainerx=False):
    """The device of that number, or the CPU for None; ChainerX's with `use_chainerx`."""
    if device_id is None:
        return chainer.get_device("native:0" if use_chainerx else "@numpy")
    return chainer.get_device(f"cuda:{device_id}" if use_chainerx else f"@cupy:{device_id}")
