"""Elementwise operators: values against NumPy's and SciPy's, first and second derivatives by finite differences."""

import math
import operator

import numpy as np
import pytest

from compatgrad.mxnet import autograd, nd
from compatgrad.mxnet import np as mxnp
from compatgrad.mxnet.base import MXNetError
from tests.mxnet.operator_checks import A, check_gradients

_lgamma, _gamma = np.vectorize(math.lgamma), np.vectorize(math.gamma)


def _digamma(x, step=1e-5):
    return (_lgamma(x + step) - _lgamma(x - step)) / (2 * step)


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


UNIT = A(2, 3, low=-0.9, high=0.9)
ABOVE = A(2, 3, low=1.1, high=3)
POSITIVE = A(2, 3, low=0.2, high=2)
UNARY = {
    "abs": (np.abs, UNIT), "arccos": (np.arccos, UNIT), "arccosh": (np.arccosh, ABOVE), "arcsin": (np.arcsin, UNIT),
    "arcsinh": (np.arcsinh, UNIT), "arctan": (np.arctan, UNIT), "arctanh": (np.arctanh, UNIT),
    "cbrt": (np.cbrt, UNIT), "ceil": (np.ceil, UNIT), "cos": (np.cos, UNIT), "cosh": (np.cosh, UNIT),
    "degrees": (np.degrees, UNIT), "digamma": (_digamma, POSITIVE), "erf": (np.vectorize(math.erf), UNIT),
    "exp": (np.exp, UNIT), "expm1": (np.expm1, UNIT), "fix": (np.fix, UNIT * 3), "floor": (np.floor, UNIT * 3),
    "gamma": (_gamma, A(2, 3, low=-2.9, high=3)), "gammaln": (_lgamma, POSITIVE), "log": (np.log, POSITIVE),
    "log10": (np.log10, POSITIVE), "log1p": (np.log1p, POSITIVE), "log2": (np.log2, POSITIVE),
    "log_sigmoid": (lambda x: np.log(_sigmoid(x)), UNIT), "mish": (lambda x: x * np.tanh(np.log1p(np.exp(x))), UNIT),
    "negative": (np.negative, UNIT), "radians": (np.radians, UNIT), "rcbrt": (lambda x: 1 / np.cbrt(x), POSITIVE),
    "reciprocal": (np.reciprocal, POSITIVE), "relu": (lambda x: np.maximum(x, 0), UNIT),
    "rint": (lambda x: np.ceil(x - 0.5), UNIT * 3), "round": (lambda x: np.sign(x) * np.floor(abs(x) + 0.5), UNIT * 3),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE), "sigmoid": (_sigmoid, UNIT), "sign": (np.sign, UNIT),
    "sin": (np.sin, UNIT), "sinh": (np.sinh, UNIT), "softsign": (lambda x: x / (1 + abs(x)), UNIT),
    "sqrt": (np.sqrt, POSITIVE), "square": (np.square, UNIT), "tan": (np.tan, UNIT), "tanh": (np.tanh, UNIT),
    "trunc": (np.trunc, UNIT * 3), "identity": (lambda x: x, UNIT),
    "hard_sigmoid": (lambda x: np.clip(0.2 * x + 0.5, 0, 1), UNIT * 4),
    "logical_not": (lambda x: (x == 0) * 1.0, UNIT),
}  # fmt: skip
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "mod": np.mod, "power": np.power,
    "maximum": np.maximum, "minimum": np.minimum, "hypot": np.hypot, "equal": np.equal, "not_equal": np.not_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "lesser": np.less, "lesser_equal": np.less_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor,
}  # fmt: skip
SHAPES = [((2, 3), (2, 3)), ((2, 1), (1, 3)), ((1, 3), (2, 3)), ((3,), (2, 3))]


