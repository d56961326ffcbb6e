"""mx.np and mx.npx: values of the original, gradients, mixing with mx.nd, wrong arguments, whole programs."""

import json
import pickle

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd, npx
from compatgrad.mxnet import np as mxnp
from compatgrad.mxnet.base import MXNetError
from tests.golden import files
from tests.golden import mxnet_np as golden


@pytest.fixture(autouse=True)
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def same(found, expected):
    if isinstance(expected, list) and len(expected) == 4 and expected[0] in ("ndarray", "NDArray"):
        if found[:3] != expected[:3]:
            return False
        return np.allclose(found[3], expected[3], rtol=2e-5, atol=1e-6, equal_nan=True)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return found == expected


def test_values_of_the_original():
    expected = files.read(golden.GOLDEN)
    found = golden.evaluated(mx)
    npx.set_np()
    assert len(found) > 250
    assert {e: v for e, v in found.items() if not same(json.loads(json.dumps(v)), expected[e])} == {}


def test_gradients():
    x = mxnp.array([[1.0, 2.0], [3.0, 4.0]])
    w = mxnp.array([0.5, -1.0])
    for a in (x, w):
        a.attach_grad()
    assert type(x.grad) is mxnp.ndarray and not x.grad.any()
    with autograd.record():
        y = mxnp.tanh(mxnp.dot(x, w)) * mxnp.exp(w).sum()
        loss = y.mean()
    assert type(loss) is mxnp.ndarray and loss.shape == ()
    loss.backward()
    t = np.tanh(x.asnumpy() @ w.asnumpy())
    scale = np.exp(w.asnumpy()).sum()
    np.testing.assert_allclose(x.grad.asnumpy(), np.outer(1 - t**2, w.asnumpy()) * scale / 2, rtol=1e-5)
    with autograd.record():
        y = (x > 2).astype("float32") * x + (x == x)  # comparisons have no gradient
    y.backward()
    assert x.grad.tolist() == [[0, 0], [1, 1]]
    with autograd.record():
        y = (x**3).sum()
        (g,) = autograd.grad(y, x, create_graph=True)
        z = (g * g).sum()
    assert type(g) is mxnp.ndarray
    z.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 36 * x.asnumpy() ** 3, rtol=1e-5)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: mxnp.concatenate([x, x * 2], axis=1).cumsum(axis=1)[:, 1:],
        lambda x: mxnp.einsum("ij,kj->ik", x, x),
        lambda x: mxnp.where(x > 0, x, x**2) + mxnp.clip(x, -0.5, 0.5),
        lambda x: mxnp.linalg.norm(x, axis=1) * mxnp.linalg.norm(x, ord=3, axis=0)[0],
        lambda x: mxnp.std(x, axis=0) + x.var() + mxnp.max(x),
        lambda x: mxnp.pad(mxnp.tril(x), ((1, 0), (0, 1))) @ mxnp.ones((4, 2)),
        lambda x: npx.masked_softmax(x, mxnp.array([[True, False, True]] * 2, dtype="bool")),
        lambda x: npx.index_add(x, mxnp.array([[0, 0, 1], [1, 1, 2]]), mxnp.array([1.0, 2.0, 3.0]) * x.sum()),
        lambda x: npx.index_update(x, mxnp.array([[0], [1]]), x[1, 0] ** 2),
        lambda x: mxnp.tensordot(x, x, ([0], [0])) + mxnp.diag(x[0]),
        lambda x: mxnp.linalg.inv(mxnp.eye(2) * 3 + mxnp.dot(x, x.T)),
        lambda x: mxnp.roll(mxnp.flip(x, 1), 1, axis=1) * mxnp.take(x, mxnp.array([2, 0, 0]), axis=1),
        lambda x: mxnp.arctan2(x, x * x + 1) + mxnp.hypot(x, x + 3) + mxnp.cbrt(x + 4),
        lambda x: mxnp.sort(x, axis=1) * mxnp.repeat(x, 3, axis=1)[:, ::3] + mxnp.trace(x),
    ],
)
def test_gradients_against_differences(f):
    start = np.random.RandomState(3).randn(2, 3)
    x = mxnp.array(start)  # keeps the float64 of NumPy's array
    v = mxnp.array(np.random.RandomState(4).randn(2, 3))
    x.attach_grad()
    with autograd.record():
        (g,) = autograd.grad(mxnp.sin(f(x)).sum(), x, create_graph=True)
        h = (g * v).sum()
    h.backward()

    def gradient(at):
        y = mxnp.array(at)
        y.attach_grad()
        with autograd.record():
            z = mxnp.sin(f(y)).sum()
        z.backward()
        return y.grad.asnumpy()

    def value(at):
        return mxnp.sin(f(mxnp.array(at))).sum().item()

    eps = 1e-6
    for i in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[i] = eps
        assert abs((value(start + step) - value(start - step)) / (2 * eps) - g.asnumpy()[i]) < 1e-6
    second = (gradient(start + eps * v.asnumpy()) - gradient(start - eps * v.asnumpy())) / (2 * eps)
    np.testing.assert_allclose(x.grad.asnumpy(), second, rtol=1e-5, atol=1e-5)


