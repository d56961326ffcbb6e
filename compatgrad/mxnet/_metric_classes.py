"""Metrics of predicted classes and their probabilities."""

from __future__ import annotations

import math
from typing import Any

import numpy

from ._docs import sharing
from ._metric_base import EvalMetric, PairMetric, alias, check_label_shapes, register

__all__ = [
    "F1",
    "MCC",
    "PCC",
    "Accuracy",
    "CrossEntropy",
    "NegativeLogLikelihood",
    "Perplexity",
    "TopKAccuracy",
]


@register
@alias("acc")
class Accuracy(PairMetric):
    """The share of right predictions.

    Predictions are class numbers of the labels' shape, or scores of which the largest along an axis counts.

    Args:
        axis: the axis of classes in scores.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, there are not as many labels as predictions.

    Example:
        >>> metric = mx.metric.Accuracy()
        >>> metric.update([nd.array([1, 0, 0])], [nd.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])])
        >>> metric.get()
        ('accuracy', 0.6666666666666666)

    Source: `mxnet.metric.Accuracy` of MXNet 1.9.1.
    """

    def __init__(
        self, axis: int = 1, name: str = "accuracy", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, output_names, label_names, axis=axis)
        self.axis = axis

    def _update_pair(self, label, pred):
        if pred.shape != label.shape:
            predicted = pred.tensor.argmax(self.axis).cpu().numpy()
        else:
            predicted = pred.asnumpy().astype("int32")
        predicted, label = predicted.ravel(), label.asnumpy().astype("int32").ravel()
        check_label_shapes(label, predicted)
        self._add(numpy.count_nonzero(predicted == label), len(predicted))


@register
@alias("top_k_accuracy", "top_k_acc")
class TopKAccuracy(PairMetric):
    """The share of examples whose class is among those of the largest scores, which have the shape (N, classes).

    Args:
        top_k: how many scores, at least 2.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        AssertionError: `top_k` is below 2; in `update`, scores have more than two axes.
        ValueError: in `update`, there are not as many labels as predictions.

    Example:
        >>> metric = mx.metric.TopKAccuracy(top_k=2)
        >>> metric.update([nd.array([0, 2])], [nd.array([[0.1, 0.2, 0.7], [0.1, 0.2, 0.7]])])
        >>> metric.get()
        ('top_k_accuracy_2', 0.5)

    Source: `mxnet.metric.TopKAccuracy` of MXNet 1.9.1.
    """

    def __init__(
        self, top_k: int = 1, name: str = "top_k_accuracy", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k)
        self.top_k = top_k

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def _update_pair(self, label, pred):
        assert len(pred.shape) <= 2, f"Predictions should be no more than 2 dims, got shape {pred.shape}"
        label = label.asnumpy().astype("int32").ravel()
        check_label_shapes(label, pred)
        pred = pred.asnumpy().astype("float32")
        if pred.ndim == 2:
            k = min(pred.shape[1], self.top_k)
            # argpartition at the same place as the original, so that equal scores are chosen alike
            order = numpy.argpartition(pred, -k)[:, -k:]
            right = (order == label[:, None]).sum()
        else:
            right = (numpy.argsort(pred) == label).sum()
        self._add(right, len(label))


