"""DelegatingModule: a base class of modules whose outputs, gradients and states come from another object."""

from __future__ import annotations

from typing import Any

from .base_module import BaseModule


class DelegatingModule(BaseModule):
    """A module whose property `_runner` runs it: a group of executors, or the module of the current bucket."""

    @property
    def _runner(self) -> Any:
        raise NotImplementedError

    def get_outputs(self, merge_multi_context: bool = True) -> list[Any]:
        """See BaseModule.get_outputs."""
        self._need("binded", "params_initialized")
        return self._runner.get_outputs(merge_multi_context=merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> list[Any]:
        """See BaseModule.get_input_grads."""
        self._need("binded", "params_initialized", "inputs_need_grad")
        return self._runner.get_input_grads(merge_multi_context=merge_multi_context)

    def get_states(self, merge_multi_context: bool = True) -> list[Any]:
        """The states, each a list with an array for each context; AssertionError with `merge_multi_context`."""
        self._need("binded", "params_initialized")
        return self._runner.get_states(merge_multi_context=merge_multi_context)

    def set_states(self, states: Any = None, value: Any = None) -> None:
        """Sets the states to arrays like those of `get_states`, or all to a number."""
        self._need("binded", "params_initialized")
        self._runner.set_states(states, value)
