"""Converts sequences between one array and a list with an array for each step."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from ... import ndarray, symbol
from ...name import Prefix
from ...ndarray import NDArray


def operators_of(x: Any) -> Any:
    """The module whose operators take x (or the elements of a list): `nd` or `sym`."""
    if isinstance(x, (list, tuple)):
        x = x[0]
    if isinstance(x, NDArray):
        return ndarray
    return symbol


def is_merged(x: Any) -> bool:
    """Whether x is one array or symbol, not a list."""
    return not isinstance(x, (list, tuple))


def as_list(x: Any) -> list[Any]:
    """The results of an operator that may have several: arrays in a list, one array, or one symbol of them all."""
    return [x] if isinstance(x, NDArray) else list(x)


def _format_sequence(
    length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int, Any, int]:
    """The sequence as one array (`merge` is True), a list of steps (False), or unchanged (None).

    Returns the sequence, its time axis, the module of its operators, and the batch size (0 for symbols).
    AssertionError if the sequence has another length.
    """
    if inputs is None:
        raise AssertionError("unroll: inputs must be an array or a list of arrays, not None")
    axis, batch_axis = layout.find("T"), layout.find("N")
    in_axis = axis if in_layout is None else in_layout.find("T")
    F = operators_of(inputs)
    batch_size = 0
    if is_merged(inputs):
        steps = length
        if F is ndarray:
            batch_size, steps = inputs.shape[batch_axis], inputs.shape[in_axis]
            if merge is False and length is not None and length != steps:
                raise AssertionError(f"unroll: inputs of shape {inputs.shape} have {steps} steps, not {length}")
        if merge is False:
            return as_list(F.split(inputs, axis=in_axis, num_outputs=steps, squeeze_axis=True)), axis, F, batch_size
    else:
        if length is not None and len(inputs) != length:
            raise AssertionError(f"unroll: inputs are a list of {len(inputs)} steps, not {length}")
        if F is ndarray:
            batch_size = inputs[0].shape[0]
        if merge is not True:
            return inputs, axis, F, batch_size
        inputs, in_axis = F.stack(*inputs, axis=axis), axis
    if axis != in_axis:
        inputs = F.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis, F, batch_size


def _mask_sequence_variable_length(
    F: Any, data: Any, length: int, valid_length: Any, time_axis: int, merge: bool | None
) -> Any:
    """A sequence with zeros from the valid lengths on, as one array or (not `merge`) a list of steps."""
    if not is_merged(data):
        data = F.stack(*data, axis=time_axis)
    data = F.SequenceMask(data, sequence_length=valid_length, use_sequence_length=True, axis=time_axis)
    return data if merge else as_list(F.split(data, num_outputs=length, axis=time_axis, squeeze_axis=True))


def _reverse_sequences(sequences: list[Any], unroll_step: int, valid_length: Any = None) -> list[Any]:
    """A list of steps in reverse order; with valid lengths, only that many steps of each sample are reversed."""
    if valid_length is None:
        return list(reversed(sequences))
    F = operators_of(sequences)
    stacked = F.stack(*sequences, axis=0)
    stacked = F.SequenceReverse(stacked, sequence_length=valid_length, use_sequence_length=True)
    return as_list(F.split(stacked, axis=0, num_outputs=unroll_step, squeeze_axis=True))


def made_state(func: Callable[..., Any], name: str, info: dict[str, Any], options: dict[str, Any]) -> Any:
    """A state before the first step: `func(**info)`; functions of `nd` do not take `name` and `__layout__`."""
    options = {**info, **options}
    if getattr(func, "__module__", "").startswith(ndarray.__name__):
        options.pop("__layout__", None)
        return func(**options)
    return func(name=name, **options)


def named_steps(step: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `hybrid_forward` of cells, so that names of symbols contain the number of the step and are unique."""

    @wraps(step)
    def hybrid_forward(self: Any, F: Any, inputs: Any, states: Any, **weights: Any) -> Any:
        if F is ndarray:
            return step(self, F, inputs, states, **weights)
        with Prefix(f"{self._prefix}t{self._counter}_"):
            return step(self, F, inputs, states, **weights)

    return hybrid_forward


def zeros_for_each(F: Any, x: Any, batch_axis: int, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of `shape`, except that `axis` gets the length of x's batch: for symbols, whose shapes are not known."""
    flat = F.reshape(F.swapaxes(x, 0, batch_axis) if batch_axis else x, shape=(0, -1))
    one = F.slice_axis(flat, axis=1, begin=0, end=1)
    ones = F.reshape(one, shape=[-1 if i == axis else 1 for i in range(len(shape))])
    others = tuple(i for i in range(len(shape)) if i != axis)
    return F.zeros_like(F.broadcast_axis(ones, axis=others, size=tuple(shape[i] for i in others)))


def _cells_state_info(cells: Any, batch_size: int) -> list[Any]:
    return [info for cell in cells for info in cell.state_info(batch_size)]


def _cells_begin_state(cells: Any, **kwargs: Any) -> list[Any]:
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _get_begin_state(cell: Any, F: Any, begin_state: Any, inputs: Any, batch_size: int, layout: str = "NTC") -> Any:
    """`begin_state`; where it is None, zeros on the context of the inputs."""
    if begin_state is not None:
        return begin_state
    if F is not ndarray:
        x, axis = (inputs, layout.find("N")) if is_merged(inputs) else (inputs[0], 0)
        return [zeros_for_each(F, x, axis, info["shape"], 0) for info in cell.state_info(0)]
    with (inputs if is_merged(inputs) else inputs[0]).context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
