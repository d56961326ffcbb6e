"""Single calls of MXNet; tests/benchmarks/single.py has their names."""

import pickle
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, nd

from tests.benchmarks.single import CALLS
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)
folder = tempfile.TemporaryDirectory()
path = folder.name + "/arrays.params"


def floats(*shape, dtype="float32"):
    return nd.array(random.randn(*shape), dtype=dtype)


def integers(most, dtype="int32"):
    return nd.array(random.randint(0, most, (1000, 1000)), dtype=dtype)


def forward(function, *arrays):
    return lambda: function(*arrays).wait_to_read()


def forward_backward(function, *arrays):
    for x in arrays:
        x.attach_grad()
    head = nd.ones_like(function(*arrays))

    def call():
        with autograd.record():
            y = function(*arrays)
        y.backward(head)
        arrays[0].grad.wait_to_read()

    return call


def softrelu(x):
    return nd.Activation(x, act_type="softrelu")


def top(x):
    return nd.topk(x, k=5)


def where_with_gradient():
    condition = integers(2)
    return forward_backward(lambda x, y: nd.where(condition, x, y), floats(1000, 1000), floats(1000, 1000))


def attach_grad():
    x = floats(1000, 1000)

    def call():
        x.attach_grad()
        x.grad.wait_to_read()

    return call


def layers(count):
    """A symbol of dense layers and activations: `count` of both together."""
    x = mx.sym.Variable("data")
    for i in range(count // 2):
        x = mx.sym.Activation(mx.sym.FullyConnected(x, num_hidden=8, name=f"fc{i}"), act_type="relu")
    return x


def blocks():
    x = mx.sym.Variable("data")
    for i in range(10):
        x = mx.sym.Convolution(x, kernel=(3, 3), num_filter=8, name=f"c{i}")
        x = mx.sym.Activation(mx.sym.BatchNorm(x, name=f"b{i}"), act_type="relu")
    return x


def shapes(symbol, shape):
    return lambda: symbol.infer_shape(data=shape)


def types():
    symbol = layers(4)
    return lambda: symbol.infer_type(data="float32")


def pickled():
    x = floats(20)
    return lambda: pickle.loads(pickle.dumps(x))


def saved():
    x = floats(20)
    return lambda: nd.save(path, x)


def loaded():
    nd.save(path, floats(20))
    return lambda: nd.load(path)


SETUPS = (
    lambda: forward(softrelu, floats(1000, 1000)),
    lambda: forward_backward(softrelu, floats(1000, 1000)),
    lambda: forward(lambda x: nd.LRN(x, nsize=5), floats(8, 64, 28, 28)),
    lambda: forward(top, integers(10)),
    lambda: forward(top, floats(1000, 1000)),
    lambda: forward(nd.where, integers(2, "int8"), integers(9, "int8"), integers(9, "int8")),
    where_with_gradient,
    lambda: forward(lambda a, b: a + b, integers(9), integers(9)),
    lambda: forward(lambda a, b: a > b, integers(9), integers(9)),
    lambda: forward(nd.maximum, integers(9), integers(9)),
    lambda: forward(nd.smooth_l1, floats(1000, 1000)),
    lambda: forward(nd.smooth_l1, floats(1000, 1000, dtype="float64")),
    attach_grad,
    lambda: shapes(layers(4), (4, 5)),
    lambda: shapes(blocks(), (4, 5, 40, 40)),
    types,
    pickled,
    saved,
    loaded,
)

if __name__ == "__main__":
    serve(dict(zip(CALLS["mxnet"], SETUPS, strict=True)))
