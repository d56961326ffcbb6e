"""Error messages for invalid arguments begin with Chainer's text, and add the actual value."""

import numpy as np
import pytest

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
from compatgrad.chainer import datasets, distributions, optimizers
from compatgrad.chainer.dataset import tabular
from compatgrad.chainer.training import extensions, triggers

X = np.arange(12, dtype=np.float32).reshape(3, 4)
T = np.array([0, 1, 1])
SIX = np.zeros((2, 2, 4, 4), np.float32)


def debug(call):
    with chainer.using_config("debug", True):
        call()


def hook(link):
    link.add_hook(5)


def einsum(*operands):
    F.einsum(*operands)


def update(**options):
    rule = optimizers.SGD().create_update_rule()
    rule.add_hook(len, **options)


@pytest.mark.parametrize("call, words", [
    (lambda: F.crelu(X, axis="1"), "axis must be an integer value, not str"),
    (lambda: F.maxout(X, 0), "pool_size must be a positive integer. Actual: 0"),
    (lambda: F.rrelu(X, l=2.0), "lower must be in the range [0, 1). Actual: 2.0"),
    (lambda: F.rrelu(X, u=2.0), "upper must be in the range [0, 1). Actual: 2.0"),
    (lambda: F.rrelu(X, l=0.5, u=0.2), "lower must be less than upper. Actual: 0.5 and 0.2"),
    (lambda: F.concat([X, X], axis="1"), "axis must be int, not str"),
    (lambda: F.flip(X, "1"), "axis must be int, not str"),
    (lambda: F.rollaxis(X, "1"), "axis must be int, not str"),
    (lambda: F.rollaxis(X, 1, "1"), "start must be int, not str"),
    (lambda: F.repeat(X, "1"), "repeats must be int or tuple of ints. Actual: '1'"),
    (lambda: F.repeat(X, -1), "all elements in repeats must be zero or larger. Actual: (-1,)"),
    (lambda: F.repeat(X, 1, "1"), "axis must be int or None, not str"),
    (lambda: F.split_axis(X, np.ones(1), 0), "indices_or_sections must be integers, not float64"),
    (lambda: F.split_axis(X, np.ones((1, 1), "i"), 0), "must be 1-D sequence. Actual shape: (1, 1)"),
    (lambda: debug(lambda: F.split_axis(X, [2, 1], 0)), "indices_or_sections must be sorted. Actual: [2, 1]"),
    (lambda: F.squeeze(X, "1"), "axis must be None, int or tuple of ints. Actual: '1'"),
    (lambda: F.tile(X, -1), "All elements in reps must be zero or larger. Actual: (-1,)"),
    (lambda: F.moveaxis(X, (0.5,), (1,)), "source: int or tuple of int are required. Actual: "),
    (lambda: F.moveaxis(X, (0, 1), 1), "Length of source and destination are different. Actual: 2 and 1"),
    (lambda: F.permutate(X, X), "indices should be a one-dimensional int array. Actual: float32 of shape (3, 4)"),
    (lambda: debug(lambda: F.get_item(X, (..., ...))), "Only one Ellipsis is allowed. Actual: (Ellipsis, Ellipsis)"),
    (lambda: debug(lambda: F.select_item(X, T + 9)), "<= t < x.shape[1]`. Actual: 9 to 10, 4 classes"),
    (lambda: F.scatter_add(X, 0, X), "broadcasting of variables. Actual shapes: (4,) of the slices, (3, 4) of b"),
    (lambda: F.linear(X, X, n_batch_axes=0), "n_batch_axes should be greater than 0. Actual: 0"),
    (lambda: F.shift(SIX, (2, 3)), "kh must be odd. Actual: 2"),
    (lambda: F.shift(SIX, (3, 2)), "kw must be odd. Actual: 2"),
    (lambda: debug(lambda: F.embed_id(T + 9, X)), "`0 <= x < len(W)`. Actual: 9 to 10, 3 rows"),
    (lambda: F.deformable_convolution_2d_sampler(SIX, np.zeros((2, 3, 4, 4), "f"), np.zeros((2, 2, 3, 3), "f")),
     "does not match the kernel size: 3 channels, expected 18"),
    (lambda: F.contrastive(X, X, T, margin=-1), "margin should be positive value. Actual: -1"),
    (lambda: F.triplet(X, X, X, margin=-1), "margin should be positive value. Actual: -1"),
    (lambda: F.connectionist_temporal_classification(5, T, 0), "x must be a list of Variables, not int"),
    (lambda: F.connectionist_temporal_classification([X], T, "0"), "must be non-negative integer. Actual: '0'"),
    (lambda: F.discriminative_margin_based_clustering_loss(SIX, SIX, 0, 0, 0), "positive! Actual max_embedding_dim: 0"),
    (lambda: F.hinge(X, T, norm="L3"), "norm should be either 'L1' or 'L2'. Actual: 'L3'"),
    (lambda: F.softmax_cross_entropy(X, T, class_weight=X), "class_weight.ndim should be 1. Actual shape: (3, 4)"),
    (lambda: F.softmax_cross_entropy(X, T, class_weight=T), "The dtype of class_weight should be 'f'. Actual: int64"),
    (lambda: F.softmax_cross_entropy(X, T, soft_target_loss="x"), "'kl-divergence'. Actual: 'x'"),
    (lambda: F.average(X, axis=(0, 0), weights=X), "duplicate value in 'axis'. Actual: (0, 0)"),
    (lambda: F.average(X, axis=(0, 1), weights=X), "not supported when weights is given. Actual: (0, 1)"),
    (lambda: F.clip(X, 2.0, 1.0), "x_min must be less than x_max. Actual: 2.0 and 1.0"),
    (lambda: F.cumsum(X, "0"), "axis must be int or None, not str"),
    (lambda: F.argmax(X, "0"), "axis: None or int are required, not str"),
    (lambda: F.sum(X, "0"), "axis: None, int or tuple of int are required. Actual: '0'"),
    (lambda: F.tensordot(X, X, (0,)), "when it is a list or tuple. Actual: (0,)"),
    (lambda: F.tensordot(X, X, 1.5), "or an integer, not float"),
    (lambda: F.tensordot(X, X, ((0, 1), (0,))), "axes count mismatch: (0, 1) of a, (0,) of b"),
    (lambda: F.tensordot(X, X, 1), "shape mismatch: a (3, 4) over axes (1,), b (3, 4) over axes (0,)"),
    (lambda: einsum("i->j->i", X), "only contain one '->'. Actual: 'i->j->i'"),
    (lambda: einsum("ij,jk", X), "equal to the number of operands. Actual: 2 and 1"),
    (lambda: F.dropout(X, 1.0), "dropout_ratio must be in the range [0, 1). Actual: 1.0"),
    (lambda: F.batch_normalization(X, X[0], X[0], axis=(1, 0)), "sorted in ascending order. Actual: (1, 0)"),
    (lambda: F.batch_normalization(X, X[0], X[0], running_mean=X[0]), "running_var must be given too"),
    (
        lambda: F.batch_normalization(X, X[0], X[0], running_mean=X[0, :1].copy(), running_var=X[0].copy()),
        "running_mean must have the shape of gamma",
    ),
    (lambda: F.group_normalization(X, 2.0, X[0], X[0]), "'groups' type must be (int). Actual: float"),
    (lambda: F.r2_score(X, X, multioutput="x"), "invalid multioutput argument: 'x'. Expected 'uniform_average'"),
    (lambda: F.reshape(X, (-1, -1)), "at most one entry may be -1. Actual: (-1, -1)"),
    (lambda: F.as_strided(X, (2,), (1,), -3), "The view would begin 3 elements before the array"),
    (lambda: optimizers.SGD().setup(5), "optimization target must be a link. Actual: int"),
    (lambda: optimizers.SGD().setup(L.Linear(1, 1)).add_hook(5), "hook function must be callable. Actual: int"),
    (lambda: update(name="x", timing="later"), "timing must be one of ('pre', 'post', 'auto'). Actual: 'later'"),
    (lambda: hook(L.Linear(1, 1)), "Hook must be of type LinkHook. Actual: int"),
    (lambda: chainer.Chain().add_link("a", 5), "cannot register a non-link object as a child: a is a int"),
    (lambda: triggers.MinValueTrigger("x", trigger=(1, "day")), "either 'epoch' or 'iteration'. Actual: 'day'"),
    (lambda: datasets.SubDataset(X, 0, 9), "subset overruns the base dataset. Actual: 0 to 9 of 3"),
    (lambda: datasets.SubDataset(X, 0, 2)[5], "dataset index out of range: 5 of 2"),
    (lambda: datasets.split_dataset(X, -1), "split_at must be non-negative. Actual: -1"),
    (lambda: datasets.split_dataset(X, 9), "split_at exceeds the dataset size. Actual: 9 of 3"),
    (lambda: tabular.from_data((("a", [1, 2]), ("b", [1, 2]))).join(tabular.from_data(("c", [1]))), "Actual: [2, 1]"),
    (lambda: tabular.from_data(("a", [1, 2])).join(tabular.from_data(("a", [1, 2]))), "Actual: ('a', 'a')"),
    (lambda: tabular.from_data(("a", [1, 2])).concat(tabular.from_data(("b", [1, 2]))), "Actual: [('a',), ('b',)]"),
    (lambda: tabular.from_data(("a", [1, 2])).slice[[True]], "from the length of dataset: 1 != 2"),
    (lambda: extensions.ExponentialShift("lr", -1), "does not support negative rate. Actual: -1"),
    (lambda: extensions.InverseShift("lr", -1, 1), "does not support negative gamma. Actual: -1"),
    (lambda: chainer.Sequential().copyparams(L.Linear(1, 1)), "to a Sequential object. Actual: Linear"),
    (lambda: chainer.computational_graph.build_computational_graph([X]), "or FunctionNode. Actual: ndarray"),
    (lambda: L.Bilinear(1, 1, 1, initial_bias=5), "initial_bias must be tuple or None. Actual: int"),
    (lambda: chainer.kl_divergence(
        distributions.Independent(distributions.Normal(X, X + 1), 1),
        distributions.Independent(distributions.Normal(X[:, :2], X[:, :2] + 1), 1)), "Actual: (4,) and (2,)"),
])  # fmt: skip
def test_words(call, words):
    with pytest.raises(Exception) as caught:
        call()
    assert words in str(caught.value)


