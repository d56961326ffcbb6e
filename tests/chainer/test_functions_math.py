"""Mathematical functions, activations, noise and scores against NumPy.

Also runs on the original (with `-c /dev/null`).
"""

import importlib
import math

import numpy as np
import pytest

from tests.chainer.subject import F, chainer, f32, var

gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")
InvalidType = chainer.utils.type_check.InvalidType


def rand(*shape, low=-1.0, high=1.0):
    return np.random.RandomState(sum(shape)).uniform(low, high, shape)


def apart(x):
    """Rounds so that no number is near 0, 0.4, 0.5 or another point where a function is not differentiable."""
    return x.round(1) + 0.03


X, Y = apart(rand(3, 4)), apart(rand(3, 4)[::-1] * 0.7)
POSITIVE = rand(3, 4, low=0.3, high=2)
CUBE, W = rand(2, 3, 4), apart(rand(4)) + 0.02
SQUARE = rand(3, 3) + 2 * np.eye(3)
SQUARES = np.stack([SQUARE, SQUARE.T @ SQUARE])
SYMMETRIC = SQUARE @ SQUARE.T
INTS = np.array([[0, 2, 1], [3, 0, 1]])
SPARSE = np.where(rand(3, 4) > 0, rand(3, 4), 0)


def each(f):
    return np.vectorize(f, otypes=[float])


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def derivative(f, x, h=1e-5):
    return (f(x + h) - f(x - h)) / (2 * h)


digamma = derivative(each(math.lgamma), POSITIVE)
normal = each(lambda x: math.erfc(-x / math.sqrt(2)) / 2)

