"""Initializers draw the same numbers as nnabla's."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.initializer as I


def state():
    return np.random.RandomState(5)


def test_random_ones_draw_from_the_generator_given():
    np.testing.assert_array_equal(I.NormalInitializer(0.5, rng=state())((2, 3)), np.float32(state().randn(2, 3) * 0.5))
    np.testing.assert_array_equal(
        I.UniformInitializer((-2, 1), rng=state())([2, 3]), np.float32(state().uniform(-2, 1, (2, 3)))
    )
    whole = I.UniformIntInitializer((3, 6), rng=state())((50,))
    np.testing.assert_array_equal(whole, state().randint(3, 6, 50))
    assert whole.dtype.kind == "i"


@pytest.mark.parametrize("count", [(1 << 16) - 1, (1 << 16) + 1, 3 << 16])
def test_many_numbers_are_those_of_one_draw(count):
    shape = (count // 2, 2) if count % 2 == 0 else (count, 1)
    drawn = state()
    normal = I.NormalInitializer(0.5, rng=drawn)(shape)
    expected = state()
    np.testing.assert_array_equal(normal, np.float32(expected.randn(*shape) * 0.5))
    np.testing.assert_array_equal(
        I.UniformInitializer((-2, 1), rng=drawn)(shape), np.float32(expected.uniform(-2, 1, shape))
    )
    assert drawn.randn() == expected.randn()  # both generators are in the same state


def test_other_parameters_and_generators_draw_once():
    many = 1 << 17
    lows = np.linspace(-1, 0, many)
    drawn = I.UniformInitializer((lows, 1), rng=state())((many,))
    np.testing.assert_array_equal(drawn, np.float32(state().uniform(lows, 1, many)))

    class Counted(np.random.RandomState):
        draws = 0

        def randn(self, *shape):
            self.draws += 1
            return super().randn(*shape)

    counted = Counted(5)
    np.testing.assert_array_equal(I.NormalInitializer(rng=counted)((many,)), np.float32(state().randn(many)))
    assert counted.draws == 1


def test_without_a_generator_the_seeded_one_is_taken():
    nn.seed(313)
    first = I.UniformInitializer()((4,))
    np.testing.assert_array_equal(first, np.float32(np.random.RandomState(313).uniform(-1, 1, 4)))
    early = I.NormalInitializer()
    nn.seed(313)
    late = I.UniformInitializer()
    assert early.rng is not late.rng
    np.testing.assert_array_equal(late((4,)), first)


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (2, 3, 2), (5,)])
def test_orthogonal(shape):
    matrix = I.OrthogonalInitializer(2.0, rng=state())(shape).reshape(shape[0], -1)
    rows, columns = matrix.shape
    product = matrix @ matrix.T if rows <= columns else matrix.T @ matrix
    np.testing.assert_allclose(product, 4 * np.eye(min(rows, columns)), atol=1e-5)
    assert matrix.dtype == np.float32


def test_constant_and_range():
    assert I.ConstantInitializer(0.1)((2,)).dtype == np.float32
    np.testing.assert_array_equal(I.ConstantInitializer(-2)(()), np.float32(-2))
    np.testing.assert_array_equal(I.RangeInitializer(1, 2)((2, 3)), [[1, 3, 5]] * 2)


def test_weight_normalization_scale():
    w = nn.Variable.from_numpy_array(state().randn(2, 3, 4).astype(np.float32))
    for dim, axes in ((0, (1, 2)), (1, (0, 2)), (-1, (0, 1))):
        scale = I.WeightNormalizationScaleInitializer(w, dim, eps=0.0)((9,))
        np.testing.assert_allclose(scale, np.sqrt((w.d**2).sum(axes)), rtol=1e-6)


def test_limits():
    assert I.calc_normal_std_he_forward(8, 5, (3, 3)) == pytest.approx(np.sqrt(2 / 72))
    assert I.calc_normal_std_he_backward(8, 5, (3, 3)) == pytest.approx(np.sqrt(2 / 45))
    assert I.calc_normal_std_glorot(8, 5) == pytest.approx(np.sqrt(2 / 13))
    assert I.calc_uniform_lim_glorot(8, 5, (2,)) == pytest.approx((-np.sqrt(6 / 26), np.sqrt(6 / 26)))


def test_names():
    assert repr(I.NormalInitializer(0.5)) == "NormalInitializer(0.5)"
    assert repr(I.UniformInitializer((-1, 2))) == "UniformInitializer((-1, 2))"
    with pytest.raises(NotImplementedError):
        I.BaseInitializer()((1,))


def test_the_generator_is_reached_through_the_module():
    """Initializers in published programs use `nnabla.initializer.random.prng`."""
    assert I.random.prng is nn.random.prng
