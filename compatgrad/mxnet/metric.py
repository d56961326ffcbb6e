"""Metrics that are averaged over batches: `metric.update(labels, preds)`, `metric.get()`.

A metric has two sums, since the last `reset_local()` and since the last `reset()`: `sum_metric` of `num_inst`
examples (or batches), and `global_sum_metric` of `global_num_inst`.
"""

from __future__ import annotations

import math
from collections import OrderedDict

import numpy

from . import ndarray as ndarray  # programs take it from here
from ._metric_base import EvalMetric, PairMetric, _create, alias, as_list, check_label_shapes, register
from .ndarray import NDArray

__all__ = [
    "Accuracy",
    "Caffe",
    "CompositeEvalMetric",
    "CrossEntropy",
    "CustomMetric",
    "EvalMetric",
    "F1",
    "Loss",
    "MAE",
    "MCC",
    "MSE",
    "NegativeLogLikelihood",
    "PCC",
    "PearsonCorrelation",
    "Perplexity",
    "RMSE",
    "TopKAccuracy",
    "Torch",
    "alias",
    "check_label_shapes",
    "create",
    "np",
    "register",
]


def create(metric, *args, **kwargs):
    """A metric from a registered name, an instance, a function of (label, pred) in NumPy, or a list of these.

    Further arguments go to the metric's class. AssertionError for an unknown name.
    """
    if callable(metric):
        return CustomMetric(metric, *args, **kwargs)
    if isinstance(metric, list):
        composite = CompositeEvalMetric()
        for child in metric:
            composite.add(create(child, *args, **kwargs))
        return composite
    return _create(metric, *args, **kwargs)


@register
@alias("composite")
class CompositeEvalMetric(EvalMetric):
    """Several metrics (`metrics`, each as `create` takes it) on the same arrays; `get` gives lists."""

    def __init__(self, metrics=None, name="composite", output_names=None, label_names=None):
        self.metrics = []  # those that are given keep their sums
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True)
        self.metrics = [create(metric) for metric in metrics or []]

    def add(self, metric):
        """Appends a metric, as `create` takes it."""
        self.metrics.append(create(metric))

    def get_metric(self, index):
        """The metric at `index`; ValueError where there is none."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update_dict(self, labels, preds):
        def chosen(arrays, names):
            return arrays if names is None else OrderedDict((n, x) for n, x in arrays.items() if n in names)

        for metric in self.metrics:
            metric.update_dict(chosen(labels, self.label_names), chosen(preds, self.output_names))

    def update(self, labels, preds):
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self):
        for metric in self.metrics:
            metric.reset()

    def reset_local(self):
        for metric in self.metrics:
            metric.reset_local()

    def _collect(self, pairs):
        names, values = [], []
        for name, value in pairs:
            names.extend(as_list(name))
            values.extend(as_list(value))
        return names, values

    def get(self):
        return self._collect(metric.get() for metric in self.metrics)

    def get_global(self):
        return self._collect(metric.get_global() for metric in self.metrics)

    def get_config(self):
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


# ---- classification -------------------------------------------------------------------------------------------------


@register
@alias("acc")
class Accuracy(PairMetric):
    """The share of right predictions: class numbers, or scores whose largest along `axis` counts."""

    def __init__(self, axis=1, name="accuracy", output_names=None, label_names=None):
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
    """The share of examples whose class is among the `top_k` (at least 2) largest scores, of shape (N, classes)."""

    def __init__(self, top_k=1, name="top_k_accuracy", output_names=None, label_names=None):
        assert top_k > 1, "Please use Accuracy if top_k is no more than 1"
        super().__init__(f"{name}_{top_k}", output_names, label_names, top_k=top_k)
        self.top_k = top_k

    def get_config(self):
        return {**super().get_config(), "name": self.name.removesuffix(f"_{self.top_k}")}

    def _update_pair(self, label, pred):
        assert len(pred.shape) <= 2, f"Predictions should be no more than 2 dims, got shape {pred.shape}"
        label = label.asnumpy().astype("int32").ravel()
        check_label_shapes(label, pred)
        pred = pred.asnumpy().astype("float32")
        if pred.ndim == 2:
            k = min(pred.shape[1], self.top_k)
            # the best k in any order; partitioned at `top_k` as the original, which settles ties alike
            order = numpy.argpartition(pred, -k)[:, -k:]
            right = (order == label[:, None]).sum()
        else:
            right = (numpy.argsort(pred) == label).sum()
        self._add(right, len(label))


class _Counts:
    """How often two classes were taken for each other."""

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
    # a score of the counts: their mean over batches ("macro"), or one score of all batches

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


@register
class F1(_BinaryMetric):
    """The F1 score of two classes (labels 0 and 1, scores (N, 2)): harmonic mean of precision and recall.

    average: "macro" is the mean of the batches' scores, "micro" the score of all of them together.
    """

    def __init__(self, name="f1", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts):
        return counts.f1()


@register
class MCC(_BinaryMetric):
    """Matthews' correlation coefficient of two classes, with `average` as in F1; for more classes there is PCC."""

    def __init__(self, name="mcc", output_names=None, label_names=None, average="macro"):
        super().__init__(name, output_names, label_names, average)

    def _score(self, counts):
        return counts.mcc()


