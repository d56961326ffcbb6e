"""Gradients of integer arrays are truncated to integers. The numbers are MXNet 1.9.1's."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
from compatgrad.mxnet import autograd, nd

A, B = [[1, 2, 3], [4, 5, 6]], [[2, 3, 4], [1, 2, 3]]
ONES = [[1, 1, 1], [1, 1, 1]]
CASES = {
    "product": (lambda a, b: a * b, [B, A]),
    "sum": (lambda a, b: a + b, [ONES, ONES]),
    "quotient": (lambda a, b: a / b, [[[0, 0, 0], [1, 0, 0]], [[0, 0, 0], [-4, -1, 0]]]),
    "number": (lambda a: a * 2 + 1, [[[2, 2, 2], [2, 2, 2]]]),
    "cast": (lambda a: a.astype("float32") * 1.5, [ONES]),
    "total": (lambda a: a.sum(), [ONES]),
    "square": (lambda a: a.square(), [[[2, 4, 6], [8, 10, 12]]]),
    "abs": (lambda a: a.abs(), [ONES]),
    "clip": (lambda a: a.clip(2, 4), [[[0, 1, 1], [1, 0, 0]]]),
    "exp": (lambda a: a.exp(), [[[2, 7, 20], [54, 148, 403]]]),
    "power": (lambda a: a**2, [[[2, 4, 6], [8, 10, 12]]]),
    "maximum": (lambda a, b: nd.maximum(a, b), [[[0, 0, 0], [1, 1, 1]], [[1, 1, 1], [0, 0, 0]]]),
    "broadcast": (lambda a: nd.broadcast_axis(a.sum(axis=0, keepdims=True), axis=0, size=2), [[[2] * 3, [2] * 3]]),
    "comparison": (lambda a, b: (a > b) * a, [[[0, 0, 0], [1, 1, 1]], [[0] * 3, [0] * 3]]),
    "remainder": (lambda a, b: a % b, [[[0] * 3, [0] * 3]] * 2),
    "remainder by a number": (lambda a: a % 2, [[[0] * 3, [0] * 3]]),
    "rows": (lambda a: nd.contrib.boolean_mask(a, nd.array([1, 0])), [[[1, 1, 1], [0, 0, 0]]]),
}


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("case", CASES)
def test_gradients(case, dtype):
    function, expected = CASES[case]
    xs = [nd.array(v, dtype=dtype) for v in (A, B)[: len(expected)]]
    for x in xs:
        x.attach_grad()
    with autograd.record():
        y = function(*xs)
    y.backward()
    for x, g in zip(xs, expected, strict=True):
        assert x.grad.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(x.grad.asnumpy(), g)


def test_an_executor_of_integers():
    x = mx.sym.Variable("x", dtype="int32")
    exe = mx.sym.Cast(x * x, dtype="float32").simple_bind(mx.cpu(), x=(3,))
    exe.arg_dict["x"][:] = nd.array([1, 2, 3], dtype="int32")
    exe.forward(is_train=True)
    exe.backward(nd.array([1, 2, 3]))
    np.testing.assert_array_equal(exe.grad_dict["x"].asnumpy(), [2, 8, 18])


def test_a_second_derivative():
    x = nd.array([1, 2, 3], dtype="int32")
    x.attach_grad()
    with autograd.record():
        (g,) = autograd.grad((x**3).astype("float32"), [x], create_graph=True)
        g.sum().backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [6, 12, 18])


def test_clipped_integers_keep_all_digits():
    x = nd.array(np.array([2**60 + 1, 5]), dtype="int64")
    np.testing.assert_array_equal(x.clip(6, 2**61).asnumpy(), [2**60 + 1, 6])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_integers_overflow_as_in_c(dtype):
    info = np.iinfo(dtype)
    a, b = np.array([info.max, info.min, 3], dtype), np.array([5, 1, 3], dtype)
    x, y = mx.nd.array(a, dtype=dtype), mx.nd.array(b, dtype=dtype)
    with np.errstate(over="ignore"):
        expected = [a + b, b - a, a * b, a + dtype_of(dtype)(3), np.maximum(a, b), (a > b).astype(dtype)]
    for got, wanted in zip([x + y, y - x, x * y, x + 3.9, mx.nd.maximum(x, y), x > y], expected, strict=True):
        assert got.dtype == np.dtype(dtype)
        assert np.array_equal(got.asnumpy(), wanted)


def dtype_of(name):
    return np.dtype(name).type


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("ascending", [False, True])
def test_topk_of_equal_elements_keeps_their_order(dtype, ascending):
    a = np.random.RandomState(0).randint(0, 4, (7, 40)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        a[:, 5], a[:, 6], a[:, 7], a[2, 9] = 0.0, -0.0, -1.5, np.inf
    elif dtype != "uint8":
        a[:, 5] = -2
    order = np.argsort(a if ascending else -a.astype(np.float64), axis=1, kind="stable")
    got = mx.nd.topk(mx.nd.array(a, dtype=dtype), k=6, is_ascend=ascending).asnumpy()
    assert np.array_equal(got, order[:, :6])
    got = mx.nd.topk(mx.nd.array(a.T, dtype=dtype), axis=0, k=6, is_ascend=ascending).asnumpy()
    assert np.array_equal(got, order[:, :6].T)


# The results of MXNet 1.9.1 for [0, 1, -1, 7, -7, max, min] and a number, which becomes an integer of the array's dtype
# as C converts it on x86-64.
LOW, HIGH = -(2**31), 2**31 - 1
NUMBERS = {
    "add 1e10": (lambda x: x + 1e10, [LOW, LOW + 1, HIGH, LOW + 7, HIGH - 6, -1, 0]),
    "sub 1e10": (lambda x: 1e10 - x, [LOW, HIGH, LOW + 1, HIGH - 6, LOW + 7, 1, 0]),
    "mul 1e10": (lambda x: x * 1e10, [0, LOW, LOW, LOW, LOW, LOW, 0]),
    "add nan": (lambda x: x + float("nan"), [LOW, LOW + 1, HIGH, LOW + 7, HIGH - 6, -1, 0]),
    "equal 1e10": (lambda x: x == 1e10, [0, 0, 0, 0, 0, 0, 1]),
    "greater 2**31": (lambda x: x > 2**31, [1, 1, 1, 1, 1, 1, 0]),
    "power 1": (lambda x: x**1, [0, 1, -1, 7, -7, LOW, LOW]),
    "power of -1": (lambda x: (-1) ** x, [1, -1, -1, -1, -1, 1, 1]),
    "negative": (lambda x: -x, [0, -1, 1, -7, 7, -HIGH, LOW]),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_a_number_becomes_an_integer_as_in_c(case):
    function, expected = NUMBERS[case]
    values = np.array([0, 1, -1, 7, -7, HIGH, LOW], "int32")
    for module in (mx.nd, mx.np):
        y = function(module.array(values, dtype="int32"))
        assert np.array_equal(y.asnumpy().astype("int32"), np.array(expected, "int32"))


@pytest.mark.parametrize(
    "dtype, function, expected",
    [
        ("int64", lambda x: x + 1e10, [10**10 + 2**53 + 1, 10**10 - 5]),
        ("int64", lambda x: x / 3, [3002399751580331, -1]),
        ("int64", lambda x: x / -1, [-(2**53) - 1, 5]),
        ("int64", lambda x: -x, [-(2**53) - 1, 5]),
        ("int64", lambda x: x == 2**53 + 1, [0, 0]),  # the number is a float64 on its way
        ("int64", lambda x: x >= float("inf"), [1, 1]),
        ("uint8", lambda x: x + 1e300, [1, 251]),
        ("uint8", lambda x: x / -3, [0, 0]),
        ("uint8", lambda x: x % -3, [1, 251]),
        ("uint8", lambda x: x == 257, [1, 0]),
        ("int8", lambda x: x % -200, [1, 51]),
        ("int8", lambda x: x > 300, [0, 0]),
    ],
)
def test_numbers_beyond_a_dtype(dtype, function, expected):
    given = [2**53 + 1, -5] if dtype == "int64" else [1, 251] if dtype == "uint8" else [1, -5]
    x = nd.array(np.array(given, dtype), dtype=dtype)
    assert np.array_equal(function(x).asnumpy(), np.array(expected, dtype))


@pytest.mark.parametrize("number, expected", [(0.5, [True, False, False]), (-1e10, [False, False, False])])
def test_comparisons_of_mx_np_drop_the_fraction_too(number, expected):
    x = mx.np.array(np.array([0, 1, -7], "int32"), dtype="int32")
    x.attach_grad()
    assert (x == number).asnumpy().tolist() == expected
    assert (number == x).asnumpy().tolist() == expected
    with autograd.record():
        assert (x * 1 == number).asnumpy().tolist() == expected


@pytest.mark.parametrize(
    "dtype, low, high, expected",
    [
        ("uint8", -5, 5, [0, 1, 5, 5]),
        ("uint8", 300, 400, [44, 44, 44, 44]),
        ("int8", 0.5, 3.7, [0, 1, 3, 3]),
        ("int32", -1e10, 1e10, [0, 1, 100, 127]),
        ("int64", 2, 1, [2, 2, 1, 1]),  # the upper limit comes first
        ("float32", 2, 1, [2, 2, 1, 1]),
        ("float16", -1e10, 1e10, [0, 1, 100, 127]),
    ],
)
def test_limits_of_any_size(dtype, low, high, expected):
    values = np.array([0, 1, 100, 127], dtype)
    for module in (mx.nd, mx.np):
        y = module.clip(module.array(values, dtype=dtype), low, high)
        assert np.dtype(y.dtype) == np.dtype(dtype)
        assert np.array_equal(y.asnumpy(), np.array(expected, dtype))
