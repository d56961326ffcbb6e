"""An update of the parameters as a sequence of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .evaluator import _nothing, listed

__all__ = ["Updater"]


class Updater:
    """One iteration: gradients of `accum_grad` batches, their sum over processes, and the solver's update.

    What concerns one batch is called with iteration, epoch and the batch's number, the rest with iteration and epoch.
    Callbacks are one or a list. Processes are only asked for the sum with a communicator `comm` and with `grads`.
    """

    def __init__(
        self,
        train_data_feeder: Callable[[int, int, int], Any],
        solver_zero_grad: Callable[[int, int], Any],
        solver_update: Callable[[int, int], Any],
        loss_forward: Callable[[int, int, int], Any] = _nothing,
        loss_backward: Callable[[int, int, int], Any] = _nothing,
        loss_forward_callback_on_start: Any = _nothing,
        loss_forward_callback_on_finish: Any = _nothing,
        loss_backward_callback_on_start: Any = _nothing,
        loss_backward_callback_on_finish: Any = _nothing,
        comm_all_reduce_callback_on_start: Any = _nothing,
        comm_all_reduce: Callable[[int, int], Any] = _nothing,
        comm_all_reduce_callback_on_finish: Any = _nothing,
        solver_update_callback_on_start: Any = _nothing,
        solver_update_callback_on_finish: Any = _nothing,
        accum_grad: int = 1,
        comm: Any = None,
        grads: Sequence[Any] = (),
    ) -> None:
        self.train_data_feeder = train_data_feeder
        self.solver_zero_grad = solver_zero_grad
        self.solver_update = solver_update
        self.loss_forward = loss_forward
        self.loss_backward = loss_backward
        self.loss_forward_callback_on_start = listed(loss_forward_callback_on_start)
        self.loss_forward_callback_on_finish = listed(loss_forward_callback_on_finish)
        self.loss_backward_callback_on_start = listed(loss_backward_callback_on_start)
        self.loss_backward_callback_on_finish = listed(loss_backward_callback_on_finish)
        self.comm_all_reduce_callback_on_start = listed(comm_all_reduce_callback_on_start)
        self.comm_all_reduce = comm_all_reduce
        self.comm_all_reduce_callback_on_finish = listed(comm_all_reduce_callback_on_finish)
        self.solver_update_callback_on_start = listed(solver_update_callback_on_start)
        self.solver_update_callback_on_finish = listed(solver_update_callback_on_finish)
        self.accum_grad = accum_grad
        self.comm = comm
        self.grads = grads

    def _step(self, name: str, *where: int) -> None:
        """A step with the callbacks around it."""
        for callback in getattr(self, f"{name}_callback_on_start"):
            callback(*where)
        getattr(self, name)(*where)
        for callback in getattr(self, f"{name}_callback_on_finish"):
            callback(*where)

    def update(self, i: int, e: int) -> None:
        """Iteration `i` of epoch `e`."""
        self.solver_zero_grad(i, e)
        for batch in range(self.accum_grad):
            self.train_data_feeder(i, e, batch)
            self._step("loss_forward", i, e, batch)
            self._step("loss_backward", i, e, batch)
        if self.comm and len(self.grads):
            self._step("comm_all_reduce", i, e)
        self._step("solver_update", i, e)
