"""Losses against their definitions in NumPy; also runs on the original (with `-c /dev/null`)."""

import functools
import importlib
import itertools

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, Log, chainer

gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")
InvalidType = chainer.utils.type_check.InvalidType


def rand(*shape, low=-2.0):
    return np.random.RandomState(sum(shape)).uniform(low, 2, shape)


def ints(*values):
    return np.array(values, np.int32)


A, B, C = rand(4, 3), rand(4, 3)[::-1] * 0.7, rand(3, 4).T * 0.5
W = rand(5, 3)
T = ints(0, 2, 1, 2)
BITS = ints(1, 0, -1, 1, 1, 0, 0, 1, -1, 0, 1, 0).reshape(4, 3)
SIGNS = ints(1, 0, 0, 1)
WEIGHT = np.array([0.5, 2, 1])
SAMPLES = ints(1, 4, 3, 3, 0, 2, 4, 1).reshape(4, 2)
SEQUENCES = rand(4, 3), rand(3, 3), rand(1, 3)
STEPS = [rand(2, 4), rand(2, 4) ** 2 - 1, rand(4, 2).T, rand(2, 4) * 0.3]
REST = {"mean": np.mean, "sum": np.sum, "no": lambda a: a}


# ---- definitions -------------------------------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_softmax(x):
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def sigmoid_cross_entropy(x, t, normalize=True, reduce="mean"):
    loss = -np.where(t == 1, np.log(sigmoid(x)), np.log(1 - sigmoid(x))) * (t != -1)
    return loss if reduce == "no" else loss.sum() / ((t != -1).sum() if normalize else len(x))


def softmax_cross_entropy(x, t, class_weight=None, ignore_label=-1, normalize=True, reduce="mean"):
    t = np.where(t == ignore_label, -1, t)
    weight = np.ones(x.shape[1]) if class_weight is None else class_weight
    loss = np.array([0 if k < 0 else -row[k] * weight[k] for row, k in zip(log_softmax(x), t, strict=True)])
    return loss if reduce == "no" else loss.sum() / ((t != -1).sum() if normalize else len(x))


def huber(x, t, delta, reduce="sum_along_second_axis"):
    d = abs(x - t)
    loss = np.where(d <= delta, d**2 / 2, delta * (d - delta / 2))
    return loss if reduce == "no" else loss.sum(1)


def hinge(x, t, norm="L1", reduce="mean"):
    sign = np.where(np.arange(x.shape[1]) == t[:, None], -1, 1)
    loss = np.maximum(0, 1 + sign * x) ** (2 if norm == "L2" else 1)
    return loss if reduce == "no" else loss.sum() / len(x)


def contrastive(x0, x1, y, margin=1, reduce="mean"):
    d = np.sqrt(((x0 - x1) ** 2).sum(1))
    return REST[reduce](np.where(y == 1, d**2, np.maximum(margin - d, 0) ** 2) / 2)


def triplet(anchor, positive, negative, margin=0.2, reduce="mean"):
    d = ((anchor - positive) ** 2 - (anchor - negative) ** 2).sum(1)
    return REST[reduce](np.maximum(d + margin, 0))


def half_squares(matrix, reduce):
    return matrix if reduce == "no" else (matrix**2).sum() / 2


def cross_covariance(y, z, reduce="half_squared_sum"):
    return half_squares((y - y.mean(0)).T @ (z - z.mean(0)) / len(y), reduce)


def decov(h, reduce="half_squared_sum"):
    c = np.cov(h.T, bias=True)
    return half_squares(c - np.diag(np.diag(c)), reduce)


def kl_divergence(mean, ln_var, reduce="sum"):
    return REST[reduce]((mean**2 + np.exp(ln_var) - ln_var - 1) / 2)


def bernoulli_nll(x, y, reduce="sum"):
    return REST[reduce](-x * np.log(sigmoid(y)) - (1 - x) * np.log(1 - sigmoid(y)))


def gaussian_nll(x, mean, ln_var, reduce="sum"):
    density = np.exp(-((x - mean) ** 2) / (2 * np.exp(ln_var))) / np.sqrt(2 * np.pi * np.exp(ln_var))
    return REST[reduce](-np.log(density))


def sampler(shape):
    return np.arange(np.prod(shape), dtype=np.int32).reshape(shape) % 5