# name, function, the NumPy equivalent, inputs
CASES = [
    ("absolute", F.absolute, abs, (X,)),
    ("add", lambda *xs: F.add(*xs), lambda *xs: sum(xs), (X, Y, W)),
    ("arccos", F.arccos, np.arccos, (0.8 * X,)),
    ("arcsin", F.arcsin, np.arcsin, (0.8 * X,)),
    ("arctan", F.arctan, np.arctan, (X,)),
    ("arctan2", F.arctan2, np.arctan2, (X, POSITIVE)),
    ("arctanh", F.arctanh, np.arctanh, (0.8 * X,)),
    ("average", lambda x: F.average(x, axis=1), lambda x: x.mean(1), (X,)),
    ("average, weights", lambda x, w: F.average(x, 1, w), lambda x, w: np.average(x, 1, w), (X, POSITIVE[0])),
    ("batch_inv", F.batch_inv, np.linalg.inv, (SQUARES,)),
    ("batch_det", F.batch_det, np.linalg.det, (SQUARES,)),
    ("batch_l2_norm_squared", F.batch_l2_norm_squared, lambda x: (x**2).sum((1, 2)), (CUBE,)),
    ("bias", lambda x, b: F.bias(x, b, axis=2), lambda x, b: x + b, (CUBE, W)),
    ("cholesky", F.cholesky, np.linalg.cholesky, (SYMMETRIC,)),
    ("clip", lambda x: F.clip(x, -0.5, 0.4), lambda x: x.clip(-0.5, 0.4), (X,)),
    ("clipped_relu", lambda x: F.clipped_relu(x, 0.4), lambda x: x.clip(0, 0.4), (X,)),
    ("cosh", F.cosh, np.cosh, (X,)),
    ("crelu", F.crelu, lambda x: np.concatenate([x.clip(0), (-x).clip(0)], 1), (X,)),
    ("cumprod", lambda x: F.cumprod(x, 1), lambda x: x.cumprod(1), (POSITIVE,)),
    ("cumsum", lambda x: F.cumsum(x, -2), lambda x: x.cumsum(-2), (CUBE,)),
    ("cumsum, all", F.cumsum, np.cumsum, (X,)),
    ("det", F.det, np.linalg.det, (SQUARE,)),
    ("digamma", F.digamma, lambda x: digamma, (POSITIVE,)),
    ("einsum", lambda *xs: F.einsum("ij,...kj,k->...i", *xs),
     lambda *xs: np.einsum("ij,...kj,k->...i", *xs), (X, CUBE, rand(3))),
    ("einsum, diagonal", lambda x: F.einsum("iij->ji", x),
     lambda x: np.einsum("iij->ji", x), (rand(3, 3, 2),)),
    ("einsum, lists", lambda x, y: F.einsum(x, [0, 1], y, [0, 1], [0]), lambda x, y: (x * y).sum(1), (X, Y)),
    ("elu", F.elu, lambda x: np.where(x > 0, x, np.expm1(x)), (X,)),
    ("erf", F.erf, each(math.erf), (X,)),
    ("erfc", F.erfc, each(math.erfc), (X,)),
    ("erfcx", F.erfcx, each(lambda x: math.exp(x * x) * math.erfc(x)), (X,)),
    ("erfinv", lambda x: F.erfinv(F.erf(x)), lambda x: x, (X,)),
    ("erfcinv", lambda x: F.erfcinv(F.erfc(x)), lambda x: x, (X,)),
    ("expm1", F.expm1, np.expm1, (X,)),
    ("fft", lambda r, i: F.fft((r, i)),
     lambda r, i: (np.fft.fft(r + 1j * i).real, np.fft.fft(r + 1j * i).imag), (X, Y)),
    ("ifft", lambda r, i: F.ifft(F.fft((r, i))), lambda r, i: (r, i), (X, Y)),
    ("fmod", F.fmod, np.fmod, (X, POSITIVE)),
    ("hard_sigmoid", F.hard_sigmoid, lambda x: (0.2 * x + 0.5).clip(0, 1), (4 * X,)),
    ("inv", F.inv, np.linalg.inv, (SQUARE,)),
    ("leaky_relu", F.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x), (X,)),
    ("lgamma", F.lgamma, each(math.lgamma), (POSITIVE,)),
    ("linear_interpolate", F.linear_interpolate, lambda p, x, y: p * x + (1 - p) * y, (POSITIVE, X, Y)),
    ("log_ndtr", F.log_ndtr, lambda x: np.log(normal(x)), (X,)),
    ("log_softmax", F.log_softmax, lambda x: np.log(softmax(x)), (X,)),
    ("log1p", F.log1p, np.log1p, (X,)),
    ("logsumexp", lambda x: F.logsumexp(x, (0, 2)), lambda x: np.log(np.exp(x).sum((0, 2))), (CUBE,)),
    ("matmul", lambda a, b: F.matmul(a, b, transb=True), lambda a, b: a @ b.swapaxes(1, 2), (X, CUBE)),
    ("matmul, vectors", F.matmul, np.matmul, (W, W[::-1])),
    ("max", lambda x: F.max(x, axis=(0, 1)), lambda x: x.max((0, 1)), (CUBE,)),
    ("maximum", F.maximum, np.maximum, (X, W)),
    ("maxout", lambda x: F.maxout(x, 2), lambda x: x.reshape(3, 2, 2).max(2), (X,)),
    ("ndtr", F.ndtr, normal, (X,)),
    ("ndtri", lambda x: F.ndtri(F.ndtr(x)), lambda x: x, (X,)),
    ("polygamma", lambda x: F.polygamma(np.zeros((3, 4), int), x), lambda x: digamma, (POSITIVE,)),
    ("prelu", F.prelu, lambda x, w: np.where(x >= 0, x, x * w), (X, W)),
    ("prod", lambda x: F.prod(x, (0, -1), keepdims=True), lambda x: x.prod((0, -1), keepdims=True), (CUBE,)),
    ("relu6", F.relu6, lambda x: x.clip(0, 6), (9 * X,)),
    ("scale", lambda x, y: F.scale(x, y, 2), lambda x, y: x * y, (CUBE, W)),
    ("selu", F.selu,
     lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)), (X,)),
    ("softmax", F.softmax, softmax, (X,)),
    ("softplus", lambda x: F.softplus(x, 2), lambda x: np.log1p(np.exp(2 * x)) / 2, (X,)),
    ("sparse_matmul", lambda b: F.sparse_matmul(chainer.utils.to_coo(SPARSE), b),
     lambda b: SPARSE @ b, (rand(4, 2),)),
    ("sparse_matmul, dense first", lambda a: F.sparse_matmul(a, chainer.utils.to_coo(SPARSE), transb=True),
     lambda a: a @ SPARSE.T, (rand(2, 4),)),
    ("sum", lambda x: F.sum(x, (0, -1), keepdims=True), lambda x: x.sum((0, -1), keepdims=True), (CUBE,)),
    ("sum_to", lambda x: F.sum_to(x, (3, 1)), lambda x: x.sum((0, 2)).reshape(3, 1), (CUBE,)),
    ("swish", F.swish, lambda x, beta: x * sigmoid(beta * x), (X, W)),
    ("tensordot", lambda a, b: F.tensordot(a, b, axes=([2, 1], [1, 0])),
     lambda a, b: np.tensordot(a, b, axes=([2, 1], [1, 0])), (CUBE, rand(3, 4, 2))),
    ("zeta", lambda q: F.zeta(3.0, q), lambda q: sum((k + q) ** -3 for k in range(40000)), (POSITIVE + 1,)),
]  # fmt: skip


