"""Arrays that another library has on a GPU become tensors."""

import numpy as np
import pytest
import torch

from compatgrad.core import arrays


class Device:
    id = 3


class Array:
    """Behaves as a CuPy array to `tensor_of_device_array`, with memory of NumPy."""

    device = Device

    def __init__(self, values):
        self.values, self.streams = np.asarray(values), []

    def __dlpack__(self, *, stream):
        self.streams.append(stream)
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


Array.__module__ = "cupy"


@pytest.mark.parametrize(("current", "told"), [(0, 1), (77, 77)])
def test_a_cupy_array_is_told_the_stream_on_which_the_tensor_will_be_used(monkeypatch, current, told):
    """In the array API 1 is CUDA's default stream, whose number is 0 elsewhere."""
    asked = []
    monkeypatch.setattr(arrays, "_current_stream", lambda device: asked.append(device) or current)
    a = Array([1.0, 2.0])
    t = arrays.tensor_of_device_array(a, "a")
    a.values[0] = 5
    assert t.tolist() == [5, 2] and t.dtype == torch.float64
    assert a.streams == [told] and asked == [3]


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="gamma: expected an array or a torch tensor, got"):
        arrays.tensor_of_device_array([1.0], "gamma")