def negative_sampling(x, t, w, reduce="sum"):
    loss = np.zeros(len(x))
    for i, others in enumerate(sampler((len(x), 4))[:, 1:]):
        if t[i] != -1:
            loss[i] = -np.log(sigmoid(w[t[i]] @ x[i])) - np.log(sigmoid(-w[others] @ x[i])).sum()
    return REST[reduce](loss)


def black_out(x, t, w, reduce="mean"):
    loss = np.zeros(len(x))
    for i in range(len(x)):
        p = np.exp(w[[t[i], *SAMPLES[i]]] @ x[i])
        p = p / p.sum()
        loss[i] = -np.log(p[0]) - np.log(1 - p[1:]).sum()
    return REST[reduce](loss)


def path_score(cost, scores, path):
    steps = sum(s[k] for s, k in zip(scores, path, strict=True))
    return steps + sum(cost[pair] for pair in itertools.pairwise(path))


def crf1d(cost, *xs, reduce="mean"):
    """Enumerates all label sequences."""
    loss = []
    for i in range(4):
        scores = [x[i] for x in xs if i < len(x)]
        paths = {p: path_score(cost, scores, p) for p in itertools.product(range(3), repeat=len(scores))}
        right = tuple(int(T[i] + step) % 3 for step in range(len(scores)))
        loss.append(np.log(np.exp(list(paths.values())).sum()) - paths[right])
    return REST[reduce](np.array(loss))


def ctc(*xs, reduce="mean", lengths=((4, 2), (4, 2))):
    """Enumerates all paths."""
    labels, loss = ((1, 2), (3, 3)), []
    for i, (steps, size) in enumerate(lengths):
        p = np.exp(np.array([log_softmax(x)[i] for x in xs[:steps]]))
        total = 0
        for path in itertools.product(range(4), repeat=steps):
            if tuple(k for k, _ in itertools.groupby(path) if k) == labels[i][:size]:
                total += np.prod(p[np.arange(steps), path])
        loss.append(-np.log(total))
    return REST[reduce](np.array(loss))


# ---- values, gradients, second derivatives -----------------------------------------------------------------


def labels(n):
    return [(T[: len(x)] + step).astype(np.int32) % 3 for step, x in enumerate(SEQUENCES)][:n]


def f_crf1d(cost, *xs, **options):
    return F.crf1d(cost, list(xs), labels(3), **options)


def f_ctc(*xs, lengths=None, **options):
    used = () if lengths is None else np.int32(lengths).T
    return F.connectionist_temporal_classification(list(xs), ints(1, 2, 3, 3).reshape(2, 2), 0, *used, **options)


def f_negative_sampling(x, t, w, **options):
    return F.negative_sampling(x, t, w, sampler, 3, **options)


def f_black_out(x, t, w, **options):
    return F.black_out(x, t, w, SAMPLES, **options)


def options(**lists):
    """One dict for each combination of values from the lists."""
    return [dict(zip(lists, values, strict=True)) for values in itertools.product(*lists.values())]


NO = ["mean", "no"]
ALL = ["sum", "mean", "no"]
HALF = ["half_squared_sum", "no"]
TEXTS = (
    (F.squared_error, lambda a, b: (a - b) ** 2, (A, B), [{}]),
    (F.squared_difference, lambda a, b: (a - b) ** 2, (A, B), [{}]),
    (F.absolute_error, lambda a, b: abs(a - b), (A, B), [{}]),
    (F.mean_squared_error, lambda a, b: ((a - b) ** 2).mean(), (A, B), [{}]),
    (F.mean_absolute_error, lambda a, b: abs(a - b).mean(), (A, B), [{}]),
    (F.huber_loss, huber, (A, B), options(delta=[1, 0.3], reduce=["sum_along_second_axis", "no"])),
    (F.sigmoid_cross_entropy, sigmoid_cross_entropy, (A, BITS), options(normalize=[True, False], reduce=NO)),
    (F.softmax_cross_entropy, softmax_cross_entropy, (A, T),
     options(normalize=[True, False], reduce=NO, class_weight=[None, WEIGHT], ignore_label=[-1, 2])),
    (F.gaussian_kl_divergence, kl_divergence, (A, B), options(reduce=ALL)),
    (F.bernoulli_nll, bernoulli_nll, (sigmoid(A), B), options(reduce=ALL)),
    (F.gaussian_nll, gaussian_nll, (A, B, C), options(reduce=ALL)),
    (F.hinge, hinge, (A, T), options(norm=["L1", "L2"], reduce=NO)),
    (F.contrastive, contrastive, (A, B, SIGNS), options(margin=[1, 4], reduce=NO)),
    (F.triplet, triplet, (A, B, C), options(margin=[0.2, 3], reduce=NO)),
    (F.cross_covariance, cross_covariance, (A, W[:4]), options(reduce=HALF)),
    (F.decov, decov, (A,), options(reduce=HALF)),
    (f_negative_sampling, negative_sampling, (A, ints(0, 2, -1, 4), W), options(reduce=["sum", "no"])),
    (f_black_out, black_out, (A, T, W), options(reduce=NO)),
    (f_crf1d, crf1d, (rand(3, 3), *SEQUENCES), options(reduce=NO)),
    (f_ctc, ctc, tuple(STEPS), options(reduce=NO, lengths=[((4, 2), (4, 2)), ((4, 1), (3, 2)), ((1, 1), (3, 0))])),
)  # fmt: skip
CASES = [(f, define, xs, kwargs) for f, define, xs, lists in TEXTS for kwargs in lists]
NAMES = [f"{f.__name__} {' '.join(map(str, kwargs.values()))}" for f, _, _, kwargs in CASES]
# functions of the original that have no second derivative
ONCE = (F.softmax_cross_entropy, F.hinge, F.decov, f_ctc, F.sigmoid_cross_entropy, f_negative_sampling)


