"""NumPy's own functions on arrays of mx.np, booleans without axes in keys, attributes of hybrid blocks."""

import numpy as np
import pytest

from compatgrad.mxnet import autograd, gluon, nd, npx
from compatgrad.mxnet import np as mxnp
from compatgrad.mxnet.numpy_dispatch_protocol import with_array_ufunc_protocol


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
    @with_array_ufunc_protocol
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

        def hybrid_forward(self, F, x):  # noqa: N803
            assert self._graph is None
            return x + x if self._op == "+" else x

    net = Chosen()
    net.hybridize()
    assert net(mxnp.ones(2)).tolist() == [2, 2]


def test_blocks_give_arrays_of_one_kind():
    class Mixed(gluon.HybridBlock):
        def hybrid_forward(self, F, x):  # noqa: N803
            return x * 2, [x.as_nd_ndarray()]

    with pytest.raises(TypeError, match="Block's output ndarrays/symbols must be of type"):
        Mixed()(mxnp.ones(2))
    npx.reset_np()
    assert type(Mixed()(nd.ones(2))[0]) is nd.NDArray
