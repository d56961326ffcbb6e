"""`mxnet.nd.contrib`: operators that MXNet calls contributed, and control flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .._docs import sharing as _sharing
from ..context import Context

# these modules declare the operators that are exported below
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
from ._operator import not_an_array, op, operators
from ._random_state import generator
from .ndarray import NDArray

operators.setdefault("_contrib_SparseEmbedding", operators["Embedding"])
_mine = {name.removeprefix("_contrib_"): f for name, f in operators.items() if name.startswith("_contrib_")}
globals().update(_mine)


# ---- control flow ----------------------------------------------------------------------------------------------------
def _flattened(values: Any, leaf: Callable[[Any], tuple[list[Any], Any] | None], wanted: str) -> tuple[list[Any], Any]:
    """The elements of a nested list, and its form; `leaf(x)` gives both for an element, and None for a wrong one."""
    found = leaf(values)
    if found is not None:
        return found
    if not isinstance(values, (list, tuple)):
        raise AssertionError(f"{wanted} or a nested list of them, got {values!r}")
    parts = [_flattened(v, leaf, wanted) for v in values]
    return [x for items, _ in parts for x in items], [form for _, form in parts]


def _flat(values: Any, what: str) -> tuple[list[NDArray], Any]:
    """The arrays of a nested list, and its form: 0 for an array, a list of forms for a list."""
    return _flattened(values, lambda x: ([x], 0) if isinstance(x, NDArray) else None, f"{what} must be an NDArray")


def _nested(arrays: list[NDArray], form: Any) -> Any:
    """Nests the arrays again in the given form, and removes them from the list."""
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
    """Calls a function for each slice of arrays along their first axis, with the states from the call before.

    Args:
        body: called as `outputs, states = body(slice, states)`; both may be nested lists of NDArrays.
        data: an NDArray, or a list of them of one length, of which `body` gets a list of slices.
        init_states: the states of the first call, an NDArray or a nested list of them.
        name: without effect on arrays.

    Returns:
        The outputs, nested as those of `body`, stacked along a new first axis, and the last states.

    Raises:
        AssertionError: `data`, `init_states` or an output is neither an NDArray nor a nested list of them.

    Example:
        >>> def add(x, total):
        ...     return x + total, x + total
        >>> sums, last = nd.contrib.foreach(add, nd.array([1, 2, 3]), nd.array([0]))
        >>> sums.asnumpy().ravel(), last.asnumpy()
        (array([1., 3., 6.], dtype=float32), array([6.], dtype=float32))

    Source: `mxnet.nd.contrib.foreach` of MXNet 1.9.1.
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
    """Calls a function as long as a condition on its variables holds.

    Args:
        cond: called as `cond(*loop_vars)`; a number or an NDArray of one element, 0 being false.
        func: called as `output, loop_vars = func(*loop_vars)`; `output` may be None or a nested list of NDArrays.
        loop_vars: the first variables, an NDArray or a list of them.
        max_iterations: the most steps; it must be given.
        name: without effect on arrays.

    Returns:
        The outputs, nested as those of `func`, stacked along a new first axis of length `max_iterations`, with zeros
        where no step was; and the last `loop_vars`.

    Raises:
        ValueError: there is no `max_iterations`; there are no `loop_vars`; their number, or that or a shape of the
            outputs, changes; what `cond` gives is no number.
        AssertionError: an output is neither an NDArray nor a nested list of them.

    Example:
        >>> squares, last = nd.contrib.while_loop(
        ...     lambda i: i < 3, lambda i: (i * i, [i + 1]), [nd.array([0])], max_iterations=5
        ... )
        >>> squares.asnumpy().ravel(), last[0].asnumpy()
        (array([0., 1., 4., 0., 0.], dtype=float32), array([3.], dtype=float32))

    Source: `mxnet.nd.contrib.while_loop` of MXNet 1.9.1.
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
    """Calls one of two functions.

    Args:
        pred: a number, or an NDArray of one element.
        then_func: called without arguments where `pred` is not 0.
        else_func: called without arguments where it is 0.
        name: without effect on arrays.

    Returns:
        What the function gives.

    Raises:
        ValueError: `pred` is an array of several elements.

    Example:
        >>> x = nd.array([2.0])
        >>> nd.contrib.cond(x > 1, lambda: x * 10, lambda: x).asnumpy()
        array([20.], dtype=float32)

    Source: `mxnet.nd.contrib.cond` of MXNet 1.9.1.
    """
    return then_func() if _number(pred, bool, "pred") else else_func()


# ---- checks of numbers -----------------------------------------------------------------------------------------------
def _checked(who: str, data: NDArray, check: Callable[[torch.Tensor], torch.Tensor]) -> NDArray:
    if not isinstance(data, NDArray):
        raise not_an_array(who, "data", data)
    return NDArray(check(data.tensor).to(data.tensor.dtype))


_WHERE = """
    Args:
        data: any shape, any dtype.

    Returns:
        NDArray of the shape and dtype of `data`: 1 where an element is {kind}, else 0.

    Raises:
        AssertionError: `data` is no NDArray.

    Source: `mxnet.nd.contrib.{name}` of MXNet 1.9.1.
    """


@_sharing(_WHERE, kind="not a number (NaN)")
def isnan(data: NDArray) -> NDArray:
    """Where elements are not a number (NaN).

    Example:
        >>> nd.contrib.isnan(nd.array([0.0, float("nan")])).asnumpy()
        array([0., 1.], dtype=float32)
    """
    return _checked("isnan", data, torch.isnan)


@_sharing(_WHERE, kind="infinite")
def isinf(data: NDArray) -> NDArray:
    """Where elements are infinite.

    Example:
        >>> nd.contrib.isinf(nd.array([0.0, -float("inf")])).asnumpy()
        array([0., 1.], dtype=float32)
    """
    return _checked("isinf", data, torch.isinf)


@_sharing(_WHERE, kind="neither infinite nor NaN")
def isfinite(data: NDArray) -> NDArray:
    """Where elements are neither infinite nor NaN.

    Example:
        >>> nd.contrib.isfinite(nd.array([0.0, float("inf")])).asnumpy()
        array([1., 0.], dtype=float32)
    """
    return _checked("isfinite", data, torch.isfinite)


# ---- sampling --------------------------------------------------------------------------------------------------------
def rand_zipfian(
    true_classes: NDArray, num_sampled: int, range_max: int, ctx: Context | None = None
) -> tuple[NDArray, NDArray, NDArray]:
    """Classes drawn from a distribution that is close to Zipf's: class k has the probability log((k + 2) / (k + 1)) /
    log(range_max + 1).

    Args:
        true_classes: numbers of classes, any shape and dtype.
        num_sampled: how many classes are drawn; a class may come twice.
        range_max: the number of classes.
        ctx: the device of the results; None is that of `true_classes`.

    Returns:
        The drawn classes, int64, shape (num_sampled,); how often each of `true_classes` is expected among them,
        float64, of their shape; how often each drawn one is, float64, shape (num_sampled,).

    Raises:
        AssertionError: `true_classes` is no NDArray.
        ValueError: `num_sampled` is negative, or `range_max` not positive.

    Example:
        >>> drawn, of_true, of_drawn = nd.contrib.rand_zipfian(nd.array([3]), num_sampled=4, range_max=5)
        >>> drawn.shape, of_true.asnumpy().round(4)
        ((4,), array([0.4982]))

    Source: `mxnet.nd.contrib.rand_zipfian` of MXNet 1.9.1.
    """
    if not isinstance(true_classes, NDArray):
        raise not_an_array("rand_zipfian", "true_classes", true_classes)
    for name, value, least in (("num_sampled", num_sampled, 0), ("range_max", range_max, 1)):
        if value < least:
            raise ValueError(f"rand_zipfian: {name}: expected at least {least}, got {value}")
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
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name) from None
