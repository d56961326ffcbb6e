"""`mxnet.nd.contrib`: operators that MXNet calls contributed, and control flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

# what these declare is handed out below
from . import (  # noqa: F401
    _calibration,
    _contrib_arrays,
    _contrib_boxes,
    _contrib_graphs,
    _contrib_nn,
    _contrib_process,
    _contrib_proposals,
    _quantized,
    nn_layers,
    nn_loss,
    nn_norm,
)
from ._operator import op, operators
from ._random_state import generator
from .ndarray import NDArray

operators.setdefault("_contrib_SparseEmbedding", operators["Embedding"])
_mine = {name.removeprefix("_contrib_"): f for name, f in operators.items() if name.startswith("_contrib_")}
globals().update(_mine)


# ---- control flow ----------------------------------------------------------------------------------------------------
def _flat(values: Any, what: str) -> tuple[list[NDArray], Any]:
    """The arrays of a nested list, and how they are nested: 0 for an array."""
    if isinstance(values, NDArray):
        return [values], 0
    if not isinstance(values, (list, tuple)):
        raise AssertionError(f"{what} must be an NDArray or a nested list of them, got {values!r}")
    arrays, form = [], []
    for v in values:
        more, part = _flat(v, what)
        arrays += more
        form.append(part)
    return arrays, form


def _nested(arrays: list[NDArray], form: Any) -> Any:
    """The arrays, which are used up, as `form` says."""
    return arrays.pop(0) if form == 0 else [_nested(arrays, part) for part in form]


def _number(value: Any, kind: type, what: str) -> Any:
    if hasattr(value, "asscalar"):
        value = value.asscalar()
    try:
        return kind(value)
    except (TypeError, ValueError):
        raise ValueError(f"Cannot convert {what} to python {kind.__name__}: {value!r}") from None


def foreach(
    body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach"
) -> tuple[Any, Any]:
    """Calls `outputs, states = body(slice, states)` for each slice of data along its first axis.

    data: an array or a list of them, of which the body gets the slices; init_states: a nested list of arrays. Gives
    the outputs, nested as the body's, stacked along a new first axis, and the last states. AssertionError for what is
    no array.
    """
    _flat(data, "foreach: data")
    _flat(init_states, "foreach: init_states")
    single, states = isinstance(data, NDArray), init_states
    steps: list[list[NDArray]] = []
    form: Any = []
    for i in range(len(data) if single else len(data[0])):
        outputs, states = body(data[i] if single else [d[i] for d in data], states)
        arrays, form = _flat(outputs, "foreach: outputs of body")
        steps.append(arrays)
    return _nested([op.stack(list(column), axis=0) for column in zip(*steps, strict=True)], form), states


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Calls `output, loop_vars = func(*loop_vars)` while `cond(*loop_vars)` is true, at most `max_iterations` times.

    Gives the outputs, nested as the function's, stacked along a new first axis of length max_iterations (zeros where
    no step was), and the last loop_vars. ValueError without max_iterations, for no loop_vars, and where their number
    or that of the outputs changes.
    """
    if max_iterations is None:
        raise ValueError("while_loop: max_iterations should be specified")
    limit = _number(max_iterations, int, "max_iterations")
    single = isinstance(loop_vars, NDArray)
    variables = [loop_vars] if single else list(loop_vars)
    if not variables:
        raise ValueError("while_loop: loop_vars should contain at least one element")
    steps: list[list[NDArray]] = []
    form: Any = []
    while len(steps) < limit and _number(cond(*variables), bool, "the result of cond"):
        output, new = func(*variables)
        new = [new] if isinstance(new, NDArray) else list(new or [])
        if len(new) != len(variables):
            raise ValueError(f"while_loop: func must give {len(variables)} loop_vars as it gets, got {len(new)}")
        variables = new
        arrays, form = _flat([] if output is None else output, "while_loop: outputs of func")
        if steps and len(arrays) != len(steps[0]):
            raise ValueError(f"while_loop: func gave {len(steps[0])} outputs first, then {len(arrays)}")
        steps.append(arrays)
    columns = []
    for k, column in enumerate(zip(*steps, strict=True)):
        if len({x.shape for x in column}) > 1:
            raise ValueError(f"while_loop: the shapes of output {k} differ: {[x.shape for x in column]}")
        y = op.stack(list(column), axis=0)
        if len(steps) < limit:
            rest = torch.zeros((limit - len(steps), *column[0].shape), dtype=y.tensor.dtype, device=y.tensor.device)
            y = op.concat([y, NDArray(rest)], axis=0)
        columns.append(y)
    return _nested(columns, form), variables[0] if single else variables


def cond(pred: Any, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """What `then_func()` gives if the scalar `pred` is not 0, else what `else_func()` gives. `name`: for symbols."""
    return then_func() if _number(pred, bool, "pred") else else_func()


# ---- checks of numbers -----------------------------------------------------------------------------------------------
def _checked(data: NDArray, check: Callable[[torch.Tensor], torch.Tensor]) -> NDArray:
    return NDArray(check(data.tensor).to(data.tensor.dtype))


def isnan(data: NDArray) -> NDArray:
    """1 where an element is not a number, else 0."""
    return _checked(data, torch.isnan)


def isinf(data: NDArray) -> NDArray:
    """1 where an element is infinite, else 0."""
    return _checked(data, torch.isinf)


def isfinite(data: NDArray) -> NDArray:
    """1 where an element is neither infinite nor not a number, else 0."""
    return _checked(data, torch.isfinite)


# ---- sampling --------------------------------------------------------------------------------------------------------
def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Any = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes below `range_max`, class k drawn with probability log((k + 2) / (k + 1)) / log(range_max + 1).

    Gives `num_sampled` classes (int64), and how often each of true_classes, and each drawn one, is expected (float64).
    """
    device = true_classes.tensor.device if ctx is None else ctx.torch_device
    whole = math.log(range_max + 1)
    u = torch.rand(num_sampled, dtype=torch.float64, device=device, generator=generator(device))
    drawn = (torch.exp(u * whole) - 1).to(torch.int64) % range_max

    def expected(classes: torch.Tensor) -> NDArray:
        k = classes.to(device, torch.float64)
        return NDArray(torch.log((k + 2) / (k + 1)) / whole * num_sampled)

    return NDArray(drawn), expected(true_classes.tensor), expected(drawn)


__all__: Sequence[str] = [
    "cond", "foreach", "isfinite", "isinf", "isnan", "rand_zipfian", "while_loop", *sorted(_mine)
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Operators that were declared after this module was read."""
    try:
        return operators[f"_contrib_{name}"]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