def test_poles():
    """Values and gradients at poles and vertical tangents, recorded from MXNet 1.9.1."""
    inf, nan = np.inf, np.nan
    x = nd.array([0.0, -0.0, -1, -2.5, 3.5, nan, inf, -inf], dtype="float64")
    recorded = {
        "gamma": ([inf, -inf, nan, -0.945308720, 3.32335097, nan, inf, nan],
                  [inf, -inf, nan, -1.04282359, 3.66617768, nan, inf, nan]),
        "gammaln": ([inf, inf, inf, -0.0562437165, 1.20097360, nan, inf, inf],
                    [inf, inf, inf, 1.10315664, 1.10315664, nan, inf, inf]),
        "cbrt": ([0, -0.0, -1, -1.35720881, 1.51829449, nan, inf, -inf],
                 [inf, inf, 1 / 3, 0.180961174, 0.144599476, nan, 0, 0]),
    }  # fmt: skip
    for name, (values, gradient) in recorded.items():
        x.attach_grad()
        with autograd.record():
            y = getattr(nd, name)(x)
        y.backward()
        np.testing.assert_allclose(y.asnumpy(), values, rtol=1e-6)
        np.testing.assert_allclose(x.grad.asnumpy(), gradient, rtol=1e-6)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    f, x = UNARY[name]
    operator = getattr(nd, name)
    np.testing.assert_allclose(operator(nd.array(x, dtype="float64")).asnumpy(), f(x), rtol=1e-6, atol=1e-9)
    check_gradients(operator, x)


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32"])
@pytest.mark.parametrize("name", ["sin", "sqrt", "square", "abs", "round", "cbrt"])
def test_unary_types(name, dtype):
    x = np.array([[1, 4, 9]], dtype)
    y = getattr(nd, name)(nd.array(x, dtype=dtype))
    assert y.dtype == x.dtype
    expected = UNARY[name][0](x.astype("float64"))
    np.testing.assert_allclose(y.asnumpy(), expected.astype(dtype), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary(name, shapes):
    a, b = A(*shapes[0], low=0.3, high=2), A(*shapes[1], low=0.4, high=2.1, seed=1)
    operator = getattr(nd, f"broadcast_{name}")
    got = operator(nd.array(a, dtype="float64"), nd.array(b, dtype="float64"))
    assert got.dtype == np.float64
    np.testing.assert_allclose(got.asnumpy(), BINARY[name](a, b), rtol=1e-7)
    check_gradients(operator, a, b)


@pytest.mark.parametrize("name", [n for n in BINARY if n not in ("logical_and", "logical_or", "logical_xor")])
@pytest.mark.parametrize("value", [0.7, 2])
def test_with_a_number(name, value):
    x = A(2, 3, low=0.3, high=2)
    public = {"sub": "subtract", "mul": "multiply", "div": "divide", "mod": "modulo"}.get(name, name)
    operator = getattr(nd, public)
    for call, expected in (
        (lambda v: operator(v, value), BINARY[name](x, value)),
        (lambda v: operator(value, v), BINARY[name](value, x)),
    ):
        np.testing.assert_allclose(call(nd.array(x, dtype="float64")).asnumpy(), expected, rtol=1e-7)
        check_gradients(call, x)


def test_python_operators():
    a, b = np.array([[5.0, -7.0, 2.0]]), np.array([[3.0, 3.0, -4.0]])
    x, w = nd.array(a), nd.array(b)
    for got, expected in [
        (x + w, a + b), (x - w, a - b), (x * w, a * b), (x / w, a / b), (x % w, a % b), (x + 2, a + 2), (2 - x, 2 - a),
        (x / 4, a / 4), (3 / x, 3 / a), (x**2, a**2), (2**x, 2**a), (x % 3, a % 3), (7 % x, 7 % a), (-x, -a),
        (abs(x), abs(a)), (x > w, a > b), (x >= 2, a >= 2), (x < w, a < b), (x <= 2, a <= 2), (x == 2, a == 2),
        (x != w, a != b), (x + True, a + 1), (np.float64(2) * x, 2 * a), (x % 0, a * 0),
    ]:  # fmt: skip
        assert got.dtype == np.float32
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-6)


