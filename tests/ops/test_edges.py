"""Where definitions differ between libraries: ties, kinks, limits, zeros in products, views and errors."""

import numpy as np
import pytest
import torch

from compatgrad import _C
from tests.ops.harness import gradients

FLOATS = [torch.float16, torch.float32, torch.float64]


def gradient_of(op, *arrays, dtype=torch.float64, **params):
    """Gradients of the sum of the result."""
    xs = [_C.Variable(torch.tensor(a, dtype=dtype), True) for a in arrays]
    y = _C.op(op)(*xs, **params)
    gxs = gradients([y], xs, [_C.Variable(torch.ones_like(y.tensor), False)])
    return [None if g is None else g.tensor.tolist() for g in gxs]


@pytest.mark.parametrize("op", ["maximum", "minimum"])
def test_the_first_of_two_equals_gets_the_gradient(op):
    assert gradient_of(op, [1.0, 0.0], [1.0, 0.0]) == [[1, 1], [0, 0]]
    inf = float("inf")
    assert gradient_of(op, [inf, -inf], [inf, -inf]) == [[1, 1], [0, 0]]


@pytest.mark.parametrize("op", ["max", "min"])
def test_all_ties_of_a_reduction_get_the_gradient(op):
    assert gradient_of(op, [[1.0, 1.0], [1.0, 1.0]]) == [[[1, 1], [1, 1]]]
    assert gradient_of(op, [[1.0, 1.0], [-2.0, 2.0]], axis=1)[0][0] == [1, 1]


