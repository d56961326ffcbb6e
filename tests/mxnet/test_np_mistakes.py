"""Wrong arguments of `mx.np` functions: the exception's type is MXNet's, its text names the argument."""

import pytest

from compatgrad.mxnet import np as mxnp
from compatgrad.mxnet import npx
from compatgrad.mxnet.base import MXNetError

linalg, random = mxnp.linalg, mxnp.random


@pytest.mark.parametrize("wrong", [
    lambda x: mxnp.round("a"), lambda x: mxnp.isnan("a"), lambda x: mxnp.logical_and(x, "a"),
    lambda x: mxnp.where(x > 1, "a", 0),
])  # fmt: skip
def test_arguments_that_are_no_arrays(wrong):
    with pytest.raises(TypeError, match=r"<class 'str'> not supported: expected an mx\.np\.ndarray or a number"):
        wrong(mxnp.ones(2))


@pytest.mark.parametrize("wrong", [
    lambda x, y: mxnp.arctan2(x, y), lambda x, y: mxnp.logical_or(x, y), lambda x, y: mxnp.where(x > 1, y, 0),
    lambda x, y: mxnp.bitwise_xor(x.astype("int32"), y.astype("int32")),
])  # fmt: skip
def test_shapes_that_do_not_broadcast(wrong):
    with pytest.raises(MXNetError, match=r"could not be broadcast together with shapes \(2,\) \(3,\)"):
        wrong(mxnp.ones(2), mxnp.ones(3))


def test_bits_of_numbers():
    assert mxnp.invert(3) == -4 and mxnp.bitwise_and(6, 3) == 2 and mxnp.bitwise_or(6, 3) == 7


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "max", "min", "var", "std", "average", "any", "all", "argmax",
                                  "argsort", "sort", "cumsum", "diff"])  # fmt: skip
def test_axes_out_of_bounds(name):
    function = getattr(mxnp, name)
    with pytest.raises(MXNetError, match="axis 2 is out of bounds for an array of 2 dimensions"):
        function(mxnp.ones((2, 2)), axis=2)
    with pytest.raises(MXNetError, match="axis -3 is out of bounds for an array of 2 dimensions"):
        function(mxnp.ones((2, 2)), axis=-3)


def test_weights_that_do_not_fit():
    x = mxnp.ones((2, 3))
    with pytest.raises(MXNetError, match=r"weights of shape \(3,\) for an array of shape \(2, 3\) need one axis"):
        mxnp.average(x, weights=mxnp.ones(3))
    with pytest.raises(MXNetError, match=r"weights of shape \(3,\) do not fit axis 0"):
        mxnp.average(x, axis=0, weights=mxnp.ones(3))
    with pytest.raises(MXNetError, match="n must not be negative, got -1"):
        mxnp.diff(x, -1)


