"""The scores of an attention that programs of nnabla and MXNet write out are computed when something reads them."""

import numpy as np
import pytest
import torch

from compatgrad import _C, nnabla
from compatgrad import mxnet as mx
from compatgrad.mxnet import nd
from compatgrad.nnabla import functions as F

LANES = torch.backends.cpu.get_cpu_capability() == "AVX512"
pytestmark = pytest.mark.skipif(not LANES, reason="needs AVX-512")

BATCH, HEADS, N, DEPTH = 2, 8, 64, 16
MASK = np.triu(np.full((1, 1, N, N), -1e9, "f"), 1)


def arrays(seed=0):
    random = np.random.RandomState(seed)
    return [random.randn(BATCH, HEADS, N, DEPTH).astype("f") for _ in range(3)]


def exact(q, k, v, mask=None):
    """The scores, the weights and the result in double precision."""
    q, k, v = (x.astype("d") for x in (q, k, v))
    scores = q @ k.swapaxes(-1, -2) * 0.3 + (0 if mask is None else mask)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return scores, weights, weights @ v


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=0, atol=3e-6 * abs(np.asarray(b)).max())


# ---- nnabla ----------------------------------------------------------------------------------------------------------
def variables(given, need_grad=True):
    return [nnabla.Variable.from_numpy_array(x).apply(need_grad=need_grad) for x in given]


def graph(q, k, v, mask=None):
    """A static graph's result, and everything that it is made of."""
    made = [F.batch_matmul(q, k, transpose_b=True)]
    made.append(made[-1] * 0.3)
    if mask is not None:
        made.append(made[-1] + mask)
    made.append(F.softmax(made[-1], axis=3))
    return F.batch_matmul(made[-1], v), made