@register
class PCC(EvalMetric):
    """Pearson's correlation of predicted and true classes over all batches: MCC for any number of classes."""

    def __init__(self, name="pcc", output_names=None, label_names=None, has_global_stats=True):
        self.k = 2
        super().__init__(name, output_names, label_names, has_global_stats=has_global_stats)

    @staticmethod
    def _correlation(counts):
        total = counts.sum()
        found, truth = counts.sum(axis=1), counts.sum(axis=0)
        var_found, var_truth = (found * (total - found)).sum(), (truth * (total - truth)).sum()
        if var_found == 0 or var_truth == 0:
            return float("nan")
        return float((counts.diagonal() * total - found * truth).sum() / math.sqrt(var_found * var_truth))

    def update(self, labels, preds):
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
    def sum_metric(self):
        return self._correlation(self.lcm) * self.num_inst

    @property
    def global_sum_metric(self):
        return self._correlation(self.gcm) * self.global_num_inst

    def reset(self):
        self.global_num_inst = 0.0
        self.gcm = numpy.zeros((self.k, self.k))
        self.reset_local()

    def reset_local(self):
        self.num_inst = 0.0
        self.lcm = numpy.zeros((self.k, self.k))


@register
class Perplexity(PairMetric):
    """exp of the mean negative log probability of the labels; predictions are probabilities (N, classes).

    ignore_label: examples with this label are left out (None: none are). axis: the axis of classes.
    """

    def __init__(self, ignore_label, axis=-1, name="perplexity", output_names=None, label_names=None):
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

    def get(self):
        return self.name, math.exp(self.sum_metric / self.num_inst) if self.num_inst else float("nan")

    def get_global(self):
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


@register
@alias("ce")
class CrossEntropy(_LogLoss):
    """Mean of -log(probability of the label + eps); predictions are probabilities (N, classes)."""

    def __init__(self, eps=1e-12, name="cross-entropy", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


@register
@alias("nll_loss")
class NegativeLogLikelihood(_LogLoss):
    """Mean of -log(probability of the label + eps), under another name than CrossEntropy."""

    def __init__(self, eps=1e-12, name="nll-loss", output_names=None, label_names=None):
        super().__init__(eps, name, output_names, label_names)


# ---- regression -----------------------------------------------------------------------------------------------------


class _Error(PairMetric):
    # the mean over batches of an error of arrays; vectors count as columns

    def _error(self, difference):
        raise NotImplementedError

    def _update_pair(self, label, pred):
        label, pred = label.asnumpy(), pred.asnumpy()
        label = label[:, None] if label.ndim == 1 else label
        pred = pred[:, None] if pred.ndim == 1 else pred
        self._add(self._error(label - pred), 1)


@register
class MAE(_Error):
    """Mean over batches of the mean absolute error."""

    def __init__(self, name="mae", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return numpy.abs(difference).mean()


@register
class MSE(_Error):
    """Mean over batches of the mean squared error."""

    def __init__(self, name="mse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return (difference**2.0).mean()


@register
class RMSE(_Error):
    """Mean over batches of the root mean squared error."""

    def __init__(self, name="rmse", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return numpy.sqrt((difference**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(PairMetric):
    """Pearson's correlation of labels and predictions of one shape.

    average: "macro" is the mean of the batches' correlations, "micro" the correlation over all of them.
    """

    def __init__(self, name="pearsonr", output_names=None, label_names=None, average="macro"):
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset(self):
        super().reset()
        # running means of labels and predictions, and the sums of (co)deviations from them
        self._count, self._means, self._deviations = 0, numpy.zeros(2), numpy.zeros((2, 2))

    def _update_pair(self, label, pred):
        check_label_shapes(label, pred, False, True)
        pair = numpy.stack([x.asnumpy().ravel().astype(numpy.float64) for x in (label, pred)])
        if self.average == "macro":
            self._add(numpy.corrcoef(pair)[0, 1], 1)
            return
        self._add(0.0, 1)
        new = pair.shape[1]
        means = pair.mean(axis=1)
        shift = means - self._means
        total = self._count + new
        rest = pair - means[:, None]
        self._deviations += rest @ rest.T + numpy.outer(shift, shift) * (self._count * new / total)
        self._means += shift * (new / total)
        self._count = total

    def get(self):
        if self.average == "macro" or not self.num_inst:
            return super().get()
        (of_label, both), (_, of_pred) = self._deviations
        return self.name, float(both / numpy.sqrt(of_label * of_pred))

    def get_global(self):
        return super().get_global() if self.average == "macro" else self.get()


# ---- losses and own functions ---------------------------------------------------------------------------------------


@register
class Loss(EvalMetric):
    """Mean of the predictions themselves, which are losses; labels do not matter."""

    def __init__(self, name="loss", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _, preds):
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            self._add(pred.tensor.sum().item(), pred.size)


@register
class Torch(Loss):
    """A loss that comes from Torch."""

    def __init__(self, name="torch", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """A loss that comes from Caffe."""

    def __init__(self, name="caffe", output_names=None, label_names=None):
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(EvalMetric):
    """A function `feval(label, pred)` of NumPy arrays, which returns a number or (sum, count).

    name: by default the function's. allow_extra_outputs: there may be more predictions than labels.
    """

    def __init__(self, feval, name=None, allow_extra_outputs=False, output_names=None, label_names=None):
        if name is None:
            name = feval.__name__
            name = f"custom({name})" if "<" in name else name  # a lambda
        super().__init__(
            name,
            output_names,
            label_names,
            feval=feval,
            allow_extra_outputs=allow_extra_outputs,
            has_global_stats=True,
        )
        self._feval = feval
        self._allow_extra_outputs = allow_extra_outputs

    def update(self, labels, preds):
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self):
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(numpy_feval, name=None, allow_extra_outputs=False):
    """A CustomMetric from `numpy_feval(label, pred)`, which bears that function's name."""

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)
