"""Losses: values and gradients of the original (tests/golden/mxnet_losses.py), second derivatives, bad input."""

import numpy as np
import pytest

import compatgrad.mxnet as mx
import compatgrad.mxnet.gluon as gluon
from compatgrad.mxnet import MXNetError, autograd, nd
from tests.golden import mxnet_losses as golden
from tests.mxnet.operator_checks import A, check_gradients

NUMBERS = np.load(golden.GOLDEN)


def compare(part, name, found, rtol=1e-4, atol=5e-6):
    prefix = f"{part}/{name}/"
    expected = {key[len(prefix) :]: NUMBERS[key] for key in NUMBERS.files if key.startswith(prefix)}
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        assert found[key].shape == value.shape and found[key].dtype == value.dtype, key
        np.testing.assert_allclose(found[key], value, rtol=rtol, atol=atol, err_msg=key)


@pytest.mark.parametrize("name", golden.LOSSES)
def test_values_and_gradients_are_the_originals(name):
    compare("loss", name, golden.loss(mx, name))


POSITIVE = A(3, 4, low=0.1, high=0.9, seed=1)
SIGNS = np.where(A(3, 4, seed=5) > 0, 1.0, -1.0)
LABELS = np.array([0, 3, 1], dtype="float32")


@pytest.mark.parametrize(
    ("loss", "arrays"),
    [
        (gluon.loss.L2Loss(), (A(3, 4), A(3, 4, seed=2))),
        (gluon.loss.L1Loss(), (A(3, 4), A(3, 4, seed=2))),
        (gluon.loss.SigmoidBCELoss(), (A(3, 4), POSITIVE, A(3, 1, seed=3), POSITIVE)),
        (gluon.loss.SigmoidBCELoss(from_sigmoid=True), (A(3, 4, low=0.1, high=0.8), POSITIVE)),
        (gluon.loss.SoftmaxCELoss(sparse_label=False), (A(3, 4), POSITIVE)),
        (gluon.loss.KLDivLoss(from_logits=False), (A(3, 4), POSITIVE)),
        (gluon.loss.HuberLoss(rho=0.4), (A(3, 4), A(3, 4, seed=2))),
        (gluon.loss.TripletLoss(), (A(3, 4), A(3, 4, seed=2), A(3, 4, seed=3))),
        (gluon.loss.PoissonNLLLoss(compute_full=True), (A(3, 4), A(3, 4, low=1.5, high=4, seed=2))),
        (gluon.loss.SDMLLoss(), (A(3, 4), A(3, 4, seed=2))),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, gluon.loss.Loss) else "",
)
def test_second_derivatives(loss, arrays):
    check_gradients(lambda *xs: loss(*xs), *arrays)


@pytest.mark.parametrize("loss", [gluon.loss.HingeLoss(), gluon.loss.SquaredHingeLoss(), gluon.loss.LogisticLoss()])
def test_second_derivatives_by_predictions(loss):
    check_gradients(lambda x: loss(x, nd.array(SIGNS, dtype="float64")), A(3, 4))


@pytest.mark.parametrize("axis", [1, -1, 0])
def test_second_derivative_of_cross_entropy(axis):
    loss = gluon.loss.SoftmaxCELoss(axis=axis)
    labels = LABELS if axis else np.array([0, 2, 1, 1], dtype="int32")
    check_gradients(lambda x: loss(x, nd.array(labels, dtype=labels.dtype)), A(3, 4, low=-2, high=2))


def test_second_derivative_of_cosine_and_ctc():
    cosine, ctc = gluon.loss.CosineEmbeddingLoss(margin=-2.0), gluon.loss.CTCLoss()
    signs = nd.array([1, -1, 1], dtype="float64")
    check_gradients(lambda a, b: cosine(a, b, signs), A(3, 4), A(3, 4, seed=2), tol=1e-4)
    labels = nd.array([[1, 0], [0, -1]], dtype="float64")
    check_gradients(lambda x: ctc(x, labels), A(2, 4, 4), tol=1e-4)


def test_sample_weights_are_differentiable():
    x, t, w = nd.array(A(3, 4)), nd.array(LABELS), nd.ones((3, 1))
    w.attach_grad()
    with autograd.record():
        y = gluon.loss.SoftmaxCELoss()(x, t, w)
    y.backward()
    np.testing.assert_allclose(w.grad.asnumpy()[:, 0], y.asnumpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "float64"])
def test_labels_of_any_dtype(dtype):
    x = nd.array(A(3, 4))
    loss = gluon.loss.SoftmaxCELoss()
    expected = loss(x, nd.array(LABELS)).asnumpy()
    np.testing.assert_array_equal(loss(x, nd.array(LABELS, dtype=dtype)).asnumpy(), expected)


def test_half_precision():
    x = nd.array(A(3, 4), dtype="float16")
    y = gluon.loss.SoftmaxCELoss()(x, nd.array(LABELS))
    assert y.dtype == np.float16
    np.testing.assert_allclose(y.asnumpy(), gluon.loss.SoftmaxCELoss()(x.astype("float32"), nd.array(LABELS)).asnumpy(),
                               rtol=2e-3)  # fmt: skip


def test_poisson_with_stirlings_approximation():
    pred, target = nd.array([[0.5, 1.0, 2.0]]), nd.array([[0.0, 1.0, 3.0]])
    stirling = 3 * np.log(3) - 3 + 0.5 * np.log(2 * np.pi * 3)
    expected = (np.exp([0.5, 1, 2]) - np.array([0, 1, 6]) + [0, 0, stirling]).mean()
    loss = gluon.loss.PoissonNLLLoss(compute_full=True)(pred, target)
    np.testing.assert_allclose(loss.asscalar(), expected, rtol=1e-6)


