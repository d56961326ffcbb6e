"""mx.np: NumPy's functions on its arrays, zero-dimensional booleans in keys, hybrid blocks, symbols."""

import numpy as np
import pytest

from compatgrad import mxnet as mx
from compatgrad.mxnet import MXNetError, autograd, gluon, init, nd, npx, sym
from compatgrad.mxnet import np as mxnp
from tests.golden import mxnet_np


@pytest.fixture(autouse=True)
def numpy_semantics():
    npx.set_np()
    yield
    npx.reset_np()


def test_numpys_functions():
    x = mxnp.array([1.0, 2.0])
    for y in (np.exp(x), np.mean(x), np.stack([x, x]), np.add(x, 1), np.logaddexp(x, x), np.float32(3) * x):
        assert type(y) is mxnp.ndarray
    assert np.exp(x, out=x) is x and x.tolist() == pytest.approx([np.e, np.e**2])
    assert np.nanmax(x) == np.float32(np.e**2) and not isinstance(np.nanmax(x), mxnp.ndarray)
    assert np.sum(mxnp.ones((2, 3)), axis=0).tolist() == [2, 2, 2]
    assert type(np.linalg.norm(x)) is mxnp.ndarray and np.allclose(x, x) is True
    np.testing.assert_allclose(x, x)
    for mixed in (lambda: np.ones(2) + x, lambda: np.add(x, np.ones(2)), lambda: np.concatenate([x, np.ones(2)])):
        with pytest.raises(TypeError):
            mixed()
    x.attach_grad()
    with autograd.record():
        y = np.exp(x).sum()
        with pytest.raises(ValueError, match="nanmax cannot be recorded"):
            np.nanmax(x)
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.exp(x.asnumpy()), rtol=1e-6)


def test_errors_of_the_decorator():
    @mx.numpy_dispatch_protocol.with_array_ufunc_protocol
    def wrong():
        raise KeyError("k")

    with pytest.raises(RuntimeError, match="Running function wrong with NumPy array ufunc protocol failed"):
        wrong()


MASK = np.array([[False, True, True], [False, True, False]])
ROWS = np.array([True, False, True])


@pytest.mark.parametrize(
    "key",
    [(0, True, True, MASK), (False, 1), True, False, (Ellipsis, True), (True, Ellipsis, ROWS), (slice(None), True, 1),
     (None, True, 0), (ROWS, True, None), (slice(2, None, -1), [1, 0]), ([2, 0], slice(None, None, -1), slice(0, 2))],
    ids=str,
)  # fmt: skip
def test_keys(key):
    a = np.random.default_rng(0).random((3, 2, 3)).astype("float32")

    def ours(k):
        return mxnp.array(k, dtype=bool) if isinstance(k, np.ndarray) else k

    k = tuple(map(ours, key)) if isinstance(key, tuple) else key
    x = mxnp.array(a)
    np.testing.assert_array_equal(x[k].asnumpy(), a[key], strict=True)
    value = -np.arange(a[key].size, dtype="float32").reshape(a[key].shape)
    x[k] = value
    a[key] = value
    np.testing.assert_array_equal(x.asnumpy(), a)


def test_values():
    x = mxnp.array([[1.0, 3.0], [2.0, 5.0]])
    assert mxnp.pad(x, ((1, 0), (0, 2)), mode="maximum").tolist() == [[2, 5, 5, 5], [1, 3, 3, 3], [2, 5, 5, 5]]
    assert mxnp.pad(x, ((0, 1), (0, 0)), mode="minimum").tolist() == [[1, 3], [2, 5], [1, 3]]
    a = mxnp.array([np.nan, np.inf, 3.0])
    assert mxnp.hypot(a, mxnp.array([np.inf, np.nan, 4.0])).tolist() == [np.inf, np.inf, 5.0]
    matrices, right = np.random.default_rng(0).random((3, 4, 4)) + 4 * np.eye(4), np.ones((3, 4))
    y = mxnp.linalg.solve(mxnp.array(matrices), mxnp.array(right))
    np.testing.assert_allclose(y.asnumpy(), np.linalg.solve(matrices, right[..., None])[..., 0], rtol=1e-5)
    z = mxnp.zeros((4, 5))
    assert not mxnp.shares_memory(z[0], z[1]) and mxnp.shares_memory(z[0, 1:4], z[0, 3:4])
    for cut, axes in ((mxnp.vsplit, 1), (mxnp.hsplit, 0), (mxnp.dsplit, 2)):
        with pytest.raises(ValueError, match="only works on arrays of"):
            cut(mxnp.ones((2,) * axes), 2)


