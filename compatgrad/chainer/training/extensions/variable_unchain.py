"""The cut of graphs that observations hold."""

from compatgrad.chainer import configuration, variable
from compatgrad.chainer.training import extension


class unchain_variables(extension.Extension):
    """Cuts the graphs of observed Variables after all other extensions, where they were kept for these.

    It runs where ``config.keep_graph_on_report`` was set at its last call.
    """

    priority = 0

    def __init__(self):
        self._prev_flag = None

    def initialize(self, _):
        self._prev_flag = configuration.config.keep_graph_on_report

    def trigger(self, _):
        flag = self._prev_flag
        self._prev_flag = configuration.config.keep_graph_on_report
        return flag

    def __call__(self, trainer):
        for value in trainer.observation.values():
            if isinstance(value, variable.Variable):
                value.unchain_backward()
