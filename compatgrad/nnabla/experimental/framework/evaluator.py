"""Evaluation as a sequence of callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Evaluator"]


def listed(callbacks: Any) -> list[Callable[..., Any]]:
    return callbacks if isinstance(callbacks, list) else [callbacks]


def _nothing(*args: Any) -> bool:
    return True


class Evaluator:
    """Feeds data and runs the graph `val_iter` times.

    eval_data_feeder, eval_graph_forward: called with the epoch and the number of the iteration; the callbacks, one or
    a list, with the epoch, before the first iteration and behind the last.
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
        self.eval_callback_on_start = listed(eval_callback_on_start)
        self.eval_callback_on_finish = listed(eval_callback_on_finish)
        self.val_iter = val_iter

    def evaluate(self, e: int) -> None:
        """Evaluates in epoch `e`."""
        for callback in self.eval_callback_on_start:
            callback(e)
        for i in range(self.val_iter):
            self.eval_data_feeder(e, i)
            self.eval_graph_forward(e, i)
        for callback in self.eval_callback_on_finish:
            callback(e)
