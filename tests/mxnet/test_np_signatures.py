"""Positional arguments of `mx.np` and `mx.npx` are MXNet 1.9.1's; also tests of small functions of `mx.np`."""

import inspect
import math

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import np as mxnp
from compatgrad.mxnet import npx
from compatgrad.mxnet.base import MXNetError

X = np.arange(6.0, dtype="float32").reshape(2, 3)


@pytest.mark.parametrize("name", ["max", "min", "any", "all", "amax", "amin", "sometrue"])
def test_reductions_take_keepdims_before_out(name):
    x = mxnp.array(X)
    assert getattr(mxnp, name)(x, 1, True).shape == (2, 1)
    out = mxnp.zeros((2,), dtype=getattr(mxnp, name)(x, 1).dtype)
    assert getattr(mxnp, name)(x, 1, False, out) is out
    if hasattr(x, name):  # methods keep NumPy's order
        assert getattr(x, name)(1, out) is out and getattr(x, name)(1, None, True).shape == (2, 1)


def test_sum():
    x = mxnp.array(X)
    out = mxnp.zeros((2, 1))
    assert mxnp.sum(x, 1, None, True, None, out) is out and out.asnumpy().tolist() == [[3], [12]]
    assert mxnp.sum(x, initial=2).item() == 17
    assert x.sum(1, "float64", None, True).dtype == np.float64


def test_out():
    x = mxnp.array([4.0, 6.0])
    for y in (mxnp.reshape(x, (2, 1), "C", mxnp.zeros((2, 1))), mxnp.copy(x, mxnp.zeros(2)),
              mxnp.squeeze(mxnp.array([[4.0, 6.0]]), 0, mxnp.ones(2)),
              npx.gather_nd(x, mxnp.array([[0, 1]]), mxnp.zeros(2))):  # fmt: skip
        assert y.asnumpy().ravel().tolist() == [4, 6]
    assert npx.shape_array(x, mxnp.zeros(1, dtype="int64")).asnumpy().tolist() == [2]


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (npx.softmax, ["data", "length", "axis", "temperature"]),
        (npx.convolution, ["data", "weight", "bias", "kernel"]),
        (npx.relu, ["data"]),
        (npx.image.resize, ["data", "size", "keep_ratio", "interp"]),
        (mxnp.random.gumbel, ["loc", "scale", "size", "ctx", "out"]),
        (mxnp.random.pareto, ["a", "size"]),
        (mxnp.ndarray.std, ["self", "axis", "dtype", "out", "ddof", "keepdims"]),
    ],
)
def test_names_of_arguments(function, names):
    assert list(inspect.signature(function).parameters)[: len(names)] == names


def test_random_arguments():
    assert mxnp.random.gumbel(0.0, 1.0, (2, 3)).shape == (2, 3) and mxnp.random.power(2.0, 4).shape == (4,)
    assert mxnp.random.weibull(size=3, a=2.0).shape == (3,)
    with pytest.raises(TypeError, match="pareto"):
        mxnp.random.pareto()
    with pytest.raises(TypeError, match="rayleigh"):
        mxnp.random.rayleigh(1.0, dtype="float32")


def test_rounding_functions_of_python():
    x = mxnp.array([1.5, -2.5])
    assert math.ceil(x).asnumpy().tolist() == [2, -2] and math.floor(x).asnumpy().tolist() == [1, -3]
    assert math.trunc(x).asnumpy().tolist() == [1, -2] and round(mxnp.array([2.25]), 1).asnumpy()[0] == np.float32(2.2)


def test_in_place_operators():
    x = mxnp.array([5, 6], dtype="int32")
    y = x
    y &= 3
    y |= 8
    y ^= 1
    assert y is x and x.asnumpy().tolist() == [8, 11]
    a = mxnp.array([[1.0, 2.0], [3.0, 4.0]])
    b = a
    b @= a
    assert b is a and a.asnumpy().tolist() == [[7, 10], [15, 22]]
    with pytest.raises(MXNetError, match="shape"):
        x = mxnp.array([1.5])
        x @= x


