"""Single calls of nnabla in static graphs; tests/benchmarks/single.py has their names."""

import nnabla as nn
import nnabla.functions as F
import numpy as np

from tests.benchmarks.single import CALLS
from tests.benchmarks.worker import serve

random = np.random.RandomState(0)


def floats(*shape):
    return nn.Variable.from_numpy_array(random.randn(*shape).astype(np.float32), need_grad=True)


def forward(function, *arrays):
    y = function(*arrays)
    return lambda: y.forward()


def forward_backward(function, *arrays):
    y = function(*arrays)

    def call():
        y.forward()
        y.backward()

    return call


def normalized(how):
    return how(F.layer_normalization, floats(4, 5), floats(1, 5), floats(1, 5))


def picked(how):
    places = nn.Variable.from_numpy_array(np.array([[0, 3], [1, 2]]))
    return how(lambda x: F.gather_nd(x, places), floats(4, 5))


SETUPS = (
    lambda: forward(F.dropout, floats(1000, 1000)),
    lambda: forward(lambda: F.rand(shape=(1000, 1000))),
    lambda: forward(lambda: F.randn(shape=(1000, 1000))),
    lambda: forward(lambda: F.arange(0, 1_000_000)),
    lambda: forward(F.softsign, floats(1000, 1000)),
    lambda: forward(F.softplus, floats(1000, 1000)),
    lambda: forward_backward(F.crelu, floats(1000, 1000)),
    lambda: normalized(forward),
    lambda: normalized(forward_backward),
    lambda: picked(forward),
    lambda: picked(forward_backward),
    lambda: forward_backward(F.crelu, floats(4, 5)),
    lambda: forward(lambda: F.constant(1.5, (4, 5))),
    lambda: forward(lambda: F.arange(0, 20)),
    lambda: forward(lambda: F.rand(shape=(4, 5))),
    lambda: forward(lambda: F.randn(shape=(4, 5))),
)

if __name__ == "__main__":
    serve(dict(zip(CALLS["nnabla"], SETUPS, strict=True)))
