"""Runs loops and branches, operators that hold graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import autograd
from .._frontend import op
from ..ndarray import contrib as nd_contrib
from ..ndarray.contrib import _number
from ..ndarray.ndarray import NDArray
from ._evaluate import evaluate, plan
from ._graph import Entry, Node, order, parsed
from ._run import LOOPS

Run = Callable[..., list[NDArray]]


def _runner(heads: list[Entry]) -> Callable[[Sequence[NDArray]], list[NDArray]]:
    """Runs an inner graph on arrays for its variables, in their order."""
    made = plan(heads)
    names = [n.name for n in order(heads) if n.op is None]
    return lambda arrays: evaluate(made, dict(zip(names, arrays, strict=True)))


def _foreach(node: Node) -> Run:
    p, (heads,) = parsed(node), node.subgraphs
    run = _runner(heads)
    data_at, state_at, rest_at = p["in_data_locs"], p["in_state_locs"], p["remain_locs"]
    n_data, n_states, n_out = len(data_at), len(state_at), p["num_out_data"]

    def loop(*xs: NDArray) -> list[NDArray]:
        arrays: list[Any] = [None] * len(xs)
        for at, x in zip(rest_at, xs[n_data + n_states :], strict=True):
            arrays[at] = x

        def body(items: list[NDArray], states: list[NDArray]) -> tuple[list[NDArray], list[NDArray]]:
            for at, x in zip((*data_at, *state_at), (*items, *states), strict=True):
                arrays[at] = x
            found = run(arrays)
            return found[:n_out], found[n_out:]

        outputs, states = nd_contrib.foreach(body, list(xs[:n_data]), list(xs[n_data : n_data + n_states]))
        return [*outputs, *states]

    return loop


def _while_loop(node: Node) -> Run:
    p, (test_heads, step_heads) = parsed(node), node.subgraphs
    test, step = _runner(test_heads), _runner(step_heads)
    n_out, limit = p["num_out_data"], int(p["max_iterations"])
    variables_at = [p["func_input_locs"][k] for k in p["func_var_locs"]]

    def loop(*xs: NDArray) -> list[NDArray]:
        arrays = list(xs)

        def put(variables: Sequence[NDArray]) -> None:
            for at, x in zip(variables_at, variables, strict=True):
                arrays[at] = x

        def truth(*variables: NDArray) -> NDArray:
            put(variables)
            return test([arrays[k] for k in p["cond_input_locs"]])[0]

        def body(*variables: NDArray) -> tuple[list[NDArray], list[NDArray]]:
            put(variables)
            found = step([arrays[k] for k in p["func_input_locs"]])
            return found[:n_out], found[n_out:]

        first = [xs[k] for k in variables_at]
        outputs, last = nd_contrib.while_loop(truth, body, first, limit)
        if len(outputs) < n_out:  # no step ran: zeros, in the shapes of a step's outputs
            with autograd.pause():
                shapes, _ = body(*first)
            outputs = [NDArray(torch.zeros((limit, *y.shape), dtype=y.tensor.dtype)) for y in shapes]
        return [*outputs, *(op.identity(x) for x in last)]

    return loop


def _cond(node: Node) -> Run:
    p = parsed(node)
    pred, then, other = (_runner(heads) for heads in node.subgraphs)

    def branch(*xs: NDArray) -> list[NDArray]:
        true = _number(pred([xs[k] for k in p["cond_input_locs"]])[0], bool, "pred")
        run, at = (then, p["then_input_locs"]) if true else (other, p["else_input_locs"])
        return run([xs[k] for k in at])

    return branch


LOOPS.update(_foreach=_foreach, _while_loop=_while_loop, _cond=_cond)
