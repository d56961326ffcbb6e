"""Arrays whose bytes are in the other order, as files of images and labels have them: IDX, FITS, network data."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad.chainermn.communicators._tensors import to_tensor
from compatgrad.interop._foreign_files import as_tensor

X = np.arange(6, dtype=np.float32).reshape(2, 3)
OTHER = X.astype(X.dtype.newbyteorder())


def nnabla_data():
    v = nn.Variable((2, 3))
    v.d = OTHER
    return v.d


def nnabla_gradient():
    v = nn.Variable((2, 3))
    v.g = OTHER
    return v.g


def nnabla_array():
    a = nn.NdArray((2, 3))
    a.data = OTHER
    return a.data


def nnabla_item():
    a = nn.NdArray((2, 3))
    a[:] = OTHER
    return a.data


def nnabla_backward():
    v = nn.Variable.from_numpy_array(np.ones((2, 3), np.float32), need_grad=True)
    y = F.identity(v)
    y.forward()
    v.g = 0
    y.backward(OTHER)
    return v.g


def nnabla_parameter(initial):
    nn.clear_parameters()
    return nn.parameter.get_parameter_or_create("w", (2, 3), initial).d


def chainer_gradient():
    p = chainer.Parameter(OTHER.copy())
    p.grad = OTHER
    return p.grad * 1


PLACES = {
    "nnabla: data": nnabla_data,
    "nnabla: gradient": nnabla_gradient,
    "nnabla: array": nnabla_array,
    "nnabla: item": nnabla_item,
    "nnabla: backward": nnabla_backward,
    "nnabla: variable": lambda: nn.Variable.from_numpy_array(OTHER).d,
    "nnabla: gradient of a variable": lambda: nn.Variable.from_numpy_array(OTHER, OTHER).g,
    "nnabla: from an array": lambda: nn.NdArray.from_numpy_array(OTHER).data,
    "nnabla: parameter": lambda: nnabla_parameter(OTHER),
    "nnabla: initializer": lambda: nnabla_parameter(lambda shape: OTHER.copy()),
    "chainer: variable": lambda: chainer.Variable(OTHER).array * 1,
    "chainer: gradient": chainer_gradient,
    "mxnet: array": lambda: mx.nd.array(OTHER).asnumpy(),
    "mxnet: np.array": lambda: mx.np.array(OTHER).asnumpy(),
    "mxnet: copy": lambda: mx.nd.from_numpy(OTHER, zero_copy=False).asnumpy(),
}


@pytest.mark.parametrize("place", PLACES)
def test_numbers_in_the_other_byte_order(place):
    found = PLACES[place]()
    np.testing.assert_array_equal(found, X)
    assert found.dtype == np.float32


def test_memory_in_the_other_byte_order_is_not_shared():
    with pytest.raises(ValueError, match="byte order"):
        mx.nd.from_numpy(OTHER.copy())


def test_indices_in_the_other_byte_order():
    x = nn.NdArray.from_numpy_array(X)
    assert F.gather_nd(x, np.array([[0, 1]], ">i4")).data.tolist() == X[[0, 1]].tolist()


# Arrays with the numbers 1, 2, 3 whose memory torch cannot share.
NOT_SHARED = {
    "other byte order": lambda: np.array([1, 2, 3], ">f4"),
    "negative strides": lambda: np.array([3, 2, 1], np.float32)[::-1],
    "column of a table": lambda: np.array([(0, 1), (0, 2), (0, 3)], [("a", "i1"), ("b", np.float32)])["b"],
    "read-only": lambda: np.frombuffer(np.array([1, 2, 3], np.float32).tobytes(), np.float32),
}


@pytest.mark.parametrize("kind", NOT_SHARED)
@pytest.mark.filterwarnings("error")
def test_arrays_whose_memory_torch_cannot_share_are_copied(kind):
    for read in (mx.nd.array, mx.np.array, torch_array, sent):
        x = NOT_SHARED[kind]()
        found = read(x)
        found[0] = 9
        numbers = found if isinstance(found, np.ndarray) else found.asnumpy()
        assert found.dtype == np.float32 and numbers.tolist() == [9, 2, 3] and x.tolist() == [1, 2, 3]


def torch_array(x):
    return as_tensor(x).numpy()


def sent(x):
    return to_tensor(x).numpy()


def test_arrays_whose_memory_torch_can_share_are_not_copied():
    x = np.zeros((3, 2), np.float32)
    torch_array(x)[0, 0], sent(x.T)[0, 1] = 5, 7
    assert x.tolist() == [[5, 0], [7, 0], [0, 0]]
