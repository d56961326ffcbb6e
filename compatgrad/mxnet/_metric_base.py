"""The base class of metrics, with sums and names, and helpers for pairs of label and prediction arrays."""

from __future__ import annotations

from typing import Any

from . import registry
from .ndarray import NDArray


def check_label_shapes(labels: Any, preds: Any, wrap: bool = False, shape: bool = False) -> tuple[Any, Any]:
    """Checks that there are as many labels as predictions.

    Args:
        labels, preds: lists of arrays, or arrays.
        wrap: a single NDArray is given back in a list.
        shape: compares the shapes of two arrays instead of their lengths.

    Returns:
        `labels` and `preds`.

    Raises:
        ValueError: lengths, or shapes, differ.

    Example:
        >>> labels, preds = mx.metric.check_label_shapes(nd.ones(2), nd.ones((2, 3)), wrap=True)
        >>> len(labels), len(preds)
        (1, 1)

    Source: `mxnet.metric.check_label_shapes` of MXNet 1.9.1.
    """
    of_labels, of_preds = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if of_labels != of_preds:
        raise ValueError(f"Shape of labels {of_labels} does not match shape of predictions {of_preds}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def as_list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _mean(total: float, count: float) -> float:
    return total / count if count else float("nan")


class EvalMetric:
    """Base class of metrics, which are averaged over batches. Subclasses define `update(labels, preds)`.

    Args:
        name: what `get` calls the metric.
        output_names, label_names: entries of dicts that `update_dict` takes; None for all.
        **kwargs: what `get_config` gives beside these; `has_global_stats` says that the sums since `reset()` are kept
            beside those since `reset_local()`.

    Raises:
        NotImplementedError: in `update`, the subclass does not define it.

    Example:
        >>> class Largest(mx.metric.EvalMetric):
        ...     def update(self, labels, preds):
        ...         for pred in preds:
        ...             self.sum_metric += float(pred.max().asscalar())
        ...             self.num_inst += 1
        >>> metric = Largest("largest")
        >>> metric.update([], [nd.array([1, 5]), nd.array([2, 3])])
        >>> print(metric)
        EvalMetric: {'largest': 4.0}

    Source: `mxnet.metric.EvalMetric` of MXNet 1.9.1.
    """

    def __init__(
        self, name: str, output_names: list[str] | None = None, label_names: list[str] | None = None, **kwargs: Any
    ) -> None:
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self) -> str:
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self) -> dict[str, Any]:
        """A dict from which `create(**config)` makes a metric like this one."""
        own = {"name": self.name, "output_names": self.output_names, "label_names": self.label_names}
        return {**self._kwargs, "metric": type(self).__name__, **own}

    def update_dict(self, label: dict[str, NDArray], pred: dict[str, NDArray]) -> None:
        """`update` with the arrays of two dicts of name to NDArray."""
        preds = pred.values() if self.output_names is None else [pred[name] for name in self.output_names]
        labels = label.values() if self.label_names is None else [label[name] for name in self.label_names]
        self.update(list(labels), list(preds))

    def update(self, labels: Any, preds: Any) -> None:
        """Adds a batch: lists of NDArrays, one label array per prediction array."""
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def _add(self, total: float, count: int) -> None:
        # as Python numbers: a NumPy scalar of single precision would make the sums single
        total = float(total)
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count

    def reset(self) -> None:
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self) -> None:
        """Forgets the local sum only."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self) -> tuple[Any, Any]:
        """(name, mean of the local sum), nan if there was nothing."""
        return self.name, _mean(self.sum_metric, self.num_inst)

    def get_global(self) -> tuple[Any, Any]:
        """(name, mean of the global sum)."""
        if not self._has_global_stats:
            return self.get()
        return self.name, _mean(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self) -> list[tuple[str, Any]]:
        """`get` as a list of (name, value)."""
        names, values = self.get()
        return list(zip(as_list(names), as_list(values), strict=False))

    def get_global_name_value(self) -> list[tuple[str, Any]]:
        """`get_global` as a list of (name, value)."""
        if not self._has_global_stats:
            return self.get_name_value()
        names, values = self.get_global()
        return list(zip(as_list(names), as_list(values), strict=False))


EvalMetric.__module__ = __name__.replace("_metric_base", "metric")  # the module's name in MXNet, as in pickles

register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


class PairMetric(EvalMetric):
    # one label array per prediction array, each pair on its own

    def __init__(
        self, name: str, output_names: list[str] | None = None, label_names: list[str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def update(self, labels: Any, preds: Any) -> None:
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            self._update_pair(label, pred)

    def _update_pair(self, label: NDArray, pred: NDArray) -> None:
        raise NotImplementedError