def test_both_kinds_of_arrays():
    x = nd.array([1.0, 2.0])
    x.attach_grad()
    y = x.as_np_ndarray()
    assert type(y) is mxnp.ndarray and type(y.as_nd_ndarray()) is nd.NDArray and y.as_np_ndarray() is y
    with autograd.record():
        z = (y * y).sum()
        w = mxnp.exp(x.as_np_ndarray()).as_nd_ndarray()
    z.backward()
    assert x.grad.asnumpy().tolist() == [2, 4] and y.grad.tolist() == [2, 4]  # both kinds of array are one leaf
    w.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp([1, 2]), rtol=1e-6)
    y[0] = 7
    assert x.asnumpy()[0] == 7
    assert type(nd.relu(y)) is mxnp.ndarray and type(npx.relu(x)) is mxnp.ndarray
    back = pickle.loads(pickle.dumps(y))
    assert type(back) is mxnp.ndarray and back.tolist() == [7, 2]


def test_writing():
    x = mxnp.zeros((2, 3))
    x[0] = mxnp.array([1, 2, 3])
    x[:, 1] = 5
    x[x > 4] = -1
    x[mxnp.array([False, True], dtype="bool")] += 10
    x += 1
    x *= 2
    assert x.tolist() == [[4, 0, 8], [22, 20, 22]]
    x[()] = 3
    assert (
        mxnp.array([1.0, 2.0])[[True, False]].tolist() == [1]
        and x[True].shape == (1, 2, 3)
        and x[False].shape == (0, 2, 3)
    )
    s = mxnp.array(1.0)
    s[()] = 4
    assert s.item() == 4 and (x == 3).all()
    with autograd.record():
        x.attach_grad()
        y = x * 2
        with pytest.raises(MXNetError, match="Inplace operations"):
            y += 1


def test_randomness():
    npx.random.seed(3)
    r = mxnp.random
    first = [
        r.uniform(size=3).tolist(),
        r.choice(5, size=3).tolist(),
        r.permutation(5).tolist(),
        r.beta(2.0, 3.0).item(),
    ]
    npx.random.seed(3)
    assert first[0] == r.uniform(size=3).tolist() and first[1] == r.choice(5, size=3).tolist()
    assert r.uniform().shape == () and r.randint(0, 5).dtype == np.int64 and r.randn(2, 3).shape == (2, 3)
    assert r.normal(mxnp.zeros((3, 1)), mxnp.ones((2,))).shape == (3, 2)
    assert sorted(r.choice(6, 6, replace=False).tolist()) == list(range(6))
    assert r.multinomial(10, [0.5, 0.5], size=4).sum(axis=1).tolist() == [10] * 4
    x = mxnp.arange(10)
    r.shuffle(x)
    assert sorted(x.tolist()) == list(range(10))
    moments = {"gumbel": (0.5772, 1.645), "logistic": (0, 3.29), "laplace": (0, 2), "rayleigh": (1.2533, 0.4292)}
    for name, (mean, variance) in moments.items():
        y = getattr(r, name)(size=20000)
        assert abs(y.mean().item() - mean) < 0.06 and abs(y.var().item() - variance) < 0.1 * variance
    assert npx.random.bernoulli(0.5, size=(4,)).shape == (4,)
    assert npx.random.categorical(mxnp.array([[0.0, 1.0], [1.0, 0.0]])).tolist() == [1, 0]