def numeric(define, xs, i, weight, eps=1e-6):
    g = np.zeros_like(xs[i])
    for at in np.ndindex(g.shape):
        sides = []
        for step in (eps, -eps):
            moved = [x.copy() for x in xs]
            moved[i][at] += step
            sides.append((define(*moved) * weight).sum())
        g[at] = (sides[0] - sides[1]) / (2 * eps)
    return g


@pytest.mark.parametrize(("f", "define", "xs", "kwargs"), CASES, ids=NAMES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_and_gradients(f, define, xs, kwargs, dtype):
    xs = [x.astype(dtype) if x.dtype.kind == "f" else x for x in xs]
    vs = [chainer.Variable(x) if x.dtype.kind == "f" else x for x in xs]
    if kwargs.get("class_weight") is not None:
        kwargs = {**kwargs, "class_weight": kwargs["class_weight"].astype(dtype)}
    y = f(*vs, **kwargs)
    exact = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in xs]
    expected = np.asarray(define(*exact, **kwargs))
    tolerance = {"rtol": 1e-4, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-6, "atol": 1e-7}
    assert y.shape == expected.shape and y.dtype == dtype
    np.testing.assert_allclose(y.array, expected, **tolerance)
    weight = rand(*y.shape) if y.ndim else np.array(1.5)
    y.grad = weight.astype(dtype)
    y.backward()
    for i, v in enumerate(vs):
        if isinstance(v, chainer.Variable):
            g = numeric(functools.partial(define, **kwargs), exact, i, weight)
            np.testing.assert_allclose(v.grad, g, err_msg=str(i), **tolerance)


@pytest.mark.parametrize(("f", "define", "xs", "kwargs"), CASES, ids=NAMES)
def test_second_derivatives(f, define, xs, kwargs):
    if ORIGINAL and f in ONCE:
        pytest.skip("differentiable once")
    at = [i for i, x in enumerate(xs) if x.dtype.kind == "f"]

    def call(*floats):
        given = list(xs)
        for i, v in zip(at, floats, strict=True):
            given[i] = v
        return f(*given, **kwargs)

    shape = call(*[xs[i] for i in at]).shape
    gradient_check.check_double_backward(
        call, tuple(xs[i] for i in at), rand(*shape) if shape else np.array(1.5),
        tuple(rand(*xs[i].shape) for i in at), dtype=np.float64, rtol=1e-4, atol=1e-5,
    )  # fmt: skip


def ctc_gradient(xs, *labels, dtype=np.float64):
    vs = [chainer.Variable(x.astype(dtype)) for x in xs]
    y = F.connectionist_temporal_classification(vs, *labels, reduce="no")
    y.grad = np.array([1, 2], dtype)
    y.backward()
    return y.array, np.array([v.grad for v in vs])


