"""Samples of elementwise ops, masks, losses and quantizers."""

import numpy as np
import scipy.special as sp
import torch

from tests.ops.harness import Floats as A
from tests.ops.harness import binary, sample, unary


def mask(f, *names):
    """A reference that answers 0 and 1 in float64."""
    return lambda *xs, **params: f(*xs, **params).astype("float64")


def away(x):
    return np.sign(x) * np.floor(np.abs(x) + 0.5)


def sinc(x, order=0):
    x = torch.tensor(x, requires_grad=True)
    y = torch.sinc(x / torch.pi)
    for _ in range(order):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    return y.detach().numpy()


def prune(x, rate):
    size = np.abs(x).ravel()
    return np.where(np.abs(x) < np.sort(size)[int((size.size - 1) * rate)], 0, x) if size.size else x


def picked(x, t, axis, f):
    """f of the labels' elements, 0 where a label is negative."""
    y = np.take_along_axis(f(x), np.maximum(t, 0), axis)
    return np.where(t >= 0, -y, 0)


def softmax_loss(x, t, axis=1):
    return picked(x, t, axis, lambda v: sp.log_softmax(v, axis))


def categorical_loss(x, t, axis=1):
    return picked(x, t, axis, np.log)


def top_n_error(x, t, axis=1, n=1):
    return ((x >= np.take_along_axis(x, t, axis)).sum(axis, keepdims=True) > n).astype("float64")


def confusion_matrix(x, t, axis=1):
    y = np.zeros((x.shape[axis],) * 2, "int32")
    np.add.at(y, (t.ravel(), x.argmax(axis).ravel()), 1)
    return y


def min_max_quantize(
    x, low, high, first, last, decay=0.999, x_min_max=False, ema=False, ste_fine_grained=True, eps=0.01, update=True
):
    if x_min_max and update:
        axes = tuple(i for i, n in enumerate(low.shape) if n == 1)
        ends = x.min(axes, keepdims=True), x.max(axes, keepdims=True)
        low, high = (old * decay + e * (1 - decay) if ema else e for old, e in zip((low, high), ends, strict=True))
    high = np.where(high - low < eps, low + eps, high)
    scale = (high - low) / (last - first)
    zero = np.clip(away(first - low / scale), first, last)
    low, high = (first - zero) * scale, (last - zero) * scale
    return away((np.clip(x, low, high) - low) / scale) * scale + low


def powers(bits, m, with_zero=True):
    """Rounding to powers of two from 2 ** (m - 2 ** bits + 1) to 2 ** m."""
    least = m - 2**bits + 1

    def quantize(x, **_):
        with np.errstate(divide="ignore"):
            exact = np.log2(np.abs(x))
        y = np.sign(x + (x == 0)) * 2.0 ** np.clip(np.round(exact), least, m)
        return np.where(with_zero & (exact < least - 0.5), 0, y)

    return quantize


def halves(f):
    return lambda x, axis=1, alpha=None: np.concatenate([f(x), f(-x)], axis)


def huber(a, b, delta=1.0):
    d = np.abs(a - b)
    return np.where(d < delta, d * d, delta * (2 * d - delta))


FLAT = {"differentiable": ()}
LABELS = np.array([[2], [-1], [0]], "int32")
FEW = np.array([[0.0, 1, 2, 1], [1, 2, 0, -1], [2, 0, 1, 1]])
ODD = np.array([1.5, np.nan, np.inf, -np.inf, 0.0])
BYTES = np.array([[1, 7, 255]], "uint8")
INTEGERS = np.array([[7, -7, 9, -8]], "int32"), np.array([[3, 3, -4, -4]], "int32")
RANGES = np.full((1, 1), -0.8), np.full((1, 1), 0.7), np.zeros((1, 1)), np.full((1, 1), 15.0)
PER_ROW = np.array([[-0.5], [0.1]]), np.array([[0.5], [0.104]]), np.zeros((2, 1)), np.full((2, 1), 7.0)

MASKS = (
    [
        sample(name, mask(f), *pair, **FLAT)
        for name, f in [
            ("equal", np.equal),
            ("not_equal", np.not_equal),
            ("greater", np.greater),
            ("less", np.less),
            ("greater_equal", np.greater_equal),
            ("less_equal", np.less_equal),
            ("logical_and", np.logical_and),
            ("logical_or", np.logical_or),
            ("logical_xor", np.logical_xor),
        ]
        for pair in [(FEW, FEW.T[:3, :1]), (FEW, FEW[:1]), (A(2, 3), A(2, 1))]
    ]
    + [
        sample(name + "_scalar", mask(lambda x, value, f=f: f(x, value)), x, value=value, **FLAT)
        for name, f, value in [
            ("equal", np.equal, 1),
            ("not_equal", np.not_equal, 1),
            ("greater", np.greater, 1),
            ("less", np.less, 1),
            ("greater_equal", np.greater_equal, 1),
            ("less_equal", np.less_equal, 1),
            ("logical_and", np.logical_and, True),
            ("logical_and", np.logical_and, False),
            ("logical_or", np.logical_or, True),
            ("logical_or", np.logical_or, False),
            ("logical_xor", np.logical_xor, True),
            ("logical_xor", np.logical_xor, False),
        ]
        for x in [FEW, A(2, 3)]
    ]
    + [
        sample("logical_not", mask(np.logical_not), FEW, **FLAT),
        sample("isnan", mask(np.isnan), ODD, **FLAT),
        sample("isinf", mask(np.isinf), ODD, **FLAT),
    ]
)

