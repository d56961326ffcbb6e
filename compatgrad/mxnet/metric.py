"""Metrics that are averaged over batches: `metric.update(labels, preds)`, `metric.get()`.

A metric has two sums, since the last `reset_local()` and since the last `reset()`: `sum_metric` of `num_inst`
examples (or batches), and `global_sum_metric` of `global_num_inst`.
"""

from __future__ import annotations

import math  # noqa: F401  programs find it here, as in MXNet
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NoReturn

import numpy

from . import ndarray as ndarray  # programs import it from here
from ._docs import sharing
from ._metric_base import EvalMetric, PairMetric, _create, alias, as_list, check_label_shapes, register
from ._metric_classes import (
    F1,
    MCC,
    PCC,
    Accuracy,
    CrossEntropy,
    NegativeLogLikelihood,
    Perplexity,
    TopKAccuracy,
)
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


def create(metric: Any, *args: Any, **kwargs: Any) -> EvalMetric:
    """A metric from its name, a function, or several of these.

    Args:
        metric: a registered name, in any case, a metric, which is returned, a function of (label, pred) in NumPy, or a
            list of these, which makes a CompositeEvalMetric.
        *args: arguments of the metric's class by position.
        **kwargs: arguments of the metric's class by name.

    Returns:
        The metric.

    Raises:
        AssertionError: the name is not known, or `metric` is something else.

    Example:
        >>> [type(m).__name__ for m in mx.metric.create(["acc", "mse"]).metrics]
        ['Accuracy', 'MSE']

    Source: `mxnet.metric.create` of MXNet 1.9.1.
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
    """Several metrics on the same arrays; `get` gives lists.

    Args:
        metrics: the metrics, each as `create` takes it; None for none.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `get_metric`, there is no such metric.

    Example:
        >>> metric = mx.metric.CompositeEvalMetric(["mae", "mse"])
        >>> metric.update([nd.array([0, 0])], [nd.array([1, 3])])
        >>> metric.get()
        (['mae', 'mse'], [2.0, 5.0])

    Source: `mxnet.metric.CompositeEvalMetric` of MXNet 1.9.1.
    """

    def __init__(
        self, metrics: list[Any] | None = None, name: str = "composite", output_names: list[str] | None = None,
        label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
        self.metrics = []  # those that are given keep their sums
        super().__init__(name, output_names=output_names, label_names=label_names, has_global_stats=True)
        self.metrics = [create(metric) for metric in metrics or []]

    def add(self, metric: Any) -> None:
        """Appends a metric, as `create` takes it."""
        self.metrics.append(create(metric))

    def get_metric(self, index: int) -> EvalMetric:
        """The metric at `index`; ValueError if it does not exist."""
        try:
            return self.metrics[index]
        except IndexError:
            raise ValueError(f"Metric index {index} is out of range 0 and {len(self.metrics)}") from None

    def update_dict(self, labels: dict[str, NDArray], preds: dict[str, NDArray]) -> None:
        def chosen(arrays, names):
            return arrays if names is None else OrderedDict((n, x) for n, x in arrays.items() if n in names)

        for metric in self.metrics:
            metric.update_dict(chosen(labels, self.label_names), chosen(preds, self.output_names))

    def update(self, labels: Any, preds: Any) -> None:
        for metric in self.metrics:
            metric.update(labels, preds)

    def reset(self) -> None:
        for metric in self.metrics:
            metric.reset()

    def reset_local(self) -> None:
        for metric in self.metrics:
            metric.reset_local()

    def _collect(self, pairs: Any) -> tuple[list[str], list[Any]]:
        names, values = [], []
        for name, value in pairs:
            names.extend(as_list(name))
            values.extend(as_list(value))
        return names, values

    def get(self) -> tuple[list[str], list[Any]]:
        return self._collect(metric.get() for metric in self.metrics)

    def get_global(self) -> tuple[list[str], list[Any]]:
        return self._collect(metric.get_global() for metric in self.metrics)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "metrics": [metric.get_config() for metric in self.metrics]}


class _Error(PairMetric):
    # the mean over batches of an error of arrays; vectors count as columns

    def _error(self, difference):
        raise NotImplementedError

    def _update_pair(self, label, pred):
        label, pred = label.asnumpy(), pred.asnumpy()
        label = label[:, None] if label.ndim == 1 else label
        pred = pred[:, None] if pred.ndim == 1 else pred
        self._add(self._error(label - pred), 1)


_ERROR = """
    Args:
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, shapes do not broadcast, or there are not as many labels as predictions.

    Source: `mxnet.metric.{name}` of MXNet 1.9.1.
