"""Checks of symbols: values, gradients given by the test, and gradients against finite differences."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np

from ._tolerances import assert_almost_equal, default_numeric_eps, get_tolerance
from .context import current_context

mx = sys.modules[__name__.rpartition(".")[0]]  # the package, under whichever name it runs

__all__ = [
    "check_consistency", "check_numeric_gradient", "check_speed", "check_symbolic_backward", "check_symbolic_forward",
    "numeric_grad", "same_symbol_structure", "simple_forward",
]  # fmt: skip

mx = sys.modules[__package__]  # type: ignore[index]


def simple_forward(sym: Any, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """The values of a symbol as NumPy arrays (one: itself), from arrays by name."""
    arrays = {k: mx.nd.array(v) for k, v in inputs.items()}
    outputs = [y.asnumpy() for y in sym.bind(ctx or current_context(), args=arrays).forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def _located(names: list[str], given: Any, ctx: Any, dtype: Any) -> dict[str, Any]:
    """Arrays by name, from a list in the order of `names` or a dict; ValueError where the names differ."""
    if given is None:
        return {}
    if isinstance(given, dict):
        if set(given) != set(names):
            raise ValueError(f"Symbol arguments and keys of the given location do not match: {names}, {sorted(given)}")
    else:
        given = dict(zip(names, given, strict=False))
    return {
        k: mx.nd.array(v, ctx=ctx, dtype=v.dtype if dtype == "asnumpy" else dtype) if isinstance(v, np.ndarray) else v
        for k, v in sorted(given.items())
    }


def numeric_grad(
    executor: Any, location: dict[str, Any], aux_states: Any = None, eps: float = 1e-4, use_forward_train: bool = True,
    dtype: Any = np.float32,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Finite differences of the sum of the first output, by argument."""

    def value() -> float:
        for k, v in (aux_states or {}).items():
            executor.aux_dict[k][:] = v
        return executor.forward(is_train=use_forward_train)[0].asnumpy().astype(np.float64).sum()

    result = {}
    for name, v in location.items():
        v = np.array(v.asnumpy() if isinstance(v, mx.nd.NDArray) else v, dtype=dtype)
        grad = np.zeros(v.shape, dtype=dtype)
        for i in np.ndindex(*v.shape):
            sides = []
            for sign in (1, -1):
                moved = v.copy()
                moved[i] += sign * eps / 2
                executor.arg_dict[name][:] = mx.nd.array(moved, dtype=dtype)
                sides.append(value())
            grad[i] = (sides[0] - sides[1]) / eps
        executor.arg_dict[name][:] = mx.nd.array(v, dtype=dtype)
        result[name] = grad
    return result


def _compare(
    name: str, request: str, expected: Any, found: Any, before: Any, rtol: Any, atol: Any, kind: str,
    equal_nan: bool = False,
) -> None:  # fmt: skip
    labels = (f"{kind}_{name}", f"BACKWARD_{name}")
    found = found.asnumpy()
    if request == "add":
        found = found - before
    elif request == "null":
        expected = before
    elif request != "write":
        raise ValueError(f"Invalid grad_req {request} for argument {name}")
    assert_almost_equal(expected, found, rtol, atol, labels, equal_nan=equal_nan)