X = mxnp.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(("wrong", "error", "words"), [
    (lambda: mxnp.tensordot(X, X, 3), MXNetError, "tensordot: axis -3 is out of bounds"),
    (lambda: mxnp.inner(X, 3), AssertionError, "inner: argument b must have NDArray type"),
    (lambda: mxnp.bincount(X), MXNetError, "bincount: x must be a vector of integers"),
    (lambda: mxnp.bincount(mxnp.array([-1])), MXNetError, "bincount: x must be a vector of integers"),
    (lambda: mxnp.bincount(mxnp.array([1]), [1]), AssertionError, "bincount: argument weights must have NDArray type"),
    (lambda: mxnp.meshgrid(X[0], sparse=True), NotImplementedError, "sparse=True is not supported"),
    (lambda: mxnp.meshgrid(X[0], index="ij"), TypeError, r"unexpected arguments \['index'\]"),
    (lambda: mxnp.take_along_axis(X, mxnp.array([[5]], dtype="int64"), 1), IndexError, "take_along_axis: .*index 5"),
    (lambda: mxnp.take_along_axis(X, 3, 1), AssertionError, "argument indices must have NDArray type"),
    (lambda: mxnp.roll(X, 1, 5), MXNetError, "roll: axis 5 is out of bounds"),
    (lambda: mxnp.diagonal(X, axis1=1, axis2=-1), MXNetError, "diagonal: axis1 and axis2 must be different"),
    (lambda: mxnp.trace(X, axis1=1, axis2=-1), MXNetError, "axis1 and axis2 must be different"),
    (lambda: mxnp.lcm("a", 3), TypeError, "lcm: type <class 'str'> not supported"),
    (lambda: linalg.norm(X, axis=5), MXNetError, "norm: axis 5 is out of bounds"),
    (lambda: linalg.inv(mxnp.ones((2, 2))), MXNetError, "inv: a matrix of a is singular"),
    (lambda: linalg.solve(mxnp.ones((2, 2)), X), MXNetError, "solve: a matrix of a is singular"),
    (lambda: linalg.solve(X, mxnp.ones(3)), MXNetError, r"solve: b of shape \(3,\) does not fit"),
    (lambda: linalg.solve(X, mxnp.array(3.0)), MXNetError, r"solve: b of shape \(\) does not fit"),
    (lambda: linalg.cholesky(-X), MXNetError, "cholesky: a matrix of a is not symmetric and positive definite"),
    (lambda: linalg.matrix_power(mxnp.ones((2, 2)), -1), MXNetError, "matrix_power: a matrix of a is singular"),
    (lambda: linalg.tensorsolve(X, X), MXNetError, "tensorsolve: .* make no square system"),
    (lambda: linalg.multi_dot([X]), ValueError, "multi_dot: expected at least two arrays, got 1"),
    (lambda: random.uniform(size=-1), MXNetError, r"size \(-1,\) has a negative length"),
    (lambda: random.uniform(X, size=3), MXNetError, r"a parameter of shape \(2, 2\) does not broadcast"),
    (lambda: random.choice("a"), AssertionError, "choice: argument a must have NDArray type"),
    (lambda: random.choice(0), ValueError, "choice: a has no elements"),
    (lambda: random.shuffle(3), AssertionError, "shuffle: argument x must have NDArray type"),
    (lambda: random.shuffle(mxnp.array(3.0)), MXNetError, "shuffle: x must have an axis"),
    (lambda: random.permutation("a"), AssertionError, "permutation: argument x must have NDArray type"),
    (lambda: random.multinomial(-1, [1.0]), MXNetError, "multinomial: n must not be negative, got -1"),
    (lambda: random.multivariate_normal(X[0], mxnp.eye(3)), MXNetError, r"a mean of shape \(2,\), a covariance of"),
    (lambda: random.multivariate_normal(X[0], -X), MXNetError, "cov is not symmetric and positive definite"),
])  # fmt: skip
def test_errors_name_the_function(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


def test_quantiles_of_a_list():
    assert mxnp.quantile(mxnp.array([1, 2, 3]), [0, 0.5]).tolist() == [1, 2]


def test_upper_triangle_of_a_vector():
    assert mxnp.triu(X[0]).tolist() == [[1, 2], [0, 2]]


ROWS = mxnp.array([[0, 5], [1, 1]])


@pytest.mark.parametrize(("wrong", "error", "words"), [
    (lambda: npx.broadcast_like(X, 3), AssertionError, "broadcast_like: argument rhs must have NDArray type"),
    (lambda: npx.broadcast_like(X, X[0]), MXNetError, r"shape \(2, 2\) does not broadcast like \(2,\)"),
    (lambda: npx.broadcast_like(X, X, lhs_axes=(0,)), MXNetError, "lhs_axes and rhs_axes must be given together"),
    (lambda: npx.broadcast_like(X, X, lhs_axes=(5,), rhs_axes=(0,)), MXNetError, r"axes \(5,\) and \(0,\)"),
    (lambda: npx.masked_softmax(X, 3), AssertionError, "masked_softmax: argument mask must have NDArray type"),
    (lambda: npx.masked_softmax(X, mxnp.ones(3)), MXNetError, r"a mask of shape \(3,\) does not broadcast"),
    (lambda: npx.masked_log_softmax(X, axis=5), MXNetError, "masked_log_softmax: axis 5 is out of bounds"),
    (lambda: npx.index_add(X, ROWS, 1), MXNetError, "index_add: ind is out of bounds for axis 0 of length 2"),
    (lambda: npx.index_add(X, [[0]], 1), AssertionError, "index_add: argument ind must have NDArray type"),
    (lambda: npx.index_update(X[0], ROWS, 1), MXNetError, "index_update: ind has 2 rows, a has 1 axes"),
    (lambda: npx.index_add(X, ROWS[:, :1], mxnp.ones(3)), MXNetError, r"val of shape \(3,\) does not broadcast"),
    (lambda: npx.reshape(X, (-6, 2)), MXNetError, "reshape: code -6 needs two lengths behind it"),
])  # fmt: skip
def test_errors_of_npx(wrong, error, words):
    with pytest.raises(error, match=words):
        wrong()


def test_npx_image_exports_only_operators():
    assert npx.image.resize(mxnp.ones((2, 2, 3)), (4, 4)).shape == (4, 4, 3)
    for name in ("resized", "MXNetError", "around"):  # names that the implementing modules import or define
        assert not hasattr(npx.image, name)
