from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, reporter

if TYPE_CHECKING:
    from collections.abc import Callable

    from compatgrad.chainer.link import Link
    from compatgrad.chainer.variable import Variable


class Classifier(link.Chain):
    """Loss and accuracy of a predictor: `link(x, t)` computes y = predictor(x), returns lossfun(y, t), and reports
    `loss` and `accuracy` for a trainer. Prediction, loss and accuracy stay in the attributes `y`, `loss` and
    `accuracy`; `compute_accuracy = False` leaves the accuracy out.

    Args:
        predictor: the network, a child link.
        lossfun: function of prediction and label that returns the loss, a Variable of shape ().
        accfun: function of prediction and label that returns the accuracy.
        label_key: which positional (int) or keyword (str) argument of the call is the label; a call without it raises
            ValueError.

    Raises:
        TypeError: `label_key` is neither int nor str.

    Example:
        >>> model = L.Classifier(L.Linear(2, 2, initialW=np.eye(2, dtype=np.float32)))
        >>> loss = model(np.array([[0, 1], [1, 0]], np.float32), np.array([1, 1], np.int32))
        >>> float(model.accuracy.array)
        0.5

    Source: `chainer.links.Classifier` of Chainer 7.8.1.
    """

    compute_accuracy = True

    def __init__(
        self,
        predictor: Link,
        lossfun: Callable[..., Any] = F.softmax_cross_entropy,
        accfun: Callable[..., Any] = F.accuracy,
        label_key: int | str = -1,
    ) -> None:
        if not isinstance(label_key, (int, str)):
            raise TypeError(f"label_key must be int or str, but is {type(label_key)}")
        super().__init__()
        self.lossfun = lossfun
        self.accfun = accfun
        self.y = None
        self.loss = None
        self.accuracy = None
        self.label_key = label_key
        with self.init_scope():
            self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> Variable:
        """The loss of the prediction; prediction, loss and accuracy stay in `y`, `loss` and `accuracy`."""
        key = self.label_key
        if isinstance(key, int):
            if not -len(args) <= key < len(args):
                raise ValueError(f"Label key {key} is out of bounds")
            args = list(args)
            t = args.pop(key)
        else:
            if key not in kwargs:
                raise ValueError(f'Label key "{key}" is not found')
            t = kwargs.pop(key)
        self.y = self.loss = self.accuracy = None
        self.y = self.predictor(*args, **kwargs)
        self.loss = self.lossfun(self.y, t)
        reporter.report({"loss": self.loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            reporter.report({"accuracy": self.accuracy}, self)
        return self.loss