def check_numeric_gradient(
    sym: Any, location: Any, aux_states: Any = None, numeric_eps: Any = None, rtol: Any = None, atol: Any = None,
    grad_nodes: Any = None, use_forward_train: bool = True, ctx: Any = None, grad_stype_dict: Any = None,
    dtype: Any = np.float32,
) -> None:  # fmt: skip
    """AssertionError unless the gradients of a symbol with one output agree with finite differences.

    `grad_nodes`: names of the arguments to check (all), or a dict from them to requests.
    """
    assert dtype in (np.float16, np.float32, np.float64), f"check_numeric_gradient: dtype {dtype} is not floating"
    ctx = ctx or current_context()
    args = _located(sym.list_arguments(), location, ctx, dtype)
    aux = _located(sym.list_auxiliary_states(), aux_states, ctx, dtype)
    names = list(sym.list_arguments() if grad_nodes is None else grad_nodes)
    requests = dict(grad_nodes) if isinstance(grad_nodes, dict) else dict.fromkeys(names, "write")
    shape = sym.infer_shape(**{k: v.shape for k, v in args.items()})[1][0]
    # weights make the sum of the outputs depend on each of them
    out = mx.sym.make_loss(sym * mx.sym.Variable("__random_proj"))
    args["__random_proj"] = mx.nd.array(np.random.rand(*shape) + 0.1, ctx=ctx, dtype=dtype)
    before = {k: np.random.normal(0, 0.01, size=args[k].shape).astype(dtype) for k in names}
    grads = {k: mx.nd.array(v, ctx=ctx, dtype=dtype) for k, v in before.items()}
    for k, stype in (grad_stype_dict or {}).items():
        if k in grads and stype not in (None, "default"):
            grads[k] = mx.nd.zeros(grads[k].shape, ctx, dtype, stype)
    checked = {k: args[k].asnumpy() for k in names}
    states = {k: v.asnumpy() for k, v in aux.items()}
    executor = out.bind(ctx, grad_req=requests, args=args, args_grad=grads, aux_states=aux)
    executor.forward(is_train=True)
    eps = get_tolerance(executor.outputs[0], numeric_eps, default_numeric_eps())
    executor.backward()
    found = {k: g.copy() for k, g in grads.items()}
    expected = numeric_grad(executor, checked, states, eps, use_forward_train, dtype)
    for k in names:
        _compare(k, requests[k], expected[k], found[k], before[k], rtol, atol, "NUMERICAL")


def check_symbolic_forward(
    sym: Any, location: Any, expected: Any, rtol: Any = None, atol: Any = None, aux_states: Any = None, ctx: Any = None,
    equal_nan: bool = False, dtype: Any = np.float32,
) -> list[Any]:  # fmt: skip
    """AssertionError unless the outputs of a symbol are as expected; gives the outputs."""
    ctx = ctx or current_context()
    names = sym.list_outputs()
    expected = [expected[k] for k in names] if isinstance(expected, dict) else expected
    args = _located(sym.list_arguments(), location, ctx, dtype)
    aux = _located(sym.list_auxiliary_states(), aux_states, ctx, dtype)
    outputs = sym.bind(ctx, args=args, aux_states=aux).forward(is_train=False)
    for name, e, y in zip(names, expected, outputs, strict=False):
        assert_almost_equal(e, y, rtol, atol, (f"EXPECTED_{name}", f"FORWARD_{name}"), equal_nan=equal_nan)
    return outputs


def check_symbolic_backward(
    sym: Any, location: Any, out_grads: Any, expected: Any, rtol: Any = None, atol: Any = None, aux_states: Any = None,
    grad_req: Any = "write", ctx: Any = None, grad_stypes: Any = None, equal_nan: bool = False,
    dtype: Any = np.float32,
) -> dict[str, Any]:  # fmt: skip
    """AssertionError unless the gradients of a symbol's arguments are as expected; gives the gradients."""
    ctx = ctx or current_context()
    names = sym.list_arguments()
    args = _located(names, location, ctx, dtype)
    aux = _located(sym.list_auxiliary_states(), aux_states, ctx, dtype)
    expected = expected if isinstance(expected, dict) else dict(zip(names, expected, strict=False))
    requests = grad_req
    if isinstance(grad_req, str):
        requests = dict.fromkeys(names, grad_req)
    elif not isinstance(grad_req, dict):
        requests = dict(zip(names, grad_req, strict=False))
    before = {k: np.random.normal(size=args[k].shape).astype(args[k].dtype) for k in expected}
    grads = {k: mx.nd.array(v, ctx=ctx, dtype=v.dtype) for k, v in before.items()}
    for k, stype in (grad_stypes or {}).items():
        if k in grads and stype not in (None, "default"):
            grads[k] = mx.nd.zeros(grads[k].shape, ctx, grads[k].dtype, stype)
    executor = sym.bind(ctx, args=args, args_grad=grads, aux_states=aux, grad_req=requests)
    executor.forward(is_train=True)
    if out_grads is not None:
        heads = out_grads if isinstance(out_grads, dict) else dict(zip(sym.list_outputs(), out_grads, strict=False))
        arrays = _located(list(heads), heads, ctx, dtype)
        out_grads = [arrays[k] for k in heads]
    executor.backward(out_grads)
    for k in expected:
        _compare(k, requests[k], expected[k], grads[k], before[k], rtol, atol, "EXPECTED", equal_nan)
    return grads


