"""The scores of an attention that a program writes out are computed when something reads them; nothing that a program
can do shows it, but for rounding where it never reads them."""

import copy
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
import torch

from compatgrad import _C, chainer, interop
from compatgrad import mxnet as mx
from compatgrad.chainer import functions as F

BATCH, HEADS, N, DEPTH = 1, 3, 600, 8  # more scores than the fewest that wait
MASK = np.triu(np.full((N, N), -1e9), 1)
TOLERANCE = {np.float32: 3e-6, np.float64: 1e-13}


def arrays(dtype=np.float32, seed=0):
    """q, k, v and the gradient of the result."""
    random = np.random.RandomState(seed)
    return [random.randn(BATCH, HEADS, N, DEPTH).astype(dtype) for _ in range(4)]


def look(y):
    assert y.array is not None  # it is computed now
    return y


def leave(y):
    return y


def attention(q, k, v, mask=None, seen=leave, turned=False):
    """The result, and everything that it is made of. `seen` is called with each array after it was made."""
    product = F.matmul(q, F.transpose(k, (0, 1, 3, 2))) if turned else F.matmul(q, k, transb=True)
    scores = [seen(product)]
    scores.append(seen(scores[-1] * 0.3))
    if mask is not None:
        scores.append(seen(scores[-1] + mask))
    weights = seen(F.softmax(scores[-1], axis=3))
    return F.matmul(weights, v), [*scores, weights]


def waits(y):
    """Whether an array has no values yet; asks without reading it."""
    return _C.is_unread(y)


def gradients(y, xs, gy):
    y.grad = gy
    y.backward()
    return [x.grad for x in xs]


def close(a, b, dtype=np.float32):
    np.testing.assert_allclose(a, b, rtol=0, atol=TOLERANCE[dtype] * max(1, abs(b).max()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("mask", [None, MASK, MASK[None, :1], np.broadcast_to(MASK, (BATCH, HEADS, N, N))])
@pytest.mark.parametrize("turned", [False, True])
def test_results_and_gradients(dtype, mask, turned):
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x) for x in arrays(dtype))
        y, made = attention(*xs, None if mask is None else mask.astype(dtype), seen, turned)
        assert all(waits(s) == (seen is leave) for s in made)
        results.append([y.array, *gradients(y, xs, gy.array)])
        assert all(waits(s) == (seen is leave) for s in made)
        if not turned:
            results.append([s.array for s in made])
    for a, b in zip(results[0], results[-1 if turned else 2], strict=True):
        close(b, a, dtype)
    if not turned:  # what is read is bit for bit what the functions alone compute
        for a, b in zip(results[1], results[3], strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("which", range(4))
def test_a_program_reads_one_array(which):
    *xs, gy = (chainer.Variable(x) for x in arrays())
    expected, _ = attention(*xs, MASK.astype("f"), look)
    expected = [expected.array, *gradients(expected, xs, gy.array)]
    for x in xs:
        x.cleargrad()
    calls = iter(range(4))
    y, made = attention(*xs, MASK.astype("f"), lambda s: look(s) if next(calls) == which else s)
    for a, b in zip([y.array, *gradients(y, xs, gy.array)], expected, strict=True):
        close(a, b)


def test_a_program_writes_into_its_arrays_afterwards():
    q, k, v, gy = arrays()
    expected, made = attention(*map(chainer.Variable, (q, k, v)), MASK.astype("f"), look)
    expected, made = expected.array.copy(), [s.array.copy() for s in made]
    mask, xs = MASK.astype("f"), [chainer.Variable(x.copy()) for x in (q, k, v)]
    views = [x.array for x in xs]
    y, late = attention(*xs, mask)
    for x in (*views, mask):
        x[...] = 7
    close(y.array, expected)
    for a, b in zip(late, made, strict=True):
        np.testing.assert_array_equal(a.array, b)


def test_gradients_of_arrays_that_changed_meanwhile():
    """The original's gradients read q, k and v when they are computed."""
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x) for x in arrays())
        y, _ = attention(*xs, None, seen)
        for x in xs:
            x.array[..., 0] *= 2
        results.append(gradients(y, xs, gy.array))
    for a, b in zip(*results, strict=True):
        close(b, a)


def test_other_users_of_the_weights_and_scores():
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x) for x in arrays())
        y, made = attention(*xs, MASK.astype("f"), seen)
        loss = F.sum(y * gy.array) + F.sum(F.square(made[-1])) + F.sum(made[1]) * 1e-3
        loss.backward(retain_grad=True)
        results.append([*(x.grad for x in xs), made[-1].grad, made[1].grad])
    for a, b in zip(*results, strict=True):
        close(b, a)


def test_gradients_of_the_scores_that_a_program_asks_for():
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x) for x in arrays())
        y, made = attention(*xs, MASK.astype("f"), seen)
        got = chainer.grad([y], [*made, *xs], [chainer.Variable(gy.array)])
        results.append([g.array for g in got])
    for a, b in zip(*results, strict=True):
        close(b, a)


