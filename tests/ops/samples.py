"""Samples of the ops of arrays: arithmetic, elementwise functions, reductions, shapes, indices."""

import numpy as np
import scipy.special as sp
import torch
import torch.nn.functional as F

from tests.ops.harness import Floats, binary, by_torch, sample, unary

A = Floats


def relu_grad(gy, y):
    return gy * (y > 0)


def leaky_relu_grad(gy, x, slope, is_result=False):
    return gy * np.where(x > 0, 1, slope)


def elu(x, alpha=1.0, scale=1.0):
    return scale * np.where(x > 0, x, alpha * np.expm1(x))


def elu_grad(gy, x, alpha=1.0, scale=1.0, is_result=False):
    return scale * gy * np.where(x > 0, 1, x / scale + alpha if is_result else alpha * np.exp(x))


def gelu(x, approximate=False):
    return F.gelu(x, approximate="tanh" if approximate else "none")


def derivative(f):
    """gy times the derivative of f, by torch's autograd."""

    def g(gy, x, **params):
        x = x.detach().requires_grad_()
        return torch.autograd.grad(f(x, **params), x, gy)[0]

    return by_torch(g)


def swish(x, beta):
    beta = beta.reshape((1, *beta.shape) + (1,) * (x.ndim - beta.ndim - 1))
    return x * sp.expit(beta * x)


def prelu(x, w):
    w = w.reshape((1, *w.shape) + (1,) * (x.ndim - w.ndim - 1))
    return np.where(x >= 0, x, w * x)


def softplus(x, beta=1.0):
    return np.logaddexp(beta * x, 0) / beta


def pad_sequence(xs, length=None, value=0):
    n = max(map(len, xs)) if length is None else length
    return np.stack([np.concatenate([x, np.full((n - len(x), *x.shape[1:]), value, x.dtype)]) for x in xs])


def turned(shape, swap):
    return (*shape[:-2], shape[-1], shape[-2]) if swap and len(shape) > 1 else shape


def matmul(a, b, transa=False, transb=False):
    return np.matmul(
        a.swapaxes(-1, -2) if transa and a.ndim > 1 else a, b.swapaxes(-1, -2) if transb and b.ndim > 1 else b
    )


def linear(x, w, b=0.0):
    return x @ w.T + b


def reduction(f):
    return lambda x, axis=None, keepdims=False, **more: f(
        x, axis=axis and tuple(np.atleast_1d(axis).tolist()) if axis != () else (), keepdims=keepdims, **more
    )


def sum_to(x, shape):
    lead = x.ndim - len(shape)
    axes = tuple(range(lead)) + tuple(lead + i for i, n in enumerate(shape) if n == 1)
    return x.sum(axis=axes, keepdims=True).reshape(shape)


def linear_scan(a, b, axis=0):
    a, b = np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0).copy()
    for i in range(1, len(b)):
        b[i] += a[i - 1] * b[i - 1]
    return np.moveaxis(b, 0, axis)


def add_at(a, b, index):
    y = a.copy()
    np.add.at(y, index, b)
    return y


def pad(x, pad_width, value=0.0):
    return np.pad(x, np.reshape(pad_width, (-1, 2)), constant_values=value) if x.ndim else x


def diagonal_grad(gy, shape, offset=0, axis1=0, axis2=1):
    y = np.zeros(shape)
    view = y.diagonal(offset, axis1, axis2)
    view.flags.writeable = True
    view[...] = gy
    return y


def repeat_grad(gy, repeats, axis, shape):
    """The transpose of np.repeat as a matrix."""
    count = np.prod(shape, dtype=int)
    basis = [np.repeat(e.reshape(shape), repeats, axis).ravel() for e in np.eye(count)]
    return (np.array(basis) @ gy.ravel()).reshape(shape)


def items(index, *shape):
    """x[index], its gradient and its scattering, as three samples."""
    result = np.zeros(shape)[index].shape
    return (
        sample("get_item", lambda x, index: x[index], A(*shape), index=index)
        + sample(
            "get_item_grad",
            lambda gy, index, shape: add_at(np.zeros(shape), gy, index),
            A(*result),
            index=index,
            shape=shape,
        )
        + sample("scatter_add", add_at, A(*shape), A(*result), index=index)
    )


