"""Losses and errors. All are computed per element or per label; apply F.mean or F.sum to get a scalar.

They raise RuntimeError where shapes do not fit. Labels are read as integers and get no gradient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from compatgrad import _C
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._direct import Direct
from compatgrad.nnabla.functions._checks import check_axis, check_broadcast, check_label, check_same_shape

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

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


# The shared sections of functions of scores x and labels `target`, with the classes along an axis of x, by default the
# last.
_labels: dict[str, Any] = {"integers": ("target",), "defaults": {"axis": lambda x, target: x.ndim - 1}}
_of_matrix = Direct({"axis": 1}, shown=(1,), fits=_C.labels_fit)


@function("SigmoidCrossEntropy", "x, target", primitive=True, integers=("target",))
def sigmoid_cross_entropy(x: Array, target: Array) -> Array:
    """-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)) for logits x and labels t, without overflow.

    Args:
        x: logits, any shape, computed in float32.
        target: labels 0 and 1, of the shape of `x`; they get no gradient.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: the shapes differ.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.sigmoid_cross_entropy(array(np.array([0.0, 100.0])), array(np.array([1, 0]))).data
        array([  0.6931472, 100.       ], dtype=float32)
    """
    check_same_shape("sigmoid_cross_entropy", x, target)
    return op.logistic_loss(x, target)


@function("BinaryCrossEntropy", "x, target", primitive=True)
def binary_cross_entropy(x: Array, target: Array) -> Array:
    """-t log(x) - (1 - t) log(1 - x) for probabilities x and t.

    Logarithms are cut off at the smallest float32. Both inputs have gradients.

    Args:
        x: probabilities, any shape, computed in float32.
        target: probabilities, of the shape of `x`.

    Returns:
        Array of the shape of `x`.

    Raises:
        RuntimeError: the shapes differ.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> np.round(F.binary_cross_entropy(array(np.array([0.5, 0.25])), array(np.array([1.0, 0.0]))).data, 4)
        array([0.6931, 0.2877], dtype=float32)
    """
    check_same_shape("binary_cross_entropy", x, target)
    return op.binary_cross_entropy(x, target)


@function("SoftmaxCrossEntropy", "x, target", primitive=True, direct=_of_matrix, **_labels)
def softmax_cross_entropy(x: Array, target: Array, axis: int | None = None) -> Array:
    """-log(softmax(x))[label] along an axis; 0 for labels below 0.

    Args:
        x: logits, with the classes along `axis`, computed in float32.
        target: integer labels, of the shape of `x` with length 1 along `axis`.
        axis: the axis of the classes, by default the last.

    Returns:
        Array of the shape of `target`.

    Raises:
        RuntimeError: the shapes do not fit, `x` does not have the axis, or a label is not below the number of classes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.softmax_cross_entropy(array(np.array([[0.0, 0.0], [0.0, 2.0]])), array(np.array([[0], [1]]))).data
        array([[0.6931472 ],
               [0.12692809]], dtype=float32)
    """
    axis = check_label("softmax_cross_entropy", x, target, axis)
    return op.softmax_cross_entropy_along(x, target, axis=axis)


@function("CategoricalCrossEntropy", "x, target", primitive=True, **_labels)
def categorical_cross_entropy(x: Array, target: Array, axis: int | None = None) -> Array:
    """-log(x)[label] along an axis, for probabilities x; 0 for labels below 0.

    The logarithm is cut off at the smallest float32.

    Args:
        x: probabilities, with the classes along `axis`, computed in float32.
        target: integer labels, of the shape of `x` with length 1 along `axis`.
        axis: the axis of the classes, by default the last.

    Returns:
        Array of the shape of `target`.

    Raises:
        RuntimeError: the shapes do not fit, `x` does not have the axis, or a label is not below the number of classes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.categorical_cross_entropy(array(np.array([[0.5, 0.5], [0.2, 0.8]])), array(np.array([[0], [1]]))).data
        array([[0.6931472 ],
               [0.22314353]], dtype=float32)
    """
    axis = check_label("categorical_cross_entropy", x, target, axis)
    return op.categorical_cross_entropy(x, target, axis=axis)


@function("SquaredError", "x0, x1", primitive=True)
def squared_error(x0: Array, x1: Array) -> Array:
    """(x0 - x1) ** 2, element-wise.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.squared_error(array(np.array([1.0, 5.0])), array(np.array([3.0, 2.0]))).data
        array([4., 9.], dtype=float32)
    """
    check_broadcast("squared_error", x0, x1)
    return op.squared_error(x0, x1)


@function("AbsoluteError", "x0, x1", primitive=True)
def absolute_error(x0: Array, x1: Array) -> Array:
    """|x0 - x1|, element-wise.

    Where x0 and x1 are equal, the gradient of x0 is -1 and that of x1 is 1, as in nnabla.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.absolute_error(array(np.array([1.0, 5.0])), array(np.array([3.0, 2.0]))).data
        array([2., 3.], dtype=float32)
    """
    check_broadcast("absolute_error", x0, x1)
    return op.absolute_error_right(x0, x1)


@function("HuberLoss", "x0, x1", primitive=True)
def huber_loss(x0: Array, x1: Array, delta: float = 1.0) -> Array:
    """d ** 2 where |d| < delta, else delta (2 |d| - delta), for d = x0 - x1.

    This is twice the Huber loss of other frameworks.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.
        delta: the value of |d| at which the loss becomes linear.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.huber_loss(array(np.array([0.5, 5.0])), array(np.array([0.0, 2.0]))).data
        array([0.25, 5.  ], dtype=float32)
    """
    check_broadcast("huber_loss", x0, x1)
    return op.huber_error(x0, x1, delta=float(delta))


@function("EpsilonInsensitiveLoss", "x0, x1")
def epsilon_insensitive_loss(x0: Array, x1: Array, epsilon: float) -> Array:
    """|x0 - x1| - epsilon where that is positive, else 0.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.
        epsilon: the largest difference whose loss is 0.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.epsilon_insensitive_loss(array(np.array([0.25, 5.0])), array(np.array([0.0, 2.0])), 0.5).data
        array([0. , 2.5], dtype=float32)
    """
    check_broadcast("epsilon_insensitive_loss", x0, x1)
    return op.relu(op.abs(x0 - x1) - float(epsilon), rule="choice")


@function("KLMultinomial", "p, q")
def kl_multinomial(p: Array, q: Array, base_axis: int = 1) -> Array:
    """Kullback-Leibler divergence of two multinomial distributions, sum(p log(p / q)).

    Logarithms are taken of p + 1e-8 and q + 1e-8.

    Args:
        p: probabilities, any shape, computed in float32.
        q: probabilities, of the shape of `p`.
        base_axis: in [-ndim, ndim), the first of the axes over which the sum is taken.

    Returns:
        Array of shape p.shape[:base_axis] + (1,).

    Raises:
        RuntimeError: the shapes differ, or `p` does not have the axis.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> np.round(F.kl_multinomial(array(np.array([[0.5, 0.5]])), array(np.array([[0.25, 0.75]]))).data, 4)
        array([[0.1438]], dtype=float32)
    """
    check_same_shape("kl_multinomial", p, q)
    lead = tuple(p.shape[: check_axis("kl_multinomial", base_axis, p.ndim, "base_axis")])
    terms = op.reshape(p * (op.log(p + 1e-8) - op.log(q + 1e-8)), shape=(*lead, math.prod(p.shape[len(lead) :])))
    return op.sum(terms, axis=(len(lead),), keepdims=True)


@function("TopNError", "x, target", primitive=True, **_labels)
def top_n_error(x: Array, target: Array, axis: int | None = None, n: int = 1) -> Array:
    """1 where the label is not among the n largest classes along an axis, else 0. No gradient passes.

    Classes with the same score as the label's class count as larger.

    Args:
        x: scores, with the classes along `axis`.
        target: integer labels, of the shape of `x` with length 1 along `axis`.
        axis: the axis of the classes, by default the last.
        n: number of best classes among which the label counts as correct.

    Returns:
        Array of 0 and 1 in float32, of the shape of `target`.

    Raises:
        RuntimeError: the shapes do not fit, or `x` does not have the axis.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.top_n_error(array(np.array([[0.1, 0.9], [0.7, 0.3]])), array(np.array([[1], [1]]))).data
        array([[0.],
               [1.]], dtype=float32)
    """
    return op.top_n_error(x, target, axis=check_label("top_n_error", x, target, axis), n=int(n))


@function("BinaryError", "x, target")
def binary_error(x: Array, target: Array) -> Array:
    """1 where x and target are on different sides of 0.5, else 0. No gradient passes.

    Args:
        x: scores, any shape; 0.5 counts as the upper side.
        target: labels, of the shape of `x`.

    Returns:
        Array of 0 and 1 in float32, of the shape of `x`.

    Raises:
        RuntimeError: the shapes differ.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.binary_error(array(np.array([0.2, 0.9])), array(np.array([1, 1]))).data
        array([1., 0.], dtype=float32)
    """
    check_same_shape("binary_error", x, target)
    return op.not_equal(op.greater_equal_scalar(x, value=0.5), op.greater_equal_scalar(target, value=0.5))


@function("ConfusionMatrix", "x, target", primitive=True, **_labels)
def confusion_matrix(x: Array, target: Array, axis: int | None = None) -> Array:
    """The number of samples for each label (row) and predicted class (column). No gradient passes.

    Args:
        x: scores, with the C classes along `axis`; the first of the largest is predicted.
        target: integer labels, of the shape of `x` with length 1 along `axis`.
        axis: the axis of the classes, by default the last.

    Returns:
        Array of int32, of shape (C, C).

    Raises:
        RuntimeError: the shapes do not fit, or `x` does not have the axis.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.confusion_matrix(array(np.array([[0.1, 0.9], [0.7, 0.3]])), array(np.array([[1], [1]]))).data
        array([[0, 0],
               [1, 1]], dtype=int32)
    """
    return op.confusion_matrix(x, target, axis=check_label("confusion_matrix", x, target, axis))