def test_a_recorded_pass():
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x.astype("d")) for x in arrays())
        y, _ = attention(*xs, MASK, seen)
        first = chainer.grad([y], xs, [gy], enable_double_backprop=True)
        loss = sum(F.sum(g * g) for g in first)
        results.append([g.array for g in chainer.grad([loss], [*xs, gy])])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-11 * abs(a).max())


class Looks(chainer.FunctionHook):
    name = "Looks"

    def __init__(self):
        self.seen = []

    def backward_preprocess(self, function, in_data, out_grad):
        self.seen.append((function.label, [a is not None and float(a.sum()) for a in in_data]))


def test_hooks_that_a_program_sets_before_backward():
    results = []
    for seen in (look, leave):
        *xs, gy = (chainer.Variable(x.astype("d")) for x in arrays())
        y, _ = attention(*xs, MASK, seen)
        y.grad = gy.array
        with Looks() as hook:
            y.backward()
        results.append(hook.seen)
    assert [label for label, _ in results[0]] == [label for label, _ in results[1]]
    for (_, a), (_, b) in zip(*results, strict=True):
        np.testing.assert_allclose(b, a)


def test_the_graph_is_that_of_the_functions():
    y, made = attention(*map(chainer.Variable, arrays()[:3]), MASK.astype("f"))
    assert [s.creator.label for s in made] == ["MatMul", "_ * 0.3", "_ + _", "Softmax"]
    assert made[-1].shape == (BATCH, HEADS, N, N) and len(made[-1]) == BATCH and made[-1].dtype == np.float32
    assert all(map(waits, made))  # shapes are known
    weights = y.creator.inputs[0]
    assert weights.data is not None and not waits(made[-1])
    np.testing.assert_array_equal(weights.data, made[-1].array)


def test_without_backprop_and_with_weights_that_live_on():
    xs = [chainer.Variable(x) for x in arrays()[:3]]
    expected, made = attention(*xs, None, look)
    with chainer.no_backprop_mode():
        y, late = attention(*xs)
    close(y.array, expected.array)
    assert all(map(waits, late))
    np.testing.assert_array_equal(late[-1].array, made[-1].array)


@pytest.mark.parametrize(
    "use",
    [
        lambda s: interop.to("torch", s).detach().numpy(),
        lambda s: copy.deepcopy(s).array,
        lambda s: pickle.loads(pickle.dumps(s.array)),
        lambda s: F.transpose(s, (0, 1, 3, 2)).array.transpose(0, 1, 3, 2),
        lambda s: F.concat([s, s], axis=0).array[:BATCH],
        lambda s: (s + s).array / 2,
        lambda s: (1 * (s * 2)).array / 2,
        lambda s: F.reshape(s, (-1, N)).array.reshape(s.shape),
        lambda s: F.identity(s).array,
        lambda s: s[0:BATCH].array,
        lambda s: _C.Variable(s.tensor).tensor.numpy(),
        lambda s: chainer.as_variable(s).data,
        lambda s: s.node.get_variable().array,
        lambda s: F.copy(s, -1).array,
    ],
)
def test_every_way_to_read(use):
    xs = [chainer.Variable(x) for x in arrays()[:3]]
    _, made = attention(*xs, MASK.astype("f"), look)
    y, late = attention(*xs, MASK.astype("f"))
    for a, b in zip(made, late, strict=True):
        assert waits(b)
        np.testing.assert_array_equal(use(b), a.array)
    close(y.array, attention(*xs, MASK.astype("f"), look)[0].array)


def test_operands_that_do_not_fit():
    xs = [chainer.Variable(x) for x in arrays()[:3]]
    for operand in (np.zeros((2, N), "f"), np.zeros((N, N), "d"), np.zeros((2, 1, 1, N, N), "f")):
        results = []
        for seen in (look, leave):
            scores = seen(F.matmul(xs[0], xs[1], transb=True))
            try:
                results.append((scores + operand).array)
            except chainer.utils.type_check.InvalidType as e:
                results.append(str(e))
        if isinstance(results[0], str):
            assert results[0] == results[1]
        else:
            np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("mode", ["autocast", "dispatch", "flush"])
def test_modes_at_the_time_of_the_read(mode):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Zeros(TorchDispatchMode):
        def __torch_dispatch__(self, f, types, args=(), kwargs=None):
            return torch.zeros_like(f(*args, **(kwargs or {})))

    xs = [chainer.Variable(x) for x in arrays()[:3]]
    expected = attention(*xs, None, look)[1][-1].array
    weights = attention(*xs)[1][-1]
    if mode == "flush":
        torch.set_flush_denormal(True)
        try:
            weights.array  # noqa: B018
        finally:
            torch.set_flush_denormal(False)
    else:
        with torch.autocast("cpu", torch.bfloat16) if mode == "autocast" else Zeros():
            weights.tensor  # noqa: B018
    np.testing.assert_array_equal(weights.array, expected)