def test_small_functions():
    a = mxnp.array([4, 6], dtype="int32")
    assert mxnp.lcm(a, 6).asnumpy().tolist() == [12, 6] and mxnp.lcm(4, 6) == 12
    assert mxnp.lcm(a, a, a) is a
    assert mxnp.row_stack([a, a]).shape == (2, 2) and mxnp.diag(a).shape == (2, 2)
    with pytest.raises(NotImplementedError, match="suppress"):
        mxnp.set_printoptions(suppress=True)
    with pytest.raises(TypeError, match="pad_width"):
        mxnp.pad(mxnp.ones(2))


def test_modules_by_the_names_of_files():
    from compatgrad.mxnet.numpy import arrayprint, function_base, io, multiarray, stride_tricks, utils

    assert arrayprint.set_printoptions is mxnp.set_printoptions and io.genfromtxt is mxnp.genfromtxt
    assert function_base.meshgrid is mxnp.meshgrid and stride_tricks.broadcast_arrays is mxnp.broadcast_arrays
    assert utils._STR_2_DTYPE_["float"] is np.float64 and multiarray.pad is mxnp.pad
    from compatgrad.mxnet.kvstore import base, kvstore
    from compatgrad.mxnet.rnn import rnn_cell

    assert base.KVStoreBase is mx.kvstore.KVStoreBase and kvstore.KVStore is mx.kvstore.KVStore
    assert rnn_cell.FusedRNNCell is mx.rnn.FusedRNNCell and mx.rnn.load_checkpoint is mx.model.load_checkpoint
    assert mx.image.det.ImageDetIter is mx.image.ImageDetIter


def test_tensorsolve_counts_axes_from_the_end():
    """As in NumPy: where `a` has no more axes than `b`, all of its axes belong to the result."""
    one = mxnp.array([[[2.0]]])
    assert mxnp.linalg.tensorsolve(one, one).shape == (1, 1, 1)
    assert mxnp.linalg.tensorsolve(mxnp.array(2.0), mxnp.ones((1, 1))).shape == ()
    a = np.random.RandomState(0).rand(2, 3, 6).astype("float64") + np.eye(6).reshape(2, 3, 6)
    b = np.arange(6.0).reshape(2, 3)
    x = mxnp.linalg.tensorsolve(mxnp.array(a), mxnp.array(b))
    np.testing.assert_allclose(x.asnumpy(), np.linalg.tensorsolve(a, b), rtol=1e-6)


def test_svd_of_nothing_can_be_differentiated():
    x = mxnp.zeros((0, 3, 3))
    x.attach_grad()
    with mx.autograd.record():
        parts = mxnp.linalg.svd(x)
    mx.autograd.backward(list(parts))
    assert x.grad.shape == (0, 3, 3)


