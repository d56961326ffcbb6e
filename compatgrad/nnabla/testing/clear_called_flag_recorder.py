"""Records, for tests of memory, which arrays have been freed at the end of each function of a pass."""

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
    """Starts recording, for tests of memory, which arrays have been freed at the end of each function of a pass.

    Example:
        >>> from compatgrad.nnabla.testing import clear_called_flag_recorder as recorder
        >>> recorder.activate_clear_called_flag_recorder()
        >>> y = F.exp(F.tanh(nn.Variable((2, 3), need_grad=True)))
        >>> y.forward(clear_no_need_grad=True)
        >>> recorder.get_input_clear_called_flags()
        [[(False, False)], [(False, False)]]
        >>> recorder.deactivate_clear_called_flag_recorder()

    Source: `nnabla.testing.clear_called_flag_recorder.activate_clear_called_flag_recorder` of nnabla 1.39.0.
    """
    callback.set_function_done_hook("clear_called_flag_recorder", _record)


def deactivate_clear_called_flag_recorder() -> None:
    """Stops recording, and deletes the records.

    Example:
        >>> from compatgrad.nnabla.testing import clear_called_flag_recorder as recorder
        >>> recorder.activate_clear_called_flag_recorder()
        >>> F.tanh(nn.Variable((2, 3))).forward()
        >>> recorder.deactivate_clear_called_flag_recorder()
        >>> recorder.get_input_clear_called_flags()
        []

    Source: `nnabla.testing.clear_called_flag_recorder.deactivate_clear_called_flag_recorder` of nnabla 1.39.0.
    """
    callback.unset_function_done_hook("clear_called_flag_recorder")
    _inputs.clear()
    _outputs.clear()


def get_input_clear_called_flags() -> list[list[tuple[bool, bool]]]:
    """Which arrays of the inputs were freed.

    Returns:
        For each function that has run, a list with (data, gradient) of each input: whether the array was freed.

    Example:
        >>> from compatgrad.nnabla.testing import clear_called_flag_recorder as recorder
        >>> recorder.activate_clear_called_flag_recorder()
        >>> y = F.exp(F.tanh(nn.Variable((2, 3), need_grad=True)))
        >>> y.forward(clear_no_need_grad=True)
        >>> recorder.get_input_clear_called_flags()
        [[(False, False)], [(False, False)]]
        >>> recorder.deactivate_clear_called_flag_recorder()

    Source: `nnabla.testing.clear_called_flag_recorder.get_input_clear_called_flags` of nnabla 1.39.0.
    """
    return [list(flags) for flags in _inputs]


def get_output_clear_called_flags() -> list[list[tuple[bool, bool]]]:
    """Which arrays of the outputs were freed.

    Returns:
        For each function that has run, a list with (data, gradient) of each output: whether the array was freed.

    Example:
        >>> from compatgrad.nnabla.testing import clear_called_flag_recorder as recorder
        >>> recorder.activate_clear_called_flag_recorder()
        >>> y = F.exp(F.tanh(nn.Variable((2, 3), need_grad=True)))
        >>> y.forward(clear_no_need_grad=True)
        >>> recorder.get_output_clear_called_flags()
        [[(False, False)], [(False, False)]]
        >>> recorder.deactivate_clear_called_flag_recorder()

    Source: `nnabla.testing.clear_called_flag_recorder.get_output_clear_called_flags` of nnabla 1.39.0.
    """
    return [list(flags) for flags in _outputs]
