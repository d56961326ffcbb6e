"""BatchProcessor: runs an Estimator's network on a batch."""

from __future__ import annotations

from typing import Any

from .... import autograd
from ...utils import split_and_load

__all__ = ["BatchProcessor"]

Parts = list[Any]


class BatchProcessor:
    """Runs the network on a batch (data, label), a part of it on each context; a subclass may do it otherwise.

    Both methods return lists, an element for each context: data, labels, predictions and losses.

    Example:
        >>> net = gluon.nn.Dense(1, in_units=1, weight_initializer="zeros")
        >>> net.initialize()
        >>> trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
        >>> estimator = gluon.contrib.estimator.Estimator(net, gluon.loss.L2Loss(), trainer=trainer)
        >>> estimator.logger.setLevel("ERROR")
        >>> samples = gluon.data.ArrayDataset(nd.array([[1.0], [2.0]]), nd.array([2.0, 4.0]))
        >>> batch = nd.array([[1.0], [2.0]]), nd.array([2.0, 4.0])
        >>> data, label, pred, loss = gluon.contrib.estimator.BatchProcessor().fit_batch(estimator, batch)
        >>> pred[0].shape, loss[0].asnumpy()
        ((2, 1), array([2., 8.], dtype=float32))

    Source: `mxnet.gluon.contrib.estimator.BatchProcessor` of MXNet 1.9.1.
    """

    def _get_data_and_label(self, batch: Any, ctx: list[Any], batch_axis: int = 0) -> tuple[Parts, Parts]:
        data, label = (split_and_load(x, ctx_list=ctx, batch_axis=batch_axis) for x in batch[:2])
        return data, label

    def evaluate_batch(self, estimator: Any, val_batch: Any, batch_axis: int = 0) -> tuple[Parts, Parts, Parts, Parts]:
        """Predictions and losses of a batch of the validation data."""
        data, label = self._get_data_and_label(val_batch, estimator.context, batch_axis)
        pred = [estimator.val_net(x) for x in data]
        return data, label, pred, [estimator.val_loss(p, y) for p, y in zip(pred, label, strict=True)]

    def fit_batch(self, estimator: Any, train_batch: Any, batch_axis: int = 0) -> tuple[Parts, Parts, Parts, Parts]:
        """Like evaluate_batch, on a batch of the training data, and also runs backward."""
        data, label = self._get_data_and_label(train_batch, estimator.context, batch_axis)
        with autograd.record():
            pred = [estimator.net(x) for x in data]
            loss = [estimator.loss(p, y) for p, y in zip(pred, label, strict=True)]
        for each in loss:
            each.backward()
        return data, label, pred, loss
