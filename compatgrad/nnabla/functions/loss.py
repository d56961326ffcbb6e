"""Losses and errors. All are per element, or per label: take F.mean or F.sum of them.

RuntimeError where shapes do not fit. Labels are read as integers and get no gradient.
"""

from __future__ import annotations

import math
from typing import Any

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_axis, check_broadcast, check_label, check_same_shape

__all__ = [
    "absolute_error",
    "binary_cross_entropy",
    "binary_error",
    "categorical_cross_entropy",
    "confusion_matrix",
    "epsilon_insensitive_loss",
    "huber_loss",
    "kl_multinomial",
    "sigmoid_cross_entropy",
    "softmax_cross_entropy",
    "squared_error",
    "top_n_error",
]


# Of functions of scores x and labels `target`, with the classes along an axis of x: the last by default.
_labels: dict[str, Any] = {"integers": ("target",), "defaults": {"axis": lambda x, target: x.ndim - 1}}


@function("SigmoidCrossEntropy", "x, target", primitive=True, integers=("target",))
def sigmoid_cross_entropy(x: Any, target: Any) -> Any:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) for logits x and labels t of 0 and 1, without
    overflow.

    x, target: one shape, which the result has.
    """
    check_same_shape("sigmoid_cross_entropy", x, target)
    return op.logistic_loss(x, target)


@function("BinaryCrossEntropy", "x, target", primitive=True)
def binary_cross_entropy(x: Any, target: Any) -> Any:
    """-t log(x) - (1 - t) log(1 - x) for probabilities x and t.

    x, target: one shape, which the result has. Logarithms are cut off at the smallest float32. Both inputs
    have gradients.
    """
    check_same_shape("binary_cross_entropy", x, target)
    return op.binary_cross_entropy(x, target)


@function("SoftmaxCrossEntropy", "x, target", primitive=True, **_labels)
def softmax_cross_entropy(x: Any, target: Any, axis: int | None = None) -> Any:
    """-log(softmax(x))[label] along `axis`; 0 for labels below 0.

    x: logits with the classes along `axis` (default: the last). target: labels of x's shape with length 1
    there; the result has this shape. IndexError for labels beyond the classes.
    """
    axis = check_label("softmax_cross_entropy", x, target, axis)
    return op.softmax_cross_entropy_along(x, target, axis=axis)


@function("CategoricalCrossEntropy", "x, target", primitive=True, **_labels)
def categorical_cross_entropy(x: Any, target: Any, axis: int | None = None) -> Any:
    """-log(x)[label] along `axis`, for probabilities x; 0 for labels below 0.

    x: probabilities with the classes along `axis` (default: the last). target: labels of x's shape with
    length 1 there; the result has this shape. The logarithm is cut off at the smallest float32.
    """
    axis = check_label("categorical_cross_entropy", x, target, axis)
    return op.categorical_cross_entropy(x, target, axis=axis)


@function("SquaredError", "x0, x1", primitive=True)
def squared_error(x0: Any, x1: Any) -> Any:
    """(x0 - x1) ** 2, element by element; the shapes broadcast with equal ndim."""
    check_broadcast("squared_error", x0, x1)
    return op.squared_error(x0, x1)


@function("AbsoluteError", "x0, x1", primitive=True)
def absolute_error(x0: Any, x1: Any) -> Any:
    """|x0 - x1|, element by element; the shapes broadcast with equal ndim.

    Where x0 and x1 are equal, the gradient of x0 is -1 and that of x1 is 1, as in nnabla.
    """
    check_broadcast("absolute_error", x0, x1)
    return op.absolute_error_right(x0, x1)


@function("HuberLoss", "x0, x1", primitive=True)
def huber_loss(x0: Any, x1: Any, delta: float = 1.0) -> Any:
    """d ** 2 where |d| < delta, else delta (2 |d| - delta), for d = x0 - x1; the shapes broadcast with equal
    ndim.

    This is twice what other frameworks call the Huber loss.
    """
    check_broadcast("huber_loss", x0, x1)
    return op.huber_error(x0, x1, delta=float(delta))


@function("EpsilonInsensitiveLoss", "x0, x1")
def epsilon_insensitive_loss(x0: Any, x1: Any, epsilon: float) -> Any:
    """|x0 - x1| - epsilon where that is positive, else 0; the shapes broadcast with equal ndim."""
    check_broadcast("epsilon_insensitive_loss", x0, x1)
    return op.relu(op.abs(x0 - x1) - float(epsilon), rule="choice")


@function("KLMultinomial", "p, q")
def kl_multinomial(p: Any, q: Any, base_axis: int = 1) -> Any:
    """Kullback-Leibler divergence of two multinomial distributions, sum(p log(p / q)).

    p, q: probabilities of one shape; the sum is over all axes from `base_axis`, in [-ndim, ndim). The result
    has the shape p.shape[:base_axis] + (1,). Logarithms are taken of p + 1e-8 and q + 1e-8.
    """
    check_same_shape("kl_multinomial", p, q)
    lead = tuple(p.shape[: check_axis("kl_multinomial", base_axis, p.ndim, "base_axis")])
    terms = op.reshape(p * (op.log(p + 1e-8) - op.log(q + 1e-8)), shape=(*lead, math.prod(p.shape[len(lead) :])))
    return op.sum(terms, axis=(len(lead),), keepdims=True)


@function("TopNError", "x, target", primitive=True, **_labels)
def top_n_error(x: Any, target: Any, axis: int | None = None, n: int = 1) -> Any:
    """1 where the label is not among the n largest classes along `axis`, else 0.

    x: scores with the classes along `axis` (default: the last). target: labels of x's shape with length 1
    there; the result has this shape. Classes that equal the label's score count before it. No gradient.
    """
    return op.top_n_error(x, target, axis=check_label("top_n_error", x, target, axis), n=int(n))


@function("BinaryError", "x, target")
def binary_error(x: Any, target: Any) -> Any:
    """1 where x and target are on different sides of 0.5, else 0. One shape, which the result has. No
    gradient."""
    check_same_shape("binary_error", x, target)
    return op.not_equal(op.greater_equal_scalar(x, value=0.5), op.greater_equal_scalar(target, value=0.5))


@function("ConfusionMatrix", "x, target", primitive=True, **_labels)
def confusion_matrix(x: Any, target: Any, axis: int | None = None) -> Any:
    """How often each label (row) met each predicted class (column): int32, (C, C). No gradient.

    x: scores with the C classes along `axis` (default: the last); the first of the largest is predicted.
    target: labels of x's shape with length 1 there.
    """
    return op.confusion_matrix(x, target, axis=check_label("confusion_matrix", x, target, axis))