def calls_of(f):
    """Which ops run while f is called, as torch sees them: whether there is a softmax."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        f()
    return any("softmax" in event.key for event in profile.key_averages())


@pytest.mark.parametrize("mask", [None, MASK, np.random.RandomState(1).randn(BATCH, 1, N, 1)])
def test_static_graph_without_gradients(mask):
    given = arrays()
    masks = [] if mask is None else variables([mask.astype("f")], False)
    y, made = graph(*variables(given, False), *masks)
    assert not calls_of(y.forward)
    scores, weights, result = exact(*given, mask)
    close(y.d, result)
    late = [x.d.copy() for x in made]
    close(late[-1], weights)
    close(late[-2], scores)
    for x in made:  # what is read is what the functions compute one by one
        x.persistent = True
    for end, value in zip(made, late, strict=True):
        end.forward()
        np.testing.assert_array_equal(end.d, value)


def test_static_graph_whose_arrays_are_freed():
    given = arrays()
    xs, mask = variables(given), variables([MASK], False)
    y, _ = graph(*xs, *mask)
    assert calls_of(y.forward)  # backward reads the weights
    expected = y.d.copy()
    gradients = []
    for clear in (False, True):
        for x in xs:
            x.grad.zero()
        assert calls_of(lambda clear=clear: y.forward(clear_buffer=clear)) is not clear
        close(y.d, expected)
        y.backward(np.random.RandomState(2).randn(*y.shape).astype("f"))
        gradients.append([x.g.copy() for x in xs])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_array_equal(a, b)


def test_static_graph_whose_weights_persist():
    given = arrays()
    xs, mask = variables(given), variables([MASK], False)
    y, made = graph(*xs, *mask)
    y.forward()
    expected, weights = y.d.copy(), made[-1].d.copy()
    made[-1].persistent = made[0].persistent = True
    for x in xs:
        x.grad.zero()
    y.backward(1)
    gradients = [x.g.copy() for x in xs]
    for x in xs:
        x.grad.zero()
    y.forward(clear_buffer=True)
    close(y.d, expected)
    y.backward(1)  # reads the weights, which have no values until then
    for x, g in zip(xs, gradients, strict=True):
        close(x.g, g)
    np.testing.assert_array_equal(made[-1].d, weights)


def test_writes_into_the_arrays_of_a_graph():
    given = arrays()
    xs = variables([x.copy() for x in given], False)
    y, made = graph(*xs)
    y.forward()
    for x in xs:
        x.d = 7
    _, weights, result = exact(*given)
    close(y.d, result)
    close(made[-1].d, weights)
    made[0].d[0] = 3  # a user's write
    assert (made[0].d[0] == 3).all()
    close(made[0].d[1], (given[0] @ given[1].swapaxes(-1, -2))[1])


def test_other_arrays_with_the_memory_of_the_scores():
    given = arrays()
    y, made = graph(*variables(given, False))
    other = made[-1].get_unlinked_variable(need_grad=False)
    flat = made[-1].data.narrow(0, 0, BATCH)
    rows = F.reshape(made[0], (BATCH * HEADS * N, N), inplace=True)
    y.forward()
    rows.forward()
    scores, weights, result = exact(*given)
    close(y.d, result)
    close(other.d, weights)
    close(flat.data, weights)
    close(rows.d * 0.3, scores.reshape(rows.shape))
    late, made = graph(*variables(given, False))
    late.forward()
    close(made[-1].data.narrow(0, 1, 1).data, weights[1:])
    made[0].data.cast(np.float64)
    close(made[0].d * 0.3, scores)
    close(made[1].d, scores)


def test_functions_that_run_at_once():
    given = arrays()
    scores, weights, result = exact(*given, MASK)
    with nnabla.auto_forward(), nnabla.no_grad():
        y, made = graph(*variables(given), *variables([MASK], False))
        assert not calls_of(lambda: graph(*variables(given), *variables([MASK], False)))
        close(y.d, result)
        close(made[-1].d, weights)
        close(made[-2].d, scores)
    with nnabla.auto_forward():
        xs = variables(given)
        y, _ = graph(*xs, *variables([MASK], False))
        y.backward(1)
        assert calls_of(lambda: graph(*xs))
        close(y.d, result)
        close(xs[2].g, weights.swapaxes(-1, -2) @ np.ones_like(given[2]))


def test_hooks_of_a_pass_see_values():
    given = arrays()
    y, _ = graph(*variables(given), *variables([MASK], False))
    seen = []
    y.forward(clear_buffer=True, function_post_hook=lambda f: seen.append(f.outputs[0].d.copy()))
    scores, weights, result = exact(*given, MASK)
    assert len(seen) == 5
    for a, b in zip(seen[2:], (scores, weights, result), strict=True):
        close(a, b)


def test_half_precision():
    given = arrays()
    with nnabla.context_scope(nnabla.Context(["cpu:half"], "CpuCachedArray", "0")):
        y, made = graph(*variables(given, False))
        y.forward(clear_buffer=True)
    np.testing.assert_allclose(y.d, exact(*given)[2], rtol=0, atol=0.02)


# ---- MXNet -----------------------------------------------------------------------------------------------------------
def flat(given):
    return [nd.array(x.reshape(-1, N, DEPTH)) for x in given]


def operators(q, k, v, mask=None, F=nd, seen=lambda x: x):
    scores = seen(F.batch_dot(q, k, transpose_b=True))
    scores = seen(scores * 0.3)
    if mask is not None:
        scores = seen(F.broadcast_add(scores, mask))
    weights = seen(F.softmax(scores, axis=-1))
    return F.batch_dot(weights, v), weights


def look(x):
    x.asnumpy()
    return x


@pytest.mark.parametrize("mask", [None, MASK])
def test_operators(mask):
    given = arrays()
    masks = [] if mask is None else [nd.array(mask[0])]
    late, weights = operators(*flat(given), *masks)
    assert _C.is_unread(weights)
    early, read = operators(*flat(given), *masks, seen=look)
    _, _, result = exact(*given, mask)
    for y in (late, early):
        close(y.asnumpy().reshape(given[2].shape), result)
    assert _C.is_unread(weights) and not _C.is_unread(read)
    np.testing.assert_array_equal(weights.asnumpy(), read.asnumpy())


def test_operators_write_into_their_results():
    given = arrays()
    _, expected, _ = exact(*given)
    out = nd.zeros((BATCH * HEADS, N, N))
    scores = nd.batch_dot(*flat(given)[:2], transpose_b=True) * 0.3
    assert _C.is_unread(scores)
    nd.softmax(scores, out=out)
    close(out.asnumpy().reshape(expected.shape), expected)
    weights = nd.softmax(scores)
    weights[0] = 2
    assert (weights.asnumpy()[0] == 2).all()
    close(weights.asnumpy()[1:], expected.reshape(-1, N, N)[1:])
    scores += 1  # in place
    scores[:] = 0
    assert not scores.asnumpy().any()


def test_recorded_operators():
    given = arrays()
    xs = flat(given)
    for x in xs:
        x.attach_grad()
    gradients = []
    for seen in (look, lambda x: x):
        with mx.autograd.record():
            y, weights = operators(*xs, nd.array(MASK[0]), seen=seen)
            assert not _C.is_unread(weights)
        y.backward()
        gradients.append([x.grad.asnumpy() for x in xs])
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_array_equal(a, b)


def test_long_sequences_that_are_recorded():
    """From a million scores on they wait in a recorded program, too, whose gradients are computed by blocks."""
    random = np.random.RandomState(0)
    given = [random.randn(3, 600, 8).astype("f") for _ in range(3)]
    gradients = []
    for seen in (look, lambda x: x):
        xs = [nd.array(x) for x in given]
        for x in xs:
            x.attach_grad()
        with mx.autograd.record():
            y, weights = operators(*xs, seen=seen)
            loss = y * y
            assert _C.is_unread(weights) == (seen is not look)
        loss.backward()
        gradients.append([y.asnumpy(), *(x.grad.asnumpy() for x in xs)])
    for a, b in zip(*gradients, strict=True):
        close(b, a)


def test_second_derivatives_of_long_sequences():
    random = np.random.RandomState(0)
    given = [random.randn(3, 600, 8) for _ in range(3)]
    results = []
    for seen in (look, lambda x: x):
        xs = [nd.array(x, dtype="float64") for x in given]
        for x in xs:
            x.attach_grad()
        with mx.autograd.record():
            y, _ = operators(*xs, seen=seen)
            first = mx.autograd.grad((y * y).sum(), xs, create_graph=True, retain_graph=True)
            loss = sum((g * g).sum() for g in first)
        loss.backward()
        results.append([x.grad.asnumpy() for x in xs])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-10 * abs(a).max())


def test_hybridized_block():
    class Attention(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, q, k, v):
            return operators(q, k, v, F=F)[0]

    net = Attention()
    net.hybridize(static_alloc=True, static_shape=True)
    given = arrays()
    result = exact(*given)[2]
    for _ in range(10):  # with a plan, if one is made
        close(net(*flat(given)).asnumpy().reshape(result.shape), result)
