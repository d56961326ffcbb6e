"""Elementwise functions, losses and quantization functions of the nnabla frontend.

The expected results at points without a derivative, of straight-through estimators and of quantization are those of
nnabla 1.39.
"""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F

POINTS = [-2.5, -1.0, -0.5, 0.0, 0.5, 1.0, 2.5]


def variable(values, dtype="float32"):
    v = nn.Variable.from_numpy_array(np.array(values, dtype))
    v.need_grad = True
    return v


def slopes(f, *xs):
    """The value of f and the gradients of its inputs, for an output gradient of ones."""
    vs = [variable(x) for x in xs]
    y = f(*vs)
    y.forward()
    for v in vs:
        v.grad.zero()
    y.backward()
    return [y.d.copy(), *(v.g.copy() for v in vs)]


def close(a, b, **tolerance):
    np.testing.assert_allclose(a, b, **{"rtol": 1e-5, "atol": 1e-6, **tolerance})


@pytest.mark.parametrize(
    "name, args, gradient",
    [
        ("abs", {}, [-1, -1, -1, 1, 1, 1, 1]),
        ("relu", {}, [0, 0, 0, 0, 1, 1, 1]),
        ("leaky_relu", {"alpha": 0.2}, [0.2, 0.2, 0.2, 0.2, 1, 1, 1]),
        ("elu", {"alpha": 2.0}, [2 * np.exp(-2.5), 2 * np.exp(-1), 2 * np.exp(-0.5), 1, 1, 1, 1]),
        ("relu6", {}, [0, 0, 0, 0, 1, 1, 1]),
        ("hard_sigmoid", {}, [0.2] * 7),
        ("hard_tanh", {}, [0, 1, 1, 1, 1, 1, 0]),
        ("crelu", {"axis": 0}, [-1, -1, -1, -1, 1, 1, 1]),
        (
            "celu",
            {"axis": 0, "alpha": 2.0},
            [
                2 * np.exp(-2.5) - 1,
                2 * np.exp(-1) - 1,
                2 * np.exp(-0.5) - 1,
                0,
                1 - 2 * np.exp(-0.5),
                1 - 2 * np.exp(-1),
                1 - 2 * np.exp(-2.5),
            ],
        ),
        ("maximum_scalar", {"val": 0.5}, [0, 0, 0, 0, 0, 1, 1]),
        ("minimum_scalar", {"val": 0.5}, [1, 1, 1, 1, 0, 0, 0]),
        ("sinc", {}, [(np.cos(x) - np.sin(x) / x) / x if x else 0 for x in POINTS]),
        ("sign", {"alpha": 0.25}, [1] * 7),
        ("round", {}, [1] * 7),
        ("ceil", {}, [1] * 7),
        ("floor", {}, [1] * 7),
        ("binary_tanh", {}, [0, 0, 1, 1, 1, 0, 0]),
        ("binary_sigmoid", {}, [0, 0, 0.5, 0.5, 0.5, 0, 0]),
        ("prune", {"rate": 0.5}, [1] * 7),
        ("greater_scalar", {"val": 0.0}, [0] * 7),
    ],
)
def test_slope_at_kinks(name, args, gradient):
    close(slopes(lambda x: getattr(F, name)(x, **args), POINTS)[1], gradient)


@pytest.mark.parametrize(
    "name, args, values",
    [
        ("round", {}, [-3, -1, -1, 0, 1, 1, 3]),
        ("sign", {"alpha": 0.25}, [-1, -1, -1, 0.25, 1, 1, 1]),
        ("binary_tanh", {}, [-1, -1, -1, -1, 1, 1, 1]),
        ("binary_sigmoid", {}, [0, 0, 0, 0, 1, 1, 1]),
        ("prune", {"rate": 0.5}, [-2.5, -1, 0, 0, 0, 1, 2.5]),
        ("less_equal_scalar", {"val": 0.5}, [1, 1, 1, 1, 1, 0, 0]),
        ("logical_not", {}, [0, 0, 0, 1, 0, 0, 0]),
        ("logical_xor_scalar", {"val": True}, [0, 0, 0, 1, 0, 0, 0]),
        ("clip_by_value", {"min": -1.0, "max": 0.5}, [-1, -1, -0.5, 0, 0.5, 0.5, 0.5]),
        ("r_div_scalar", {"val": 2.0}, [-0.8, -2, -4, np.inf, 4, 2, 0.8]),
    ],
)
def test_values(name, args, values):
    y = getattr(F, name)(variable(POINTS), **args)
    y.forward()
    assert y.d.dtype == np.float32
    close(y.d, values)