def check_speed(
    sym: Any,
    location: Any = None,
    ctx: Any = None,
    N: int = 20,
    grad_req: Any = None,
    typ: str = "whole",
    **kwargs: Any,
) -> float:
    """Seconds per run of a symbol: forward and backward ("whole"), or "forward" alone."""
    if typ not in ("whole", "forward"):
        raise ValueError(f"check_speed: typ can only be 'whole' or 'forward', got {typ!r}")
    shapes = kwargs if location is None else {k: v.shape for k, v in location.items()}
    executor = sym.simple_bind(ctx or current_context(), grad_req or "write", **shapes)
    for k, x in executor.arg_dict.items():
        x[:] = np.random.normal(size=x.shape) if location is None else location[k]

    def run() -> None:
        executor.forward(is_train=typ == "whole")
        if typ == "whole":
            executor.backward(executor.outputs)

    run()
    mx.nd.waitall()
    start = time.time()
    for _ in range(N):
        run()
    mx.nd.waitall()
    return (time.time() - start) / N


def check_consistency(
    sym: Any, ctx_list: list[dict[str, Any]], scale: float = 1.0, grad_req: Any = "write", arg_params: Any = None,
    aux_params: Any = None, rtol: Any = None, atol: Any = None, raise_on_err: bool = True, ground_truth: Any = None,
    equal_nan: bool = False, use_uniform: bool = False, rand_type: Any = np.float64,
) -> dict[str, Any]:  # fmt: skip
    """AssertionError unless symbols give the same outputs and gradients on all contexts and types of `ctx_list`.

    Each entry has "ctx", shapes of arguments, and "type_dict". The most exact one is what the others are compared to.
    """
    assert len(ctx_list) > 1, "check_consistency: expected several contexts"
    symbols = list(sym) if isinstance(sym, (list, tuple)) else [sym] * len(ctx_list)
    runs = [s.simple_bind(grad_req=grad_req, **c) for s, c in zip(symbols, ctx_list, strict=True)]
    values = dict(arg_params or {})
    for k, x in sorted(runs[0].arg_dict.items()):
        if k not in values:
            draw = np.random.uniform(-0.92 * scale, 0.92 * scale, x.shape) if use_uniform else (
                np.random.normal(size=x.shape, scale=scale)
            )  # fmt: skip
            values[k] = draw.astype(rand_type)
    results = []
    for e in runs:
        for k, x in e.arg_dict.items():
            x[:] = values[k]
        for k, x in e.aux_dict.items():
            x[:] = (aux_params or {}).get(k, 0)
        e.forward(is_train=grad_req != "null")
        if grad_req != "null":
            e.backward(e.outputs)
        found = {**e.output_dict, **{k: g for k, g in e.grad_dict.items() if g is not None}}
        results.append({k: v.asnumpy() for k, v in found.items()})
    best = int(np.argmax([np.dtype(e.outputs[0].dtype).itemsize for e in runs]))
    truth = ground_truth or results[best]
    for i, found in enumerate(results):
        for k, v in found.items():
            try:
                assert_almost_equal(v, truth[k], rtol=rtol, atol=atol, equal_nan=equal_nan)
            except AssertionError as e:
                if raise_on_err:
                    raise
                print(f"context {i} and {best} differ at {k}: {e}")
    return truth


def same_symbol_structure(sym1: Any, sym2: Any) -> bool:
    """Whether two symbols have the same operators in the same order."""
    first, second = ([n["op"] for n in json.loads(s.tojson())["nodes"]] for s in (sym1, sym2))
    return first == second
