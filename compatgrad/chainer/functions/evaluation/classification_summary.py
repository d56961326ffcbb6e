"""Precision, recall and F-score of each class."""

import numpy

from compatgrad import _C
from compatgrad.chainer import backend, function
from compatgrad.chainer.functions.evaluation.accuracy import expect_labels


class ClassificationSummary(function.Function):
    def __init__(self, label_num, beta, ignore_label):
        self.label_num = label_num
        self.beta = beta
        self.ignore_label = ignore_label

    def check_type_forward(self, in_types):
        expect_labels(in_types)

    def forward(self, inputs):
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


def classification_summary(y, t, label_num=None, beta=1.0, ignore_label=-1):
    """(precision, recall, F-score, support) of each class, by scores `y` (N, C, …) and labels `t` (N, …).

    `label_num`: the number of classes (default: the largest label + 1); `beta`: the weight of recall;
    `ignore_label` does not count. Classes without samples or predictions give NaN.
    """
    return ClassificationSummary(label_num, beta, ignore_label)(y, t)


def precision(y, t, label_num=None, ignore_label=-1):
    """(precision, support) of each class; see `classification_summary`."""
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[0], ret[-1]


def recall(y, t, label_num=None, ignore_label=-1):
    """(recall, support) of each class; see `classification_summary`."""
    ret = classification_summary(y, t, label_num, 1.0, ignore_label)
    return ret[1], ret[-1]


def fbeta_score(y, t, label_num=None, beta=1.0, ignore_label=-1):
    """(F-score, support) of each class; see `classification_summary`."""
    ret = classification_summary(y, t, label_num, beta, ignore_label)
    return ret[2], ret[-1]


def f1_score(y, t, label_num=None, ignore_label=-1):
    """(F1-score, support) of each class; see `classification_summary`."""
    return fbeta_score(y, t, label_num, 1.0, ignore_label)