@pytest.mark.parametrize(
    "name, first, second",
    [
        ("maximum2", [0, 0, 1], [1, 1, 0]),
        ("minimum2", [1, 0, 0], [0, 1, 1]),
        ("absolute_error", [-1, -1, 1], [1, 1, -1]),
        ("huber_loss", [-2, 0, 2], [2, 0, -2]),
        ("squared_error", [-4, 0, 4], [4, 0, -4]),
        ("equal", [0, 0, 0], [0, 0, 0]),
    ],
)
def test_slope_where_inputs_are_equal(name, first, second):
    _, g0, g1 = slopes(getattr(F, name), [0.0, 2.0, 4.0], [2.0, 2.0, 2.0])
    close(g0, first)
    close(g1, second)


@pytest.mark.parametrize(
    "f, value, slope",
    [
        (F.abs, np.abs, lambda x: np.where(x < 0, -1, 1)),
        (F.hard_sigmoid, lambda x: np.clip(0.2 * x + 0.5, 0, 1), lambda x: 0.2 * (np.abs(x) <= 2.5)),
        (lambda x: F.maximum_scalar(x, 0.3), lambda x: np.maximum(x, 0.3), lambda x: x > 0.3),
        (
            lambda x: F.huber_loss(x, x * 0, 0.7),
            lambda x: np.where(np.abs(x) < 0.7, x * x, 0.7 * (2 * np.abs(x) - 0.7)),
            lambda x: 2 * np.clip(x, -0.7, 0.7),
        ),
        (
            lambda x: F.elu(x, 2.0),
            lambda x: np.where(x < 0, 2 * np.expm1(x), x),
            lambda x: np.where(x < 0, 2 * np.exp(x), 1),
        ),
        (
            lambda x: F.fixed_point_quantize(x, n=3, delta=0.5),
            lambda x: np.clip(np.round(x / 0.5), -3, 3) * 0.5,
            lambda x: np.abs(x) <= 1.5,
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 15, 1073, 70001])
def test_long_arrays(f, value, slope, size):
    """Sizes for vectorized loops with remainders, and for kernels that release the interpreter lock."""
    x = np.random.RandomState(size).uniform(-4, 4, size).astype("float32")
    y, g = slopes(f, x)
    close(y, value(x))
    close(g, slope(x))


def test_products_with_zeros():
    _, *gs = slopes(F.mul_n, [0.0, 0.0, 2.0], [3.0, 0.0, 1.0], [2.0, 5.0, 4.0])
    close(gs, [[6, 0, 4], [0, 0, 8], [0, 0, 2]])


def test_broadcasting_needs_equal_ndim():
    _, ga, gb = slopes(F.mul2, [[1.0, 2.0, 3.0]], [[1.0], [10.0]])
    close(ga, [[11, 11, 11]])
    close(gb, [[6], [6]])
    for shapes in [((1, 3), (3,)), ((2, 3), (2, 2))]:
        for f in (F.add2, F.sub2, F.greater, F.huber_loss, F.maximum2):
            with pytest.raises(RuntimeError, match=f.__name__):
                f(*map(nn.Variable, shapes))


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: F.softmax(x, axis=2), "softmax: axis"),
        (lambda x: F.celu(x, axis=-3), "celu: axis"),
        (lambda x: F.prelu(x, nn.Variable((2,))), "prelu: the negative slope"),
        (lambda x: F.softmax_cross_entropy(x, nn.Variable((2, 3))), "softmax_cross_entropy.*must be 1"),
        (lambda x: F.sigmoid_cross_entropy(x, nn.Variable((2, 1))), "sigmoid_cross_entropy: dimensions"),
        (lambda x: F.where(nn.Variable((3,)), x, x), "where: the first dimensions"),
        (lambda x: F.batch_matmul(x, x), "batch_matmul: input must be >=3"),
        (lambda x: F.prune(x, rate=1.5), "prune: rate"),
        (lambda x: F.fixed_point_quantize(x, n=1), "fixed_point_quantize: n=1"),
        (lambda x: F.pow2_quantize(x, n=2), "pow2_quantize: n=2"),
        (lambda x: F.quantize_linear(x, nn.Variable((1,)), nn.Variable((1, 1))), "quantize_linear: dimensions"),
        (lambda x: F.add_n(x, nn.Variable((3, 2))), "add_n: dimensions"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(nn.Variable((2, 3)))


def test_softmax_cross_entropy_ignores_negative_labels():
    x = variable([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]])
    y = F.softmax_cross_entropy(x, nn.Variable.from_numpy_array(np.array([[2], [-7]])))
    y.forward()
    x.grad.zero()
    y.backward()
    p = np.exp(x.d[0]) / np.exp(x.d[0]).sum()
    close(y.d, [[-np.log(p[2])], [0]])
    close(x.g, [p - [0, 0, 1], [0, 0, 0]])
    assert y.parent.info.args == {"axis": 1}


