"""Plans compute attention as one step, where a program may write it so."""

import numpy as np
import pytest

from compatgrad.mxnet import gluon, init, nd
from compatgrad.mxnet.gluon import _plan, nn
from compatgrad.mxnet.symbol import _attention
from tests.mxnet.hybrid_plans import agree, call_until_planned, randomize

pytestmark = pytest.mark.skipif(not _plan.fixed_layers.available(), reason="torch has no oneDNN")

HEADS, ROWS, UNITS = 4, 24, 64
EACH, ALL = (1, ROWS, ROWS), (2 * HEADS, ROWS, ROWS)  # shapes of masks


class Attention(gluon.HybridBlock):
    """`inner` of q, k, v and a mask, twice, between dense layers."""

    def __init__(self, inner, mask=None):
        super().__init__()
        self.inner, self.parts = inner, nn.HybridSequential()
        for _ in range(6):
            self.parts.add(nn.Dense(UNITS, flatten=False, in_units=UNITS))
        self.out = nn.Dense(UNITS, flatten=False, in_units=UNITS, activation="relu")
        values = None if mask is None else np.where(np.random.RandomState(3).rand(*mask) < 0.3, -1e9, 0.5)
        self.mask = None if mask is None else self.params.get_constant("mask", values.astype("float32"))

    def hybrid_forward(self, F, x, mask=None):
        for i in (0, 3):
            q, k, v = (
                part(x).reshape((0, 0, HEADS, -1)).transpose((0, 2, 1, 3)).reshape((-1, 0, 0), reverse=True)
                for part in self.parts[i : i + 3]
            )
            h = self.inner(F, q, k, v, mask).reshape((-1, HEADS, 0, 0), reverse=True)
            x = x + self.out(F.reshape(F.transpose(h, (0, 2, 1, 3)), (0, 0, -1)))
        return x


def plain(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, k, transpose_b=True)), v)


def masked(F, q, k, v, mask):
    scores = F.batch_dot(F.contrib.div_sqrt_dim(q), k, transpose_b=True)
    return F.batch_dot(F.softmax(F.broadcast_add(scores, mask), axis=-1), v)


def mask_first(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.broadcast_add(mask, F.batch_dot(q, k, transpose_b=True) / 3)), v)


def scaled_twice(F, q, k, v, mask):
    scores = F.contrib.div_sqrt_dim(F.batch_dot(q * 0.5, k, transpose_b=True) * 3)
    return F.batch_dot(F.softmax(scores), v)


def turned(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, F.transpose(k, (0, 2, 1))) / 4), v)


def only_q_split(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, F.relu(k), transpose_b=True)), v + 1)


def other_splits(F, q, k, v, mask):
    def parts(x):  # a Reshape that does something else than make one axis of heads and images
        return F.reshape(F.reshape(x, (-1, 2 * ROWS, 0)), (-1, ROWS, 0))

    return F.batch_dot(F.softmax(F.batch_dot(parts(q), parts(k), transpose_b=True)), parts(v))


ONE_STEP = {
    "plain": (plain, None),
    "a mask for all heads": (masked, EACH),
    "a mask for each head": (masked, ALL),
    "a mask of columns": (masked, (1, 1, ROWS)),
    "a mask of rows of each head": (masked, (2 * HEADS, ROWS, 1)),
    "the mask first, a divisor": (mask_first, EACH),
    "factors of q and of scores": (scaled_twice, None),
    "k turned": (turned, None),
    "other operators between": (only_q_split, None),
    "other shapes before": (other_splits, None),
}


def planned(net, x):
    """The number of attentions in the plan of a network that gives the results of the operators."""
    net.initialize(init.Xavier())
    net(x)
    randomize_but_constants(net)
    net.hybridize()
    call_until_planned(net, x)
    agree(net, x)
    agree(net, nd.array(np.random.RandomState(5).randn(*x.shape)))
    (program, _), *_ = net._planner.plans.values()
    return sum(getattr(step[0], "func", None) is _attention.attend for step in program.steps)


def randomize_but_constants(net):
    mask = None if net.mask is None else net.mask.data().copy()
    randomize(net)
    for p in net.collect_params(".*weight").values():
        p.set_data(0.4 * p.data())  # or softmax of large scores makes much of differences by rounding
    if mask is not None:
        net.mask.set_data(mask)


