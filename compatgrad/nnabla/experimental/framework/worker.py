"""`Worker`, which defines the steps of a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .evaluator import Evaluator
from .updater import Updater

__all__ = ["Worker"]


def _hook(text: str, *names: str) -> Any:
    """Makes a method with these parameters that does nothing and is to be overridden."""
    scope: dict[str, Any] = {"Any": Any}
    parameters = "".join(f", {name}: int" for name in names)
    exec(f"def method(self{parameters}) -> Any: pass", scope)  # callers may name the parameters
    scope["method"].__doc__ = text
    return _Named(scope["method"])


class _Named:
    """Gives a method the name of the attribute to which it is assigned, so that error messages show this name."""

    def __init__(self, method: Any) -> None:
        self.method = method

    def __set_name__(self, owner: type, name: str) -> None:
        self.method.__name__, self.method.__qualname__ = name, f"{owner.__qualname__}.{name}"
        setattr(owner, name, self.method)


class Worker:
    """A training of `max_epoch` epochs with `iter_per_epoch` updates each.

    Subclasses override the steps `_..._init`, in which they make `_loss` and `_solver`, the feeders of data, and
    whatever else they need; the methods of this class that do nothing are there to be overridden. `i` is an iteration
    of the epoch `e`, `ag` the number of a batch in it whose gradient is accumulated, `vi` an iteration of an
    evaluation.

    Args:
        data (Data): the data of the training, for the subclass.
        max_epoch: the number of epochs.
        iter_per_epoch: the number of updates in an epoch.
        clear_buffer: whether `backward` of the loss frees arrays after their last use.
        clear_no_need_grad: whether `forward` of the loss frees arrays that no gradient needs.

    Example:
        >>> from compatgrad.nnabla.experimental.framework import Trainer, Worker
        >>> class Line(Worker):
        ...     def _loss_init(self):
        ...         self.x = nn.Variable((4, 1))
        ...         self._loss = F.mean(F.squared_error(PF.affine(self.x, 1), 2 * self.x))
        ...     def _solver_init(self):
        ...         self._solver = S.Sgd(0.5)
        ...         self._solver.set_parameters(nn.get_parameters())
        ...     def _train_data_feeder(self, i, e, ag):
        ...         self.x.d = [[-1], [0], [1], [2]]
        >>> Trainer(Line(None, max_epoch=2, iter_per_epoch=20)).train()
        >>> round(float(nn.get_parameters()["affine/W"].d[0, 0]), 2)
        2.0

    Source: `nnabla.experimental.framework.Worker` of nnabla 1.39.0.
    """

    _loss: Any = None
    _solver: Any = None
    _comm: Any = None
    grads: Any = ()

    _ctx_init = _hook("Sets the context.")
    _var_init = _hook("Makes the input Variables.")
    _comm_init = _hook("Makes the communicator `_comm`.")
    _data_init = _hook("Prepares the data.")
    _graph_init = _hook("Makes the graph.")
    _loss_init = _hook("Makes the Variable `_loss`.")
    _solver_init = _hook("Makes the solver `_solver`.")
    _monitor_init = _hook("Makes the monitors.")
    _load_parameters = _hook("Loads parameters.")
    _save_parameters = _hook("Saves parameters.")
    _load_model = _hook("Loads the model.")
    _save_model = _hook("Saves the model.")
    save_model_at_start = _hook("Called before the first epoch.")
    save_model_at_end = _hook("Called after the last epoch.")
    training_complete = _hook("Called at the end.")
    brief = _hook("A description of the training, a str.")
    epoch_loop_start = _hook("Called first in an epoch.", "e")
    epoch_loop_end = _hook("Called after the iterations of an epoch.", "e")
    save_checkpoint_at_epoch_end = _hook("Called last in an epoch.", "e")
    iter_loop_start = _hook("Called before an update.", "i", "e")
    iter_loop_end = _hook("Called after an update.", "i", "e")
    _train_data_feeder = _hook("Fills the inputs for an update.", "i", "e", "ag")
    _loss_forward_callback_on_start = _hook("Called before the loss is computed.", "i", "e", "ag")
    _loss_forward_callback_on_finish = _hook("Called after the loss is computed.", "i", "e", "ag")
    _loss_backward_callback_on_start = _hook("Called before gradients are computed.", "i", "e", "ag")
    _loss_backward_callback_on_finish = _hook("Called after gradients are computed.", "i", "e", "ag")
    _comm_all_reduce_callback_on_start = _hook("Called before gradients are summed over processes.", "i", "e")
    _comm_all_reduce_callback_on_finish = _hook("Called after gradients are summed over processes.", "i", "e")
    _solver_update_callback_on_start = _hook("Called before the solver updates.", "i", "e")
    _solver_update_callback_on_finish = _hook("Called after the solver updates.", "i", "e")
    _eval_callback_on_start = _hook("Called before an evaluation.", "e")
    _eval_data_feeder = _hook("Fills the inputs for an evaluation.", "e", "vi")
    _eval_graph_forward = _hook("Evaluates.", "e", "vi")
    _eval_callback_on_finish = _hook("Called after an evaluation.", "e")

    def __init__(
        self,
        data: Any,
        max_epoch: int = 1,
        iter_per_epoch: int = 1,
        clear_buffer: bool = True,
        clear_no_need_grad: bool = True,
    ) -> None:
        self._data = data
        self._max_epoch = max_epoch
        self._iter_per_epoch = iter_per_epoch
        self._clear_buffer = clear_buffer
        self._clear_no_need_grad = clear_no_need_grad
        around = {
            f"{step}_callback_on_{when}": [getattr(self, f"_{step}_callback_on_{when}")]
            for step in ("loss_forward", "loss_backward", "comm_all_reduce", "solver_update")
            for when in ("start", "finish")
        }
        self._updater = Updater(
            self._train_data_feeder,
            self._solver_zero_grad,
            self._solver_update,
            self._loss_forward,
            self._loss_backward,
            comm_all_reduce=self._comm_all_reduce,
            **around,
        )
        self._evaluator = Evaluator(
            self._eval_data_feeder,
            self._eval_graph_forward,
            [self._eval_callback_on_start],
            [self._eval_callback_on_finish],
        )

    def _loopCallbackCondition(  # the original's name
        self,
        i: int = 0,
        e: int = 0,
        ag: int = 0,
        toExecute: Callable[..., Any] = lambda i, e, ag: True,
    ) -> Any:
        """Whether to run a step; True unless overridden."""
        return toExecute(i, e, ag)

    def max_epoch(self) -> int:
        """The number of epochs."""
        return self._max_epoch

    def iter_per_epoch(self) -> int:
        """The number of updates in an epoch."""
        return self._iter_per_epoch

    def training_prepare(self) -> None:
        """Calls the steps `_..._init`: context, variables, communicator, data, graph, loss, solver, monitors."""
        for step in ("ctx", "var", "comm", "data", "graph", "loss", "solver", "monitor"):
            getattr(self, f"_{step}_init")()

    def load_checkpoint(self) -> int:
        """Loads a checkpoint, if there is one; returns the epoch to start from."""
        return 0

    def update_in_iteration(self, i: int, e: int) -> None:
        """Updates the parameters in iteration `i` of epoch `e`."""
        if self._loopCallbackCondition(i=i, e=e):
            self._updater.update(i, e)

    def evaluate_at_epoch_start(self, e: int) -> None:
        """Evaluates before the updates of epoch `e`."""
        if self._loopCallbackCondition(e=e):
            self._evaluator.evaluate(e)

    def evaluate_at_training_end(self) -> None:
        """Evaluates after the last epoch."""
        self._evaluator.evaluate(self._max_epoch)

    def _solver_zero_grad(self, i: int, e: int) -> None:
        if self._loopCallbackCondition(i=i, e=e) and self._solver is not None:
            self._solver.zero_grad()

    def _loss_forward(self, i: int, e: int, ag: int) -> None:
        if self._loopCallbackCondition(i=i, e=e, ag=ag) and self._loss is not None:
            self._loss.forward(clear_no_need_grad=self._clear_no_need_grad)

    def _loss_backward(self, i: int, e: int, ag: int) -> None:
        if self._loopCallbackCondition(i=i, e=e, ag=ag) and self._loss is not None:
            self._loss.backward(clear_buffer=self._clear_buffer)

    def _comm_all_reduce(self, i: int, e: int) -> None:
        if self._loopCallbackCondition(i=i, e=e) and self._comm is not None:
            self._comm.all_reduce(self.grads, division=False, inplace=False)

    def _solver_update(self, i: int, e: int) -> None:
        if self._loopCallbackCondition(i=i, e=e) and self._solver is not None:
            self._solver.update()