ARITHMETIC = [
    binary("add", np.add),
    binary("add_apart", np.add),
    binary("sub", np.subtract),
    binary("mul", np.multiply),
    binary("div", np.divide, 0.3, 2),
    binary("pow", np.power, 0.3, 2),
    binary("maximum", np.maximum),
    binary("maximum_product", np.maximum),
    binary("minimum", np.minimum),
    binary("fmod", np.fmod, 0.3, 2),
    binary("arctan2", np.arctan2),
    binary("logaddexp", np.logaddexp),
    unary("neg", np.negative),
    unary("add_scalar", lambda x, value: x + value, value=2.5),
    unary("mul_scalar", lambda x, value: x * value, value=-1.5),
    unary("div_scalar", lambda x, value: x / value, value=-1.5),
    unary("rsub_scalar", lambda x, value: value - x, value=2),
    unary("rdiv_scalar", lambda x, value: value / x, 0.3, 2, value=3.0),
    unary("pow_scalar", lambda x, exponent: x**exponent, 0.3, 2, exponent=2.5),
    unary("pow_scalar", lambda x, exponent: x**exponent, exponent=3),
    unary("pow_scalar", lambda x, exponent: x**exponent, exponent=2),
    unary("pow_scalar", lambda x, exponent: x**exponent, exponent=1),
    unary("pow_scalar", lambda x, exponent: x**exponent, exponent=0),
    unary("rpow_scalar", lambda x, base: base**x, base=1.7),
    sample("add_n", lambda xs: sum(xs), [A(2, 3), A(2, 3), A(2, 3)]),
    sample("add_n", lambda xs: sum(xs), [A(2, 3), A(2, 3)]),
]

FUNCTIONS = [
    unary("exp", np.exp),
    unary("expm1", np.expm1),
    unary("exp2", np.exp2),
    unary("log", np.log, 0.3, 2),
    unary("log1p", np.log1p, -0.6, 2),
    unary("log2", np.log2, 0.3, 2),
    unary("log10", np.log10, 0.3, 2),
    unary("sqrt", np.sqrt, 0.3, 2),
    unary("rsqrt", lambda x: x**-0.5, 0.3, 2),
    unary("cbrt", np.cbrt, 0.3, 2),
    unary("square", np.square),
    unary("reciprocal", np.reciprocal, 0.3, 2),
    unary("abs", np.abs),
    unary("abs_or_nan", np.abs),
    unary("sign", np.sign),
    unary("conj", np.conj),
    unary("floor", np.floor, -3, 3),
    unary("ceil", np.ceil, -3, 3),
    unary("fix", np.fix, -3, 3),
    unary("rint", np.rint, -3, 3),
    unary("sin", np.sin, -3, 3),
    unary("cos", np.cos, -3, 3),
    unary("tan", np.tan),
    unary("arcsin", np.arcsin, -0.9, 0.9),
    unary("arccos", np.arccos, -0.9, 0.9),
    unary("arctan", np.arctan, -2, 2),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("tanh", np.tanh, -2, 2),
    unary("arcsinh", np.arcsinh, -2, 2),
    unary("arccosh", np.arccosh, 1.2, 3),
    unary("arctanh", np.arctanh, -0.9, 0.9, tolerance=2),
    unary("erf", sp.erf, -2, 2),
    unary("erfc", sp.erfc, -2, 2),
    unary("erfcx", sp.erfcx),
    unary("erfinv", sp.erfinv, -0.9, 0.9),
    unary("erfcinv", sp.erfcinv, 0.1, 1.9),
    unary("ndtr", sp.ndtr, -2, 2),
    unary("ndtri", sp.ndtri, 0.1, 0.9),
    unary("log_ndtr", sp.log_ndtr, -3, 3),
    unary("lgamma", sp.gammaln, 0.3, 3),
    unary("lgamma_infinite", sp.gammaln, 0.3, 3),
    unary("gamma", sp.gamma, 0.3, 3),
    unary("polygamma_infinite", lambda x, n: sp.digamma(x), 0.3, 3, n=0),
    unary("digamma", sp.digamma, 0.3, 3),
    unary("polygamma", lambda x, n: sp.polygamma(n, x), 0.5, 3, n=1),
    unary("polygamma", lambda x, n: sp.polygamma(n, x), 0.5, 3, n=0),
    sample("zeta", sp.zeta, np.array([2.0, 3.5]), A(3, 2, low=0.5, high=2)),
    sample("zeta", sp.zeta, np.array(3), A(2, low=0.5, high=2)),
]