def test_softmax_cross_entropy_along_the_first_axis():
    x, t = np.random.RandomState(0).randn(4, 2, 3), np.random.RandomState(1).randint(0, 4, (1, 2, 3))
    y = F.softmax_cross_entropy(variable(x), nn.Variable.from_numpy_array(t), axis=0)
    y.forward()
    close(y.d, np.log(np.exp(x).sum(0, keepdims=True)) - np.take_along_axis(x, t, 0))


def test_cross_entropies_of_certain_answers_are_finite():
    y, gx, gt = slopes(F.binary_cross_entropy, [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 1.0, 0.0])
    close(y, [0, 0, 87.33655, 87.33655])
    close(gx[:2], [0, 0])
    assert np.isfinite(gt).all()
    t = nn.Variable.from_numpy_array(np.array([[1], [0]]))
    close(slopes(lambda x: F.categorical_cross_entropy(x, t), [[1.0, 0.0], [1.0, 0.0]])[0], [[87.33655], [0]])
    logits = nn.Variable.from_numpy_array(np.array([1, 0]))
    close(slopes(lambda x: F.sigmoid_cross_entropy(x, logits), [-200.0, -200.0])[:2], [[200, 0], [-1, 0]])


def test_errors_of_classification():
    x = nn.Variable.from_numpy_array(np.array([[0.1, 0.7, 0.2], [0.5, 0.1, 0.4], [0.3, 0.3, 0.4]], "float32"))
    t = nn.Variable.from_numpy_array(np.array([[1], [2], [0]]))
    wrong, wrong_of_two, matrix = F.top_n_error(x, t), F.top_n_error(x, t, n=2), F.confusion_matrix(x, t)
    for y in (wrong, wrong_of_two, matrix):
        y.forward()
    close(wrong.d, [[0], [1], [1]])
    close(wrong_of_two.d, [[0], [0], [1]])
    assert matrix.d.tolist() == [[0, 0, 1], [0, 1, 0], [1, 0, 0]] and matrix.d.dtype == np.int32


def test_second_derivatives_pass_through_steps():
    x = variable([-1.4, 0.3, 2.6])
    for f in (F.round, F.floor, F.ceil, F.sign, lambda v: F.fixed_point_quantize(v, n=8, delta=0.5)):
        # f is a straight-through estimator: the derivative is x * x + 2 * x * f(x)
        (first,) = nn.grad([F.sum(f(x) * x * x)], [x])
        (second,) = nn.grad([F.sum(first)], [x])
        q = f(x)
        for v in (first, second, q):
            v.forward()
        close(first.d, x.d * x.d + 2 * x.d * q.d)
        close(second.d, 2 * x.d + 2 * q.d + 2 * x.d)


@pytest.mark.parametrize(
    "f",
    [
        F.mish,
        F.sinc,
        F.tanh_shrink,
        F.swish,
        F.gelu,
        F.softplus,
        lambda x: F.elu(x, 0.5),
        F.celu,
        F.log_softmax,
        lambda x: F.kl_multinomial(F.softmax(x), F.softmax(x * 2)),
        lambda x: F.binary_cross_entropy(F.sigmoid(x), x),
        lambda x: F.categorical_cross_entropy(F.softmax(x), nn.Variable.from_numpy_array(np.array([[1], [2]]))),
        lambda x: F.softmax_cross_entropy(x, nn.Variable.from_numpy_array(np.array([[1], [2]]))),
        lambda x: F.sigmoid_cross_entropy(x, nn.Variable.from_numpy_array(np.array([[1, 0, 1], [0, 0, 1]]))),
        lambda x: F.huber_loss(x, x * x),
        lambda x: F.mul_n(x, F.sin(x), x),
        lambda x: F.pow2(F.exp(x), x),
        lambda x: F.prelu(x, F.reshape(F.sin(x), (6,))[:3]),
        lambda x: F.clip_by_norm(x, 0.7, axis=1),
        lambda x: F.atan2(x, F.exp(x)),
        lambda x: F.dequantize_linear(x, F.exp(x), F.sin(x)),
    ],
)
def test_second_derivatives(f):
    """Compares the directional derivative of the gradient of sum(sin(f)) with finite differences of the gradient."""
    rng = np.random.RandomState(4)
    x, direction = variable(rng.uniform(-0.9, 0.9, (2, 3))), rng.randn(2, 3).astype("float32")
    (first,) = nn.grad([F.sum(F.sin(f(x)))], [x])
    (second,) = nn.grad([F.sum(first * nn.Variable.from_numpy_array(direction))], [x])

    def at(values):
        x.d = values
        first.forward()
        return first.d.astype("float64")

    start, probe = x.d.copy(), rng.randn(2, 3).astype("float32")
    step = 2e-3
    expected = ((at(start + step * probe) - at(start - step * probe)) / (2 * step) * direction).sum()
    x.d = start
    second.forward()
    assert (second.d * probe).sum() == pytest.approx(expected, rel=5e-3, abs=5e-3)