"""


@register
@sharing(_ERROR)
class MAE(_Error):
    """The mean absolute error of each batch, averaged over batches; vectors count as columns.

    Example:
        >>> metric = mx.metric.MAE()
        >>> metric.update([nd.array([0, 0])], [nd.array([1, 3])])
        >>> metric.get()
        ('mae', 2.0)
    """

    def __init__(
        self, name: str = "mae", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return numpy.abs(difference).mean()


@register
@sharing(_ERROR)
class MSE(_Error):
    """The mean squared error of each batch, averaged over batches; vectors count as columns.

    Example:
        >>> metric = mx.metric.MSE()
        >>> metric.update([nd.array([0, 0])], [nd.array([1, 3])])
        >>> metric.get()
        ('mse', 5.0)
    """

    def __init__(
        self, name: str = "mse", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return (difference**2.0).mean()


@register
@sharing(_ERROR)
class RMSE(_Error):
    """The root of the mean squared error of each batch, averaged over batches; vectors count as columns.

    Example:
        >>> metric = mx.metric.RMSE()
        >>> metric.update([nd.array([0, 0])], [nd.array([1, 3])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('rmse', 2.236)
    """

    def __init__(
        self, name: str = "rmse", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)

    def _error(self, difference):
        return numpy.sqrt((difference**2.0).mean())


@register
@alias("pearsonr")
class PearsonCorrelation(PairMetric):
    """Pearson's correlation of labels and predictions of one shape.

    Args:
        average: "macro" for the mean of the batches' correlations, "micro" for the correlation over all of them.
        name, output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, shapes or numbers of arrays differ.

    Example:
        >>> metric = mx.metric.PearsonCorrelation()
        >>> metric.update([nd.array([1, 2, 3])], [nd.array([2, 4, 6])])
        >>> name, value = metric.get()
        >>> name, round(value, 3)
        ('pearsonr', 1.0)

    Source: `mxnet.metric.PearsonCorrelation` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str = "pearsonr", output_names: list[str] | None = None, label_names: list[str] | None = None,
        average: str = "macro",
    ) -> None:  # fmt: skip
        self.average = average
        super().__init__(name, output_names, label_names)

    def reset(self) -> None:
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

    def get(self) -> tuple[str, float]:
        if self.average == "macro" or not self.num_inst:
            return super().get()
        (of_label, both), (_, of_pred) = self._deviations
        return self.name, float(both / numpy.sqrt(of_label * of_pred))

    def get_global(self) -> tuple[str, float]:
        return super().get_global() if self.average == "macro" else self.get()


@register
class Loss(EvalMetric):
    """The mean of the predictions themselves, which are losses; labels do not matter.

    Args:
        name, output_names, label_names: as in EvalMetric.

    Example:
        >>> metric = mx.metric.Loss()
        >>> metric.update(None, [nd.array([1, 2])])
        >>> metric.get()
        ('loss', 1.5)

    Source: `mxnet.metric.Loss` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str = "loss", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True)

    def update(self, _: Any, preds: Any) -> None:
        for pred in [preds] if isinstance(preds, NDArray) else preds:
            self._add(pred.tensor.sum().item(), pred.size)


@register
class Torch(Loss):
    """A loss that comes from Torch: `Loss` under another name.

    Args:
        name, output_names, label_names: as in EvalMetric.

    Example:
        >>> metric = mx.metric.Torch()
        >>> metric.update(None, [nd.array([1, 2])])
        >>> metric.get()
        ('torch', 1.5)

    Source: `mxnet.metric.Torch` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str = "torch", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class Caffe(Loss):
    """A loss that comes from Caffe: `Loss` under another name.

    Args:
        name, output_names, label_names: as in EvalMetric.

    Example:
        >>> metric = mx.metric.Caffe()
        >>> metric.update(None, [nd.array([1, 2])])
        >>> metric.get()
        ('caffe', 1.5)

    Source: `mxnet.metric.Caffe` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str = "caffe", output_names: list[str] | None = None, label_names: list[str] | None = None
    ) -> None:
        super().__init__(name, output_names, label_names)


@register
class CustomMetric(EvalMetric):
    """A metric that a function gives.

    Args:
        feval: the function of label and prediction, NumPy arrays; it gives a number, or a sum and a count.
        name: what `get` calls the metric; None for the function's name.
        allow_extra_outputs: whether there may be more predictions than labels.
        output_names, label_names: as in EvalMetric.

    Raises:
        ValueError: in `update`, there are not as many labels as predictions.
        NotImplementedError: in `get_config`.

    Example:
        >>> metric = mx.metric.CustomMetric(lambda label, pred: float((label - pred).max()), name="worst")
        >>> metric.update([nd.array([1, 2])], [nd.array([0, 0])])
        >>> metric.get()
        ('worst', 2.0)

    Source: `mxnet.metric.CustomMetric` of MXNet 1.9.1.
    """

    def __init__(
        self, feval: Callable[[numpy.ndarray, numpy.ndarray], Any], name: str | None = None,
        allow_extra_outputs: bool = False, output_names: list[str] | None = None, label_names: list[str] | None = None,
    ) -> None:  # fmt: skip
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

    def update(self, labels: Any, preds: Any) -> None:
        if not self._allow_extra_outputs:
            labels, preds = check_label_shapes(labels, preds, True)
        for pred, label in zip(preds, labels, strict=False):
            result = self._feval(label.asnumpy(), pred.asnumpy())
            self._add(*(result if isinstance(result, tuple) else (result, 1)))

    def get_config(self) -> NoReturn:
        raise NotImplementedError("CustomMetric cannot be serialized")


def np(
    numpy_feval: Callable[[numpy.ndarray, numpy.ndarray], Any],
    name: str | None = None,
    allow_extra_outputs: bool = False,
) -> CustomMetric:
    """A CustomMetric from a function of NumPy arrays.

    Args:
        numpy_feval: the function of label and prediction; it gives a number, or a sum and a count.
        name: what `get` calls the metric; None for the function's name.
        allow_extra_outputs: whether there may be more predictions than labels.

    Returns:
        The metric.

    Raises:
        AttributeError: `numpy_feval` is no function.

    Example:
        >>> def worst(label, pred): return float((label - pred).max())
        >>> metric = mx.metric.np(worst)
        >>> metric.update([nd.array([1, 2])], [nd.array([0, 0])])
        >>> metric.get()
        ('worst', 2.0)

    Source: `mxnet.metric.np` of MXNet 1.9.1.
    """

    def feval(label, pred):
        return numpy_feval(label, pred)

    feval.__name__ = numpy_feval.__name__
    return CustomMetric(feval, name, allow_extra_outputs)


# Pickles name this module, as the original's do.
for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = __name__
