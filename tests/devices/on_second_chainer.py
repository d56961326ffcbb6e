"""Chainer on a second device, which takes GPU 0's place through a stand-in for CuPy. Run by test_devices.py."""

# isort: off
from tests.devices import stand_in_cupy
from tests.devices.stand_in_cupy import ndarray

import io

import numpy as np
import pytest
import torch
from tests.devices.second_device import put

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
# isort: on

cuda = chainer.backends.cuda
gpu, cpu = chainer.get_device("@cupy:0"), chainer.get_device("@numpy")


def f32(*shape):
    return np.random.RandomState(0).randn(*shape).astype(np.float32)


def test_arrays():
    assert cuda.available and gpu.xp is cuda.cupy and gpu.name == "@cupy:0" and gpu == cuda.GpuDevice.from_device_id(0)
    x = f32(2, 3)
    there = cuda.to_gpu(x)
    assert isinstance(there, ndarray) and cuda.to_gpu(there) is there
    assert cuda.get_device_from_array(x, there) == cuda.get_device_from_id(0)
    assert chainer.backend.get_device_from_array(there) == gpu and gpu.is_array_supported(there)
    assert cuda.get_array_module(chainer.Variable(there)) is cuda.cupy
    np.testing.assert_array_equal(cuda.to_cpu(there), x)
    np.testing.assert_array_equal(cuda.to_cpu(cuda.copy(there)), x)
    back = np.zeros_like(x)
    chainer.backend.copyto(back, there)
    np.testing.assert_array_equal(back, x)
    assert gpu.send([x, None])[1] is None


def test_variables_share_memory_with_arrays_and_move():
    there = cuda.to_gpu(f32(2, 3))
    x = chainer.Variable(there)
    assert x.tensor is there.tensor and x.device == gpu and x.xp is cuda.cupy
    x.array[...] = 1
    assert float(x.tensor.cpu().sum()) == 6
    x.grad = cuda.to_gpu(f32(2, 3))
    x.to_cpu()
    assert type(x.array) is type(x.grad) is np.ndarray and x.device == cpu
    x.to_gpu()
    assert isinstance(x.array, ndarray) and isinstance(x.grad, ndarray)
    x.to_device("@numpy")
    assert x.xp is np


def test_links_move_and_train_as_on_the_cpu():
    def train(device):
        np.random.seed(0)
        model = chainer.Sequential(L.Linear(3, 4), L.BatchNormalization(4), F.relu, L.Linear(4, 2))
        model.to_device(device)
        assert all(p.device == device for p in model.params()) and model[1].device == device
        assert device.is_array_supported(model[1].avg_mean)
        optimizer = chainer.optimizers.MomentumSGD().setup(model)
        losses = []
        for _ in range(3):
            x, t = device.send((f32(8, 3), np.arange(8, dtype=np.int32) % 2))
            loss = F.softmax_cross_entropy(model(x), t)
            model.cleargrads()
            loss.backward()
            assert all(device.is_array_supported(p.grad) for p in model.params())
            optimizer.update()
            losses.append(float(cuda.to_cpu(loss.array)))
        return losses, [cuda.to_cpu(p.array) for p in model.params()]

    here, there = train(cpu), train(gpu)
    np.testing.assert_allclose(there[0], here[0], rtol=1e-5)
    for a, b in zip(there[1], here[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_a_copy_keeps_the_graph_and_its_gradient_comes_back():
    w, x = chainer.Variable(f32(2, 3)), chainer.Variable(cuda.to_gpu(f32(2, 3)))
    there = F.copy(w, "@cupy:0") * x
    here = F.sum(F.copy(there, -1) ** 2)
    here.backward(enable_double_backprop=True)
    assert type(w.grad) is np.ndarray and isinstance(x.grad, ndarray)
    np.testing.assert_allclose(w.grad, 2 * w.array * x.array.get() ** 2, rtol=1e-5)
    (gg,) = chainer.grad([F.sum(w.grad_var)], [x])
    np.testing.assert_allclose(gg.array.get(), 4 * w.array * x.array.get(), rtol=1e-5)
    other = chainer.Variable(f32(2, 3))
    other.cleargrad()
    other.addgrad(x)
    assert type(other.grad) is np.ndarray


@pytest.mark.parametrize(
    "call", [lambda x, y: x + y, F.matmul, lambda x, y: F.concat([x, y]), F.linear, F.mean_squared_error, F.maximum]
)
def test_mixed_devices_are_named(call):
    x, y = chainer.Variable(f32(2, 2)), chainer.Variable(cuda.to_gpu(f32(2, 2)))
    with pytest.raises(TypeError, match=r"incompatible array types are mixed in the forward input .*\n.*cpu.*second:0"):
        call(x, y)
    with pytest.raises(TypeError, match=r"mixed in the forward input"):
        L.Linear(2, 2)(y)


def test_functions_of_the_program_run_forward_gpu_and_are_on_torchs_stream():
    class Double(chainer.FunctionNode):
        def forward_gpu(self, inputs):
            seen.append(stand_in_cupy.current_stream().ptr)
            return (inputs[0] * 2,)

        def backward(self, indexes, gys):
            return Double().apply(gys)

    seen = []
    x = chainer.Variable(cuda.to_gpu(f32(3)))
    stand_in_cupy.torch_stream[0] = 77
    try:
        (y,) = Double().apply((x,))
        F.sum(y).backward()
    finally:
        stand_in_cupy.torch_stream[0] = 0
    assert seen == [77, 77] and stand_in_cupy.current_stream().ptr == 0
    np.testing.assert_array_equal(x.grad.get(), [2, 2, 2])
    (y,) = Double().apply((x.array,))
    assert isinstance(y.array, ndarray)
    np.testing.assert_array_equal(y.array.get(), 2 * f32(3))
    with pytest.raises(TypeError, match="cpu.*second:0"):
        Double().apply((np.ones(3, np.float32), x))


def test_arrays_are_arguments_and_indices():
    x = cuda.to_gpu(f32(2, 3))
    np.testing.assert_array_equal(F.transpose(x).array.get(), f32(2, 3).T)
    np.testing.assert_array_equal((chainer.Variable(x) * x).array.get(), f32(2, 3) ** 2)
    np.testing.assert_array_equal(chainer.Variable(x)[cuda.to_gpu(np.array([1, 0]))].array.get(), f32(2, 3)[::-1])


def test_devices_are_entered_and_used():
    stand_in_cupy.log.clear()
    with chainer.using_device("@cupy:0"):
        pass
    gpu.use()
    assert stand_in_cupy.log == [("device", 0), ("use", 0)]
    with pytest.raises(ValueError, match="Invalid CUDA device ID"):
        cuda.GpuDevice.from_device_id(-1)


def test_tensors_of_the_device_become_arrays():
    x = chainer.Variable(put(torch.ones(2)))
    assert isinstance(x.array, ndarray) and x.array.tensor.raw.data_ptr() == x.tensor.raw.data_ptr()


def test_sparse_matrices_become_dense_where_they_are():
    x = np.array([[[0, 2.0], [3, 0]], [[0, 0], [0, 4]]], np.float32)
    coo = chainer.utils.to_coo(cuda.to_gpu(x))
    dense = coo.to_dense()
    assert isinstance(dense, ndarray)
    np.testing.assert_array_equal(dense.get(), x)


def test_runtime_info_tells_of_cupy():
    out = io.StringIO()
    chainer.print_runtime_info(out)
    assert "CuPy:\n  CuPy Version: 0\n  CUDA Root: None\n" in out.getvalue()
