"""Precision, recall and F-score of each class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, function
from compatgrad.chainer.functions.evaluation.accuracy import _expect_labels

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class ClassificationSummary(function.Function):
    documented = "classification_summary"

    def __init__(self, label_num: int | None, beta: float, ignore_label: int) -> None:
        self.label_num = label_num
        self.beta = beta
        self.ignore_label = ignore_label

    check_type_forward = staticmethod(_expect_labels)

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        xp = backend.get_array_module(*inputs)
        y, t = inputs
        t = t.astype(numpy.int32, copy=False)
        n = self.label_num
        if n is None:
            n = int(t.max()) + 1
        elif _C.get_mode("debug"):
            assert (t < n).all(), f"t has the label {t.max()}; label_num is {n}"
        t = t.ravel()
        counted = t != self.ignore_label
        t, predicted = t[counted], y.argmax(axis=1).ravel()[counted]

        def count(labels):
            return xp.bincount(labels, minlength=n)[:n]

        hits, support = count(t[predicted == t]), count(t)
        with numpy.errstate(divide="ignore", invalid="ignore"):
            precision = hits / count(predicted)
            recall = hits / support
            weight = self.beta * self.beta
            fbeta = (1 + weight) * precision * recall / (weight * precision + recall)
        return precision, recall, fbeta, support


def classification_summary(
    y: VariableOrArray, t: VariableOrArray, label_num: int | None = None, beta: float = 1.0, ignore_label: int = -1
) -> tuple[Variable, Variable, Variable, Variable]:
    """Precision, recall, F-score and number of labels of each class. Not differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        label_num: the number of classes; None: the highest label + 1.
        beta: weight of recall relative to precision.
        ignore_label: labels of this value are not counted.

    Returns:
        Four Variables (label_num,), the last one of integers. A class without predictions or labels has NaN where their
        number is a divisor.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode, a label is not below `label_num`.

    Example:
        >>> y, t = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1])
        >>> precision, recall, score, support = F.classification_summary(y, t)
        >>> precision.array, recall.array, support.array
        (array([0.5, 1. ]), array([1. , 0.5]), array([1, 2]))

    Source: `chainer.functions.classification_summary` of Chainer 7.8.1.
    """
    return ClassificationSummary(label_num, beta, ignore_label)(y, t)


def precision(
    y: VariableOrArray, t: VariableOrArray, label_num: int | None = None, ignore_label: int = -1
) -> tuple[Variable, Variable]:
    """For each class, the share of its predictions that are correct, and the number of its labels. Not differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        label_num: the number of classes; None: the highest label + 1.
        ignore_label: labels of this value are not counted.

    Returns:
        Two Variables (label_num,), floating and of integers. A class without predictions or labels has NaN where their
        number is a divisor.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode, a label is not below `label_num`.

    Example:
        >>> y, t = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1])
        >>> precision, support = F.precision(y, t)
        >>> precision.array, support.array
        (array([0.5, 1. ]), array([1, 2]))

    Source: `chainer.functions.precision` of Chainer 7.8.1.
    """
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[0], ret[-1]


def recall(
    y: VariableOrArray, t: VariableOrArray, label_num: int | None = None, ignore_label: int = -1
) -> tuple[Variable, Variable]:
    """For each class, the share of its labels that were predicted, and the number of its labels. Not differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        label_num: the number of classes; None: the highest label + 1.
        ignore_label: labels of this value are not counted.

    Returns:
        Two Variables (label_num,), floating and of integers. A class without predictions or labels has NaN where their
        number is a divisor.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode, a label is not below `label_num`.

    Example:
        >>> y, t = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1])
        >>> recall, support = F.recall(y, t)
        >>> recall.array, support.array
        (array([1. , 0.5]), array([1, 2]))

    Source: `chainer.functions.recall` of Chainer 7.8.1.
    """
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[1], ret[-1]


def fbeta_score(
    y: VariableOrArray, t: VariableOrArray, label_num: int | None = None, beta: float = 1.0, ignore_label: int = -1
) -> tuple[Variable, Variable]:
    """F-score (1 + beta²) precision * recall / (beta² precision + recall) of each class, and the number of its labels.
    Not differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        label_num: the number of classes; None: the highest label + 1.
        beta: weight of recall relative to precision.
        ignore_label: labels of this value are not counted.

    Returns:
        Two Variables (label_num,), floating and of integers. A class without predictions or labels has NaN where their
        number is a divisor.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode, a label is not below `label_num`.

    Example:
        >>> y, t = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1])
        >>> score, support = F.evaluation.classification_summary.fbeta_score(y, t)
        >>> score.array, support.array
        (array([0.66666667, 0.66666667]), array([1, 2]))

    Source: `chainer.functions.evaluation.classification_summary.fbeta_score` of Chainer 7.8.1.
    """
    ret = classification_summary(y, t, label_num, beta, ignore_label)
    return ret[2], ret[-1]


def f1_score(
    y: VariableOrArray, t: VariableOrArray, label_num: int | None = None, ignore_label: int = -1
) -> tuple[Variable, Variable]:
    """F-score 2 precision * recall / (precision + recall) of each class, and the number of its labels. Not
    differentiable.

    Args:
        y: floating, (n, k, ...): scores of k classes.
        t: integers, (n, ...): labels in [0, k).
        label_num: the number of classes; None: the highest label + 1.
        ignore_label: labels of this value are not counted.

    Returns:
        Two Variables (label_num,), floating and of integers. A class without predictions or labels has NaN where their
        number is a divisor.

    Raises:
        chainer.utils.type_check.InvalidType: shapes or dtypes do not fit.
        AssertionError: in debug mode, a label is not below `label_num`.

    Example:
        >>> y, t = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]]), np.array([0, 1, 1])
        >>> score, support = F.f1_score(y, t)
        >>> score.array, support.array
        (array([0.66666667, 0.66666667]), array([1, 2]))

    Source: `chainer.functions.f1_score` of Chainer 7.8.1.
    """
    return fbeta_score(y, t, label_num, 1.0, ignore_label)
