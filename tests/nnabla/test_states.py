"""Inputs that functions update: running means, singular vectors, ranges."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.solvers import Sgd


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


X = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2


def normalization(x):
    return PF.batch_normalization(x, axes=[1]), {"bn/mean": [4.05, 5.05, 6.25], "bn/var": [134.1, 194.1, 266.1]}


def fused(x):
    return PF.fused_batch_normalization(x, axes=[1]), normalization(x)[1]


def subtraction(x):
    return PF.mean_subtraction(x), {"mean_subtraction/mean": [16.25, 21.25, 27.25], "mean_subtraction/t": [2]}


def quantized(x):
    return PF.min_max_quantize(x), {"min_max_quantize/qr_max": [1.01]}


def binary(x):
    return PF.binary_connect_affine(x, 2), {"bicon_affine/Wb": [1, 1, 1]}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.float16])
@pytest.mark.parametrize("make", [normalization, fused, subtraction, quantized, binary])
def test_states_assigned_after_the_graph_was_built_are_updated(make, dtype):
    # the expected results are those of nnabla 1.39; programs often assign NumPy's default, float64
    y, expected = make(nn.Variable.from_numpy_array(X))
    parameters = nn.get_parameters(grad_only=False)
    for name, p in parameters.items():
        p.d = np.full(p.shape, 2 if "var" in name else 1, dtype)
    y.forward()
    for name, value in expected.items():
        assert parameters[name].d.dtype == np.float32
        np.testing.assert_allclose(parameters[name].d.ravel()[: len(value)], value, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_assign_writes_into_an_array_of_another_type(dtype):
    to = nn.Variable((4, 3))
    y = F.assign(to, nn.Variable.from_numpy_array(X))
    to.d = np.zeros((4, 3), dtype)
    y.forward()
    np.testing.assert_array_equal(to.d, X)


def test_a_singular_vector_of_several_uses_is_that_of_the_first_after_backward():
    # as in nnabla 1.39, forward and backward together make one step of u, however often w is normalized: GANs apply a
    # discriminator to real and to generated images
    rng = np.random.RandomState(0)
    w0, u0 = rng.normal(size=(4, 6)).astype("f"), rng.normal(size=4).astype("f")
    first = [0.9262172, -0.05617945, 0.36853385, 0.05611031]
    second = [0.90814, 0.07811315, 0.38926998, 0.13284963]
    third = [0.8996288, 0.10234746, 0.38832888, 0.17144594]
    for uses, after in [(1, first), (2, second), (3, third)]:
        w, u = nn.Variable.from_numpy_array(w0).apply(need_grad=True), nn.Variable.from_numpy_array(u0)
        y = sum(F.sum(F.spectral_norm(w, u)) * (i + 1.0) for i in range(uses))
        w.grad.zero()
        y.forward()
        np.testing.assert_allclose(u.d, after, rtol=1e-5)
        y.backward(clear_buffer=True)
        np.testing.assert_allclose(u.d, first, rtol=1e-5)
    np.testing.assert_allclose(w.g.ravel()[:4], [0.0278955, 1.1877756, 0.75801855, -0.29703638], rtol=1e-4)
    y.forward()
    y.backward()
    np.testing.assert_allclose(u.d, second, rtol=1e-5)


def test_a_singular_vector_stays_where_nothing_trains_or_tests():
    rng = np.random.RandomState(0)
    w0, u0 = rng.normal(size=(4, 6)).astype("f"), rng.normal(size=4).astype("f")
    w, u = nn.Variable.from_numpy_array(w0).apply(need_grad=True), nn.Variable.from_numpy_array(u0)
    y = F.sum(F.spectral_norm(w, u, test=True))
    y.forward()
    y.backward()
    np.testing.assert_array_equal(u.d, u0)
    x = nn.Variable.from_numpy_array(w0).apply(need_grad=True)
    y = F.sum(F.spectral_norm(w.get_unlinked_variable(need_grad=False), u) * x)
    y.forward()
    u.d = 9
    y.backward()
    np.testing.assert_array_equal(u.d, [9, 9, 9, 9])


@pytest.mark.parametrize("layer", ["svd_affine", "svd_convolution", "cpd3_convolution"])
def test_a_factor_that_is_frozen_after_the_graph_was_made_stays(layer):
    """As in nnabla 1.39: these graphs hold the parameters themselves; those of other layers hold unlinked Variables."""
    x = nn.Variable((2, 3, 5, 5))
    x.d = np.random.RandomState(0).randn(2, 3, 5, 5)
    loss = F.mean(getattr(PF, layer)(x, 4, *[(3, 3)] * ("convolution" in layer), 2) ** 2)
    frozen, *rest = nn.get_parameters().values()
    solver = Sgd(0.1)
    solver.set_parameters(nn.get_parameters())
    frozen.need_grad = False
    before = [p.d.copy() for p in (frozen, *rest)]
    loss.forward()
    solver.zero_grad()
    loss.backward()
    solver.update()
    assert [bool((p.d != b).any()) for p, b in zip((frozen, *rest), before, strict=True)][:2] == [False, True]
