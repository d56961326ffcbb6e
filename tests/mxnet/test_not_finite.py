"""Where NaN goes in results and gradients, as in MXNet."""

import numpy as onp
import pytest

from compatgrad.mxnet import autograd, gluon, nd, np

NAN = float("nan")


def run(f, x, kind=nd, gy=None):
    """The result of f(x) and the gradient of its sum, or its gradient from `gy`."""
    x = kind.array(onp.array(x, "float32"))
    x.attach_grad()
    with autograd.record():
        y = f(x)
    y.backward(None if gy is None else kind.array(onp.array(gy, "float32")))
    return y.asnumpy(), x.grad.asnumpy()


@pytest.mark.parametrize("kind", [nd, np])
def test_limits_that_are_numbers_keep_nan(kind):
    """An element that is equal to the number gets the gradient."""
    for f in (lambda x: kind.maximum(x, 0), lambda x: kind.maximum(0, x)):
        y, g = run(f, [0, NAN, 1, -1], kind)
        onp.testing.assert_array_equal(y, [0, NAN, 1, 0])
        assert g.tolist() == [1, 0, 1, 0]
    y, g = run(lambda x: kind.minimum(x, 0), [0, NAN, 1, -1], kind)
    onp.testing.assert_array_equal(y, [0, NAN, 0, -1])
    assert g.tolist() == [1, 0, 0, 1]
    whole = kind.array(onp.array([1, 3]), dtype="int32")
    assert kind.maximum(whole, 2).asnumpy().tolist() == [2, 3]


@pytest.mark.parametrize("f", [np.diag, np.diagflat])
def test_a_diagonal_touches_no_other_element(f):
    y, _ = run(f, [1, NAN], np)
    onp.testing.assert_array_equal(y, [[1, 0], [0, NAN]])
    assert run(f, [1, 2], np, [[1, NAN], [NAN, 2]])[1].tolist() == [1, 2]
    assert run(lambda x: f(x, -1), [1, 2], np)[0].tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0]]


@pytest.mark.parametrize("hybrid", [False, True])
def test_losses_with_a_margin_show_nan(hybrid):
    hinge, triplet = gluon.loss.HingeLoss(), gluon.loss.TripletLoss()
    if hybrid:
        hinge.hybridize()
        triplet.hybridize()
    _, g = run(lambda x: hinge(x, nd.ones((1, 2))), [[2, NAN]])
    assert onp.isnan(g).tolist() == [[False, True]]
    _, g = run(lambda x: triplet(x, nd.array([[1, 0]]), nd.array([[0, 1]])), [[1, NAN]])
    assert onp.isnan(g).all()


def test_images_sampled_at_nan_are_nan():
    image = [[[[1, 2], [3, 4]]]]
    grid = onp.zeros((1, 2, 1, 2), "float32")
    grid[0, 0, 0, 1] = NAN
    y, g = run(lambda x: nd.BilinearSampler(nd.array(image), x), grid)
    onp.testing.assert_array_equal(y, [[[[2.5, NAN]]]])
    assert onp.isnan(g).tolist() == [[[[False, False]], [[False, True]]]]
    _, g = run(lambda x: nd.BilinearSampler(x, nd.array(grid)), image)
    assert g.tolist() == [[[[0.25, 0.25], [0.25, 0.25]]]]


def test_gradients_of_triangles_are_zero_beside_them():
    for f in (lambda a: nd.linalg.trsm(a, nd.array([[1, NAN], [2, 3]])), nd.linalg.potri):
        _, g = run(f, [[1, 0], [2, 3]], gy=[[1, NAN], [1, 1]])
        assert onp.isnan(g).tolist() == [[True, False], [True, True]]