def test_ctc_of_labels_that_need_more_steps():
    """Chainer's results: it uses a finite number as the logarithm of probability 0."""
    xs = np.sin(np.arange(18.0)).reshape(3, 2, 3)
    expected = [[-0.12888, -0.29898, 0.42786], [-0.07924, -0.20212, 0.5004], [-0.1213, -0.31576, 0.56103]]
    y, g = ctc_gradient(xs, ints(1, 1, 1, 0, 0, 1).reshape(2, 3), 0, ints(3, 0), ints(3, 1))
    np.testing.assert_allclose(y, [9.999999999523e09, -0.2860731449], rtol=1e-9)
    np.testing.assert_allclose(g[:, 0], expected, atol=1e-5)
    assert not g[:, 1].any()  # a sequence without steps
    expected = [[-2.82766, -2.6002, 0.42786], [-3.8593, -1.6411, 0.5004], [-2.87817, -2.68286, 0.56103]]
    y, g = ctc_gradient(xs, ints(1, 1, 1, 1, 0, 1).reshape(2, 3), 0, None, ints(3, 1), dtype=np.float32)
    np.testing.assert_allclose(y, [1e10, 1.0665121], rtol=1e-5)
    np.testing.assert_allclose(g[:, 0], expected, atol=1e-5)


@pytest.mark.skipif(ORIGINAL, reason="differentiable once")
def test_ctc_of_labels_that_need_more_steps_is_differentiable_again():
    xs = [chainer.Variable(x) for x in rand(2, 1, 4)]

    def gradients(*vs):
        y = F.connectionist_temporal_classification(vs, ints(1, 2, 1).reshape(1, 3), 0)
        return chainer.grad([y], vs, enable_double_backprop=True)

    first = sum(F.sum(g * g) for g in gradients(*xs))
    second = chainer.grad([first], xs)
    for v, g in zip(xs, second, strict=True):
        for at in np.ndindex(v.shape):
            sides = []
            for step in (1e-3, -1e-3):
                moved = [chainer.Variable(u.array.copy()) for u in xs]
                moved[[u is v for u in xs].index(True)].array[at] += step
                sides.append(float(sum(F.sum(g * g) for g in gradients(*moved)).array))
            np.testing.assert_allclose(g.array[at], (sides[0] - sides[1]) / 2e-3, atol=1e-2)


def discriminative(x, t, delta_v, delta_d, norm):
    k, n = x.shape[1], len(x)
    length = (lambda v: abs(v).sum(0)) if norm == 1 else (lambda v: np.sqrt((v**2).sum(0)))
    means, spread = np.zeros((k, n, k)), 0
    for c in range(k):
        within = 0
        for i in range(n):
            inside = t[i] == c + 1
            means[c, i] = x[i][:, inside].mean(1)
            within += (np.maximum(length(means[c, i][:, None] - x[i][:, inside]) - delta_v, 0) ** 2).sum()
        spread += within / (t == c + 1).sum()
    pairs = [length(a[i] - b[i]) for a, b in itertools.combinations(means, 2) for i in range(n)]
    size = np.mean([length(means[c, i]) if norm == 1 else np.sqrt((means[c] ** 2).sum()) / n
                    for c in range(k) for i in range(n)])  # fmt: skip
    return spread / k, np.mean(np.maximum(2 * delta_d - np.array(pairs), 0) ** 2), size


# ---- invalid arguments -------------------------------------------------------------------------------------