X = nd.array(np.random.RandomState(4).randn(2, ROWS, UNITS))


@pytest.mark.parametrize("name", ONE_STEP)
def test_attention_is_one_step(name):
    assert planned(Attention(*ONE_STEP[name]), X) == 2


def read_twice(F, q, k, v, mask):
    weights = F.softmax(F.batch_dot(q, k, transpose_b=True))
    return F.batch_dot(weights, v) + F.batch_dot(weights, v * 2)


def temperature(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, k, transpose_b=True), temperature=2), v)


def other_axis(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, k, transpose_b=True), axis=1), v)


def weights_turned(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.batch_dot(q, k, transpose_b=True)), v, transpose_a=True)


def mask_then_factor(F, q, k, v, mask):
    return F.batch_dot(F.softmax(F.broadcast_add(F.batch_dot(q, k, transpose_b=True), mask) * 0.5), v)


@pytest.mark.parametrize(
    "inner, mask",
    [(read_twice, None), (temperature, None), (other_axis, None), (weights_turned, None), (mask_then_factor, EACH)],
)
def test_other_functions_of_scores_are_steps_of_their_own(inner, mask):
    class AndPlain(Attention):  # operators alone give no plan
        def hybrid_forward(self, F, x, mask=None):
            y = super().hybrid_forward(F, x, mask)
            for _ in range(2):
                y = plain(F, y, y * 2, y + 1, None)
            return y

    assert planned(AndPlain(inner, mask), X) == 2


def test_attention_of_results_that_the_block_returns():
    """Scores and weights among the results are computed, and results share no memory."""

    class Shown(Attention):
        def hybrid_forward(self, F, x, mask=None):
            for _ in range(2):
                x = plain(F, x, x * 2, x + 1, None)
            scores = F.batch_dot(self.parts[0](x), x, transpose_b=True)
            weights = F.softmax(scores)
            y = F.batch_dot(weights, x)
            return scores, weights, y, F.reshape(y, (-1, UNITS)), F.transpose(y, (1, 0, 2)), F.expand_dims(x, 0)

    net = Shown(None)
    assert planned(net, X) == 2
    results = net(X)
    assert len({y.tensor.untyped_storage().data_ptr() for y in results}) == len(results)
    for y in results:
        assert y.tensor.is_contiguous()


def test_a_mask_that_widens_the_scores_is_added_as_before():
    class Wide(Attention):
        def hybrid_forward(self, F, x, mask=None):
            for _ in range(2):
                x = plain(F, x, x * 2, x + 1, None)
            one = F.slice_axis(self.parts[0](x), axis=1, begin=0, end=1)  # one row
            scores = F.broadcast_add(F.batch_dot(one, x, transpose_b=True), mask)
            return F.batch_dot(F.softmax(scores), x)

    assert planned(Wide(None, EACH), X) == 2


def test_a_convolution_whose_result_is_a_mask_is_a_step():
    class Relative(Attention):
        def __init__(self):
            super().__init__(None)
            self.bias = nn.Conv2D(1, 3, padding=1, in_channels=1)

        def hybrid_forward(self, F, x, mask=None):
            x = plain(F, x, x * 2, x + 1, None)
            mask = self.bias(F.expand_dims(F.batch_dot(x, x, transpose_b=True), 1)).reshape((-1, ROWS, ROWS))
            scores = F.batch_dot(self.parts[0](x), x, transpose_b=True)
            return F.batch_dot(F.softmax(F.elemwise_add(scores, mask)), x)

    class Direct(Relative):
        def hybrid_forward(self, F, x, mask=None):
            x = plain(F, x, x * 2, x + 1, None)
            x = F.expand_dims(F.batch_dot(x, x, transpose_b=True), 1)
            return F.batch_dot(F.softmax(F.elemwise_add(F.batch_dot(x, x, transpose_b=True), self.bias(x))), x)

    assert planned(Relative(), X) == 2
    assert planned(Direct(), X) == 2


def test_scores_may_be_the_result_of_another_attention():
    class Nested(Attention):
        def hybrid_forward(self, F, x, mask=None):
            x = self.parts[1](plain(F, x, x * 2, x + 1, None))
            inner = plain(F, self.parts[0](x), x, F.batch_dot(x, x, transpose_b=True), None)
            return F.batch_dot(F.softmax(inner), x)

    assert planned(Nested(None), X) == 2
