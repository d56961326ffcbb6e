"""NaN and infinity propagate exactly where they do in the original; also runs on the original."""

import importlib

import numpy as np
import pytest

from tests.chainer.subject import F, chainer, f32, var

L = importlib.import_module(f"{chainer.__name__}.links")

X = [[-2, -0.5, 0.5, 2], [3, -3, 0.1, -0.1]]
TAKEN = np.array([[True, False, True, False]] * 2)
ZEROS = np.zeros((2, 4), "f")
EVERYWHERE, SECOND = [1, 1, 1, 1, 1, 1, 1, 1], [1, 0, 1, 0, 1, 0, 1, 0]


def finite(f, x, gy):
    """The mask of the finite elements of x's gradient."""
    x = var(x)
    y = f(x)
    y.grad = np.broadcast_to(f32(gy), y.shape).copy()
    y.backward()
    return np.isfinite(x.grad).astype(int).ravel().tolist()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize(
    "f, expected",
    [
        # a selection does not propagate the gradient of the selected branch to the other one
        (lambda x: F.where(TAKEN, x, ZEROS), EVERYWHERE),
        (lambda x: F.where(TAKEN, ZEROS, x), SECOND),
        (lambda x: F.maximum(x, ZEROS), [1, 1, 1, 0, 1, 1, 1, 1]),
        # a multiplication by a mask does: NaN * 0 is NaN
        (lambda x: F.minimum(x, ZEROS), SECOND),
        (F.relu, SECOND),
        (lambda x: F.clip(x, -1.0, 1.0), SECOND),
        (lambda x: F.clipped_relu(x, 1.0), SECOND),
        (F.relu6, SECOND),
        (F.hard_sigmoid, SECOND),
        (lambda x: F.leaky_relu(x, 0.5), SECOND),
        (lambda x: F.absolute(x), SECOND),
    ],
)
def test_gradients_that_are_not_finite(f, expected, bad):
    assert finite(f, X, [1, bad, 1, bad]) == expected


def test_second_derivatives_of_where_keep_branches_apart():
    x, y = var([1.0, 0.0]), var([0.0, 2.0])
    z = F.where(np.array([True, False]), x * x, y * y * y)
    gx, gy = chainer.grad([F.sum(z)], [x, y], enable_double_backprop=True)
    np.testing.assert_array_equal(gx.array, [2, 0])
    np.testing.assert_array_equal(gy.array, [0, 12])
    ggx, ggy = chainer.grad([gx, gy], [x, y], grad_outputs=[var([1, np.nan]), var([np.nan, 1])])
    assert ggx.array[0] == 2 and ggy.array[1] == 12


def test_a_huber_loss_of_infinity_has_a_bounded_gradient():
    x = var([np.inf, -np.inf, 1, 0.5])
    y = F.huber_loss(x, f32([0, 0, 0, 0]), 1.0, "no")
    y.grad = f32([1, 1, 1, 1])
    y.backward()
    np.testing.assert_array_equal(x.grad, [1, -1, 1, 0.5])


class Attention(chainer.Chain):
    """A masked attention layer as in published programs: masked scores are -inf, and rows without keys are set to 0
    afterwards."""

    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.embed = L.EmbedID(5, 6)
            self.query, self.key, self.value = (L.Linear(6, 6, nobias=True) for _ in range(3))
            self.out = L.Linear(6, 5)
        for k, (_, p) in enumerate(sorted(self.namedparams())):
            p.array[...] = np.sin(np.arange(p.size) * 0.7 + k).reshape(p.shape) * 0.4

    def forward(self, tokens):
        n, length = tokens.shape
        h = self.embed(tokens)
        rows = F.reshape(h, (n * length, 6))
        q, k, v = (F.reshape(f(rows), (n, length, 6)) for f in (self.query, self.key, self.value))
        seen = (tokens >= 0)[:, None, :] & np.tril(np.ones((length, length), bool)) & (tokens >= 0)[:, :, None]
        scores = F.matmul(q, k, transb=True) * (6**-0.5)
        weights = F.softmax(F.where(seen, scores, np.full(scores.shape, -np.inf, "f")), axis=2)
        weights = F.where(np.isnan(weights.array), np.zeros(weights.shape, "f"), weights)
        return self.out(F.reshape(h + F.matmul(weights, v), (n * length, 6)))


def test_masked_attention_trains():
    tokens = np.array([[0, 1, 2, 3], [4, 3, -1, -1], [2, 2, 1, -1]], "i")
    following = np.array([[1, 2, 3, 4], [3, 0, -1, -1], [2, 1, 0, -1]], "i").ravel()
    model = Attention()
    model.embed.ignore_label = -1
    optimizer = chainer.optimizers.SGD(0.5).setup(model)
    losses = []
    for _ in range(20):
        loss = F.softmax_cross_entropy(model(tokens), following)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        losses.append(float(loss.array))
    recorded = [1.586218, 1.377248, 1.145655, 0.917675, 0.765824]  # with Chainer 7.8.1
    np.testing.assert_allclose(losses[::5] + losses[-1:], recorded, rtol=1e-5)


@pytest.mark.parametrize(("dtype", "scale"), [("f", 1e14), ("f", 1e17), ("d", 1e110), ("d", 1e150)])
def test_batch_normalization_of_large_numbers(dtype, scale):
    """The gradient with respect to `scale * x` is the one with respect to x, divided by scale."""
    random = np.random.RandomState(0)
    values, weights, ones = random.randn(4, 6).astype(dtype), random.randn(4, 6).astype(dtype), np.ones(6, dtype)
    gradients = []
    for s in (1, scale):
        x = chainer.Variable((values * s).astype(dtype))
        F.sum(F.batch_normalization(x, ones, ones * 0, eps=1e-12) * weights).backward()
        gradients.append(x.grad * x.dtype.type(s))
    rtol, atol = (1e-3, 1e-4) if dtype == "f" else (1e-9, 1e-10)
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=rtol, atol=atol)