f32 = np.float32
WRONG = {
    "shapes": (F.squared_error, (A, B[:2]), InvalidType),
    "dtypes": (F.absolute_error, (A, B.astype(f32)), InvalidType),
    "integers": (F.mean_squared_error, (T, T), InvalidType),
    "mean_absolute_error shapes": (F.mean_absolute_error, (A, A[:, :1]), InvalidType),
    "huber_loss shapes": (F.huber_loss, (A, A[0], 1), InvalidType),
    "huber_loss reduce": (F.huber_loss, (A, B, 1, "mean"), ValueError),
    "sigmoid_cross_entropy floats": (F.sigmoid_cross_entropy, (A, B), InvalidType),
    "sigmoid_cross_entropy shapes": (F.sigmoid_cross_entropy, (A, BITS[:2]), InvalidType),
    "sigmoid_cross_entropy reduce": (F.sigmoid_cross_entropy, (A, BITS, True, "sum"), ValueError),
    # the original's check fails here
    "softmax_cross_entropy N": (F.softmax_cross_entropy, (A, T[:2]), (InvalidType, RuntimeError)[ORIGINAL]),
    "softmax_cross_entropy reduce": (lambda: F.softmax_cross_entropy(A, T, reduce="sum"), (), ValueError),
    "softmax_cross_entropy weight": (lambda: F.softmax_cross_entropy(A, T, class_weight=A), (), ValueError),
    "kl reduce": (F.gaussian_kl_divergence, (A, B, "max"), ValueError),
    "bernoulli_nll reduce": (F.bernoulli_nll, (A, B, "max"), ValueError),
    "gaussian_nll reduce": (F.gaussian_nll, (A, B, C, "max"), ValueError),
    "hinge norm": (F.hinge, (A, T, "L3"), NotImplementedError),
    "hinge reduce": (F.hinge, (A, T, "L1", "sum"), ValueError),
    "hinge labels": (F.hinge, (A, T[:2]), InvalidType),
    "contrastive margin": (F.contrastive, (A, B, SIGNS, 0), ValueError),
    "contrastive reduce": (F.contrastive, (A, B, SIGNS, 1, "sum"), ValueError),
    "contrastive shapes": (F.contrastive, (A, B[:2], SIGNS), InvalidType),
    "triplet margin": (F.triplet, (A, B, C, -1), ValueError),
    "triplet shapes": (F.triplet, (A, B, C[:2]), InvalidType),
    "cross_covariance rows": (F.cross_covariance, (A, W), InvalidType),
    "cross_covariance reduce": (F.cross_covariance, (A, B, "mean"), ValueError),
    "decov axes": (F.decov, (A[0],), InvalidType),
    "decov reduce": (F.decov, (A, "mean"), ValueError),
    "negative_sampling labels": (f_negative_sampling, (A, T[:2], W), InvalidType),
    "negative_sampling reduce": (lambda: f_negative_sampling(A, T, W, reduce="mean"), (), ValueError),
    "crf1d reduce": (lambda: f_crf1d(A[:3], *SEQUENCES, reduce="sum"), (), ValueError),
    "ctc array": (F.connectionist_temporal_classification, (A, T, 0), TypeError),
    "ctc blank": (F.connectionist_temporal_classification, (STEPS, T, 0.5), TypeError),
    "ctc reduce": (lambda: f_ctc(*STEPS, reduce="sum"), (), ValueError),
    "discriminative norm": (lambda: F.discriminative_margin_based_clustering_loss(
        rand(2, 2, 3, 3), T, 1, 1, 2, norm=3), (), ValueError),
}  # fmt: skip