def test_sinc_is_smooth_at_0():
    x = variable([0.0, 1e-3])
    (first,) = nn.grad([F.sum(F.sinc(x))], [x])
    (second,) = nn.grad([F.sum(first)], [x])
    nn.forward_all([first, second])
    close(first.d, [0, -1e-3 / 3], atol=1e-9)
    close(second.d, [-1 / 3, -1 / 3])


def test_fixed_point_quantize():
    x = [-9.0, -0.8, -0.25, 0.0, 0.2, 0.25, 9.0]
    y, g = slopes(lambda v: F.fixed_point_quantize(v, n=4, delta=0.5), x)
    close(y, [-3.5, -1, -0.5, 0, 0, 0.5, 3.5])
    close(g, [0, 1, 1, 1, 1, 1, 0])
    y, g = slopes(lambda v: F.fixed_point_quantize(v, sign=False, n=2, delta=0.5, ste_fine_grained=False), x)
    close(y, [0, 0, 0, 0, 0, 0.5, 1.5])
    close(g, np.ones(7))
    v = variable(x)
    assert F.fixed_point_quantize(v, quantize=False) is v


def test_pow2_quantize():
    x = [-9.0, -0.7, -0.1, 0.0, 0.1, 1.5, 9.0]
    y, g = slopes(lambda v: F.pow2_quantize(v, n=5, m=1), x)
    close(y, [-2, -0.5, -0.125, 0, 0.125, 2, 2])
    close(g, [0, 1, 1, 1, 1, 1, 0])
    close(slopes(lambda v: F.pow2_quantize(v, n=4, m=1), x)[0], [-2, -0.5, 0, 0, 0, 2, 2])
    y, g = slopes(lambda v: F.pow2_quantize(v, sign=False, with_zero=False, n=2, m=1), x)
    close(y, [0.25, 0.25, 0.25, 0.25, 0.25, 2, 2])
    close(g, [0, 0, 0, 1, 1, 1, 0])


def test_min_max_quantize_follows_the_range():
    x, level = variable([[-1.0, 0.2, 3.0]]), lambda v: nn.Variable.from_numpy_array(np.array([[v]], "float32"))
    low, high = level(-0.5), level(0.5)
    y = F.min_max_quantize(x, low, high, level(0), level(4), decay=0.75, x_min_max=True, ema=True)
    y.forward()
    close(low.d, [[-0.625]])
    close(high.d, [[1.125]])
    y.forward()
    close(low.d, [[-0.625 * 0.75 - 0.25]])
    low, high = variable([[-0.5]]), variable([[0.5]])
    y = F.min_max_quantize(x, low, high, level(0), level(4))
    y.forward()
    for v in (x, low, high):
        v.grad.zero()
    y.backward()
    close(y.d, [[-0.5, 0.25, 0.5]])
    close(x.g, [[0, 1, 0]])
    close([low.g, high.g], [[[1]], [[1]]])


def test_quantize_linear():
    scale, zero = (nn.Variable.from_numpy_array(np.array([v], "float32")) for v in (2.0, 3.0))
    x = [-1000.0, -3.0, 1.0, 5.0, 1000.0]
    y, g = slopes(lambda v: F.quantize_linear(v, scale, zero), x)
    close(y, [-128, 1, 4, 6, 127])
    close(g, np.full(5, 0.5))
    close(slopes(lambda v: F.quantize_linear(v, scale, zero, "HALF_TO_EVEN", True, np.uint8), x)[0], [1, 1, 3, 5, 255])
    close(slopes(lambda v: F.dequantize_linear(v, scale, zero), x)[0], (np.array(x) - 3) * 2)