@pytest.mark.parametrize(("_name", "function", "reference", "inputs"), CASES, ids=[c[0] for c in CASES])
def test_values_and_gradients(_name, function, reference, inputs):
    expected = reference(*inputs)
    actual = function(*[chainer.Variable(x.copy()) for x in inputs])
    several = isinstance(expected, tuple)
    for y, e in zip(actual if several else [actual], expected if several else [expected], strict=True):
        np.testing.assert_allclose(y.array, e, rtol=1e-6, atol=1e-9)
        assert y.dtype == np.float64
    gys = tuple(rand(*y.shape) for y in (actual if several else [actual]))
    if _name == "cholesky":  # its gradient assumes a symmetric matrix, unlike finite differences
        return
    gradient_check.check_backward(function, inputs, gys, atol=1e-3, rtol=1e-3)
    if not _name.startswith("sparse"):
        ggxs = tuple(rand(*x.shape)[::-1].copy() for x in inputs)
        gradient_check.check_double_backward(function, inputs, gys, ggxs, atol=1e-2, rtol=1e-2)


def test_polygamma_of_several_orders():
    n = np.array([[0], [1], [2]])
    x = chainer.Variable(rand(4, low=1, high=3))
    y = F.polygamma(n, F.broadcast_to(x, (3, 4)))
    h = 1e-4
    for i in (1, 2):
        around = [F.polygamma(n[i - 1], chainer.Variable(x.array + d)).array for d in (h, -h)]
        np.testing.assert_allclose(y.array[i], (around[0] - around[1]) / (2 * h), rtol=1e-5)


def test_gradient_of_cholesky():
    a = chainer.Variable(SYMMETRIC)
    y = F.cholesky(a)
    y.grad = np.tril(rand(3, 3))
    y.backward()
    step = 1e-6 * (rand(3, 3) + rand(3, 3).T)
    change = np.linalg.cholesky(SYMMETRIC + step) - np.linalg.cholesky(SYMMETRIC - step)
    np.testing.assert_allclose((a.grad * step).sum() * 2, (change * np.tril(rand(3, 3))).sum(), rtol=1e-5)


@pytest.mark.parametrize("name", ["ceil", "fix", "floor", "sign"])
def test_roundings_are_constants(name):
    x = var(3 * X)
    y = getattr(F, name)(x)
    np.testing.assert_array_equal(y.array, getattr(np, name)(x.array))
    assert y.creator is None and y.dtype == np.float32


LABELS = [
    (lambda x: F.exp(x), "exp"),
    (lambda x: F.erfcx(x), "erfcx"),
    (lambda x: F.arctanh(x), "Arctanh"),
    (lambda x: F.fmod(x, x), "fmod"),
    (lambda x: F.sum(x), "Sum"),
    (lambda x: F.average(x), "Mean"),
    (lambda x: F.prelu(x, x.array[0]), "PReLUFunction"),
    (lambda x: F.swish(x, x.array[0]), "Swish"),
    (lambda x: F.dropout(x), "Dropout"),
    (lambda x: F.gaussian(x, x), "Gaussian"),
    (lambda x: F.crelu(x), "CReLU"),
    (lambda x: F.tensordot(x, x), "TensorDot"),
    (lambda x: F.absolute(x), "|_|"),
    (lambda x: F.cumsum(x), "Cumsum"),
    (lambda x: F.matmul(x, x, transb=True), "MatMul"),
]


@pytest.mark.parametrize(("function", "label"), LABELS, ids=[label for _, label in LABELS])
def test_labels(function, label):
    assert function(var(X)).creator.label == label


