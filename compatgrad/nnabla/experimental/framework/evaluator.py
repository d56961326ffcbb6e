"""`Evaluator`, an evaluation that consists of callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Evaluator"]


def _listed(callbacks: Any) -> list[Callable[..., Any]]:
    return callbacks if isinstance(callbacks, list) else [callbacks]


def _nothing(*args: Any) -> bool:
    return True


class Evaluator:
    """Sets the inputs and runs the graph `val_iter` times.

    Args:
        eval_data_feeder: function of the epoch and the number of the iteration that sets the inputs.
        eval_graph_forward: function of the same arguments that computes the graph.
        eval_callback_on_start: a function of the epoch, or a list of them, called before the first iteration.
        eval_callback_on_finish: a function of the epoch, or a list of them, called after the last one.
        val_iter: the number of iterations.

    Example:
        >>> from compatgrad.nnabla.experimental.framework.evaluator import Evaluator
        >>> feed = lambda epoch, i: print("feed", epoch, i)
        >>> Evaluator(feed, lambda epoch, i: print("forward", epoch, i), val_iter=2).evaluate(5)
        feed 5 0
        forward 5 0
        feed 5 1
        forward 5 1

    Source: `nnabla.experimental.framework.evaluator.Evaluator` of nnabla 1.39.0.
    """

    def __init__(
        self,
        eval_data_feeder: Callable[[int, int], Any],
        eval_graph_forward: Callable[[int, int], Any],
        eval_callback_on_start: Any = _nothing,
        eval_callback_on_finish: Any = _nothing,
        val_iter: int = 1,
    ) -> None:
        self.eval_data_feeder = eval_data_feeder
        self.eval_graph_forward = eval_graph_forward
        self.eval_callback_on_start = _listed(eval_callback_on_start)
        self.eval_callback_on_finish = _listed(eval_callback_on_finish)
        self.val_iter = val_iter

    def evaluate(self, e: int) -> None:
        """Runs the iterations for epoch `e`, between the callbacks."""
        for callback in self.eval_callback_on_start:
            callback(e)
        for i in range(self.val_iter):
            self.eval_data_feeder(e, i)
            self.eval_graph_forward(e, i)
        for callback in self.eval_callback_on_finish:
            callback(e)