def test_sums_in_another_type():
    """As in MXNet 1.9.1: sums use the wider dtype; a mean in an integer dtype divides its sum and truncates."""
    small, ints, reals = mxnp.array([100, 81, 0], dtype="int8"), mxnp.array([100, 81, 1], dtype="int32"), mxnp.array(
        [1.6, 1.6, 1.6])  # fmt: skip
    for x, dtype, mean, total in (
        (small, "int8", -25, -75), (small, "int32", 60, 181), (small, "float32", 181 / 3, 181),
        (ints, "int8", -24, -74), (ints, "float32", 182 / 3, 182), (reals, "int32", 1, 4), (reals, "int8", 1, 4),
        (small, None, 181 / 3, -75),
    ):  # fmt: skip
        assert mxnp.mean(x, dtype=dtype).item() == pytest.approx(mean, rel=1e-6)
        assert mxnp.sum(x, dtype=dtype).item() == total
    half = mxnp.array(np.linspace(-1, 1, 2000, dtype="float32"))
    exact = half.asnumpy().astype("float64").sum()
    assert abs(mxnp.sum(half + 1, dtype="float16").item() - (exact + 2000)) <= 1  # float16 near 2000 has a spacing of 1
    assert mxnp.cumsum(reals, dtype="int32").asnumpy().tolist() == [1, 2, 3]
    x = mxnp.ones((3,))
    x.attach_grad()
    with mx.autograd.record():
        y = mxnp.mean(x, dtype="float16")
    y.backward()
    assert (x.grad.asnumpy() == np.ones(3, "float32") / 3).all()
    with mx.autograd.record():
        y = mxnp.mean(x, dtype="int32")
    y.backward()
    assert (x.grad.asnumpy() == np.ones(3, "float32") / 3).all()


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_xor", "bitwise_or", "lcm", "mod", "equal", "logical_and"])
def test_piecewise_constant_functions_have_gradients_of_zero(name):
    a, b = mxnp.array([6, 5], dtype="int32"), mxnp.array([2, 2], dtype="int32")
    for x in (a, b):
        x.attach_grad()
        x.grad[:] = 7
    with mx.autograd.record():
        y = getattr(mxnp, name)(a, b)
    y.backward()
    assert a.grad.asnumpy().tolist() == b.grad.asnumpy().tolist() == [0, 0]
    if name not in ("equal", "logical_and"):
        with pytest.raises(NotImplementedError, match="where=False"):
            getattr(mxnp, name)(a, b, where=False)


@pytest.mark.parametrize("name", ["bitwise_not", "logical_not", "isnan"])
def test_piecewise_constant_functions_of_one_array(name):
    a = mxnp.array([6, 5], dtype="int32")
    a.attach_grad()
    a.grad[:] = 7
    with mx.autograd.record():
        y = getattr(mxnp, name)(a)
    y.backward()
    assert a.grad.asnumpy().tolist() == [0, 0]


def test_integers_stay_integers():
    a, b = mxnp.array([6, -5], dtype="int32"), mxnp.array([2, 2], dtype="int32")
    assert mxnp.copysign(a, b).dtype == np.int32 and mxnp.ldexp(a, b).asnumpy().tolist() == [24, -20]


def test_broadcasting_to_lengths_of_the_array():
    x = mxnp.ones((3, 1, 8))
    shapes = [mxnp.broadcast_to(x, s).shape for s in ((3, 4, -2), (2, -2, 4, -2), (-2, 4, 8), (3, -2, -2))]
    assert shapes == [(3, 4, 8), (2, 3, 4, 8), (3, 4, 8), (3, 1, 8)]


def test_positions_in_empty_arrays():
    x = mxnp.ones((5, 0, 3))
    assert mxnp.argmax(x, 0).shape == (0, 3) and mxnp.argmin(x, 2).shape == (5, 0)
    for axis in (1, None):
        with pytest.raises(MXNetError, match="no elements"):
            mxnp.argmin(x, axis)


def test_delete_ignores_negative_positions_in_arrays():
    """As in MXNet 1.9.1, negative positions in arrays are ignored; a single number counts from the end."""
    x = mxnp.array([1.0, 2.0, 3.0])
    assert mxnp.delete(x, mxnp.array([-1, 0], dtype="int64")).asnumpy().tolist() == [2, 3]
    assert mxnp.delete(x, -1).asnumpy().tolist() == [1, 2]


def test_average_along_an_axis_counted_from_the_end():
    x, w = np.arange(24.0).reshape(2, 3, 4), np.arange(1.0, 5)
    y = mxnp.average(mxnp.array(x), axis=-1, weights=mxnp.array(w))
    np.testing.assert_allclose(y.asnumpy(), np.average(x, axis=-1, weights=w), rtol=1e-6)


