"""Lengths, counts and sizes that are no integers: refused as by MXNet, not cut off."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet.base import MXNetError
from compatgrad.mxnet.gluon import nn, rnn

X = (2, 4, 6, 6)


def run(layer, shape):
    layer.initialize()
    return layer(mx.nd.ones(shape))


@pytest.mark.parametrize("size", [4.5, 4.0, np.float32(4)])
@pytest.mark.parametrize(
    "call",
    [
        lambda n: mx.nd.zeros((n, 2)), lambda n: mx.nd.ones(n), lambda n: mx.np.zeros((2, n)),
        lambda n: mx.np.broadcast_to(mx.np.ones(2), (n, 2)), lambda n: mx.np.reshape(mx.np.ones(8), (n, -1)),
        lambda n: mx.np.ones(8).reshape(n, 2), lambda n: mx.np.tile(mx.np.ones(2), (n, 1)),
        lambda n: mx.np.repeat(mx.np.ones(2), n), lambda n: mx.np.random.uniform(size=(n, 2)),
        lambda n: mx.nd.random.uniform(shape=(n, 2)), lambda n: mx.nd.random.randint(0, 3, shape=(n, 2)),
        lambda n: mx.nd.Convolution(mx.nd.ones(X), mx.nd.ones((4, 4, 3, 3)), kernel=(3, 3), num_filter=n, no_bias=True),
        lambda n: mx.nd.Convolution(
            mx.nd.ones(X), mx.nd.ones((4, 1, 3, 3)), kernel=(3, 3), num_filter=4, num_group=n, no_bias=True
        ),
        lambda n: mx.nd.Deconvolution(mx.nd.ones(X), mx.nd.ones((4, 4, 3, 3)), kernel=(3, 3), num_filter=n),
        lambda n: mx.nd.FullyConnected(mx.nd.ones((2, 4)), mx.nd.ones((4, 4)), num_hidden=n, no_bias=True),
        lambda n: mx.nd.RNN(mx.nd.ones((3, 2, 1)), mx.nd.ones(28), mx.nd.ones((1, 2, 4)), state_size=n, num_layers=1,
                            mode="rnn_tanh"),
        lambda n: nn.Conv2D(n, 3), lambda n: nn.Conv2D(4, 3, groups=n), lambda n: nn.Conv1DTranspose(n, 3),
        lambda n: run(nn.Dense(n), (2, 4)), lambda n: run(nn.Dense(n, in_units=4), (2, 4)),
        lambda n: run(nn.BatchNorm(in_channels=n), X), lambda n: mx.gluon.Parameter("w", shape=(n, 2)).initialize(),
    ],
)  # fmt: skip
def test_fractions(call, size):
    with pytest.raises(MXNetError, match=r"must be an int"):
        call(size)


@pytest.mark.parametrize("make", [mx.nd.empty, lambda shape: mx.nd.full(shape, 1)])
def test_shapes_that_mxnet_converts_in_python(make):
    with pytest.raises(TypeError, match=r"expected an integer or a tuple of integers, got \(2\.5, 2\)"):
        make((2.5, 2))


def test_integers_of_numpy():
    four = np.int64(4)
    for _ in range(2):
        assert run(rnn.LSTM(four), (3, 2, 5)).shape == (3, 2, 4)
        with pytest.raises(MXNetError, match="must be an int"):
            run(rnn.LSTM(4.0), (3, 2, 5))
    assert run(nn.Conv2D(four, 3, groups=np.int32(2)), X).shape == (2, 4, 4, 4)
    assert run(nn.Dense(four), (2, 5)).shape == (2, 4)
    assert mx.nd.zeros(four).shape == (4,) and mx.nd.zeros(np.array([2, 3])).shape == (2, 3)
    assert mx.np.random.uniform(size=[four, 2]).shape == (4, 2) and mx.nd.zeros("4").shape == (4,)