def test_integers_stay_integers():
    x = nd.array([7, 2, -7], dtype="int32")
    for got, expected in [(x * 1.5, [7, 2, -7]), (x / 2, [3, 1, -3]), (x + 2, [9, 4, -5]), (x * x, [49, 4, 49]),
                          (x % 3, [1, 2, 2]), (x > 2, [1, 0, 0]), (x / x, [1, 1, 1]), (-x, [-7, -2, 7])]:  # fmt: skip
        assert got.dtype == np.int32 and got.asnumpy().tolist() == expected


def test_in_place():
    x = nd.array([1, 2, 3])
    part = x[1:3]
    part += 1
    part *= nd.array([2, 3])
    part -= 1
    part /= 2
    x **= 2
    assert x.asnumpy().tolist() == [1, 6.25, 30.25]
    x %= 6
    assert x.asnumpy().tolist() == [1, 0.25, 0.25]


@pytest.mark.parametrize("module", [nd, mxnp])
@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "itruediv", "imod"])
@pytest.mark.parametrize("shape", [(2, 1), (1,), (3,)])
def test_in_place_with_a_larger_result(module, name, shape):
    x = module.ones(shape)
    with pytest.raises(MXNetError, match=r"result of shape \(2, 3\)"):
        getattr(operator, name)(x, module.full((2, 3), 4.0))
    assert (x.asnumpy() == 1).all()


def test_empty_and_non_contiguous():
    x = nd.array(np.arange(12.0).reshape(3, 4)).T
    np.testing.assert_allclose(nd.sin(x).asnumpy(), np.sin(np.arange(12.0).reshape(3, 4).T), rtol=1e-5)
    empty = nd.empty((0, 3))
    empty.attach_grad()
    with autograd.record():
        y = nd.exp(empty) * 2 + empty
    y.backward()
    assert y.shape == empty.grad.shape == (0, 3)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: nd.ones((2, 3)) + nd.ones(4), MXNetError, r"broadcast_add: .* shapes \(2, 3\) and \(4,\)"),
        (lambda: nd.elemwise_add(nd.ones((2, 3)), nd.ones((1, 3))), MXNetError,
         r"elemwise_add: rhs: .* expected \(2, 3\), got \(1, 3\)"),
        (lambda: nd.ones(2) * nd.ones(2, dtype="float64"), MXNetError,
         "broadcast_mul: rhs: .* expected float32, got float64"),
        (lambda: nd.ones(2) + np.ones(2), TypeError, "ndarray'> not supported"),
        (lambda: np.ones(2) * nd.ones(2), TypeError, "ndarray'> not supported"),
        (lambda: nd.sin([1.0]), AssertionError, r"sin: argument data must have NDArray type, but got \[1.0\]"),
        (lambda: nd.sum(nd.ones(1), fast=True), MXNetError,
         r"Cannot find argument 'fast', Possible Arguments: axis, .*, in operator sum"),
        (lambda: nd.concat(nd.ones(1), fast=True), MXNetError, r"'fast', Possible Arguments: num_args, dim"),
        (lambda: nd.sin(nd.ones(2), out=nd.ones(3)), MXNetError, r"out: expected an NDArray of shape \(2,\)"),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_operators_without_parameters_ignore_further_arguments():
    """GluonCV calls zeros_like(x, dtype="int64"); MXNet ignores the dtype."""
    x = nd.ones((2, 3))
    assert nd.zeros_like(x, dtype="int64").dtype == np.float32
    for y in (nd.sin(x, fast=True), nd.broadcast_add(x, x, fast=True), nd.elemwise_add(x, x, fast=True),
              nd.BlockGrad(x, fast=True)):  # fmt: skip
        assert y.shape == x.shape


