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
