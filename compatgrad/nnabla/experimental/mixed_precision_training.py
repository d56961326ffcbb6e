"""Training in half precision with a loss scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .._nd_array import NdArray
    from ..solver import Solver
    from ..variable import Variable


class DynamicLossScalingUpdater:
    """Training steps with a scaled loss, so that small gradients do not vanish in half precision. While a gradient
    overflows, the scale is divided by `scaling_factor` and the step is repeated. After more than `N` steps without an
    overflow the scale is multiplied by `scaling_factor`.

    Args:
        solver: updates the parameters.
        loss: the Variable to differentiate.
        data_feeder: a function that sets the inputs.
        scale: the initial factor of the loss.
        scaling_factor: the number by which the factor is divided or multiplied.
        N: the number of steps without an overflow after which the factor grows.
        clear_buffer: whether arrays are freed during the passes.
        accum_grad: the number of passes per update, each with new data.
        weight_decay: the rate of weight decay; None for none.
        comm: a communicator that sums gradients over the processes; None for a single process.
        grads: the gradients that the communicator sums.

    Example:
        >>> from compatgrad.nnabla.experimental.mixed_precision_training import DynamicLossScalingUpdater
        >>> x = nn.Variable((4, 1))
        >>> loss = F.mean(F.squared_error(PF.affine(x, 1), 2 * x))
        >>> solver = S.Sgd(0.5)
        >>> solver.set_parameters(nn.get_parameters())
        >>> def feed():
        ...     x.d = [[-1], [0], [1], [2]]
        >>> updater = DynamicLossScalingUpdater(solver, loss, feed)
        >>> for _ in range(40):
        ...     updater.update()
        >>> round(float(nn.get_parameters()["affine/W"].d[0, 0]), 2), updater.scale
        (2.0, 8.0)

    Source: `nnabla.experimental.mixed_precision_training.DynamicLossScalingUpdater` of nnabla 1.39.0; Micikevicius et
    al., 2017.
    """

    def __init__(
        self,
        solver: Solver,
        loss: Variable,
        data_feeder: Callable[[], Any] = lambda: None,
        scale: float = 8.0,
        scaling_factor: float = 2.0,
        N: int = 2000,
        clear_buffer: bool = True,
        accum_grad: int = 1,
        weight_decay: float | None = None,
        comm: Any = None,
        grads: Sequence[NdArray] = (),
    ) -> None:
        self.solver, self.loss, self.data_feeder = solver, loss, data_feeder
        self.scale, self.scaling_factor, self.N = scale, scaling_factor, N
        self.clear_buffer, self.accum_grad, self.weight_decay = clear_buffer, accum_grad, weight_decay
        self.comm, self.grads = comm, grads
        self._counter = 0  # number of steps since the scale changed
        self._tries = 101

    def _compute_gradients(self):
        # Returns False where a gradient overflows.
        self.solver.zero_grad()
        for _ in range(self.accum_grad):
            self.data_feeder()
            self.loss.forward(clear_no_need_grad=self.clear_buffer)
            self.loss.backward(self.scale, clear_buffer=self.clear_buffer)
        if self.comm and len(self.grads):
            self.comm.all_reduce(list(self.grads), division=False, inplace=False)
        return not self.solver.check_inf_or_nan_grad()

    def update(self) -> None:
        """One step: gradients, their sum over processes, weight decay, update. After 101 overflows there is no
        update."""
        for _ in range(self._tries):
            if self._compute_gradients():
                break
            self.scale /= self.scaling_factor
            self._counter = 0
        else:
            return
        self.solver.scale_grad(1.0 / self.scale)
        if self.weight_decay is not None:
            self.solver.weight_decay(self.weight_decay)
        self.solver.update()
        if self._counter > self.N:
            self.scale *= self.scaling_factor
            self._counter = 0
        self._counter += 1