STRAIGHT = [
    sample("straight_through", lambda a, b: a, np.array([1.0, 2.0]), np.array([3.0, 4.0]), **FLAT),
    unary("stop_gradient", lambda x: x, **FLAT),
    unary("ste_round", away, -3, 3, **FLAT),
    sample("ste_round", away, np.array([0.5, -0.5, 2.5, 0.49999997, 2.0**23 + 1, -np.inf]), **FLAT),
    unary("ste_ceil", np.ceil, -3, 3, **FLAT),
    unary("ste_floor", np.floor, -3, 3, **FLAT),
    unary("ste_sign", np.sign, **FLAT),
    sample("ste_sign", lambda x, alpha: np.where(x == 0, alpha, np.sign(x)), FEW, alpha=-0.5, **FLAT),
    unary("binary_tanh", lambda x: np.where(x > 0, 1.0, -1.0), **FLAT),
    sample("binary_tanh", lambda x: np.where(x > 0, 1.0, -1.0), FEW, **FLAT),
    unary("binary_sigmoid", mask(lambda x: x > 0), **FLAT),
    unary("prune", prune, rate=0.4, **FLAT),
    sample("prune", lambda x, rate: 0 * x, A(2, 3), rate=1.0, **FLAT),
]

ELEMENTWISE = [
    unary("abs_right", np.abs),
    binary("maximum_last", np.maximum),
    binary("minimum_last", np.minimum),
    unary("maximum_scalar", lambda x, value: np.maximum(x, value), value=0.2),
    unary("maximum_scalar", lambda x, value, product: np.maximum(x, value), value=0.2, product=True),
    unary("minimum_scalar", lambda x, value: np.minimum(x, value), value=0.2),
    unary("minimum_scalar", lambda x, value, product: np.minimum(x, value), value=0.2, product=False),
    unary("reset_nan", lambda x: x),
    sample("reset_nan", lambda x, value: np.where(np.isnan(x), value, x), ODD, value=2.0, **FLAT),
    unary("reset_inf", lambda x: x),
    sample("reset_inf", lambda x, value: np.where(np.isinf(x), value, x), ODD[2:], value=-2.0, **FLAT),
    unary("hard_sigmoid_closed", lambda x: np.clip(0.2 * x + 0.5, 0, 1), -4, 4),
    unary("elu_right", lambda x: np.where(x >= 0, x, np.expm1(x))),
    unary("elu_right", lambda x, alpha: np.where(x >= 0, x, alpha * np.expm1(x)), alpha=1.7),
    unary("tanh_shrink", lambda x: x - np.tanh(x), -2, 2),
    unary("mish", lambda x: x * np.tanh(np.logaddexp(x, 0)), -3, 3),
    unary("sinc", sinc, -6, 6, tolerance=2),
    unary("sinc", sinc, -4, 4, order=1, tolerance=2),
    unary("sinc", sinc, 0.5, 9, order=2, tolerance=2),
]

HALVES = [
    sample("crelu", halves(lambda x: np.maximum(x, 0)), A(2, 3)),
    sample("crelu", halves(lambda x: np.maximum(x, 0)), A(2, 3, 4), axis=-2),
    sample("celu", halves(lambda x: np.where(x >= 0, x, np.expm1(x))), A(2, 3)),
    sample("celu", halves(lambda x: np.where(x >= 0, x, 1.7 * np.expm1(x))), A(2, 3), alpha=1.7, axis=0),
]

MANY = [
    sample("add_active", lambda xs: sum(xs), [A(2, 3), A(2, 3), A(2, 3)]),
    sample("add_active", lambda xs, active: xs[0] + xs[2], [A(2, 3), A(2, 3), A(2, 3)], active=torch.tensor([1, 0, 1])),
    sample("mul_active", lambda xs: np.prod(xs, 0), [A(2, 3), A(2, 3), A(2, 3), A(2, 3)]),
    sample("mul_active", lambda xs: xs[0], [A(2, 3)]),
    sample("mul_active", lambda xs, active: xs[0] * xs[2], [A(2, 3), A(2, 3), A(2, 3)], active=torch.tensor([1, 0, 1])),
    sample("mul_active", lambda xs, active: np.ones((2, 3)), [A(2, 3)], active=torch.tensor([0])),
]

