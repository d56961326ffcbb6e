"""`Updater`, an update of the parameters that consists of callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .evaluator import _listed, _nothing

__all__ = ["Updater"]


class Updater:
    """One iteration: gradients of `accum_grad` batches, their sum over processes, and the solver's update.

    Args:
        train_data_feeder: function of iteration, epoch and number of the batch that sets the inputs.
        solver_zero_grad: function of iteration and epoch that zeroes gradients.
        solver_update: function of iteration and epoch that updates the parameters.
        loss_forward: function of iteration, epoch and number of the batch that computes the loss.
        loss_backward: function of the same arguments that computes the gradients.
        loss_forward_callback_on_start: a function, or a list of functions, called with the same arguments before
            `loss_forward`.
        loss_forward_callback_on_finish: called with the same arguments after it.
        loss_backward_callback_on_start: called with the same arguments before `loss_backward`.
        loss_backward_callback_on_finish: called with the same arguments after it.
        comm_all_reduce_callback_on_start: called with iteration and epoch before `comm_all_reduce`.
        comm_all_reduce: function of iteration and epoch that sums gradients over processes; it needs `comm` and
            `grads`.
        comm_all_reduce_callback_on_finish: called with the same arguments after it.
        solver_update_callback_on_start: called with iteration and epoch before `solver_update`.
        solver_update_callback_on_finish: called with the same arguments after it.
        accum_grad: the number of batches whose gradients are added up.
        comm: the communicator of several processes.
        grads: the gradients that are summed over processes.

    Example:
        >>> from compatgrad.nnabla.experimental.framework.updater import Updater
        >>> def said(name):
        ...     return lambda *where: print(name, *where)
        >>> updater = Updater(said("feed"), said("zero_grad"), said("update"), said("forward"), said("backward"))
        >>> updater.update(7, 0)
        zero_grad 7 0
        feed 7 0 0
        forward 7 0 0
        backward 7 0 0
        update 7 0

    Source: `nnabla.experimental.framework.updater.Updater` of nnabla 1.39.0.
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
        self.loss_forward_callback_on_start = _listed(loss_forward_callback_on_start)
        self.loss_forward_callback_on_finish = _listed(loss_forward_callback_on_finish)
        self.loss_backward_callback_on_start = _listed(loss_backward_callback_on_start)
        self.loss_backward_callback_on_finish = _listed(loss_backward_callback_on_finish)
        self.comm_all_reduce_callback_on_start = _listed(comm_all_reduce_callback_on_start)
        self.comm_all_reduce = comm_all_reduce
        self.comm_all_reduce_callback_on_finish = _listed(comm_all_reduce_callback_on_finish)
        self.solver_update_callback_on_start = _listed(solver_update_callback_on_start)
        self.solver_update_callback_on_finish = _listed(solver_update_callback_on_finish)
        self.accum_grad = accum_grad
        self.comm = comm
        self.grads = grads

    def _step(self, name: str, *where: int) -> None:
        """Runs a step with the callbacks before and after it."""
        for callback in getattr(self, f"{name}_callback_on_start"):
            callback(*where)
        getattr(self, name)(*where)
        for callback in getattr(self, f"{name}_callback_on_finish"):
            callback(*where)

    def update(self, i: int, e: int) -> None:
        """Runs iteration `i` of epoch `e`: gradients, their sum over processes, and the solver's update."""
        self.solver_zero_grad(i, e)
        for batch in range(self.accum_grad):
            self.train_data_feeder(i, e, batch)
            self._step("loss_forward", i, e, batch)
            self._step("loss_backward", i, e, batch)
        if self.comm and len(self.grads):
            self._step("comm_all_reduce", i, e)
        self._step("solver_update", i, e)
