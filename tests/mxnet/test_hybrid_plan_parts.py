"""Plans of networks that split arrays: each output of a split is a view."""

import numpy as np
import pytest

from compatgrad import _C
from compatgrad.mxnet import nd
from compatgrad.mxnet.gluon import _plan, nn
from tests.mxnet.hybrid_plans import agree, call_until_planned, planned

pytestmark = pytest.mark.skipif(
    not (_plan.fixed_layers.available() and _C.direct_fits()), reason="no oneDNN, or the processor has no AVX-512"
)
X = np.random.RandomState(0).randn(2, 8, 9, 12).astype("float32")


def shuffled(F, x):
    """Half of the channels pass, and the halves are mixed, as in ShuffleNet."""
    first, second = F.split(x, num_outputs=2, axis=1)
    y = F.concat(first, F.relu(second), dim=1)
    return F.reshape(F.swapaxes(F.reshape(y, (0, -4, 2, 4, -2)), 1, 2), (0, -3, -2))


def gated(F, x):
    a, b = F.split(x, num_outputs=2, axis=1)
    return F.tanh(a) * F.sigmoid(b)


SPLITS = {
    "channels": shuffled,
    "gates": gated,
    "columns": lambda F, x: F.stack(*F.split(x, num_outputs=12, axis=3, squeeze_axis=True), axis=1),
    "columns that keep their axis": lambda F, x: F.concat(*F.split(x, num_outputs=12, axis=-1)[::-1], dim=-1),
    "samples": lambda F, x: F.split(x, num_outputs=2, axis=0)[1],
    "a split of a split": lambda F, x: F.split(F.split(x, num_outputs=2, axis=1)[1], num_outputs=3, axis=2)[0] * 2,
    "one part": lambda F, x: F.split(x, num_outputs=1, axis=1) + 1,
    "parts twice": lambda F, x: F.broadcast_add(*[F.split(x, num_outputs=3, axis=2)[i] for i in (0, 0)]),
}


class Split(nn.HybridBlock):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.a, self.b = nn.Conv2D(8, 3, padding=1), nn.Conv2D(8, 1)

    def hybrid_forward(self, F, x):
        return self.function(F, self.b(F.relu(self.a(x))))


@pytest.mark.parametrize("name", SPLITS)
def test_splits(name):
    net = Split(SPLITS[name])
    planned(net, X)
    agree(net, nd.array(X))
    agree(net, nd.array(X[::-1] * 3))


class Parts(nn.HybridBlock):
    """Two outputs are parts of one array."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2D(8, 3, padding=1), nn.Conv2D(6, 1)

    def hybrid_forward(self, F, x):
        first, second, _ = F.split(self.b(self.a(x)), num_outputs=3, axis=1)
        return first, second


def test_parts_that_are_outputs_have_memory_of_their_own():
    net = Parts()
    planned(net, X)
    first, second = net(nd.array(X))
    kept = second.asnumpy()
    first[:] = 0
    assert np.array_equal(second.asnumpy(), kept)
    again, _ = net(nd.array(X))
    assert np.abs(again.asnumpy()).max() > 0


class Weights(nn.HybridBlock):
    """The parts of one parameter are weights."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2D(8, 3, padding=1), nn.Conv2D(4, 1)
        self.w = self.params.get("w", shape=(8, 8, 3, 3))

    def hybrid_forward(self, F, x, w):
        first, second = F.split(w, num_outputs=2, axis=0)
        x = self.a(x)
        y = F.Convolution(x, first, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True)
        return self.b(y - F.Convolution(x, second, kernel=(3, 3), pad=(1, 1), num_filter=4, no_bias=True))


def test_a_parameter_is_split_once():
    net = Weights()
    planned(net, X)
    agree(net, nd.array(X))
    net.w.data()[:] = net.w.data() * 2 + 0.1
    call_until_planned(net, nd.array(X))
    agree(net, nd.array(X))
