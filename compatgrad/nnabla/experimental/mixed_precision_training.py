"""Training in half precision with a loss scale."""


class DynamicLossScalingUpdater:
    """Training steps with a scaled loss, so that small gradients do not vanish in half precision.

    The scale is divided by scaling_factor, and the step done again, while a gradient overflows; it is
    multiplied after more than N steps without that.

    solver, loss: a Solver and the Variable to differentiate. data_feeder: a function that sets the inputs.
    scale: the first one. clear_buffer: frees memory during the passes. accum_grad: passes per update.
    weight_decay: a rate, or None. comm, grads: a communicator that sums the NdArrays `grads` over the
    processes.
    """

    def __init__(
        self,
        solver,
        loss,
        data_feeder=lambda: None,
        scale=8.0,
        scaling_factor=2.0,
        N=2000,
        clear_buffer=True,
        accum_grad=1,
        weight_decay=None,
        comm=None,
        grads=(),
    ):
        self.solver, self.loss, self.data_feeder = solver, loss, data_feeder
        self.scale, self.scaling_factor, self.N = scale, scaling_factor, N
        self.clear_buffer, self.accum_grad, self.weight_decay = clear_buffer, accum_grad, weight_decay
        self.comm, self.grads = comm, grads
        self._counter = 0  # steps since the scale changed
        self._tries = 101

    def _compute_gradients(self):
        # False where one overflows
        self.solver.zero_grad()
        for _ in range(self.accum_grad):
            self.data_feeder()
            self.loss.forward(clear_no_need_grad=self.clear_buffer)
            self.loss.backward(self.scale, clear_buffer=self.clear_buffer)
        if self.comm and len(self.grads):
            self.comm.all_reduce(list(self.grads), division=False, inplace=False)
        return not self.solver.check_inf_or_nan_grad()

    def update(self):
        """One step: gradients, their sum over processes, weight decay, update. After 101 overflows it is left out."""
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