def test_attributes_of_blocks():
    class Chosen(gluon.HybridBlock):
        def __init__(self):
            super().__init__()
            self._op, self._graph = "+", None

        def hybrid_forward(self, F, x):
            assert self._graph is None
            return x + x if self._op == "+" else x

    net = Chosen()
    net.hybridize()
    assert net(mxnp.ones(2)).tolist() == [2, 2]


def test_blocks_give_arrays_of_one_kind():
    class Mixed(gluon.HybridBlock):
        def hybrid_forward(self, F, x):
            return x * 2, [x.as_nd_ndarray()]

    with pytest.raises(TypeError, match="Block's output ndarrays/symbols must be of type"):
        Mixed()(mxnp.ones(2))
    npx.reset_np()
    assert type(Mixed()(nd.ones(2))[0]) is nd.NDArray


def test_graphs_and_their_files(tmp_path):
    x = mxnp.array([[1.0, 2.0, -1.0, 0.5], [0.2, -3.0, 1.0, 1.0]])
    expected = [[20.069843292236328, 18.387893676757812], [17.36438751220703, 22.290618896484375]]  # from MXNet 1.9.1
    net = mxnet_np.mixture(mx)
    net.initialize(init.Constant(0.1))
    net.hybridize()
    np.testing.assert_allclose(net(x).asnumpy(), expected, rtol=1e-6)
    net.export(str(tmp_path / "net"))
    again = gluon.SymbolBlock.imports(str(tmp_path / "net-symbol.json"), ["data"], str(tmp_path / "net-0000.params"))
    np.testing.assert_allclose(again(x).asnumpy(), expected, rtol=1e-6)
    theirs = sym.load(str(mxnet_np.NETWORK))
    values = {n: mxnp.full({"w": (3, 4), "b": (3,)}[n.rpartition("_")[2][0]], 0.1 * n.endswith("weight"))
              for n in theirs.list_arguments() if n != "data"}  # fmt: skip
    (y,) = theirs.eval_imperative({"data": x, **values})
    np.testing.assert_allclose(y.asnumpy(), expected, rtol=1e-6)