LOSSES = [
    sample(
        "logistic_loss", lambda x, t: np.logaddexp(x, 0) - x * t, A(3, 1, low=-3, high=3), np.array([[1], [0], [1]])
    ),
    sample(
        "binary_cross_entropy",
        lambda p, t: -t * np.log(p) - (1 - t) * np.log1p(-p),
        A(3, 4, low=0.1, high=0.9),
        A(3, 4, low=0, high=1),
    ),
    binary("absolute_error_right", lambda a, b: np.abs(a - b)),
    binary("huber_error", huber),
    binary("huber_error", huber, delta=0.4),
    sample("softmax_cross_entropy_along", softmax_loss, A(3, 4), LABELS),
    sample("softmax_cross_entropy_along", softmax_loss, A(3, 4, low=-2, high=2), LABELS.astype("int64"), axis=-1),
    sample("softmax_cross_entropy_along", softmax_loss, A(4, 3, 2), np.array([[[1, 3], [-1, 0], [2, 2]]]), axis=0),
    sample("softmax_cross_entropy_along", softmax_loss, A(2, 4, 3), np.array([[[1, 3, 0]], [[-1, 0, 2]]]), axis=1),
    sample("categorical_cross_entropy", categorical_loss, A(3, 4, low=0.1, high=1), LABELS),
    sample(
        "categorical_cross_entropy",
        categorical_loss,
        A(2, 4, 3, low=0.1, high=1),
        np.array([[[1, 3, 0]], [[-1, 0, 2]]]),
        axis=-2,
    ),
    sample("top_n_error", top_n_error, A(3, 4), np.abs(LABELS), **FLAT),
    sample("top_n_error", top_n_error, A(4, 3, low=0, high=2), np.array([[0, 3, 2]]), axis=0, n=2, **FLAT),
    sample("confusion_matrix", confusion_matrix, A(3, 4), np.abs(LABELS), **FLAT),
    sample("confusion_matrix", confusion_matrix, A(4, 5), np.array([[0, 3, 2, 1, 1]]), axis=0, **FLAT),
]

QUANTISERS = [
    sample(
        "fixed_point_quantize", lambda x: np.clip(away(x / 0.0625), -127, 127) * 0.0625, A(3, 4, low=-9, high=9), **FLAT
    ),
    sample(
        "fixed_point_quantize",
        lambda x, **_: np.clip(away(x / 0.5), 0, 7) * 0.5,
        A(3, 4, low=-2, high=5),
        sign=False,
        n=3,
        delta=0.5,
        ste_fine_grained=False,
        **FLAT,
    ),
    sample("pow2_quantize", powers(7, 1), A(3, 4, low=-3, high=3), n=9, **FLAT),
    sample(
        "pow2_quantize",
        powers(2, 0, False),
        np.array([[0.0, 0.1, -0.1, 0.3, -0.8, 9]]),
        with_zero=False,
        n=3,
        m=0,
        **FLAT,
    ),
    sample(
        "pow2_quantize",
        lambda x, **_: np.where(x < 0, 0, powers(2, 1)(x)),
        A(3, 4, low=-3, high=3),
        sign=False,
        n=3,
        ste_fine_grained=False,
        **FLAT,
    ),
    sample("min_max_quantize", min_max_quantize, A(3, 4), *RANGES, dtypes=("float64",), update=False, **FLAT),
    sample(
        "min_max_quantize",
        min_max_quantize,
        A(2, 4),
        *PER_ROW,
        dtypes=("float64",),
        update=False,
        eps=0.02,
        ste_fine_grained=False,
        **FLAT,
    ),
    sample(
        "min_max_quantize",
        min_max_quantize,
        A(2, 4),
        *PER_ROW,
        dtypes=("float64",),
        update=False,
        decay=0.9,
        x_min_max=True,
        ema=True,
        **FLAT,
    ),
    sample("mod", np.fmod, A(3, 4, low=-3, high=3), A(3, 1, low=0.3, high=2), tolerance=2),
    sample("mod", np.mod, *INTEGERS),
    sample("mod", lambda a, b, fmod: np.fmod(a, b), *INTEGERS, fmod=True),
    sample("bit_shift", lambda x, s: (x << s) * (s < 8), BYTES, np.array([[3, 8, 1]], "uint8")),
    sample(
        "bit_shift",
        lambda x, s, direction: np.where(s < 8, x >> np.minimum(s, 7), 0),
        BYTES,
        np.array([[3, 9, 1]], "uint8"),
        direction="RIGHT",
    ),
]

FAMILIES = MASKS, STRAIGHT, ELEMENTWISE, HALVES, MANY, LOSSES, QUANTISERS
SAMPLES = [s for family in FAMILIES for line in family for s in line]