class Returns(chainer.FunctionNode):
    def __init__(self, gradient):
        super().__init__()
        self.gradient = gradient

    def forward(self, inputs):
        return (inputs[0] * 2,)

    def backward(self, indexes, grad_outputs):
        return (chainer.Variable(self.gradient),)


def test_debug_mode_compares_with_an_existing_gradient():
    """During backward, a leaf's gradient is not stored in the leaf, where the debug check would read it."""
    x = chainer.Variable(np.float32([1]))
    (y,) = Returns(np.int64([2])).apply((x,))
    x.grad, y.grad = np.float32([1]), np.float32([1])
    with chainer.using_config("debug", True), pytest.raises(ValueError, match="dtype of gradients .* is incorrect"):
        y.backward()
    np.testing.assert_array_equal(x.grad, [1])


@pytest.mark.parametrize("double", [False, True])
def test_debug_mode_adds_up_as_other_passes_do(double):
    def gradients():
        x = chainer.Variable(np.float32([3, 4]))
        x.grad = np.float32([100, 200])
        h = F.exp(x)
        (y,) = Returns(np.float32([5, 6])).apply((h,))
        (z,) = Returns(np.float32([7, 8])).apply((x,))
        F.sum(y + z + h * x).backward(enable_double_backprop=double)
        return x.grad

    plain = gradients()
    with chainer.using_config("debug", True):
        np.testing.assert_array_equal(gradients(), plain)