S = sym.np
GRAPHS = [
    (lambda x, y: 2 - x, lambda x, y: 2 - x),
    (lambda x, y: x > 2, lambda x, y: x > 2),
    (lambda x, y: (x.reshape(-1)[None, 1::2]).T, lambda x, y: x.reshape(-1)[None, 1::2].T),
    (lambda x, y: x[-1, 0], lambda x, y: x[-1, 0]),
    (lambda x, y: S.where(x > 2, 1.0, y) @ y.T, lambda x, y: np.where(x > 2, 1.0, y) @ y.T),
    (lambda x, y: S.tensordot(x, y, ([1], [1])), lambda x, y: np.tensordot(x, y, ([1], [1]))),
    (lambda x, y: S.linalg.norm(x, axis=1), lambda x, y: np.linalg.norm(x, axis=1)),
    (lambda x, y: S.average(x, weights=y), lambda x, y: np.average(x, weights=y)),
    (lambda x, y: S.split(x, [1], axis=1), lambda x, y: np.split(x, [1], axis=1)),
    (lambda x, y: S.insert(x, 1, y[:, 0], axis=1), lambda x, y: np.insert(x, 1, y[:, 0], axis=1)),
    (lambda x, y: S.delete(x, 1, axis=1), lambda x, y: np.delete(x, 1, axis=1)),
    (lambda x, y: S.vstack([S.std(x, axis=0), S.arange(3)]), lambda x, y: np.vstack([x.std(0), np.arange(3)])),
    (lambda x, y: S.percentile(x, 50) + x.max(), lambda x, y: np.percentile(x, 50) + x.max()),
    (lambda x, y: S.arctan2(1, x) + S.hypot(x, 1), lambda x, y: np.arctan2(1, x) + np.hypot(x, 1)),
    (lambda x, y: S.linalg.svd(x)[1], lambda x, y: np.linalg.svd(x)[1]),
    (lambda x, y: S.unique(x.astype("int32")), lambda x, y: np.unique(x.astype("int32"))),
    (lambda x, y: S.pad(S.flip(x, 0), ((1, 0), (0, 1))), lambda x, y: np.pad(np.flip(x, 0), ((1, 0), (0, 1)))),
    (lambda x, y: S.histogram(x, bins=3, range=(0, 8))[0], lambda x, y: np.histogram(x, 3, (0, 8))[0]),
    (lambda x, y: S.ediff1d(S.ravel(x), to_end=y), lambda x, y: np.ediff1d(x.ravel(), to_end=y)),
    (lambda x, y: S.hanning(4) * S.atleast_2d(x.mean()), lambda x, y: np.hanning(4) * np.atleast_2d(x.mean())),
]  # fmt: skip


@pytest.mark.parametrize("k", range(len(GRAPHS)))
def test_functions_of_symbols(k):
    ours, theirs = GRAPHS[k]
    a, b = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]], "float32"), np.array([[2, 2, 1], [1, 5, 3]], "float32")
    s = ours(sym.var("x").as_np_ndarray(), sym.var("y").as_np_ndarray())
    s = sym.Group(s) if isinstance(s, (list, tuple)) else s
    ys = sym.load_json(s.tojson()).eval_imperative({"x": mxnp.array(a), "y": mxnp.array(b)})
    expected = theirs(a, b)
    for y, e in zip(ys, expected if isinstance(expected, (list, tuple)) else [expected], strict=True):
        assert y.shape == e.shape
        np.testing.assert_allclose(y.asnumpy(), e, rtol=2e-6, atol=1e-6)


def test_reshape_of_symbols_takes_attributes_and_refuses_other_arguments():
    x = mx.sym.var("x").as_np_ndarray()
    y = mx.sym.npx.reshape(x, (3, 2), name="r", attr={"__k__": "v"})
    assert (y.name, y.attr("__k__"), y.list_arguments()) == ("r", "v", ["x"])
    with pytest.raises(mx.MXNetError, match="Cannot find argument 'bad'"):
        mx.sym.npx.reshape(x, (3, 2), bad=1)


def test_symbols_with_numpys_manners():
    x = sym.var("x")
    y = x.as_np_ndarray()
    assert type(y + 1) is type(sym.npx.relu(y)) is S._Symbol and type(y.as_nd_ndarray() + 1) is sym.Symbol
    assert S.zeros((2,)).infer_shape()[1] == [(2,)] and S.exp(2.0) == np.exp(2.0)
    with pytest.raises(TypeError, match="not supported"):
        S.add(y, "1")
    with pytest.raises(MXNetError, match="Ellipsis at its end only"):
        y[..., 0]
    with pytest.raises(AttributeError, match="no_such"):
        S.linalg.no_such  # noqa: B018


def test_an_array_without_dimensions_is_not_iterable():
    x = mxnp.array(3.0)
    assert not np.iterable(x)
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(x)
    assert [float(v) for v in mxnp.array([1.0, 2.0])] == [1.0, 2.0]
