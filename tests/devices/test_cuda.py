"""Frontends on a GPU."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad.core.arrays import tensor_of_device_array
from compatgrad.nnabla.ext_utils import get_extension_context

cuda = chainer.backends.cuda
pytestmark = [pytest.mark.cuda, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")]
cupy = pytest.mark.skipif(not cuda.available, reason="CuPy cannot be used")


@cupy
def test_kernels_share_memory_stream_and_allocator():
    twice = cuda.elementwise("T x", "T y", "y = 2 * x", "twice")
    total = cuda.reduce("T x", "T y", "x", "a + b", "y = a", "0", "total")
    code = 'extern "C" __global__ void one(float* x, int n) { if (threadIdx.x < n) x[threadIdx.x] = 1; }'
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x = torch.zeros(7, device="cuda")
        cuda.raw(code, "one")((1,), (32,), (x, np.int32(7)))
        y = twice(x)
        s = total(y)
        z = torch.from_dlpack(y) + 1
    stream.synchronize()
    assert float(s.get()) == 14 and z.tolist() == [3] * 7
    before = torch.cuda.memory_allocated()
    held = cuda.cupy.empty(1 << 20, dtype=np.uint8)
    assert torch.cuda.memory_allocated() - before >= held.nbytes
    del held
    assert torch.cuda.memory_allocated() == before


@cupy
def test_chainer_copies_keep_the_graph():
    w = chainer.Variable(np.ones(3, np.float32))
    x = chainer.Variable(cuda.to_gpu(np.arange(3, dtype=np.float32)))
    F.sum(F.copy(w, 0) * x).backward()
    assert type(w.grad) is np.ndarray and isinstance(x.grad, cuda.ndarray)
    assert w.grad.tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="cpu.*cuda:0"):
        w + x
    link = chainer.links.Linear(3, 2).to_device("@cupy:0")
    assert link.W.device == chainer.get_device("@cupy:0") and link(x.array[None]).device == link.device


def test_mxnet_arrays_move():
    a = mx.nd.array([1, 2])
    a.attach_grad()
    with mx.autograd.record():
        b = (a.as_in_context(mx.gpu(0)) ** 2).sum()
    b.backward()
    assert b.context == mx.gpu(0) and a.grad.context == mx.cpu() and a.grad.asnumpy().tolist() == [2, 4]
    with pytest.raises(mx.base.MXNetError, match="different devices"):
        a + a.as_in_context(mx.gpu(0))


@pytest.mark.parametrize("name", ["cuda", "cudnn"])
def test_nnabla_arrays_move(name):
    x = nn.Variable.from_numpy_array(np.array([1, 2], np.float32))
    x.need_grad = True
    with nn.context_scope(get_extension_context(name)):
        y = NF.sum(x**2)
    y.forward()
    assert x.data.tensor.is_cuda and y.data.tensor.is_cuda
    x.grad.zero()
    y.backward()
    assert x.grad.tensor.is_cuda and x.g.tolist() == [2, 4]


@cupy
@pytest.mark.parametrize("dtype", ["?", "b", "B", "e", "f", "d", "i", "q", "F"])
def test_cupy_arrays_become_tensors_that_share_their_memory(dtype):
    xp = cuda.cupy
    for a in (xp.ones((3, 4), dtype), xp.ones((3, 4), dtype)[::2, 1:].T, xp.ones((), dtype), xp.ones((0, 2), dtype)):
        t = tensor_of_device_array(a, "a")
        assert t.device == torch.device("cuda", a.device.id) and tuple(t.shape) == a.shape
        a[...] = 0
        np.testing.assert_array_equal(t.cpu().numpy(), xp.asnumpy(a))
        assert not t.numel() or t.data_ptr() == a.data.ptr


@cupy
def test_a_tensor_waits_for_the_stream_of_its_array():
    xp, here, there = cuda.cupy, torch.cuda.Stream(), cuda.cupy.cuda.Stream(non_blocking=True)
    for _ in range(5):
        with there:
            a = xp.zeros(1 << 24, "f")
            for _ in range(50):
                a += 1
            with torch.cuda.stream(here):
                t = tensor_of_device_array(a, "a") * 2
        here.synchronize()
        assert (t == 100).all()
