"""Shapes and other integer arguments may be floats, which are truncated, as in nnabla."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F

TWO = (np.float64(2), np.float32(2))
CALLS = {
    "max_pooling": (lambda x: F.max_pooling(x, TWO, TWO, pad=(np.float64(0), 0.0)), (1, 2, 4, 4)),
    "max_pooling of a fraction": (lambda x: F.max_pooling(x, (2.5, 2.5)), (1, 2, 4, 4)),
    "average_pooling": (lambda x: F.average_pooling(x, TWO), (1, 2, 4, 4)),
    "unpooling": (lambda x: F.unpooling(x, TWO), (1, 2, 16, 16)),
    "convolution": (
        lambda x: F.convolution(
            x, nn.Variable((3, 2, 3, 3)), stride=TWO, pad=(1.0, 1.0), dilation=(1.0, 1.0), group=1.0
        ),
        (1, 3, 4, 4),
    ),
    "deconvolution": (
        lambda x: F.deconvolution(x, nn.Variable((2, 3, 3, 3)), stride=TWO, output_padding=(1.0, 1.0)),
        (1, 3, 18, 18),
    ),
    "reshape": (lambda x: F.reshape(x, (2.0, np.float64(64))), (2, 64)),
    "broadcast": (lambda x: F.broadcast(F.reshape(x, (1, 2, 8, 8, 1)), (1.0, 2, 8, 8, 3.0)), (1, 2, 8, 8, 3)),
    "slice": (lambda x: F.slice(x, (0, 0.0, 0, 0), (1, 1.0, 8, 8), (1, 1, 1, 2.0)), (1, 1, 8, 4)),
    "tile": (lambda x: F.tile(x, (1.0, 1, 1, 2)), (1, 2, 8, 16)),
    "sum": (lambda x: F.sum(x, axis=1.0), (1, 8, 8)),
    "softmax": (lambda x: F.softmax(x, axis=1.0), (1, 2, 8, 8)),
    "sort": (lambda x: F.sort(x, axis=1.0), (1, 2, 8, 8)),
    "affine": (lambda x: F.affine(x, nn.Variable((128, 2)), base_axis=1.0), (1, 2)),
    "group_normalization": (lambda x: F.group_normalization(x, None, None, num_groups=1.0), (1, 2, 8, 8)),
    "random_crop": (lambda x: F.random_crop(x, (2.0, 4.0, 4.0)), (1, 2, 4, 4)),
    "shift": (lambda x: F.shift(x, (1.0, 1.0)), (1, 2, 8, 8)),
    "flip": (lambda x: F.flip(x, [1.0]), (1, 2, 8, 8)),
    "interpolate": (lambda x: F.interpolate(x, output_size=(16.0, 16.0)), (1, 2, 16, 16)),
    "one_hot": (lambda x: F.one_hot(nn.Variable((3, 1)), (4.0,)), (3, 4)),
    "constant": (lambda x: F.constant(0, (np.float64(2), 3.0)), (2, 3)),
    "randn": (lambda x: F.randn(shape=(2.0, 3.0)), (2, 3)),
    "Variable": (lambda x: nn.Variable((2.0, 3)), (2, 3)),
    "NdArray": (lambda x: nn.NdArray((np.float64(2), 3.5)), (2, 3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_floats_as_integers(name):
    call, shape = CALLS[name]
    assert call(nn.Variable((1, 2, 8, 8))).shape == shape


def test_what_is_no_shape():
    with pytest.raises(ValueError, match="shape"):
        nn.NdArray(2.0, 3)
    with pytest.raises(TypeError):
        F.max_pooling(nn.Variable((1, 2, 8, 8)), ("2", 2))


def test_other_floats_stay():
    x = nn.Variable.from_numpy_array(np.array([-1.0, 1.0]))
    y = F.leaky_relu(x, alpha=0.5)
    y.forward()
    assert y.d.tolist() == [-0.5, 1.0]