def test_two_threads_read_at_once():
    xs = [chainer.Variable(x) for x in arrays()[:3]]
    expected = attention(*xs, None, look)[1][-1].array
    weights, got = attention(*xs)[1][-1], []
    threads = [threading.Thread(target=lambda: got.append(F.identity(weights).array)) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for a in got:
        np.testing.assert_array_equal(a, expected)


def test_mxnet():
    """Its operators look at their arrays, so that nothing waits for long."""
    results = []
    for seen in (lambda s: s.wait_to_read() or s.asnumpy() is not None and s, leave):
        xs = [mx.nd.array(x[0]) for x in arrays()[:3]]
        for x in xs:
            x.attach_grad()
        with mx.autograd.record():
            scores = seen(mx.nd.batch_dot(xs[0], xs[1], transpose_b=True))
            weights = seen(mx.nd.softmax(seen(scores * 0.3), axis=-1))
            y = mx.nd.batch_dot(weights, xs[2])
        y.backward(mx.nd.array(arrays()[3][0]))
        results.append([y.asnumpy(), *(x.grad.asnumpy() for x in xs)])
    for a, b in zip(*results, strict=True):
        close(b, a)


def test_nothing_of_the_size_of_the_scores_is_kept():
    """A training step of an attention with 64 MB of scores takes less memory than one array of them."""
    n, depth = 2000, 4
    xs = [chainer.Variable(np.ones((4, n, depth), "f")) for _ in range(3)]

    def peak():
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
        before = resident("VmRSS")
        weights = F.softmax(F.matmul(xs[0], xs[1], transb=True) * 0.5, axis=2)
        y = F.matmul(weights, xs[2])
        y.grad = np.ones((4, n, depth), "f")
        y.backward()
        assert waits(weights)
        return resident("VmHWM") - before

    peak()
    assert peak() < 32 << 20


def resident(name):
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(name)) << 10


def both(change, scale, mask=None):
    """Results and gradients, of functions alone and of an attention that waits, after `change(q, k, v, gy)`."""
    results = []
    for seen in (look, leave):
        given = arrays()
        change(*given)
        *xs, gy = map(chainer.Variable, given)
        weights = seen(F.softmax(seen(seen(F.matmul(xs[0], xs[1], transb=True)) * scale), axis=3))
        y = F.matmul(weights, xs[2])
        assert waits(weights) == (seen is leave)
        results.append([y.array, *gradients(y, xs, gy.array)])
    return zip(*results, strict=True)


@pytest.mark.parametrize("scale", [0, float("nan"), float("inf")])
@pytest.mark.parametrize("value", [1, np.nan, np.inf])
def test_factors_that_libraries_of_matrices_do_not_multiply_by(scale, value):
    """For a factor of 0 these do not read q and k."""

    def change(q, k, v, gy):
        q[0, 1, 5, 3] = k[0, 2, 7, 1] = value

    with np.errstate(all="ignore"):
        for a, b in both(change, scale):
            np.testing.assert_array_equal(np.isnan(b), np.isnan(a))
            close(np.nan_to_num(b), np.nan_to_num(a))


def test_values_whose_sum_overflows():
    def values(q, k, v, gy):
        q[...] = 0
        v[...] = np.where(v < 0, -2e37, 3e38)
        v[..., 0] = 1e37
        gy[...] = 0

    for a, b in both(values, 0.3):
        assert np.isfinite(b).all()
        np.testing.assert_allclose(b, a, rtol=1e-5)

    def slopes(q, k, v, gy):
        q[...] *= 1e-3
        v[...] = 1e37
        gy[...] = 1

    for a, b in both(slopes, 1e-30):
        assert np.isfinite(a).all() and np.isfinite(b).all()


WITHOUT_MEMORY = """
import resource
import numpy as np
import pytest
from compatgrad import chainer
from compatgrad.chainer import functions as F

n = 8000
xs = [chainer.Variable(np.ones((1, n, 4), "f")) for _ in range(3)]
weights = F.softmax(F.matmul(xs[0], xs[1], transb=True) * 0.5, axis=2)
y = F.matmul(weights, xs[2])
y.grad = np.ones((1, n, 4), "f")
limits = resource.getrlimit(resource.RLIMIT_AS)
with open("/proc/self/statm") as f:
    used = int(f.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (128 << 20), limits[1]))
with pytest.raises(RuntimeError, match="memory"):
    y.backward(retain_grad=True)
resource.setrlimit(resource.RLIMIT_AS, limits)
for x in xs:
    x.cleargrad()
for _ in range(2):
    y.grad = np.full((1, n, 4), 2, "f")
    y.backward()
np.testing.assert_allclose(xs[2].grad, 4, rtol=1e-4)
"""


def test_a_pass_after_one_that_had_no_memory():
    """The second pass drops the gradients that the first one left, and the program's array with them. The process is a
    new one: memory that earlier tests freed would be enough for the pass."""
    made = subprocess.run([sys.executable, "-W", "ignore", "-c", WITHOUT_MEMORY], capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
