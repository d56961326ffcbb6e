"""Linear growth at the start."""

from compatgrad.chainer.training.extensions import _shift


class WarmupShift(_shift.OptimizerExtension):
    """Moves an optimizer's attribute from `warmup_start` to `init` during the first `warmup_iter` calls.

    `warmup_start`: None for the optimizer's value. `optimizer`: by default the main one.
    """

    def __init__(self, attr, warmup_start, warmup_iter, init, optimizer=None):
        super().__init__(attr, optimizer)
        self._warmup_start = warmup_start
        self._warmup_iter = warmup_iter
        self._init = init

    def initialize(self, trainer):
        if self._warmup_start is None:
            self._warmup_start = self._get_value(trainer)
        else:
            self._set_value(trainer, self._warmup_start)

    def __call__(self, trainer):
        self._t += 1
        t, n = self._t, self._warmup_iter
        if t <= n:
            self._set_value(trainer, (t * self._init + (n - t) * self._warmup_start) / n)