ACTIVATIONS = [
    unary("sigmoid", sp.expit, -3, 3),
    unary("log_sigmoid", sp.log_expit, -3, 3),
    binary("tanh_grad", lambda gy, y: gy * (1 - y * y)),
    binary("sigmoid_grad", lambda gy, y: gy * y * (1 - y)),
    unary("relu", lambda x: np.maximum(x, 0)),
    binary("relu_grad", relu_grad, differentiable=(0,)),
    unary("relu", lambda x, rule: np.maximum(x, 0), rule="choice"),
    unary("relu", lambda x, rule: np.maximum(x, 0), rule="slope"),
    binary("relu_grad", lambda gy, y, rule: relu_grad(gy, y), differentiable=(0,), rule="choice"),
    binary("relu_grad", lambda gy, y, rule: relu_grad(gy, y), differentiable=(0,), rule="slope"),
    unary("leaky_relu", lambda x, slope=0.2: np.where(x > 0, x, slope * x)),
    unary("leaky_relu", lambda x, slope: np.where(x > 0, x, slope * x), slope=0.01),
    unary("leaky_relu", lambda x, slope: np.where(x > 0, x, slope * x), slope=-0.5),
    binary("leaky_relu_grad", leaky_relu_grad, slope=0.3, differentiable=(0,)),
    binary("leaky_relu_grad", leaky_relu_grad, slope=0.3, is_result=True, differentiable=(0,)),
    unary("elu", elu),
    unary("elu", elu, alpha=1.6, scale=1.05),
    unary("elu", elu, alpha=-0.5),
    unary("elu", lambda x, nan: elu(x), nan=False),
    sample("elu_grad", elu_grad, A(3, 4), A(3, 4), alpha=1.3, scale=0.7),
    sample("elu_grad", elu_grad, A(3, 4), A(3, 4), alpha=1.3, scale=0.7, is_result=True),
    sample("elu_grad", lambda gy, x, nan: elu_grad(gy, x), A(3, 4), A(3, 4), nan=False),
    unary("softplus", softplus, -3, 3),
    unary("softplus", softplus, -3, 3, beta=2.0),
    sample("softplus", softplus, A(6, low=20, high=90)),
    binary("softplus_grad", lambda gy, x, beta: gy * sp.expit(beta * x), beta=1.5),
    unary("gelu", by_torch(gelu), -3, 3),
    unary("gelu", by_torch(gelu), -3, 3, approximate=True),
    sample("gelu_grad", derivative(gelu), A(3, 4), A(3, 4, low=-3, high=3)),
    sample("gelu_grad", derivative(gelu), A(3, 4), A(3, 4, low=-3, high=3), approximate=True),
    unary("silu", by_torch(F.silu), -3, 3),
    sample("silu_grad", derivative(F.silu), A(3, 4), A(3, 4, low=-3, high=3)),
    unary("softsign", lambda x: x / (1 + abs(x))),
    unary("hard_sigmoid", lambda x: np.clip(0.2 * x + 0.5, 0, 1), -4, 4),
    unary("hard_sigmoid", lambda x, product: np.clip(0.2 * x + 0.5, 0, 1), -4, 4, product=False),
    unary("clipped_relu", lambda x, z: np.clip(x, 0, z), -2, 5, z=3.0),
    unary("clipped_relu", lambda x, z, product: np.clip(x, 0, z), -2, 5, z=3.0, product=False),
    sample(
        "hardtanh_grad",
        lambda gy, x, lower, upper: gy * ((x > lower) & (x < upper)),
        A(3, 4),
        A(3, 4),
        lower=-0.4,
        upper=0.6,
        differentiable=(0,),
    ),
    sample("prelu", prelu, A(2, 3, 4), A(3)),
    sample("prelu", prelu, A(2, 3, 4), A(3, 4)),
    sample("prelu", prelu, A(2, 3), A()),
    sample("prelu", lambda x, w, nan: prelu(x, w), A(2, 3, 4), A(3), nan=False),
    sample("swish", swish, A(2, 3, 4), A(3)),
    sample("swish", swish, A(2, 3, 4), A(3, 4)),
    sample("swish", swish, A(2, 3), A()),
]

