"""Initializers, which draw from NumPy's global random state."""

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer

I = chainer.initializers  # noqa: E741
SHAPE = (3, 4, 2)
FAN_IN, FAN_OUT = 8, 6


def make(initializer, shape=SHAPE, dtype=None):
    np.random.seed(0)
    return I.generate_array(initializer, shape, np, dtype)


def normal(scale, shape=SHAPE):
    np.random.seed(0)
    return np.random.normal(0.0, scale, shape)


def uniform(scale, shape=SHAPE):
    np.random.seed(0)
    return np.random.uniform(-scale, scale, shape)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    "name, draw, scale",
    [
        ("Normal", normal, 0.05),
        ("LeCunNormal", normal, (1 / FAN_IN) ** 0.5),
        ("GlorotNormal", normal, (2 / (FAN_IN + FAN_OUT)) ** 0.5),
        ("HeNormal", normal, (2 / FAN_IN) ** 0.5),
        ("Uniform", uniform, 0.05),
        ("LeCunUniform", uniform, (3 / FAN_IN) ** 0.5),
        ("GlorotUniform", uniform, (6 / (FAN_IN + FAN_OUT)) ** 0.5),
        ("HeUniform", uniform, (6 / FAN_IN) ** 0.5),
    ],
)
def test_a_seed_determines_the_values(name, draw, scale, dtype):
    kind = getattr(I, name)
    expected = draw(scale).astype(dtype)
    np.testing.assert_array_equal(make(kind(dtype=dtype)), expected)
    np.testing.assert_array_equal(make(kind(), dtype=dtype), expected)
    assert make(kind(), dtype=dtype).dtype == dtype
    np.testing.assert_array_equal(make(kind(rng=np.random.RandomState(0))), draw(scale).astype("f"))
    given = 3.0 * (scale if name in ("Normal", "Uniform") else 1)
    np.testing.assert_array_equal(make(kind(given)), draw(scale * 3.0).astype("f"))
    with pytest.raises(TypeError, match="unheard_of"):
        kind(unheard_of=1)
    with pytest.raises(AssertionError):
        kind(dtype="int8")(np.empty(SHAPE, "f"))


@pytest.mark.parametrize("count", [(1 << 16) + 2, 3 << 16])
@pytest.mark.parametrize(("name", "draw"), [("Normal", "normal"), ("Uniform", "uniform")])
def test_many_numbers_are_those_of_one_draw(name, draw, count):
    array = make(getattr(chainer.initializers, name)(0.1), (count // 3, 3))
    after = np.random.rand()
    np.random.seed(0)
    ends = (0, 0.1) if draw == "normal" else (-0.1, 0.1)
    np.testing.assert_array_equal(array, getattr(np.random, draw)(*ends, (count // 3, 3)).astype("f"))
    assert after == np.random.rand()


def test_fan_option():
    np.testing.assert_array_equal(make(I.HeNormal(fan_option="fan_out")), normal((2 / FAN_OUT) ** 0.5).astype("f"))
    with pytest.raises(ValueError, match="fan_option"):
        make(I.HeNormal(fan_option="fan"))
    with pytest.raises(ValueError, match="length >= 2"):
        make(I.LeCunNormal(), (3,))


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3, 2, 4), (6, 2, 2), (5, 5)])
def test_orthogonal(shape):
    w = make(I.Orthogonal(scale=2.0), shape, "d").reshape(shape[0], -1)
    product = w @ w.T if w.shape[0] <= w.shape[1] else w.T @ w
    np.testing.assert_allclose(product, 4.0 * np.eye(len(product)), atol=1e-12)
    a = normal(1.0, w.shape)
    wide = w.shape[0] < w.shape[1]
    r = a @ w.T if wide else w.T @ a  # triangular, with a positive diagonal
    triangle = np.tril(r) if wide else np.triu(r)
    np.testing.assert_allclose(r, triangle, atol=1e-12)
    assert (np.diag(r) > 0).all()


@pytest.mark.parametrize(
    "mode, taken, refused",
    [("projection", (3, 4), (4, 3)), ("embedding", (4, 3), (3, 4)), ("basis", (3, 3), (3, 4))],
)
def test_orthogonal_modes(mode, taken, refused):
    assert make(I.Orthogonal(mode=mode), taken).shape == taken
    with pytest.raises(ValueError, match=mode):
        make(I.Orthogonal(mode=mode), refused)
    with pytest.raises(ValueError, match="Invalid mode"):
        I.Orthogonal(mode="unheard of")
    with pytest.raises(ValueError, match="non-empty"):
        make(I.Orthogonal(), (0, 3))


def test_constants():
    np.testing.assert_array_equal(make(I.Identity(2.0), (2, 2)), [[2, 0], [0, 2]])
    np.testing.assert_array_equal(make(I.Constant([[1], [2]][0][0]), (2,)), [1, 1])
    np.testing.assert_array_equal(make(I.Constant(np.arange(2)), (3, 2)), [[0, 1]] * 3)
    assert (make(I.Zero()) == 0).all() and (make(I.One()) == 1).all() and np.isnan(make(I.NaN())).all()
    with pytest.raises(ValueError, match="square|squared"):
        make(I.Identity(), (2, 3))
    with pytest.raises(ValueError, match="fill_value"):
        I.Constant([1])


def test_sampling_filters():
    line = np.array([0.25, 0.75, 0.75, 0.25])
    plane = np.multiply.outer(line, line)
    up = make(I.UpsamplingDeconvFilter(), (2, 2, 4, 4))
    np.testing.assert_array_equal(up[0, 0], plane)
    np.testing.assert_array_equal(up[1, 1], plane)
    assert not up[0, 1].any() and not up[1, 0].any()
    down = make(I.DownsamplingConvFilter(), (2, 1, 4, 4))
    np.testing.assert_array_equal(down, np.broadcast_to(plane / plane.sum(), (2, 1, 4, 4)))
    with pytest.raises(ValueError, match="ksize"):
        make(I.UpsamplingDeconvFilter(), (2, 2, 4, 3))
    with pytest.raises(ValueError, match="nearest"):
        I.UpsamplingDeconvFilter("nearest")


def test_generate_array():
    with chainer.using_config("dtype", "float64"):
        assert make(I.Zero()).dtype == "float64"
    with chainer.using_config("dtype", chainer.mixed16):
        assert make(I.Zero()).dtype == "float16"
    with pytest.raises(ValueError, match="dtype"):
        make(I.Zero("f"), dtype="d")
    with pytest.raises(ValueError, match="device"):
        I.generate_array(I.Zero(), (2,), None, device="@numpy")
    assert I.generate_array(lambda x: x.fill(3), 2, np).tolist() == [3, 3]


def test_accepted_forms_of_initializers():
    assert isinstance(I._get_initializer(None), I.LeCunNormal)
    assert I._get_initializer(2).fill_value == 2
    assert I._get_initializer(len) is len
    for value in (None, 2, np.zeros(2), len, I.Zero()):
        I._check_is_initializer_like(value)
    for f in (I._get_initializer, I._check_is_initializer_like):
        with pytest.raises(TypeError, match="list"):
            f([1])


@pytest.mark.skipif(ORIGINAL, reason="the original's message contains one dtype only")
def test_assertion_names_both_dtypes():
    with pytest.raises(AssertionError, match="float32 != d"):
        I.Zero("d")(np.empty(2, "f"))
