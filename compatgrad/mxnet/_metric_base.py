"""What all metrics share: their sums, their names, and pairs of label and prediction arrays."""

from __future__ import annotations

from . import registry
from .ndarray import NDArray


def check_label_shapes(labels, preds, wrap=False, shape=False):
    """Returns labels and preds, which must be equally many (ValueError); a single NDArray as a list with `wrap`.

    shape: compares the shapes of two arrays instead of lengths.
    """
    of_labels, of_preds = (labels.shape, preds.shape) if shape else (len(labels), len(preds))
    if of_labels != of_preds:
        raise ValueError(f"Shape of labels {of_labels} does not match shape of predictions {of_preds}")
    if wrap:
        labels = [labels] if isinstance(labels, NDArray) else labels
        preds = [preds] if isinstance(preds, NDArray) else preds
    return labels, preds


def as_list(x):
    return x if isinstance(x, list) else [x]


def _mean(total, count):
    return total / count if count else float("nan")


class EvalMetric:
    """Base class. Subclasses define `update(labels, preds)`, which adds to the sums.

    name: what `get` calls it. output_names, label_names: which entries of dicts `update_dict` takes (None: all).
    Other keyword arguments are kept for `get_config`; `has_global_stats` says that the global sums are kept too.
    """

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        self.name = str(name)
        self.output_names = output_names
        self.label_names = label_names
        self._has_global_stats = kwargs.pop("has_global_stats", False)
        self._kwargs = kwargs
        self.reset()

    def __str__(self):
        return f"EvalMetric: {dict(self.get_name_value())}"

    def get_config(self):
        """A dict from which `create(**config)` makes a metric like this one."""
        own = {"name": self.name, "output_names": self.output_names, "label_names": self.label_names}
        return {**self._kwargs, "metric": type(self).__name__, **own}

    def update_dict(self, label, pred):
        """`update` with the arrays of two dicts of name to NDArray."""
        preds = pred.values() if self.output_names is None else [pred[name] for name in self.output_names]
        labels = label.values() if self.label_names is None else [label[name] for name in self.label_names]
        self.update(list(labels), list(preds))

    def update(self, labels, preds):
        """Adds a batch: lists of NDArrays, one label array per prediction array."""
        raise NotImplementedError(f"{type(self).__name__} must define update(labels, preds)")

    def _add(self, total, count):
        # as Python numbers: a NumPy scalar of single precision would make the sums single
        total = float(total)
        self.sum_metric += total
        self.global_sum_metric += total
        self.num_inst += count
        self.global_num_inst += count

    def reset(self):
        """Forgets everything."""
        self.num_inst = 0
        self.sum_metric = 0.0
        self.global_num_inst = 0
        self.global_sum_metric = 0.0

    def reset_local(self):
        """Forgets the local sum only."""
        self.num_inst = 0
        self.sum_metric = 0.0

    def get(self):
        """(name, mean of the local sum), nan where there was nothing."""
        return self.name, _mean(self.sum_metric, self.num_inst)

    def get_global(self):
        """(name, mean of the global sum)."""
        if not self._has_global_stats:
            return self.get()
        return self.name, _mean(self.global_sum_metric, self.global_num_inst)

    def get_name_value(self):
        """`get` as a list of (name, value)."""
        names, values = self.get()
        return list(zip(as_list(names), as_list(values), strict=False))

    def get_global_name_value(self):
        """`get_global` as a list of (name, value)."""
        if not self._has_global_stats:
            return self.get_name_value()
        names, values = self.get_global()
        return list(zip(as_list(names), as_list(values), strict=False))


register = registry.get_register_func(EvalMetric, "metric")
alias = registry.get_alias_func(EvalMetric, "metric")
_create = registry.get_create_func(EvalMetric, "metric")


class PairMetric(EvalMetric):
    # one label array per prediction array, each pair on its own

    def __init__(self, name, output_names=None, label_names=None, **kwargs):
        super().__init__(name, output_names, label_names, has_global_stats=True, **kwargs)

    def update(self, labels, preds):
        labels, preds = check_label_shapes(labels, preds, True)
        for label, pred in zip(labels, preds, strict=False):
            self._update_pair(label, pred)

    def _update_pair(self, label, pred):
        raise NotImplementedError