CHOICES = [
    unary("clip", lambda x, min, max: np.clip(x, min, max), min=-0.4, max=0.6),
    unary("clip", lambda x, min, max, product: np.clip(x, min, max), min=-0.4, max=0.6, product=False),
    unary("clip", lambda x, min: np.clip(x, min, None), min=-0.4),
    unary("clip", lambda x, max: np.clip(x, None, max), max=0.6),
    sample("where", np.where, np.array([[True, False, True], [False, False, True]]), A(2, 3), A(2, 3)),
    sample("where", np.where, np.array([True, False, True]), A(2, 1), A()),
    sample("where", np.where, np.array([[1], [0]]), A(3), A(2, 1)),
    sample("select_item", lambda x, t: x[np.arange(len(t)), t], A(3, 4), np.array([2, 0, 3], "int32")),
    sample("select_item", lambda x, t: x[np.arange(len(t)), t], A(3, 4), np.array([-1, 0, 0])),
]

REDUCTIONS = [
    s
    for name, f, low, more in [
        ("sum", np.sum, -1, {}),
        ("mean", np.mean, -1, {}),
        ("max", np.max, -1, {}),
        ("min", np.min, -1, {}),
        ("prod", np.prod, -1, {}),
        ("logsumexp", sp.logsumexp, -1, {}),
        ("var", np.var, -1, {}),
        ("var", np.var, -1, {"ddof": 1}),
    ]
    for s in [
        sample(name, reduction(f), A(2, 3, 4, low=low), **more),
        sample(name, reduction(f), A(2, 3, 4, low=low), axis=1, **more),
        sample(name, reduction(f), A(2, 3, 4, low=low), axis=-1, keepdims=True, **more),
        sample(name, reduction(f), A(2, 3, 4, low=low), axis=[0, 2], **more),
        sample(name, reduction(f), A(2, 3, 4, low=low), axis=[-1, 0], keepdims=True, **more),
        sample(name, reduction(f), A(2, 3, low=low), keepdims=True, **more),
        sample(name, reduction(f), A(low=low)) if not more else [],
        sample(name, reduction(f), A(2, 3, low=low), axis=()) if name not in ("logsumexp", "var") else [],
    ]
] + [
    sample("sum", reduction(np.sum), A(0, 3), axis=0),
    sample("prod", reduction(np.prod), A(0, 3), axis=0),
    sample("prod", reduction(np.prod), A(2, 0), axis=0),
    sample("logsumexp", lambda x, axis: x, A(2, 3), axis=()),
    sample("cumsum", np.cumsum, A(2, 3)),
    sample("cumsum", np.cumsum, A()),
    sample("cumsum", np.cumsum, A(2, 3, 4), axis=1),
    sample("cumsum", np.cumsum, A(2, 0), axis=-1),
    sample("cumprod", np.cumprod, A(2, 3)),
    sample("cumprod", np.cumprod, A()),
    sample("cumprod", np.cumprod, A(2, 4, 3), axis=1),
    sample("cumprod", np.cumprod, A(2, 1), axis=-1),
    sample("cumprod", np.cumprod, A(0, 2), axis=0),
    sample("linear_scan", linear_scan, A(2, 3), A(3, 3)),
    sample("linear_scan", linear_scan, A(2, 3), A(2, 4), axis=-1),
    sample("linear_scan", linear_scan, A(2, 0), A(2, 1), axis=1),
]

