"""cuda.elementwise, reduce and raw through a stand-in for CuPy, whose kernels are Python functions: what is seen is
what they get, in which memory, on which stream. Run by test_devices.py.
"""

# isort: off
from tests.devices import stand_in_cupy as stand_in

import numpy as np
import pytest
import torch
from tests.devices.second_device import put

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
from compatgrad.nnabla import NdArray
# isort: on

cuda = chainer.backends.cuda
stand_in.bodies.update(twice=lambda x: 2 * x, total=lambda x: x.sum(), launch=lambda grid, block, args: None)


@pytest.fixture(autouse=True)
def fresh():
    cuda.clear_memo()
    stand_in.log.clear()
    stand_in.torch_stream[0] = 0


def twice():
    return cuda.elementwise("T x", "T y", "y = 2 * x", "twice")


def events(kind):
    return [entry[1:] for entry in stand_in.log if entry[0] == kind]


def test_kernels_are_made_once_per_set_of_arguments():
    assert twice() is twice()
    assert cuda.elementwise("T x", "T y", "y = 2 * x", "twice", preamble="") is not twice()
    kernel = twice()
    cuda.clear_memo()
    assert twice() is not kernel
    cuda.reduce("T x", "T y", "x", "a + b", "y = a", "0", "total", reduce_type="T")
    cuda.raw("extern code", "launch", options=("-O3",))
    assert [made for made, _ in events("compiled")[-2:]] == ["ReductionKernel", "RawKernel"]
    assert events("compiled")[-1][1] == ("extern code", "launch")
    assert kernel.args == ("T x", "T y", "y = 2 * x", "twice")  # what CuPy's kernel has, this one has


def test_results_and_memory():
    x = cuda.to_gpu(np.arange(3, dtype=np.float32))
    y = twice()(x)
    assert isinstance(y, cuda.ndarray)
    np.testing.assert_array_equal(y.get(), [0, 2, 4])
    assert float(cuda.reduce("T x", "T y", "x", "a + b", "y = a", "0", "total")(x).get()) == 3
    tensor = put(torch.arange(3.0))
    array = NdArray((3,))
    array.tensor = tensor
    for given in (tensor, chainer.Variable(tensor, requires_grad=False), mx.nd.NDArray(tensor), array):
        stand_in.log.clear()
        np.testing.assert_array_equal(twice()(given).get(), [0, 2, 4])
        ((_, (seen,)),) = events("kernel")
        assert seen.tensor.raw.data_ptr() == tensor.raw.data_ptr(), type(given)
    cuda.raw("code", "launch")((1,), (3,), (tensor, np.int32(3), x))
    _, (grid, block, (first, number, last)) = events("kernel")[-1]
    assert (grid, block) == ((1,), (3,)) and isinstance(first, cuda.ndarray) and number == 3 and last is x


def test_what_kernels_refuse():
    needs_grad = put(torch.ones(2))
    with pytest.raises(ValueError, match="kernel twice: got a Variable that requires a gradient"):
        twice()(chainer.Variable(needs_grad))
    with pytest.raises(
        TypeError, match="kernel twice: expected an array on a CUDA device, got a Tensor with values on cpu"
    ):
        twice()(torch.ones(2))
    with pytest.raises(TypeError, match="got a Variable with values on cpu"):
        twice()(chainer.Variable(np.ones(2), requires_grad=False))


def test_kernels_run_on_torchs_stream_unless_the_program_chose_one():
    x = cuda.to_gpu(np.ones(1, np.float32))
    twice()(x)
    stand_in.torch_stream[0] = 5
    twice()(x)
    with stand_in.Stream(9):
        twice()(x)
    twice()(x)
    assert [stream for stream, _ in events("kernel")] == [0, 5, 9, 5]
    from_external = stand_in.Stream.from_external
    try:  # CuPy before 14
        del stand_in.Stream.from_external
        stand_in.cuda.ExternalStream = lambda pointer, device_id: stand_in.Stream(pointer)
        twice()(x)
    finally:
        stand_in.Stream.from_external = from_external
    assert events("kernel")[-1][0] == 5 and stand_in.current_stream().ptr == 0


def test_memory_is_torchs():
    assert stand_in.allocators == [cuda.memory_pool.malloc]
    with stand_in.Stream(9):
        pointer = cuda.memory_pool.malloc(100)
    cuda.memory_pool.malloc(0)  # nothing to ask for
    assert events("malloc") == [(100, 0, 9)]
    cuda.memory_pool._free(pointer, 0)
    cuda.memory_pool._free(0, 0)
    assert events("free") == [(pointer,)]


def test_gradients_through_a_kernel():
    class Twice(chainer.FunctionNode):
        def forward_gpu(self, inputs):
            return (twice()(inputs[0]),)

        def backward(self, indexes, gys):
            return Twice().apply(gys)

    x = chainer.Variable(cuda.to_gpu(np.ones(3, np.float32)))
    (y,) = Twice().apply((x,))
    chainer.functions.sum(y * y).backward()
    np.testing.assert_array_equal(x.grad.get(), [8, 8, 8])
