"""Array functions give the results of nnabla 1.39.0 (tests/golden/nnabla_arrays.py), including random numbers."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from tests.golden import nnabla_arrays
from tests.golden.nnabla_arrays import CASES, GOLDEN, A

EVERY_CASE = pytest.mark.parametrize("k", range(len(CASES)), ids=lambda k: f"{k}-{CASES[k][0]}")


def variable(a, need_grad=True):
    x = nn.Variable.from_numpy_array(np.asarray(a))
    x.need_grad = need_grad
    return x


@pytest.fixture(scope="module")
def golden():
    with np.load(GOLDEN) as file:
        return dict(file)


@EVERY_CASE
def test_like_nnabla(k, golden):
    ys, grads = nnabla_arrays.run(nn, F, *CASES[k])
    assert len(ys) == sum(key.startswith(f"{k}_y") for key in golden)
    for j, y in enumerate(ys):
        expected = golden[f"{k}_y{j}"]
        assert y.dtype.kind == expected.dtype.kind.replace("u", "i")
        np.testing.assert_allclose(y, expected, rtol=2e-5, atol=2e-5)
    for i, g in enumerate(grads):
        if g is not None:
            np.testing.assert_allclose(g, golden[f"{k}_g{i}"], rtol=1e-4, atol=1e-4)


COMPOSITES = [
    ("norm", A(3, 4), dict(p=3.0, axis=0)),
    ("norm", A(3, 4), dict(axis=1)),
    ("cumprod", A(3, 4), dict(axis=1, exclusive=True, reverse=True)),
    ("cumprod", A(3, 4), dict(axis=0)),
    ("prod", A(2, 3), {}),
    ("batch_inv", A(2, 2, 2), {}),
    ("batch_det", A(2, 3, 3), {}),
    ("sort", A(3, 4), dict(reverse=True)),
    ("max", A(3, 4), dict(axis=0)),
    ("tile", A(2, 3), dict(reps=(2, 2))),
    ("pad", A(2, 3), dict(pad_width=(1, 2), mode="reflect")),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name, a, args", COMPOSITES, ids=lambda v: v if isinstance(v, str) else "")
def test_first_and_second_derivative(name, a, args, dynamic):
    """Compares nn.grad of the function, and of the square of its gradient, with finite differences."""
    a = a + np.sign(a)  # keeps the values away from 0
    direction = np.random.default_rng(2).standard_normal(a.shape).astype("float32")

    def slopes(x):
        y = getattr(F, name)(x, **args)
        (g,) = nn.grad([F.sum(y**3)], [x])
        (gg,) = nn.grad([F.sum(g**2)], [x])
        return [F.sum(y**3), F.sum(g**2)], [g, gg]

    with nn.auto_forward(dynamic):
        values, gradients = slopes(variable(a))
        if not dynamic:
            nn.forward_all(values + gradients)
        step = 1e-3
        with nn.auto_forward():
            high, low = (slopes(variable(a + s * step * direction))[0] for s in (1, -1))
        for h, m, g, v in zip(high, low, gradients, values, strict=True):
            expected = float((np.float64(h.d) - np.float64(m.d)) / (2 * step))
            scale = 1 + abs(expected) + abs(float(v.d))
            assert float((g.d * direction).sum()) == pytest.approx(expected, abs=5e-3 * scale)


RANDOM = [
    ("dropout", dict(p=0.5)),
    ("random_flip", dict(base_axis=0)),
    ("random_crop", dict(shape=(4, 3))),
    ("random_shift", dict(shifts=(0, 2), border_mode="constant")),
    ("random_erase", dict(replacements=(0, 0))),
    ("random_choice", dict(shape=(3,))),
    ("image_augmentation", dict(angle=0.3)),
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name, args", RANDOM, ids=lambda v: v if isinstance(v, str) else "")
def test_derivatives_see_the_numbers_that_were_drawn(name, args, dynamic):
    """Checks with Euler's theorem: the sum of cubes of a linear function is homogeneous of degree 3, the squared
    gradient of degree 4."""
    x = variable(A(2, 2, 4, 5))
    with nn.auto_forward(dynamic):
        more = [F.constant(1, x.shape)] if name == "random_choice" else []
        z = F.sum(getattr(F, name)(x, *more, **args) ** 3)
        (g,) = nn.grad([z], [x])
        w = F.sum(g**2)
        (h,) = nn.grad([w], [x])
        if not dynamic:
            nn.forward_all([z, g, w, h])
    assert float((g.d * x.d).sum()) == pytest.approx(3 * float(z.d), rel=1e-3)
    assert float((h.d * x.d).sum()) == pytest.approx(4 * float(w.d), rel=1e-3)


def test_sort_gives_each_element_its_own_gradient():
    """The original applies the inverse permutation to the gradient, which is wrong."""
    x = variable(np.array([3, 1, 2, 0], "float32"))
    y = F.sort(x)
    y.forward()
    x.g = 0
    y.backward(np.array([10, 11, 12, 13], "float32"))
    assert x.g.tolist() == [13, 11, 12, 10]


def test_slices_are_pythons():
    a = A(5, 4)
    parts = [None, -7, -3, 0, 2, 4, 9]
    with nn.auto_forward():
        x = variable(a)
        for start in parts:
            for stop in parts:
                for step in (None, 1, 2, -1, -3):
                    y = F.slice(x, start=(start, 1), stop=(stop, 3), step=(step, 1))
                    if step is None or step > 0 or (stop != -7 and start != 9):
                        np.testing.assert_array_equal(y.d, a[start:stop:step, 1:3])


def test_a_function_with_a_seed_goes_on_drawing():
    nn.seed(5)
    shared = [F.rand(shape=(3,)), F.dropout(F.constant(1, (40,)), 0.5)]
    own = F.rand(shape=(3,), seed=7)
    first, second = [], []
    for values in (first, second):
        nn.seed(5)
        for y in shared:
            y.forward()
            values.append(y.d.copy())
    np.testing.assert_equal(first, second)
    own.forward()
    before = own.d.copy()
    own.forward()
    assert (before != own.d).all()
    again = F.rand(shape=(3,), seed=7)
    again.forward()
    np.testing.assert_array_equal(before, again.d)


def test_seeds_apart():
    from compatgrad.nnabla import random

    nn.seed(11)
    with nn.auto_forward():
        first, p = F.randn(shape=(2,)).d.copy(), random.prng.rand()
        random.set_function_seed(11)
        np.testing.assert_array_equal(first, F.randn(shape=(2,)).d)
        assert random.pseed == 11 and random.prng.rand() != p
        random.set_parameter_seed(11)
        assert random.prng.rand() == p
    with pytest.raises(AssertionError):
        nn.seed(1.5)


def test_dropout_keeps_its_mask_for_backward():
    x = variable(np.ones((30, 30), "float32"))
    y = F.dropout(x, 0.25)
    for _ in range(2):
        y.forward()
        x.g = 0
        y.backward(2)
        np.testing.assert_allclose(x.g, 2 * y.d)
    assert 0.65 < (y.d != 0).mean() < 0.85


def test_shapes_that_depend_on_data():
    x = variable(np.array([[0, 2], [3, 0]], "float32"), False)
    assert F.nonzero(x).shape == (2, 2)
    y = F.bool_gather(variable(A(2, 2)), x)
    assert y.shape == (2,)
    with pytest.raises(RuntimeError, match="auto_forward"):
        F.unique(x)


def test_writing_in_place():
    out = variable(np.zeros((2, 3), "float32"))
    y = F.scatter_nd(variable(np.array([5, 6], "float32")), [[0, 1], [2, 0]], out=out)
    y.forward()
    np.testing.assert_array_equal(out.d, [[0, 0, 5], [6, 0, 0]])
    to, source = variable(np.zeros((2, 2), "float32")), variable(A(2, 2))
    y = F.assign(to, source)
    assert not to.d.any()
    y.forward()
    np.testing.assert_array_equal(to.d, source.d)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda x: F.reshape(x, (5, 2)), "reshape.*12.*10"),
        (lambda x: F.reshape(x, (-1, -1)), "negative"),
        (lambda x: F.transpose(x, (0, 0)), "duplicated"),
        (lambda x: F.transpose(x, (1,)), "transpose: axes"),
        (lambda x: F.concatenate(x, x, axis=5), "concatenate.*5"),
        (lambda x: F.concatenate(x, F.reshape(x, (4, 3))), "match"),
        (lambda x: F.stack(x, F.reshape(x, (4, 3))), "stack.*differ"),
        (lambda x: F.sum(x, axis=2), "sum.*2"),
        (lambda x: F.pad(x, (1,)), "even"),
        (lambda x: F.pad(x, (1, 1), mode="wrap"), "wrap"),
        (lambda x: F.pad(x, (-1, 1)), "negative"),
        (lambda x: F.broadcast(x, (3, 3)), r"\(3, 4\).*\(3, 3\)"),
        (lambda x: F.slice(x, step=(0, 1)), "zero"),
        (lambda x: F.dropout(x, 1.0), "dropout"),
        (lambda x: F.norm(x, p=0.5), "0.5"),
        (lambda x: F.top_k_data(x, 9), "k is 9"),
        (lambda x: F.tile(x, (0, 1)), "less than 1"),
        (lambda x: F.one_hot(x, (4,)), "one_hot"),
        (lambda x: F.batch_det(x), "square"),
        (lambda x: F.einsum(x, equation="ij,jk->ik"), "one term for each input"),
        (lambda x: F.einsum(x, equation="i->i"), "does not fit"),
        (lambda x: F.random_crop(x, (5, 5)), "smaller"),
        (lambda x: F.random_shift(x, (1,), border_mode="wrap"), "wrap"),
        (lambda x: F.gather(x, variable(np.array([7]), False)).forward(), "7"),
    ],
)
def test_errors_name_what_is_wrong(call, words):
    with pytest.raises(RuntimeError, match=words):
        call(variable(A(3, 4)))


def test_python_errors():
    x = variable(A(3, 4))
    with pytest.raises(AssertionError):
        F.concatenate()
    with pytest.raises(TypeError):
        F.linspace(0, 1, 2.5)
    with pytest.raises(ValueError, match="-1"):
        F.linspace(0, 1, -1)
    with pytest.raises(TypeError, match="scatter_nd: one of"):
        F.scatter_nd(x, [[0]])
    with pytest.raises(ValueError, match="max"), pytest.warns(DeprecationWarning):
        F.reduce(x, "max")


def test_arguments_are_recorded():
    x = variable(A(3, 4))
    assert F.sum(x, axis=1, keepdims=True).parent.info.args == {"axes": [1], "keep_dims": True}
    assert F.flip(x).parent.info.args == {"axes": [1]}
    assert F.random_crop(x).parent.info.args == {"shape": [3, 4], "base_axis": 1, "seed": -1}
    assert F.concatenate(x, x).parent.info.args == {"axis": 1}
    assert F.max(x).parent.info.type_name == "Max"


@pytest.mark.parametrize(
    "shapes",
    [
        ((), (2, 3)),
        ((2, 3), ()),
        ((4,), (4,)),
        ((2, 4), (4,)),
        ((2, 4), (4, 3)),
        ((4,), (4, 3)),
        ((2, 3, 4), (5, 4, 2)),
    ],
)
def test_dot(shapes):
    a, b = (A(*s) for s in shapes)
    with nn.auto_forward():
        np.testing.assert_allclose(F.dot(variable(a), variable(b)).d, np.dot(a, b), rtol=1e-5, atol=1e-6)
        array = nn.NdArray.from_numpy_array
        np.testing.assert_allclose(F.dot(array(a), array(b)).data, np.dot(a, b), rtol=1e-5, atol=1e-6)
    out = np.zeros(np.dot(a, b).shape, "float32")
    with pytest.raises(ValueError, match="out"):
        F.dot(variable(a), variable(b), out)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: F.shift(x, (1,)),
        lambda x: F.shift(x, (2,), "reflect"),
        lambda x: F.pad(x, (1, 2)),
        lambda x: F.pad(x, (1, 1), "reflect"),
        lambda x: F.pad(x, (0, 2), "repeat"),
        lambda x: F.scatter_add(x, variable(np.zeros(x.shape, int), False), x, axis=-1),
    ],
    ids=["shift", "shift-reflect", "pad", "pad-reflect", "pad-repeat", "scatter_add"],
)
@pytest.mark.parametrize("shapes", [((3, 4), (2, 3, 4)), ((2, 3, 4), (3, 4))], ids=["more", "fewer"])
def test_an_input_may_get_another_number_of_axes(f, shapes):
    """Arguments that refer to the last axes refer to the new last axes."""
    x, expected = variable(A(*shapes[0])), variable(A(*shapes[1]))
    y, z = f(x), f(expected)
    for v in y.parent.inputs:  # including the inputs with indices
        v.reset_shape(shapes[1], True)
        v.d = 0
    x.d = expected.d
    y.forward()
    z.forward()
    np.testing.assert_array_equal(y.d, z.d)
    x.grad.zero()
    expected.grad.zero()
    y.backward(2.0)
    z.backward(2.0)
    np.testing.assert_array_equal(x.g, expected.g)


@pytest.mark.parametrize(
    ("draw", "rule"),
    [
        (lambda: F.rand(1, 1, (2,)), "rand: high must be larger than low, but low is 1 and high is 1"),
        (lambda: F.randint(5, 1, (2,)), "randint: high must be larger than low"),
        (lambda: F.rand_binomial(0, 0.5, (2,)), "rand_binomial: n must be positive and p between 0 and 1"),
        (lambda: F.rand_binomial(3, 1.0, (2,)), "rand_binomial: n must be positive and p between 0 and 1"),
        (lambda: F.rand_beta(-1, 1, (2,)), "rand_beta: alpha and beta must be positive"),
        (lambda: F.rand_gamma(1, 0, (2,)), "rand_gamma: k and theta must be positive"),
    ],
)
def test_distributions_refuse_parameters_with_which_sampling_would_not_end(draw, rule):
    with pytest.raises(RuntimeError, match=rule):
        draw()


def test_shifts_and_diagonals_that_do_not_fit_are_errors_that_name_the_function():
    with pytest.raises(RuntimeError, match=r"shift: 3 shifts were given for x of shape \(2, 3\)"):
        F.shift(variable(A(2, 3)), (1, 1, 1))
    with pytest.raises(RuntimeError, match="matrix_diag: x must have at least one axis"):
        F.matrix_diag(variable(A()))


def test_more_widths_than_a_reshaped_input_has_axes_are_an_error():
    x = variable(A(2, 3))
    y = F.shift(x, (1, 1))
    x.reset_shape((6,), True)
    with pytest.raises(RuntimeError, match="axes"):
        y.forward()


def test_words_of_the_generator_across_its_blocks():
    """Blocks of 624 words are made at once; draws of any length continue where the last one ended."""
    words = np.random.RandomState(5).randint(0, 2**32, 6000, np.uint32)  # NumPy's mt19937 with the same seed
    nn.seed(5)
    drawn = [F.rand(0, 1, (n,)) for n in (3, 700, 1, 1247)]
    for y in drawn:
        y.forward()
    expected = np.minimum(words[:1951].astype(np.float32) * np.float32(2**-32), np.float32(1 - 2**-24))
    assert np.array_equal(np.concatenate([y.d for y in drawn]), expected)
    kept = F.dropout(nn.NdArray.from_numpy_array(np.ones(2000, np.float32)), 0.25, seed=5).data != 0
    pairs = words[:4000].astype(np.float64)
    assert np.array_equal(kept, pairs[::2] + pairs[1::2] * 2**32 < 0.75 * 2.0**64)