PRODUCTS = [
    sample("matmul", matmul, A(*turned(a, "transa" in turns)), A(*turned(b, "transb" in turns)), **turns)
    for a, b in [
        ((2, 3), (3, 4)),
        ((3,), (3,)),
        ((3,), (3, 2)),
        ((2, 3), (3,)),
        ((5, 2, 3), (5, 3, 2)),
        ((0, 3), (3, 2)),
        ((2, 3), (5, 3, 2)),
        ((5, 1, 2, 3), (4, 3, 2)),
        ((3,), (5, 3, 2)),
        ((5, 2, 3), (3,)),
    ]
    for turns in [{}, dict(transa=True), dict(transb=True), dict(transa=True, transb=True)]
] + [
    sample("linear", linear, A(4, 3), A(2, 3), A(2)),
    sample("linear", linear, A(4, 3), A(2, 3)),
    sample("linear", linear, A(0, 3), A(2, 3), A(2)),
]

SHAPES = [
    sample("reshape", lambda x, shape: x.reshape(shape), A(2, 6), shape=(3, -1)),
    sample("reshape", lambda x, shape: x.reshape(shape), A(1, 1), shape=()),
    sample("reshape", lambda x, shape: x.reshape(shape), A(0, 3), shape=(3, 0)),
    sample("transpose", np.transpose, A(2, 3, 4)),
    sample("transpose", np.transpose, A(2, 3, 4), axes=(-1, 0, 1)),
    sample("expand_dims", np.expand_dims, A(2, 3), axis=1),
    sample("expand_dims", np.expand_dims, A(2, 3), axis=-1),
    sample("squeeze", np.squeeze, A(1, 3, 1)),
    sample("squeeze", np.squeeze, A(1, 3, 1), axis=(-1,)),
    sample("broadcast_to", np.broadcast_to, A(3, 1), shape=(2, 3, 4)),
    sample("broadcast_to", np.broadcast_to, A(), shape=(2,)),
    sample("sum_to", sum_to, A(2, 3, 4), shape=(3, 1)),
    sample("sum_to", sum_to, A(2, 3), shape=()),
    sample("cast", lambda x, dtype: x.astype(dtype), A(2, 3), dtype="float64"),
    sample("convert", lambda x, dtype: x.astype(dtype), A(2, 3), dtype="float64"),
    sample("identity", lambda x: x, A(2, 3)),
    sample("to_device", lambda x, device: x, A(2, 3), device="cpu"),
    sample("tie", lambda x, to: x, A(2, 3), A(4), differentiable=(0,)),
    sample("copy", lambda x: x, A(2, 3)),
    sample("diagonal", np.diagonal, A(3, 4)),
    sample("diagonal", np.diagonal, A(2, 3, 4), offset=1, axis1=2, axis2=0),
    sample("diagonal_grad", diagonal_grad, A(3), shape=(3, 4)),
    sample("diagonal_grad", diagonal_grad, A(3, 1), shape=(2, 3, 4), offset=1, axis1=2, axis2=0),
    sample("triu", np.triu, A(3, 4), k=1),
    sample("tril", np.tril, A(2, 3, 4), k=-1),
]