class _Counts:
    """The confusion matrix of two classes."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.true_positives = self.false_positives = self.false_negatives = self.true_negatives = 0

    def add(self, truth, found):
        self.true_positives += int((truth & found).sum())
        self.false_positives += int((~truth & found).sum())
        self.false_negatives += int((truth & ~found).sum())
        self.true_negatives += int((~truth & ~found).sum())

    @property
    def total(self):
        return self.true_positives + self.false_positives + self.false_negatives + self.true_negatives

    def f1(self):
        hits = self.true_positives
        if not hits:
            return 0.0
        precision, recall = hits / (hits + self.false_positives), hits / (hits + self.false_negatives)
        return 2 * precision * recall / (precision + recall)

    def mcc(self):
        tp, fp, fn, tn = map(
            float, (self.true_positives, self.false_positives, self.false_negatives, self.true_negatives)
        )
        if not self.total:
            return 0.0
        terms = [term for term in (tp + fp, tp + fn, tn + fp, tn + fn) if term]
        return (tp * tn - fp * fn) / math.sqrt(math.prod(terms))


class _BinaryMetric(PairMetric):
    # a score of the confusion matrix: the mean of the batches' scores ("macro"), or the score of all batches

    def __init__(self, name, output_names, label_names, average):
        self.average = average
        self._counts, self._global_counts = _Counts(), _Counts()
        super().__init__(name, output_names, label_names)

    def _score(self, counts):
        raise NotImplementedError

    def _update_pair(self, label, pred):
        check_label_shapes(label, pred)
        label = label.asnumpy().astype("int32").ravel()
        if len(numpy.unique(label)) > 2:
            raise ValueError(f"{type(self).__name__} currently only supports binary classification.")
        found = pred.asnumpy().argmax(1).ravel() == 1
        self._counts.add(label == 1, found)
        self._global_counts.add(label == 1, found)

    def update(self, labels, preds):
        super().update(labels, preds)
        if self.average == "macro":
            self._add(self._score(self._counts), 1)
            self._counts.reset()
            self._global_counts.reset()
        else:
            self.num_inst, self.global_num_inst = self._counts.total, self._global_counts.total
            self.sum_metric = self._score(self._counts) * self.num_inst
            self.global_sum_metric = self._score(self._global_counts) * self.global_num_inst

    def reset(self):
        super().reset()
        self._counts.reset()
        self._global_counts.reset()

    def reset_local(self):
        super().reset_local()
        self._counts.reset()


_BINARY = """
    Labels are 0 and 1, predictions scores of shape (N, 2).

    Args:
        average: "macro" for the mean of the batches' scores, "micro" for the score of all batches together.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, there are more than two classes, or not as many labels as predictions.

    Source: `mxnet.metric.{name}` of MXNet 1.9.1.
