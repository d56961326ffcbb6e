"""An extension that releases the graphs of observed Variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import configuration, variable
from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from compatgrad.chainer.training.trainer import Trainer


class unchain_variables(extension.Extension):
    """Releases the graphs of observed Variables after all other extensions have run, so that no graph is kept until the
    next iteration. It runs if `config.keep_graph_on_report` was True in the previous iteration.

    Example:
        >>> from types import SimpleNamespace
        >>> loss = F.sum(chainer.Variable(np.ones(2)))
        >>> chainer.training.extensions.unchain_variables()(SimpleNamespace(observation={"loss": loss}))
        >>> loss.creator is None
        True

    Source: `chainer.training.extensions.unchain_variables` of Chainer 7.8.1.
    """

    priority = 0

    def __init__(self) -> None:
        self._prev_flag = None

    def initialize(self, _: Trainer) -> None:
        """Stores whether graphs are kept."""
        self._prev_flag = configuration.config.keep_graph_on_report

    def trigger(self, _: Trainer) -> bool:
        """Fires if graphs were kept at the previous call."""
        flag = self._prev_flag
        self._prev_flag = configuration.config.keep_graph_on_report
        return flag

    def __call__(self, trainer: Trainer) -> None:
        for value in trainer.observation.values():
            if isinstance(value, variable.Variable):
                value.unchain_backward()
