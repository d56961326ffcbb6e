"""Checks of metrics."""

from __future__ import annotations

from typing import Any

from ....metric import Accuracy, CompositeEvalMetric, EvalMetric
from ...loss import SoftmaxCrossEntropyLoss


def _check_metrics(metrics: Any) -> list[EvalMetric]:
    """A flat list of a metric, of a composite one, of a list of them, or of None; ValueError for anything else."""
    if isinstance(metrics, CompositeEvalMetric):
        return [m for metric in metrics.metrics for m in _check_metrics(metric)]
    metrics = [metrics] if isinstance(metrics, EvalMetric) else metrics or []
    if not all(isinstance(metric, EvalMetric) for metric in metrics):
        raise ValueError(f"metrics must be a Metric or a list of Metric, refer to mxnet.metric.EvalMetric: {metrics}")
    return metrics


def _check_handler_metric_ref(handler: Any, known: list[EvalMetric]) -> None:
    """ValueError if a handler watches a metric that the estimator does not update."""
    for name, value in vars(handler).items():
        if "metric" in name or name == "monitor":
            for metric in value if isinstance(value, list) else [value] if value is not None else []:
                if not any(metric is m for m in known):
                    raise ValueError(
                        f"Event handler {type(handler).__name__} refers to a metric instance {metric} outside of the "
                        "known training and validation metrics. Please use the metrics from estimator.train_metrics "
                        "and estimator.val_metrics instead."
                    )


def _suggest_metric_for_loss(loss: Any) -> EvalMetric | None:
    return Accuracy() if isinstance(loss, SoftmaxCrossEntropyLoss) else None