def test_a_loss_of_ones_own():
    class Weighted(gluon.loss.Loss):
        def __init__(self, weight=None, batch_axis=0, **kwargs):
            super().__init__(weight, batch_axis, **kwargs)
            with self.name_scope():
                self.scale = self.params.get("scale", shape=(1,), init=mx.init.Constant(3.0))

        def hybrid_forward(self, F, pred, label, scale, sample_weight=None):
            loss = F.broadcast_mul(F.square(gluon.loss._reshape_like(F, label, pred) - pred), scale)
            loss = gluon.loss._apply_weighting(F, loss, self._weight, sample_weight)
            return F.mean(loss, axis=self._batch_axis, exclude=True)

    loss = Weighted(weight=2.0)
    loss.initialize()
    loss.hybridize()
    assert str(loss) == "Weighted(batch_axis=0, w=2.0)"
    np.testing.assert_allclose(loss(nd.ones((2, 3)), nd.zeros((6,))).asnumpy(), [6, 6])


def test_bad_input():
    loss = gluon.loss
    with pytest.raises(MXNetError, match=r"labels of shape \[2\] do not fit x of shape \[3, 4\]"):
        loss.SoftmaxCELoss()(nd.zeros((3, 4)), nd.zeros((2,)))
    with pytest.raises(MXNetError):
        loss.L2Loss()(nd.zeros((3, 4)), nd.zeros((5,)))
    with pytest.raises(AssertionError, match="weight must be a number"):
        loss.L1Loss(weight="2")(nd.zeros((3, 4)), nd.zeros((3, 4)))
    with pytest.raises(ValueError, match="label_format"):
        loss.LogisticLoss(label_format="other")
    with pytest.raises(AssertionError, match="layout"):
        loss.CTCLoss(layout="NCT")
    with pytest.raises(AssertionError, match="SDMLLoss"):
        loss.SDMLLoss()(nd.zeros((3, 4)), nd.zeros((2, 4)))


def test_symbols():
    data, label = mx.sym.var("data"), mx.sym.var("label")
    x, y, t = nd.array(A(3, 4)), nd.array(POSITIVE), nd.array(LABELS)
    for loss, target in (
        (gluon.loss.SoftmaxCELoss(weight=2.0), t),
        (gluon.loss.L2Loss(), y),
        (gluon.loss.SigmoidBCELoss(), y),
        (gluon.loss.HuberLoss(0.3), y),
        (gluon.loss.KLDivLoss(from_logits=False), y),
    ):
        (found,) = loss(data, label).eval(data=x, label=target)
        np.testing.assert_allclose(found.asnumpy(), loss(x, target).asnumpy(), rtol=1e-5)


def test_numpy_arrays():
    x, t = mx.np.array(A(3, 4), dtype="float32"), mx.np.array(LABELS)
    x.attach_grad()
    with autograd.record():
        y = gluon.loss.SoftmaxCELoss()(x, t)
    y.backward()
    assert type(y) is type(x) and y.shape == (3,) and x.grad.shape == (3, 4)
    np.testing.assert_allclose(gluon.loss.L1Loss()(x, x + 1).asnumpy(), np.ones(3), rtol=1e-6)


def test_a_sparsity_penalty_follows_the_running_mean():
    """Numbers of MXNet 1.9.1: the backward pass updates the mean, and reads the updated one."""
    y = mx.sym.IdentityAttachKLSparseReg(
        mx.sym.var("data"), name="kl", sparseness_target=0.2, penalty=0.5, momentum=0.7
    )
    assert y.list_arguments() == ["data"] and y.list_auxiliary_states() == ["kl_moving_avg"]
    assert y.attr_dict()["kl_moving_avg"]["__init__"] == '["zero", {}]'
    executor = y.simple_bind(mx.cpu(), data=(3, 2))
    executor.aux_dict["kl_moving_avg"][:] = 0.3
    rng = np.random.RandomState(0)
    x, g = rng.uniform(0.1, 0.9, (3, 2)), rng.rand(3, 2)
    for mean, slope in (
        ([0.36601853, 0.39247736], [0.357723, 0.403620]),
        ([0.4122315, 0.4572115], [0.437958, 0.518218]),
    ):
        np.testing.assert_allclose(executor.forward(is_train=True, data=mx.nd.array(x))[0].asnumpy(), x, rtol=1e-6)
        executor.backward(mx.nd.array(g))
        np.testing.assert_allclose(executor.aux_dict["kl_moving_avg"].asnumpy(), mean, rtol=1e-6)
        np.testing.assert_allclose(executor.grad_dict["data"].asnumpy() - g, [slope] * 3, atol=1e-6)
    executor.forward(is_train=False)
    np.testing.assert_allclose(executor.aux_dict["kl_moving_avg"].asnumpy(), mean, rtol=1e-6)


def test_a_sparsity_penalty_refuses_what_does_not_fit():
    x, mean = mx.nd.ones((2, 3)), mx.nd.ones(3)
    for name in ("sparseness_target", "momentum"):
        with pytest.raises(mx.MXNetError, match=f"{name}: expected a number from 0 to 1, got 1.5"):
            mx.nd.IdentityAttachKLSparseReg(x, mean, **{name: 1.5})
    with pytest.raises(mx.MXNetError, match=r"moving_avg must have the shape \(3,\), got \(2,\)"):
        mx.nd.IdentityAttachKLSparseReg(x, mx.nd.ones(2))
    pictures = mx.nd.ones((2, 3, 4))
    pictures.attach_grad()
    with mx.autograd.record():
        y = mx.nd.IdentityAttachKLSparseReg(pictures, mean)
    with pytest.raises(mx.MXNetError, match=r"data.* must have the shape \(3,\), got \(12,\)"):
        y.backward()