def test_a_program_of_gluon():
    mx.random.seed(0)
    features = mxnp.random.normal(0, 1, (200, 2))
    labels = mxnp.dot(features, mxnp.array([2, -3.4])) + 4.2
    net = mx.gluon.nn.Sequential()
    net.add(mx.gluon.nn.Dense(1))
    net.initialize(mx.init.Normal(0.01))
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.L2Loss()
    for _ in range(40):
        with autograd.record():
            e = loss(net(features), labels.reshape((-1, 1))).mean()
        e.backward()
        trainer.step(1)
    assert type(e) is mxnp.ndarray and e.item() < 0.02 and type(net[0].weight.data()) is mxnp.ndarray


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: mxnp.array(nd.ones((1,))), ValueError, "as_np_ndarray"),
        (lambda: mxnp.array("a"), TypeError, "expected an array"),
        (lambda: mxnp.ones((2, 3)) + mxnp.ones((2,)), MXNetError, "broadcast"),
        (lambda: mxnp.ones((2,)) + np.ones(2), TypeError, "numpy.ndarray"),
        (lambda: mxnp.dot(mxnp.ones((2, 3)), mxnp.ones((2, 3))), MXNetError, r"dot: shapes \(2, 3\) and \(2, 3\)"),
        (lambda: mxnp.ones((2, 3)).reshape(4, 4), MXNetError, r"reshape an array of shape \(2, 3\) into \(4, 4\)"),
        (lambda: mxnp.zeros(2)[5], IndexError, "out of bounds"),
        (lambda: mxnp.zeros((2, 2))[mxnp.array([1, 0, 1], dtype="bool")], IndexError, "boolean index has shape"),
        (lambda: bool(mxnp.ones(2)), ValueError, "ambiguous"),
        (lambda: len(mxnp.array(1)), TypeError, "unsized"),
        (lambda: mxnp.sum(5), AssertionError, "sum: argument a must have NDArray type"),
        (lambda: mxnp.exp("a"), TypeError, "exp: type"),
        (lambda: mxnp.exp(mxnp.ones(2), where=False), NotImplementedError, "where=False"),
        (lambda: mxnp.exp(mxnp.ones(2), foo=1), TypeError, "no keyword argument"),
        (lambda: mxnp.ones((2, 3)).sum(axis=5), MXNetError, "axis 5 is out of bounds"),
        (lambda: mxnp.concatenate([mxnp.ones((2, 3)), mxnp.ones((2, 4))]), MXNetError, "do not fit along axis 0"),
        (lambda: mxnp.split(mxnp.ones(5), 2), ValueError, "equal parts"),
        (lambda: mxnp.take(mxnp.ones(2), mxnp.array([7])), MXNetError, "from 7 to 7 are out of bounds"),
        (lambda: mxnp.squeeze(mxnp.ones((2, 3)), 0), MXNetError, "longer than 1"),
        (lambda: mxnp.transpose(mxnp.ones((2, 3)), (0, 0)), ValueError, "repeated"),
        (lambda: mxnp.broadcast_to(mxnp.ones(3), (2, 2)), MXNetError, "does not broadcast"),
        (lambda: mxnp.zeros((2, -1)), MXNetError, "negative length"),
        (lambda: mxnp.zeros("a"), TypeError, "expected an integer or a tuple"),
        (lambda: ~mxnp.ones(2), MXNetError, "only integers and booleans"),
        (lambda: mxnp.random.uniform(dtype="int32"), MXNetError, "dtype must be"),
        (lambda: npx.reshape(mxnp.ones((2, 3)), (-2, -2, -2)), MXNetError, "code -2 needs 1 more axes"),
        (lambda: npx.reshape(mxnp.ones((2, 3)), (-6, 4, 2)), MXNetError, "cannot split"),
        (lambda: npx.gather_nd(mxnp.ones(2), mxnp.array([[9]])), MXNetError, "out of bounds"),
        (lambda: mxnp.linalg.inv(mxnp.ones((2, 3))), MXNetError, "square matrices"),
        (lambda: mxnp.no_such, AttributeError, "no_such"),
        (lambda: npx.no_such, AttributeError, "no_such"),
    ],
)
def test_wrong_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


MOVED = {
    "reshape": lambda x: x.reshape(4, 3), "reshape function": lambda x: mxnp.reshape(x, (3, 4)),
    "npx.reshape": lambda x: npx.reshape(x, (-1, 2)), "ravel": mxnp.ravel, "T": lambda x: x.T,
    "T of a vector": lambda x: x[0].T, "transpose": lambda x: x.transpose(), "axes": lambda x: x.transpose(1, 0),
    "swapaxes": lambda x: x.swapaxes(0, 1), "moveaxis": lambda x: mxnp.moveaxis(x, 0, 1),
    "expand_dims": lambda x: mxnp.expand_dims(x, 0), "squeeze": lambda x: mxnp.squeeze(x),
    "broadcast_to": lambda x: mxnp.broadcast_to(x, (2, 3, 4)), "broadcast_like": lambda x: npx.broadcast_like(x, x),
    "split": lambda x: mxnp.split(x, 3)[0], "vsplit": lambda x: mxnp.vsplit(x, 3)[0],
    "array_split": lambda x: mxnp.array_split(x, 2)[1], "atleast_1d": mxnp.atleast_1d, "atleast_3d": mxnp.atleast_3d,
    "roll": lambda x: mxnp.roll(x, 0), "roll along": lambda x: mxnp.roll(x, 0, 0), "rot90": lambda x: mxnp.rot90(x, 0),
    "meshgrid": lambda x: mxnp.meshgrid(x[0], x[0])[0], "in another order": lambda x: x.T[1],
}  # fmt: skip


@pytest.mark.parametrize("name", MOVED)
def test_rearranged_arrays_are_copies(name):
    """Only `x[0:2]` is a view. The book of `d2l` writes into `x.reshape(3, 4)` and expects x unchanged."""
    x = mxnp.arange(12).reshape(3, 4)
    y = MOVED[name](x)
    y[:] = -1
    assert x.asnumpy().tolist() == np.arange(12).reshape(3, 4).tolist()
    x[:] = 5
    assert (y.asnumpy() == -1).all()


def test_gradients_of_copies_reach_what_was_copied():
    x = mxnp.ones((2, 3))
    x.attach_grad()
    with autograd.record():
        y = (x.T.reshape(2, 3) * mxnp.arange(6).reshape(2, 3)).sum()
    y.backward()
    assert x.grad.asnumpy().tolist() == [[0, 2, 4], [1, 3, 5]]