def test_det_of_a_filter():
    """A 1x1 filter is a matrix with two more axes; normalizing flows compute its determinant."""
    matrix = np.array([[2, 1, 0], [0.5, 3, 1], [1, 0, 1.5]])
    w = var(matrix[:, :, None, None])
    y = F.det(w)
    y.backward()
    determinant = np.linalg.det(matrix)
    assert y.shape == () and np.isclose(y.array, determinant)
    np.testing.assert_allclose(w.grad[:, :, 0, 0], determinant * np.linalg.inv(matrix).T, rtol=1e-5)


INVALID = [
    lambda: F.arctan2(INTS, X[:2, :3]),
    lambda: F.batch_det(f32(X)),
    lambda: F.einsum("ij,ij", f32(X), f32(X.T)),
    lambda: F.exp(INTS),
    lambda: F.gaussian(f32(X), f32(X[:2])),
    lambda: F.inv(f32(X)),
    lambda: F.logsumexp(f32(X), axis=2),
    lambda: F.matmul(f32(X), f32(X)),
    lambda: F.maximum(f32(X), f32(X[:, :2])),
    lambda: F.prelu(f32(X), f32(X[:, 0])),
    lambda: F.relu(INTS),
    lambda: F.sum(f32(X), axis=2),
    lambda: F.sum(INTS),
    lambda: F.swish(f32(X), W),
]


@pytest.mark.parametrize("call", INVALID)
def test_inputs_that_do_not_fit(call):
    with pytest.raises(InvalidType):
        call()


ERRORS = [
    (lambda: F.average(f32(X), (0, 1), f32(W)), ValueError),
    (lambda: F.cholesky(-np.eye(2, dtype=np.float32)), np.linalg.LinAlgError),
    (lambda: F.clip(f32(X), 1, 0), ValueError),
    (lambda: F.crelu(f32(X), 1.0), TypeError),
    (lambda: F.cumsum(f32(X), 1.0), TypeError),
    (lambda: F.dropout(f32(X), 1.0), ValueError),
    (lambda: F.dropout(f32(X), train=True), ValueError),
    (lambda: F.einsum("ij->k", f32(X)), ValueError),
    (lambda: F.einsum("...j->j", f32(X)), ValueError),
    (lambda: F.einsum("i->->i", f32(X)), ValueError),
    (lambda: F.inv(f32(np.ones((2, 2)))), ValueError),
    (lambda: F.maxout(f32(X), 0), ValueError),
    (lambda: F.prod(f32(X), (0, 0)), ValueError),
    (lambda: F.r2_score(f32(X), f32(X), multioutput="x"), ValueError),
    (lambda: F.rrelu(f32(X), 0.5, 0.1), ValueError),
    (lambda: F.sparse_matmul(f32(X), f32(X)), ValueError),
    (lambda: F.sum(f32(X), "x"), TypeError),
    (lambda: F.tensordot(f32(X), f32(X), axes=([0], [1])), ValueError),
    (lambda: F.zeta(2.0, 1.0), TypeError),
]


@pytest.mark.parametrize(("call", "error"), ERRORS)
def test_wrong_arguments(call, error):
    with pytest.raises(error):
        call()


@pytest.mark.parametrize("dtype", [np.float64, np.int64])
def test_an_array_takes_the_dtype_of_the_variable_in_a_matrix_product(dtype):
    x = chainer.Variable(np.eye(2, dtype=np.float32))
    a = np.arange(4, dtype=dtype).reshape(2, 2)
    for y in (x @ a, a @ x):
        assert y.dtype == np.float32
        np.testing.assert_array_equal(y.array, a)


def test_numbers_have_signs():
    assert F.sign(-1.5).array == -1


# ---- noise -------------------------------------------------------------------------------------------------


def test_dropout_draws_from_numpy_and_keeps_its_mask():
    x = var(X)
    np.random.seed(0)
    y = F.dropout(x, 0.4)
    np.random.seed(0)
    mask = f32((np.random.rand(3, 4) >= 0.4) / 0.6)
    np.testing.assert_array_equal(y.array, x.array * mask)
    z = F.relu(y)
    del y
    np.testing.assert_array_equal(z.creator.inputs[0].creator.mask, mask)
    F.sum(z).backward()
    np.testing.assert_array_equal(x.grad, mask * (x.array * mask > 0))
    y, again = F.dropout(x, mask=mask, return_mask=True)
    assert again is mask
    with chainer.using_config("train", False):
        assert F.dropout(x) is x