def test_integer_functions_keep_the_dtype():
    def run(f, dtype, *arrays):
        y = f(*(nn.Variable.from_numpy_array(np.array(a, dtype)) for a in arrays))
        y.forward()
        assert y.d.dtype == dtype
        return y.d.tolist()

    assert run(F.mod2, "int32", [7, -7, 2**30 + 1], [3, 3, -(2**30)]) == [1, 2, 1 - 2**30]
    assert run(lambda a, b: F.mod2(a, b, fmod=True), "int32", [7, -7], [-3, 3]) == [1, -1]
    assert run(F.bit_shift, "uint8", [1, 255, 3], [3, 1, 8]) == [8, 254, 0]
    assert run(lambda a, b: F.bit_shift(a, b, "RIGHT"), "uint32", [2**32 - 1], [31]) == [1]


def test_nans_and_infinities():
    x = [np.nan, np.inf, -np.inf, 1.0]
    y, g = slopes(lambda v: F.reset_nan(v, val=5), x)
    close(y, [5, np.inf, -np.inf, 1])
    close(g, [0, 1, 1, 1])
    y, g = slopes(lambda v: F.reset_inf(v, val=-1), x)
    close(y, [np.nan, -1, -1, 1])
    close(g, [1, 0, 0, 1])
    close(slopes(F.isnan, x)[0], [1, 0, 0, 0])
    close(slopes(F.isinf, x)[0], [0, 1, 1, 0])


def test_clip_by_value_takes_tensors():
    x, low, high = (variable(v) for v in ([-2.0, 0.3, 2.0], [-1.0, -1.0, -1.0], [1.0, 0.0, 1.0]))
    y = F.clip_by_value(x, low, high)
    y.forward()
    close(y.d, [-1, 0, 1])
    with pytest.raises(TypeError, match="clip_by_value: min must be"):
        F.clip_by_value(x, [0.0], 1.0)
    with pytest.raises(ValueError, match="clip_by_norm: clip_norm must be positive"):
        F.clip_by_norm(x, 0)


def test_nd_arrays_run_at_once():
    y = F.maximum2(
        nn.NdArray.from_numpy_array(np.array([1.0, 5.0], "float32")),
        nn.NdArray.from_numpy_array(np.array([2.0, 3.0], "float32")),
    )
    assert isinstance(y, nn.NdArray)
    close(y.data, [2, 5])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "f, passes",
    [
        (lambda x: F.where(variable([0.0, 0.0]), x, variable([1.0, 1.0])), False),
        (F.relu, False),
        (F.relu6, False),
        (F.hard_tanh, True),
        (lambda x: F.maximum_scalar(x, 0.0), False),
        (lambda x: F.maximum2(x, variable([0.0, 0.0])), True),
        (lambda x: F.minimum2(x, variable([-9.0, -9.0])), True),
    ],
)
def test_gradients_that_are_not_finite(f, passes, bad):
    """Most functions select the gradient or 0, which stops NaN; functions of two inputs multiply by a mask, which does
    not."""
    x = variable([-0.5, -1.0])
    y = f(x)
    y.forward()
    x.grad.zero()
    y.backward(nn.NdArray.from_numpy_array(np.array([1, bad], "f")))
    assert np.isfinite(x.g).tolist() == [True, not passes]


def test_a_gradient_of_a_sibling_output_is_zero_unless_the_pass_arrives():
    x = variable([[1.0, 1.0], [1.0, 1.0]])
    a, b = F.split(x, 0)
    a.forward()
    a.g, b.g = 1, 5
    x.grad.zero()
    a.backward()
    np.testing.assert_array_equal(x.g, [[1, 1], [0, 0]])


def test_sinc_of_what_is_not_finite():
    x = nn.Variable.from_numpy_array(np.array([np.nan, np.inf, -np.inf, 0, 3], np.float32), need_grad=True)
    y = F.sinc(x)
    y.forward()
    x.grad.zero()
    y.backward()
    np.testing.assert_allclose(y.d, [np.nan, np.nan, np.nan, 1, np.sin(3) / 3], rtol=1e-6)  # the results of nnabla 1.39
    np.testing.assert_allclose(x.g, [np.nan, np.nan, np.nan, 0, np.cos(3) / 3 - np.sin(3) / 9], rtol=1e-5)
