"""Devices and array modules without a GPU."""

import threading
import warnings

import numpy as np
import pytest

from tests.chainer.subject import chainer, f32

backend = chainer.backend
cuda = chainer.backends.cuda
no_gpu = pytest.mark.skipif(cuda.available, reason="about machines without CuPy or CUDA")


@no_gpu
def test_names_exist_without_cuda():
    assert cuda.available is False and cuda.cudnn_enabled is False
    assert not isinstance(f32(1), cuda.ndarray)
    assert cuda.cupy is not None and np is not cuda.cupy
    assert chainer.cuda is cuda
    assert chainer.get_array_types() == chainer.get_cpu_array_types() == (np.ndarray,)
    with pytest.raises(RuntimeError, match="CUDA"):
        cuda.check_cuda_available()
    with pytest.raises(RuntimeError, match="CUDA"):
        cuda.to_gpu(f32(1))
    with pytest.raises(RuntimeError, match="CUDA"):
        cuda.elementwise("T x", "T y", "y = x", "identity")
    with pytest.raises(RuntimeError, match="CUDA"):
        chainer.get_device("@cupy:0")
    assert cuda.get_array_module(f32(1), None) is np
    assert cuda.fuse(abs) is abs and cuda.fuse()(abs) is abs
    assert not chainer.should_use_cudnn(">=auto") and cuda.get_max_workspace_size() == 0


def test_dummy_device():
    for device in (
        cuda.get_device_from_id(-1),
        cuda.get_device_from_id(None),
        cuda.get_device_from_array(f32(1)),
    ):
        assert device is cuda.DummyDevice and int(device) == device.id == -1
        with device as entered:
            assert entered is device
    with pytest.warns(DeprecationWarning):
        assert cuda.get_device(f32(1)) is cuda.DummyDevice


def test_to_cpu():
    x = f32([1, 2])
    assert cuda.to_cpu(x) is x
    assert cuda.to_cpu(None) is None
    first, nothing, second = cuda.to_cpu([x, None, x])
    assert first is second is x and nothing is None
    assert isinstance(cuda.to_cpu((x,)), tuple)
    scalar = cuda.to_cpu(np.float16(2))
    assert isinstance(scalar, np.ndarray) and scalar.dtype == np.float16
    for wrong in (chainer.Variable(x), object()):
        with pytest.raises(TypeError):
            cuda.to_cpu(wrong)


@pytest.mark.parametrize("spec", ["@numpy", -1, "-1", backend.CpuDevice(), np.int32(-3)])
def test_cpu_device(spec):
    device = chainer.get_device(spec)
    assert device == backend.CpuDevice() and not device != backend.CpuDevice()
    assert device.xp is np and device.name == str(device) == "@numpy"
    assert hash(device) == hash(backend.CpuDevice())
    assert device.is_array_supported(f32(1)) and not device.is_array_supported(1)
    with chainer.using_device(spec):
        assert chainer.backend.get_device_from_array(f32(1)) == device
    with pytest.raises(RuntimeError, match="using_device"), device:
        pass


@no_gpu
@pytest.mark.parametrize(
    "spec, error",
    [
        (0, RuntimeError),
        ("0", RuntimeError),
        ("@cupy:0", RuntimeError),
        ("@intel64", RuntimeError),
        ("native:0", RuntimeError),
        ("@numpy:0", ValueError),
        ("@cupy", ValueError),
        ("@jax", ValueError),
        (None, TypeError),
        (1.5, TypeError),
        (("cupy", 0), TypeError),
    ],
)
def test_wrong_device(spec, error):
    with pytest.raises(error):
        chainer.get_device(spec)


def test_copyto():
    x = np.zeros((2, 3), np.float32)
    backend.copyto(x, np.arange(3, dtype=np.float64))
    np.testing.assert_array_equal(x, [[0, 1, 2]] * 2)
    with pytest.raises(TypeError):
        backend.copyto([0], x)
    with pytest.raises(TypeError):
        backend.copyto(x, object())


def test_is_arrays_compatible():
    assert chainer.is_arrays_compatible([])
    assert chainer.is_arrays_compatible([f32(1), None, f32(2)])
    assert not chainer.is_arrays_compatible([f32(1), 2])


class Box(chainer.DeviceResident):
    def __init__(self, array, children=()):
        super().__init__()
        self.array = array
        self.children = children

    def device_resident_accept(self, visitor):
        super().device_resident_accept(visitor)
        self.array = visitor.visit_array(self.array)
        for child in self.children:
            child.device_resident_accept(visitor)


def test_device_resident():
    x = f32([1])
    box = Box(x, [Box(x)])
    assert box.to_device("@numpy") is box
    with pytest.warns(DeprecationWarning, match="to_cpu"):
        assert box.to_cpu() is box
    assert box.array is x and box.xp is np and box.device == backend.CpuDevice()
    assert box.from_chx() is box
    with pytest.raises(RuntimeError):
        box.to_chx()
    if not cuda.available:
        with pytest.raises(RuntimeError):
            box.to_gpu()


def test_overridden_to_cpu_is_called_for_children_and_once():
    calls = []
    with pytest.warns(DeprecationWarning, match="to_cpu"):

        class Old(Box):
            def to_cpu(self):
                calls.append(self)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    super().to_cpu()

    with pytest.raises(TypeError, match="to_device"):

        class Wrong(Box):
            def to_device(self, device):
                pass

    child = Old(f32([1]))
    parent = Old(f32([1]), [child])
    parent.to_cpu()
    assert calls == [parent, child]
    calls.clear()
    parent.to_device("@numpy")
    assert calls[0] is parent and set(calls) == {parent, child}


def test_device_context_is_thread_safe():
    results = []

    def run():
        with chainer.using_device("@numpy"):
            results.append(chainer.get_device("@numpy") == backend.CpuDevice())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [True] * 4