def test_returned_noise():
    x = var(X)
    y, eps = F.gaussian(x, x, return_eps=True)
    np.testing.assert_allclose(y.array, x.array + np.exp(x.array / 2) * eps, rtol=1e-6)
    y, r = F.rrelu(x, return_r=True)
    np.testing.assert_allclose(y.array, np.where(x.array >= 0, x.array, r * x.array), rtol=1e-6)
    assert ((1 / 8 <= r) & (r < 1 / 3)).all()
    with chainer.using_config("train", False):
        assert F.rrelu(x, return_r=True)[1].flat[0] == np.float32((1 / 8 + 1 / 3) / 2)


def test_zoneout_takes_either():
    h, x = var(X), var(X + 5)
    y = F.zoneout(h, x, 0.5)
    flag = y.creator.flag_x
    np.testing.assert_array_equal(y.array, np.where(flag, x.array, h.array))
    with chainer.using_config("train", False):
        assert F.zoneout(h, x) is x


@pytest.mark.parametrize("batchwise", [True, False])
def test_simplified_dropconnect(batchwise):
    x, w, b = var(X), var(rand(2, 4)), var(rand(2))
    y = F.simplified_dropconnect(x, w, b, use_batchwise_mask=batchwise)
    mask = y.creator.mask
    expected = np.einsum("ij,ikj->ik", x.array, np.broadcast_to(mask, (3, 2, 4)) * 2 * w.array) + b.array
    np.testing.assert_allclose(y.array, expected, rtol=1e-5)


def test_gumbel_softmax_is_a_distribution():
    y = F.gumbel_softmax(var(X), tau=0.5)
    np.testing.assert_allclose(y.array.sum(1), np.ones(3), rtol=1e-5)


# ---- scores ------------------------------------------------------------------------------------------------

T = np.array([0, 2, 1, -1], np.int32)
SCORES = f32([[3, 1, 2], [0, 1, 2], [3, 1, 2], [9, 0, 0]])


def test_accuracies():
    assert F.accuracy(SCORES, T).array == np.float32(0.5)
    assert F.accuracy(SCORES, T, ignore_label=-1).array == np.float32(2 / 3)
    assert F.accuracy(SCORES, np.full(4, -1), ignore_label=-1).array == 0
    assert F.binary_accuracy(f32([1, -1, 2, 3]), np.array([1, 1, 0, -1])).array == np.float32(1 / 3)


def test_classification_summary():
    precision, recall, f1, support = F.classification_summary(SCORES, T)
    np.testing.assert_array_equal(precision.array, [0.5, np.nan, 1])
    np.testing.assert_array_equal(recall.array, [1, 0, 1])
    np.testing.assert_array_equal(support.array, [1, 1, 1])
    np.testing.assert_allclose(f1.array[[0, 2]], [2 / 3, 1])
    np.testing.assert_array_equal(F.recall(SCORES, T)[0].array, recall.array)


def test_r2_score():
    true, pred = f32(X), f32(X + 0.1 * Y)
    expected = 1 - ((pred - true) ** 2).sum(0) / ((true - true.mean(0)) ** 2).sum(0)
    np.testing.assert_allclose(F.r2_score(pred, true, multioutput="raw_values").array, expected, rtol=1e-5)
    np.testing.assert_allclose(F.r2_score(pred, true).array, expected.mean(), rtol=1e-5)
    assert F.r2_score(pred, np.ones_like(pred)).array == 0


# ---- forget ------------------------------------------------------------------------------------------------


def test_forget_computes_again():
    calls = []

    def f(a, b):
        calls.append(chainer.config.in_recomputing)
        return a * b, a + b

    a, b = var(X), var(Y)
    y, z = F.forget(f, a, b)
    F.sum(y + 2 * z).backward()
    assert calls == [False, True]
    np.testing.assert_allclose(a.grad, b.array + 2)
    np.testing.assert_allclose(b.grad, a.array + 2)
    with pytest.raises(RuntimeError, match="2nd"):
        F.forget(lambda a: (a, 1), a)