@pytest.mark.parametrize("name", ["concat", "stack", "add_n", "khatri_rao"])
def test_operators_of_any_number_of_inputs_take_num_args(name):
    """GluonTS calls concat(q, o, num_args=2, dim=-1)."""
    call, x = getattr(nd, name), nd.array([[1, 2], [3, 4]])
    for inputs in ((x, x), ([x, x],)):
        assert (call(*inputs, num_args=2).asnumpy() == call(*inputs).asnumpy()).all()
    with pytest.raises(MXNetError, match="num_args is 3, got 2"):
        call(x, x, num_args=3)


def test_operators_take_attributes_of_graphs():
    x = nd.ones((2, 3))
    assert nd.softmax(x, __lr_mult__="1").shape == (2, 3) and nd.sum(x, __layout__="NCHW").shape == (1,)
    with pytest.raises(MXNetError, match="Cannot find argument '_layout'"):
        nd.sum(x, _layout="NCHW")


NOT_FINITE = nd.array([[-2, -0.5, 0.5, 2], [3, -3, 0.1, -0.1]])
EVERYWHERE, SECOND = [1] * 8, [1, 0] * 4


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: nd.where(x > 9, x, nd.ones((2, 4))), EVERYWHERE),
        (lambda x: nd.clip(x, 9, 10), EVERYWHERE),
        (nd.relu, SECOND),
        (lambda x: nd.Activation(x, act_type="relu"), SECOND),
        (lambda x: nd.maximum(x, nd.zeros((2, 4))), SECOND),
        (lambda x: nd.minimum(x, nd.zeros((2, 4))), SECOND),
        (lambda x: nd.maximum(x, 0), SECOND),
        (lambda x: nd.minimum(x, 0), SECOND),
    ],
)
def test_gradients_that_are_not_finite(f, expected, bad):
    """MXNet 1.9.1's operators that select stop infinite and NaN gradients; those that multiply by a mask give NaN."""
    x = NOT_FINITE.copy()
    x.attach_grad()
    with autograd.record():
        y = f(x)
    y.backward(nd.array([[1, bad] * 2] * 2))
    g = x.grad.asnumpy()
    assert np.isfinite(g).astype(int).ravel().tolist() == expected


def test_relu_of_nan_has_no_gradient():
    x = nd.array([math.nan, 1, -1])
    x.attach_grad()
    with autograd.record():
        y = nd.relu(x)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), [math.nan, 1, 0])


def test_smooth_l1_of_infinity():
    x = nd.array([math.inf, -math.inf, 2, 0.5])
    x.attach_grad()
    with autograd.record():
        y = nd.smooth_l1(x, scalar=1.0)
    y.backward()
    np.testing.assert_array_equal(y.asnumpy(), [math.inf, math.inf, 1.5, 0.125])
    np.testing.assert_array_equal(x.grad.asnumpy(), [1, -1, 1, 0.5])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_arrays_of_one_shape_are_combined_as_those_that_broadcast(name, dtype):
    x, y = (nd.array(v, dtype=dtype) for v in ([5, -2, 7], [2, 3, -4]))
    strict, loose = getattr(nd, f"elemwise_{name}"), getattr(nd, f"broadcast_{name}")
    out = nd.zeros(3, dtype=dtype)
    for z in (strict(x, y), strict(lhs=x, rhs=y, name="z"), strict(x, y, out=out), out):
        assert z.dtype == x.dtype
        np.testing.assert_array_equal(z.asnumpy(), loose(x, y).asnumpy())
    for other in (y.astype("float64"), y.reshape((1, 3))):
        with pytest.raises(MXNetError, match=f"elemwise_{name}: rhs: incompatible"):
            strict(x, other)
    x.attach_grad()
    with autograd.record():
        z = strict(x, y)
    z.backward()
    expected = {"add": [1, 1, 1], "sub": [1, 1, 1], "mul": y.asnumpy(), "div": np.trunc(1 / y.asnumpy())}[name]
    if dtype != "int32" and name == "div":
        expected = (1 / y).asnumpy()
    np.testing.assert_array_equal(x.grad.asnumpy(), expected)