@pytest.mark.parametrize(
    "op, params, at_kink",
    [
        ("relu", {}, [(0, 0)]),
        ("abs", {}, [(0, 0)]),
        ("leaky_relu", {"slope": 0.25}, [(0, 0.25)]),
        ("leaky_relu", {"slope": -0.25}, [(0, -0.25)]),
        ("elu", {"alpha": 0.5}, [(0, 0.5)]),
        ("elu", {"alpha": -0.5}, [(0, -0.5)]),
        ("clipped_relu", {"z": 3.0}, [(0, 0), (3, 0)]),
        ("hard_sigmoid", {}, [(-2.5, 0), (2.5, 0)]),
        ("clip", {"min": -0.5, "max": 2.0}, [(-0.5, 1), (2, 1)]),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradient_on_a_kink(op, params, at_kink, dtype):
    points, expected = zip(*at_kink, strict=True)
    assert gradient_of(op, list(points), dtype=dtype, **params) == [list(expected)]


@pytest.mark.parametrize(
    "rule, finite",
    [
        ("product", [True, True, False, False, True]),
        ("choice", [True, True, False, True, True]),
        ("slope", [True, True, False, False, False]),
    ],
)
@pytest.mark.parametrize("record", [False, True])
def test_rules_of_relu_where_numbers_are_not_finite(rule, finite, record):
    """A gradient of NaN that is passed, an infinite one that is not, and NaN as input."""
    x = _C.Variable(torch.tensor([1.0, -1.0, 2.0, -2.0, float("nan")]), True)
    gy = _C.Variable(torch.tensor([1.0, 1.0, float("nan"), float("inf"), 1.0]), False)
    (gx,) = gradients([_C.op("relu")(x, rule=rule)], [x], [gy], record=record)
    assert np.isfinite(gx.tensor.numpy()).tolist() == finite
    assert gx.tensor.tolist()[:2] == [1, 0]


def test_relu_names_an_unknown_rule():
    x = _C.Variable(torch.ones(2), True)
    with pytest.raises(ValueError, match="rule must be product, choice or slope, not other"):
        gradients([_C.op("relu")(x, rule="other")], [x], [_C.Variable(torch.ones(2), False)])


def test_prelu_passes_the_gradient_at_0():
    assert gradient_of("prelu", [[0.0, -1.0]], [0.25, 0.25]) == [[[1, 0.25]], [0, -1]]


NAN = float("nan")


@pytest.mark.parametrize(
    "op, params, gradient",
    [
        ("abs", {}, 0),
        ("abs_or_nan", {}, NAN),
        ("elu", {}, NAN),
        ("elu", {"nan": False, "scale": 1.5}, 1.5),
        ("elu", {"alpha": -0.5}, NAN),
        ("elu", {"alpha": -0.5, "nan": False}, 1),
        ("clip", {"min": -0.5, "max": 2.0}, 0),
        ("clip", {"min": -0.5, "max": 2.0, "product": False}, 0),
        ("clipped_relu", {"z": 3.0}, 0),
        ("hard_sigmoid", {}, 0),
    ],
)
@pytest.mark.parametrize("dtype", FLOATS)
def test_the_gradient_of_nan_is_the_same_at_every_place(op, params, gradient, dtype):
    """Some functions of torch treat NaN in another way where they compute several elements at a time. The last
    elements of an array are computed one by one, and so are those of an array that is not contiguous.
    """
    x = _C.Variable(torch.full((101, 2), NAN, dtype=dtype), True)
    halves = x.tensor[:, 0].detach()
    for given in (x, _C.Variable(halves, True)):
        gy = _C.Variable(torch.ones_like(given.tensor), False)
        (gx,) = gradients([_C.op(op)(given, **params)], [given], [gy])
        expected = np.full(gx.tensor.shape, gradient, "float32")
        np.testing.assert_array_equal(gx.tensor.float().numpy(), expected)


@pytest.mark.parametrize("record", [False, True])
@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_elu_overwrite_nothing_that_is_read_later(dtype, record):
    x = _C.Variable(torch.tensor([1.0, -1.0, NAN, 0.0], dtype=dtype), True)
    gy = _C.Variable(torch.tensor([2.0, 3.0, 4.0, 5.0], dtype=dtype), False)
    y = _C.op("elu")(x)
    for _ in range(2):
        (gx,) = gradients([y], [x], [gy], record=record)
        np.testing.assert_allclose(gx.tensor.numpy(), [2, 3 * np.exp(-1), NAN, 5], rtol=2e-3)
    assert gy.tensor.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("dtype", FLOATS)
def test_gradients_of_nan_in_ops_of_two_inputs(dtype):
    def of(*args, **params):
        return np.array(gradient_of(*args, dtype=dtype, **params), "float32")

    assert np.isnan(of("absolute_error", [NAN, 1.0], [0.0, 1.0])).tolist() == [[True, False]] * 2
    assert np.isnan(of("mean_absolute_error", [NAN, 1.0], [0.0, 1.0])).tolist() == [[True, False]] * 2
    assert of("huber_error", [NAN, 0.5], [0.0, 0.0]).tolist() == [[-2, 1], [2, -1]]
    x = [[NAN, NAN], [-1.0, 2.0]]
    for nan, expected in ((True, [NAN, NAN]), (False, [-1, 0])):
        gx, gw = gradient_of("prelu", x, [0.25, 0.5], dtype=dtype, nan=nan)
        assert gx == [[0.25, 0.5], [0.25, 1]]
        np.testing.assert_array_equal(gw, expected)


@pytest.mark.parametrize("nan", [False, True])
def test_deformable_columns_at_nan(nan):
    """Samples at NaN are 0 or NaN; with NaN the first pixel of that axis gets NaN as its gradient."""
    offset = np.zeros((1, 2, 1, 3))
    offset[0, 1, 0, 2] = NAN
    x = [[[[1.0, 2.0, 3.0]]]]
    params = {"ksize": [1, 1], "nan": nan}
    y = _C.op("deform_columns")(torch.tensor(x), torch.tensor(offset).float(), **params)
    np.testing.assert_array_equal(y.tensor.ravel().numpy(), [1, 2, NAN if nan else 0])
    gx, _ = gradient_of("deform_columns", x, offset.tolist(), **params)
    np.testing.assert_array_equal(np.ravel(gx), [NAN if nan else 1, 1, 0])


@pytest.mark.parametrize("dtype", [*FLOATS, torch.bfloat16])
@pytest.mark.parametrize("low, high", [(-0.1, 0.3), (1e-3, 7.77), (0.0, 1.0)])
def test_clip_counts_its_limits_as_inside(dtype, low, high):
    """Limits are rounded to the dtype of x before they are compared."""
    lower, upper = torch.tensor(low, dtype=dtype), torch.tensor(high, dtype=dtype)
    inf = torch.tensor(float("inf"), dtype=dtype)
    x = [
        torch.nextafter(lower, -inf),
        lower,
        torch.nextafter(lower, inf),
        torch.nextafter(upper, -inf),
        upper,
        torch.nextafter(upper, inf),
    ]
    assert gradient_of("clip", [float(v) for v in x], dtype=dtype, min=low, max=high) == [[0, 1, 1, 1, 1, 0]]


@pytest.mark.parametrize("x", [[2.0, 0.0, 3.0, 4.0], [0.0, 2.0, 0.0, 3.0], [0.0], [2.0, 3.0, 0.0]])
@pytest.mark.parametrize("op", ["prod", "cumprod"])
def test_zeros_in_products(op, x):
    """Of order 1 and 2, against torch."""
    v = _C.Variable(torch.tensor(x, dtype=torch.float64), True)
    one = _C.Variable(torch.ones((), dtype=torch.float64), False)
    y = _C.op("sum")(_C.op(op)(v))
    first = gradients([y], [v], [one], record=True)[0]
    second = gradients([_C.op("sum")(_C.op("square")(first))], [v], [one])[0]

    t = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    y = (t.prod() if op == "prod" else t.cumprod(0)).sum()
    expected = torch.autograd.grad(y, t, create_graph=True)[0]
    torch.testing.assert_close(first.tensor, expected.detach())
    if len(x) == 1:
        assert second is None or not second.tensor.any()
    else:
        torch.testing.assert_close(second.tensor, torch.autograd.grad(expected.square().sum(), t)[0])


def test_repeated_indices_accumulate():
    x = _C.Variable(torch.zeros(3, dtype=torch.float64), True)
    y = _C.op("get_item")(x, index=np.array([0, 2, 0, 0]))
    gy = _C.Variable(torch.tensor([1.0, 2.0, 4.0, 8.0], dtype=torch.float64), False)
    assert gradients([y], [x], [gy])[0].tensor.tolist() == [13, 0, 2]


@pytest.mark.parametrize(
    "op, params",
    [
        ("get_item", {"index": (slice(1, None), ..., 0, None)}),
        ("get_item", {"index": ()}),
        ("reshape", {"shape": (4, 3)}),
        ("transpose", {}),
        ("expand_dims", {"axis": 0}),
        ("squeeze", {}),
        ("broadcast_to", {"shape": (2, 3, 4)}),
        ("diagonal", {}),
        ("identity", {}),
    ],
)
def test_results_that_share_memory(op, params):
    x = _C.Variable(torch.zeros(3, 4), True)
    y = _C.op(op)(x, **params)
    x.tensor.fill_(7.0)
    assert (y.tensor == 7.0).all()


@pytest.mark.parametrize(
    "op, params",
    [
        ("copy", {}),
        ("get_item", {"index": np.array([0, 1])}),
        ("get_item", {"index": slice(None, None, -1)}),
        ("sum", {"axis": ()}),
    ],
)
def test_results_that_are_copies(op, params):
    x = _C.Variable(torch.zeros(3, 4), True)
    y = _C.op(op)(x, **params)
    x.tensor.fill_(7.0)
    assert (y.tensor == 0.0).all()


@pytest.mark.parametrize(
    "index",
    [5, -4, (0, 9), (0, 0, 0), np.array([0, 7]), (..., ...), np.array([True, False, True, True]), np.array([0.5])],
    ids=str,
)
def test_impossible_indices(index):
    with pytest.raises(IndexError):
        _C.op("get_item")(_C.Variable(torch.zeros(3, 4)), index=index)


def test_squeeze_refuses_a_long_axis():
    with pytest.raises(ValueError, match="axis 1"):
        _C.op("squeeze")(_C.Variable(torch.zeros(1, 3)), axis=1)


def test_zeta_has_no_derivative_by_its_order():
    s, q = (_C.Variable(torch.tensor([2.0]), True) for _ in range(2))
    y = _C.op("zeta")(s, q)
    with pytest.raises(NotImplementedError, match="zeta"):
        gradients([y], [s], [_C.Variable(torch.ones(1), False)])


@pytest.mark.parametrize(
    "op, f",
    [
        ("add_scalar", lambda x, s: x + s),
        ("mul_scalar", lambda x, s: x * s),
        ("rsub_scalar", lambda x, s: s - x),
        ("rdiv_scalar", lambda x, s: torch.div(s, x)),
    ],
)
@pytest.mark.parametrize("dtype", [*FLOATS, torch.bfloat16, torch.int64])
@pytest.mark.parametrize("shape", [(), (3,)])
def test_numbers_act_as_in_torch(op, f, dtype, shape):
    """Also where more of them are used than are kept, and where they differ in their sign or type only."""
    x = torch.full(shape, 3, dtype=dtype)
    numbers = [0.0, -0.0, float("inf"), float("nan"), 1, 2**15, 1e-300, *np.linspace(-3, 3, 500).tolist()]
    for s in numbers + numbers[:8]:
        y = _C.op(op)(_C.Variable(x, False), value=s).tensor
        expected = f(x, s)
        assert y.dtype == expected.dtype
        torch.testing.assert_close(y, expected, rtol=0, atol=0, equal_nan=True)
        assert torch.equal(torch.signbit(y), torch.signbit(expected))


def test_numbers_made_in_inference_mode_serve_outside():
    x = torch.ones(3)
    with torch.inference_mode():
        _C.op("mul_scalar")(_C.Variable(x, False), value=0.123456)
    y = _C.op("mul_scalar")(_C.Variable(x, True), value=0.123456)
    assert y.tensor.tolist() == (x * 0.123456).tolist()
    assert not y.tensor.is_inference()


def test_a_tracer_sees_numbers():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda t: _C.op("mul_scalar")(_C.Variable(t, False), value=0.5).tensor)(torch.ones(3))
    assert "0.5" in graph.code


@pytest.mark.parametrize("shape", [(0, 3), (2, 0)])
def test_the_second_derivative_of_an_empty_mean_is_zero(shape):
    """As in torch."""
    x = _C.Variable(torch.zeros(shape), True)
    gy = _C.Variable(torch.ones(()), True)
    (gx,) = gradients([_C.op("mean")(x)], [x], [gy], record=True)
    assert gx.tensor.shape == shape
    (ggy,) = gradients([gx], [gy], [_C.Variable(torch.ones(shape), False)])
    assert ggy.tensor.item() == 0