JOINS = [
    sample("concat", lambda xs, axis=1: np.concatenate(xs, axis), [A(2, 1), A(2, 3), A(2, 0)]),
    sample("concat", lambda xs, axis: np.concatenate(xs, axis), [A(2, 3), A(1, 3)], axis=-2),
    sample("concat", lambda xs, axis: np.concatenate(xs, axis), [A(2)], axis=0),
    sample("split", lambda x, indices, axis: np.split(x, indices, axis), A(2, 5), indices=[1, 4], axis=1),
    sample("split", lambda x, indices: np.split(x, indices), A(4, 2), indices=[0, 2, 2, 4]),
    sample("split", lambda x, indices, axis: np.split(x, indices, axis), A(2, 3), indices=[], axis=-1),
    sample("stack", lambda xs, axis=0: np.stack(xs, axis), [A(2, 3), A(2, 3)]),
    sample("pad_sequence", pad_sequence, [A(2, 3), A(4, 3), A(0, 3)]),
    sample("pad_sequence", pad_sequence, [A(2), A(1)], length=3, value=-1.5),
    sample("stack", lambda xs, axis: np.stack(xs, axis), [A(2, 3), A(2, 3)], axis=-1),
    sample("stack", lambda xs, axis=0: np.stack(xs, axis), [A(), A()]),
    sample("unstack", lambda x, axis=0: list(x), A(3, 2)),
    sample("unstack", lambda x, axis: list(np.moveaxis(x, axis, 0)), A(2, 3, 2), axis=-2),
    sample("flip", np.flip, A(2, 3), axis=0),
    sample("flip", np.flip, A(2, 3, 4), axis=(0, -1)),
    sample("tile", np.tile, A(2, 3), reps=(2, 1, 3)),
    sample("tile", np.tile, A(2, 3), reps=(2,)),
    sample("tile", np.tile, A(), reps=(2, 2)),
    sample("tile", np.tile, A(2, 3), reps=(0, 2)),
    sample("tile", np.tile, A(), reps=()),
    sample("repeat", np.repeat, A(2, 3), repeats=(2,)),
    sample("repeat", np.repeat, A(2, 3), repeats=(2,), axis=-1),
    sample("repeat", np.repeat, A(2, 3), repeats=(2, 0, 1), axis=1),
    sample("repeat", np.repeat, A(3), repeats=(1, 0, 2)),
    sample("repeat", np.repeat, A(2, 3), repeats=(0,), axis=0),
    sample("repeat_grad", repeat_grad, A(12), repeats=(2,), axis=None, shape=(2, 3)),
    sample("repeat_grad", repeat_grad, A(2, 3), repeats=(2, 0, 1), axis=-1, shape=(2, 3)),
    sample("repeat_grad", repeat_grad, A(0, 3), repeats=(0,), axis=0, shape=(2, 3)),
    sample("pad", pad, A(2, 3), pad_width=[1, 0, 2, 3]),
    sample("pad", pad, A(2, 3), pad_width=[0, 1, 1, 0], value=2.5),
    sample("pad", pad, A(), pad_width=[]),
]

MASK = np.array([[True, False, True], [False, True, True]])
ROWS = np.array([1, 0, 1])
INDICES = [
    items(1, 3, 4),
    items((1, -2), 3, 4),
    items((), 3, 4),
    items(..., 3, 4),
    items(slice(1, 3), 4, 3),
    items((slice(None), slice(-3, -1)), 2, 4),
    items((slice(None, None, -1), slice(4, 0, -2)), 2, 6),
    items((slice(10, None, -3), slice(-1, -9, -1)), 5, 3),
    items((slice(3, 1), slice(0, 9, 2)), 4, 5),
    items((slice(0, 2, -1), 0), 4, 5),
    items((None, ..., 0, None), 2, 3, 4),
    items((0, ..., slice(None, None, 2)), 2, 3, 4),
    items(ROWS, 2, 3),
    items((slice(None), ROWS), 3, 2),
    items(np.array([[0, -1], [1, 1]]), 3, 2),
    items(ROWS.astype("uint8"), 2, 3),
    items(ROWS.astype("int16"), 2, 3),
    items((ROWS, np.array([[2], [0]])), 2, 3),
    items((0, slice(None), ROWS), 2, 3, 4),
    items((slice(None), 1, ROWS), 2, 3, 4),
    items((ROWS, slice(None), ROWS), 2, 3, 4),
    items((ROWS, None, ROWS), 2, 3),
    items((None, ROWS, ..., ROWS), 2, 3),
    items((slice(None, None, -1), ROWS, slice(None, None, -2)), 3, 2, 4),
    items((slice(None, None, -1), ROWS, slice(2, None, -1), ROWS), 3, 2, 4, 2),
    items(MASK, 2, 3),
    items((MASK, 1), 2, 3, 4),
    items((slice(None), MASK), 4, 2, 3),
    items((ROWS[:1], slice(None), np.array([True, False, True])), 2, 2, 3),
    items(np.array(True), 2, 3),
    items((slice(None), np.array(False)), 2, 3),
    items(np.zeros((0,), "int64"), 2, 3),
    items(np.array(1), 2, 3),
]

FAMILIES = ARITHMETIC, FUNCTIONS, ACTIVATIONS, CHOICES, REDUCTIONS, PRODUCTS, SHAPES, JOINS, INDICES
SAMPLES = [s for family in FAMILIES for line in family for s in line]