@pytest.mark.parametrize(("f", "args", "error"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(f, args, error):
    with pytest.raises(error):
        f(*args)


# ---- the rest ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, 2])
def test_discriminative(norm):
    # the number of images equals the number of labels, because the original broadcasts the means only then
    x = rand(2, 2, 3, 4)
    t = np.random.RandomState(0).randint(0, 3, (2, 3, 4))
    loss = F.discriminative_margin_based_clustering_loss(
        chainer.Variable(x), t, 0.3, 1.5, 2, norm=norm, alpha=2, beta=3, gamma=4
    )
    variance, distance, size = discriminative(x, t, 0.3, 1.5, norm)
    expected = 2 * variance, 3 * distance, 4 * size
    np.testing.assert_allclose([v.array for v in loss], expected, rtol=1e-6)


def test_crf1d_best_path():
    cost = rand(3, 3)
    score, path = F.argmax_crf1d(cost, list(SEQUENCES))
    assert [len(p) for p in path] == [4, 3, 1]
    assert {p.dtype for p in path} == {np.dtype("int32")}
    for i in range(4):
        scores = [x[i] for x in SEQUENCES if i < len(x)]
        best = max((path_score(cost, scores, p), p) for p in itertools.product(range(3), repeat=len(scores)))
        np.testing.assert_allclose(score.array[i], best[0])
        assert tuple(step[i] for step in path if i < len(step)) == best[1]


def test_gradient_of_the_best_score():
    cost, xs = chainer.Variable(rand(3, 3)), [chainer.Variable(x) for x in SEQUENCES]
    score, path = F.argmax_crf1d(cost, xs)
    F.sum(score).backward()
    for x, labels in zip(xs, path, strict=True):
        np.testing.assert_array_equal(x.grad, np.eye(3)[labels])
    pairs = np.zeros((3, 3))
    for before, after in itertools.pairwise(path):
        np.add.at(pairs, (before[: len(after)], after), 1)
    np.testing.assert_array_equal(cost.grad, pairs)


@pytest.mark.parametrize("scale", [1, 300, 1e4])
def test_crf1d_of_scores_beyond_the_range_of_exp(scale):
    """The gradients are the expected counts of labels and of label pairs, minus those of the given labels."""
    cost = chainer.Variable(scale * np.array([[0, -1, -2.0], [-1, 0.5, -3], [-4, -1, 0]]))
    xs = [chainer.Variable(scale * x) for x in SEQUENCES]
    loss = F.crf1d(cost, xs, labels(3), reduce="no")
    F.sum(loss).backward()
    pairs, units = np.zeros((3, 3)), [np.zeros(x.shape) for x in xs]
    for i in range(4):
        scores = [x.array[i] for x in xs if i < len(x)]
        paths = list(itertools.product(range(3), repeat=len(scores)))
        values = np.array([path_score(cost.array, scores, p) for p in paths])
        total = np.logaddexp.reduce(values)
        right = tuple(int(T[i] + step) % 3 for step in range(len(scores)))
        np.testing.assert_allclose(loss.array[i], total - values[paths.index(right)], rtol=1e-10)
        for p, weight in [*zip(paths, np.exp(values - total), strict=True), (right, -1)]:
            for step, k in enumerate(p):
                units[step][i, k] += weight
            for pair in itertools.pairwise(p):
                pairs[pair] += weight
    np.testing.assert_allclose(cost.grad, pairs, rtol=1e-9, atol=1e-9)
    for x, expected in zip(xs, units, strict=True):
        np.testing.assert_allclose(x.grad, expected, rtol=1e-9, atol=1e-9)


def test_crf1d_of_growing_steps():
    with pytest.raises(chainer.utils.type_check.InvalidType):
        F.argmax_crf1d(rand(3, 3), [rand(1, 3), rand(2, 3)])


def test_contrastive_at_distance_zero():
    x0, x1 = chainer.Variable(A), chainer.Variable(A.copy())
    F.contrastive(x0, x1, SIGNS).backward()
    np.testing.assert_array_equal(x0.grad, np.zeros_like(A))
    np.testing.assert_array_equal(x1.grad, np.zeros_like(A))


@pytest.mark.parametrize("reduce", NO)
def test_triplet_far_from_the_anchor(reduce):
    """The gradient of the anchor is a difference of the other two, whose digits do not depend on the anchor."""
    a, b, c = [chainer.Variable(x) for x in (A + 1e10, B, C)]
    loss = F.triplet(a, b, c, 1e13, reduce=reduce)
    F.sum(loss).backward()
    rows = 1 if reduce == "no" else len(A)
    np.testing.assert_allclose(a.grad, 2 * (C - B) / rows, rtol=1e-14)
    np.testing.assert_allclose(b.grad, 2 * (B - a.array) / rows, rtol=1e-14)
    np.testing.assert_allclose(c.grad, 2 * (a.array - C) / rows, rtol=1e-14)


def test_negative_sampling_gives_its_samples():
    loss, samples = F.negative_sampling(A, T, W, sampler, 3, return_samples=True)
    np.testing.assert_array_equal(samples, np.column_stack([T, sampler((4, 4))[:, 1:]]))
    np.testing.assert_allclose(loss.array, negative_sampling(A, T, W))


@pytest.mark.parametrize("t", [BITS * 0 - 1])
@pytest.mark.parametrize("normalize", [True, False])
def test_no_label_counts(t, normalize):
    x = chainer.Variable(A)
    for loss in (
        F.sigmoid_cross_entropy(x, t, normalize=normalize),
        F.softmax_cross_entropy(x, t[:, 0], normalize=normalize),
    ):
        assert loss.array == 0
        x.cleargrad()
        loss.backward()
        np.testing.assert_array_equal(x.grad, np.zeros_like(A))


@pytest.mark.parametrize(
    ("f", "args"),
    [
        (F.hinge, [T]),
        (F.contrastive, [B, SIGNS]),
        (F.triplet, [B, C]),
        (F.decov, []),
        (F.cross_covariance, [B]),
    ],
)
def test_hooks_see_one_function(f, args):
    x = chainer.Variable(A)
    log = Log()
    with log:
        y = f(x, *args)
        y.backward()
    label = type(y.creator).__name__
    seen = {what: [function.label for w, function, *_ in log.events if w == what] for what, *_ in log.events}
    assert seen["forward_postprocess"][0] == seen["backward_preprocess"][0] == label
    if not ORIGINAL:
        assert all(labels == [label] for labels in seen.values())


@pytest.mark.parametrize("name", ["squared_error", "mean_squared_error", "absolute_error", "mean_absolute_error"])
def test_labels(name):
    y = getattr(F, name)(chainer.Variable(A), B)
    assert y.creator.label == name.title().replace("_", "")
