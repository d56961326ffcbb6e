"""Records which arrays were freed when each function of a pass was done. For tests of memory."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla import callback

__all__ = [
    "activate_clear_called_flag_recorder",
    "deactivate_clear_called_flag_recorder",
    "get_input_clear_called_flags",
    "get_output_clear_called_flags",
]

_inputs: list[list[tuple[bool, bool]]] = []
_outputs: list[list[tuple[bool, bool]]] = []


def _flags(variables: list[Any]) -> list[tuple[bool, bool]]:
    return [(v.data.clear_called, v.grad.clear_called) for v in variables]


def _record(function: Any) -> None:
    _inputs.append(_flags(function.inputs))
    _outputs.append(_flags(function.outputs))


def activate_clear_called_flag_recorder() -> None:
    """Starts recording."""
    callback.set_function_done_hook("clear_called_flag_recorder", _record)


def deactivate_clear_called_flag_recorder() -> None:
    """Stops recording and forgets what was recorded."""
    callback.unset_function_done_hook("clear_called_flag_recorder")
    _inputs.clear()
    _outputs.clear()


def get_input_clear_called_flags() -> list[list[tuple[bool, bool]]]:
    """For each function that ran, (data, gradient) of each input."""
    return [list(flags) for flags in _inputs]


def get_output_clear_called_flags() -> list[list[tuple[bool, bool]]]:
    """For each function that ran, (data, gradient) of each output."""
    return [list(flags) for flags in _outputs]