def test_pseudo_inverse():
    x = np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 0.0]])
    np.testing.assert_allclose(mxnp.linalg.pinv(mxnp.array(x)).asnumpy(), np.linalg.pinv(x), rtol=1e-6, atol=1e-9)
    rank_one = mxnp.linalg.pinv(mxnp.array(np.diag([1.0, 1e-3])), 0.1)
    assert rank_one.asnumpy().tolist() == [[1, 0], [0, 0]]


def test_methods_of_arrays_by_place():
    """Methods whose arguments have other names or positions than the operators'."""
    x = mx.nd.ones((2, 3))
    y = x.expand_dims(0, True)
    y[:] = 5
    assert y.shape == (1, 2, 3) and x.asnumpy()[0, 0] == 5 and x.flatten(True).shape == (2, 3)
    assert mx.nd.ones((1, 3)).squeeze(0, True).shape == (3,) and x.broadcast_like(other=x).shape == (2, 3)
    assert x.slice_assign_scalar(7, (0, 0), (1, 2), None) is x and x.asnumpy()[0].tolist() == [7, 7, 5]
    assert x.writable and not mx.nd.NDArray(x, writable=False).writable
    assert mx.nd.utils.zeros((2,), stype="row_sparse").stype == "row_sparse" and mx.nd.utils.empty((2,)).shape == (2,)
    assert type(mx.nd.from_numpy(np.ones(2), False, mxnp.ndarray)) is mxnp.ndarray
    from compatgrad.mxnet.ndarray import ndarray

    assert ndarray._DTYPE_NP_TO_MX[np.float32] == 0 and ndarray._DTYPE_MX_TO_NP[6] is np.int64
    assert ndarray._GRAD_REQ_MAP["add"] == 3
    assert mxnp.ones(2).as_in_context(context=mx.cpu()).shape == (2,)


@pytest.mark.parametrize("obj", [slice(1, 2), [1], 1, slice(0, 2), [0, 2], slice(2, 2)])
def test_insert(obj):
    x, values = np.array([1.0, 2.0, 3.0]), np.array([7.0, 8.0])
    if isinstance(obj, slice) and obj == slice(2, 2):
        values = np.zeros(0)
    y = mxnp.insert(mxnp.array(x), obj, mxnp.array(values))
    assert y.asnumpy().tolist() == np.insert(x, obj, values).tolist()


def test_unravelled_positions_are_a_tuple():
    flat = np.array([22, 41, 37])
    y = mxnp.unravel_index(mxnp.array(flat, dtype="int64"), (7, 6))
    assert isinstance(y, tuple) and [p.asnumpy().tolist() for p in y] == [[3, 6, 6], [4, 5, 1]]
    assert mxnp.unravel_index(1621, (6, 7, 8, 9)) == (3, 1, 4, 1)


def test_operators_by_the_names_of_files():
    from compatgrad.mxnet.ndarray import op
    from compatgrad.mxnet.numpy import multiarray

    assert op.FullyConnected is mx.nd.FullyConnected and op.relu(mx.nd.array([-1.0])).asnumpy()[0] == 0
    assert op.CachedOp is mx.nd.CachedOp and multiarray.divmod is mxnp.divmod
    with pytest.raises(AttributeError, match="no_such"):
        op.no_such  # noqa: B018
    x = mxnp.arange(6)
    y = x.reshape_view(2, -1)
    y[:] = 1
    assert y.shape == (2, 3) and x.asnumpy().tolist() == [1] * 6
    parts = mx.sym.var("x").split_v2(2, axis=1)
    assert [p.shape for p in parts.eval_imperative({"x": mx.nd.ones((2, 4))})] == [(2, 2), (2, 2)]


@pytest.mark.parametrize("obj", [slice(1, 2), [1], 1, slice(0, 2)])
def test_insert_along_the_second_axis(obj):
    values = np.arange(3.0).reshape(3, 1) if obj != 1 else np.arange(3.0)
    y = mxnp.insert(mxnp.array(X.T), obj, mxnp.array(values), 1)
    assert y.asnumpy().tolist() == np.insert(X.T, obj, values, 1).tolist()
