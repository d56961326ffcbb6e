"""Single calls of Chainer; tests/benchmarks/single.py has their names."""

import tempfile

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

from tests.benchmarks.single import CALLS
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)
folder = tempfile.TemporaryDirectory()


def floats(*shape, dtype=np.float32):
    return chainer.Variable(random.randn(*shape).astype(dtype))


def million(dtype=np.float32):
    return floats(1000, 1000, dtype=dtype)


def forward(function, *arrays):
    return lambda: function(*arrays)


def forward_backward(function, x):
    gradient = np.ones_like(function(x).array)

    def call():
        x.cleargrad()
        y = function(x)
        y.grad = gradient
        y.backward()

    return call


def huber(dtype):
    return forward(lambda x, t: F.huber_loss(x, t, 1.0), million(dtype), million(dtype))


def softmax():
    labels = random.randint(0, 1000, 1000).astype(np.int32)
    return forward_backward(lambda x: F.softmax_cross_entropy(x, labels), million(np.float64))


def sigmoid():
    labels = random.randint(0, 2, (1000, 1000)).astype(np.int32)
    return forward_backward(lambda x: F.sigmoid_cross_entropy(x, labels), million(np.float64))


def permuted():
    order = random.permutation(1000).astype(np.int32)
    return forward(lambda x: F.permutate(x, order), million())


def repeated(x):
    return F.repeat(x, 2, axis=0)


def tiled(x):
    return F.tile(x, 2)


def network():
    return chainer.Sequential(L.Linear(4, 5), F.relu, L.Linear(5, 3))


def saves(save, name):
    net, path = network(), f"{folder.name}/{name}"
    return lambda: save(path, net)


def loads(save, load, name):
    net, path = network(), f"{folder.name}/{name}"
    save(path, net)
    return lambda: load(path, net)


files = chainer.serializers
SETUPS = (
    lambda: huber(np.float32),
    lambda: huber(np.float64),
    softmax,
    sigmoid,
    lambda: forward_backward(lambda x: F.im2col(x, 3), floats(8, 16, 28, 28)),
    permuted,
    lambda: forward(repeated, million()),
    lambda: forward(tiled, million()),
    lambda: forward_backward(repeated, million(np.float64)),
    lambda: forward_backward(tiled, million(np.float64)),
    lambda: forward(lambda x: F.pad(x, 1, "constant"), million()),
    lambda: forward(lambda x: F.flip(x, 1), million()),
    lambda: saves(files.save_hdf5, "a.h5"),
    lambda: loads(files.save_hdf5, files.load_hdf5, "b.h5"),
    lambda: saves(files.save_npz, "a.npz"),
    lambda: loads(files.save_npz, files.load_npz, "b.npz"),
)

if __name__ == "__main__":
    serve(dict(zip(CALLS["chainer"], SETUPS, strict=True)))