"""


@register
@sharing(_BINARY)
class F1(_BinaryMetric):
    """The F1 score of two classes: the harmonic mean of precision and recall.

    Example:
        >>> metric = mx.metric.F1()
        >>> metric.update([nd.array([1, 0, 0])], [nd.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('f1', 0.667)
    """

    def __init__(
        self, name: str = "f1", output_names: list[str] | None = None, label_names: list[str] | None = None,
        average: str = "macro",
    ) -> None:  # fmt: skip
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts):
        return counts.f1()


@register
@sharing(_BINARY)
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient of two classes; PCC is that of more classes.

    Example:
        >>> metric = mx.metric.MCC()
        >>> metric.update([nd.array([1, 0, 0])], [nd.array([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])])
        >>> metric.get()
        ('mcc', 0.5)
    """

    def __init__(
        self, name: str = "mcc", output_names: list[str] | None = None, label_names: list[str] | None = None,
        average: str = "macro",
    ) -> None:  # fmt: skip
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts):
        return counts.mcc()


@register
class PCC(EvalMetric):
    """Pearson's correlation of predicted and true classes over all batches: MCC for any number of classes.

    Predictions are class numbers, or scores of shape (N, classes).

    Args:
        has_global_stats: whether sums since `reset()` are kept beside those since `reset_local()`.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, there are not as many labels as predictions.

    Example:
        >>> metric = mx.metric.PCC()
        >>> metric.update([nd.array([0, 1, 2])], [nd.array([0, 1, 1])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('pcc', 0.612)

    Source: `mxnet.metric.PCC` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str = "pcc", output_names: list[str] | None = None, label_names: list[str] | None = None,
        has_global_stats: bool = True,
    ) -> None:  # fmt: skip
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    @staticmethod
    def _correlation(counts: numpy.ndarray) -> float:
        total = counts.sum()
        found, truth = counts.sum(axis=1), counts.sum(axis=0)
        var_found, var_truth = (found * (total - found)).sum(), (truth * (total - truth)).sum()
        if var_found == 0 or var_truth == 0:
            return float("nan")
        return float((counts.diagonal() * total - found * truth).sum() / math.sqrt(var_found * var_truth))

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            label, pred = label.asnumpy().astype("int32"), pred.asnumpy()
            pred = pred.argmax(axis=1) if pred.shape != label.shape else pred.astype("int32")
            more = int(max(pred.max(), label.max())) + 1 - self.k
            if more > 0:
                self.k += more
                self.lcm, self.gcm = numpy.pad(self.lcm, (0, more)), numpy.pad(self.gcm, (0, more))
            counts = numpy.zeros((self.k, self.k))
            numpy.add.at(counts, (pred.ravel(), label.ravel()), 1)
            self.lcm += counts
            self.gcm += counts
        self.num_inst += 1
        self.global_num_inst += 1

    @property
    def sum_metric(self) -> float:
        """The correlation since `reset_local()`, times the number of batches."""
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self) -> float:
        """The correlation since `reset()`, times the number of batches."""
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self) -> None:
        self.global_num_inst = 0.0
        self.gcm = numpy.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self) -> None:
        self.num_inst = 0.0
        self.lcm = numpy.zeros((self.k, self.k))


@register
class Perplexity(PairMetric):
    """exp of the mean negative log probability of the labels.

    Predictions are probabilities (N, classes).

    Args:
        ignore_label: examples with this label are left out; None for none.
        axis: the axis of classes.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        AssertionError: in `update`, there are not as many labels as rows of probabilities.
        ValueError: in `update`, there are not as many labels as predictions.

    Example:
        >>> metric = mx.metric.Perplexity(ignore_label=None)
        >>> metric.update([nd.array([0, 1])], [nd.array([[0.5, 0.5], [0.5, 0.5]])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('perplexity', 2.0)

    Source: `mxnet.metric.Perplexity` of MXNet 1.9.1.
    """

    def __init__(
        self, ignore_label: int | None, axis: int = -1, name: str = "perplexity", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(name, output_names, label_names, ignore_label=ignore_label)
        self.ignore_label = ignore_label
        self.axis = axis

    def _update_pair(self, label, pred):
        assert label.size == pred.size / pred.shape[-1], f"shape mismatch: {label.shape} vs. {pred.shape}"
        scores = pred.tensor.movedim(self.axis, -1)
        scores = scores.reshape(-1, scores.shape[-1])
        labels = label.tensor.to(scores.device).reshape(-1)
        chosen = scores.gather(1, labels.long().clamp(0, scores.shape[1] - 1)[:, None])[:, 0]
        if self.ignore_label is not None:
            chosen = chosen[labels != self.ignore_label]
        self._add(-chosen.clamp_min(1e-10).log().sum().item(), len(chosen))

    def get(self) -> tuple[str, float]:
        return self.name, math.exp(self.sum_metric / self.num_inst) if self.num_inst else float("nan")

    def get_global(self) -> tuple[str, float]:
        count = self.global_num_inst
        return self.name, math.exp(self.global_sum_metric / count) if count else float("nan")


class _LogLoss(PairMetric):
    # negative log of the labels' probabilities (N, classes), plus eps

    def __init__(self, eps, name, output_names, label_names):
        super().__init__(name, output_names, label_names, eps=eps)
        self.eps = eps

    def _update_pair(self, label, pred):
        label, pred = label.asnumpy().ravel(), pred.asnumpy()
        assert label.shape[0] == pred.shape[0], f"{label.shape[0]} labels for {pred.shape[0]} predictions"
        chosen = pred[numpy.arange(len(label)), label.astype("int64")]
        self._add((-numpy.log(chosen + self.eps)).sum(), len(label))


_LOG_LOSS = """
    Predictions are probabilities (N, classes).

    Args:
        eps: what is added to probabilities before the logarithm.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        AssertionError: in `update`, there are not as many labels as rows of probabilities.
        IndexError: in `update`, a label is no class.
        ValueError: in `update`, there are not as many labels as predictions.

    Example:
        >>> metric = mx.metric.{name}()
        >>> metric.update([nd.array([0, 1])], [nd.array([[0.5, 0.5], [0.5, 0.5]])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('{kind}', 0.693)

    Source: `mxnet.metric.{name}` of MXNet 1.9.1.
"""


@register
@alias("ce")
@sharing(_LOG_LOSS, kind="cross-entropy")
class CrossEntropy(_LogLoss):
    """The mean of -log(probability of the label + eps)."""

    def __init__(
        self, eps: float = 1e-12, name: str = "cross-entropy", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
@sharing(_LOG_LOSS, kind="nll-loss")
class NegativeLogLikelihood(_LogLoss):
    """The mean of -log(probability of the label + eps): CrossEntropy under another name."""

    def __init__(
        self, eps: float = 1e-12, name: str = "nll-loss", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(eps, name, output_names, label_names)
