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


def simple_forward(sym: Any, ctx: Any = None, is_train: bool = False, **inputs: Any) -> Any:
    """The values of a symbol.

    Args:
        sym: the symbol.
        ctx: the context; None for the current one.
        is_train: whether layers such as dropout behave as in training.
        **inputs: the arguments by name: arrays, lists or numbers.

    Returns:
        A NumPy array, or a list of them if there are several outputs.

    Raises:
        ValueError: an argument is missing.

    Example:
        >>> mx.test_utils.simple_forward(2 * mx.sym.var("x"), x=[1, 2])
        array([2., 4.], dtype=float32)

    Source: `mxnet.test_utils.simple_forward` of MXNet 1.9.1.
    """
    arrays = {k: mx.nd.array(v) for k, v in inputs.items()}
    outputs = [y.asnumpy() for y in sym.bind(ctx or current_context(), args=arrays).forward(is_train=is_train)]
    return outputs[0] if len(outputs) == 1 else outputs


def _located(names: list[str], given: Any, ctx: Any, dtype: Any) -> dict[str, Any]:
    """Arrays by name, from a list in the order of `names` or a dict; ValueError if the names differ."""
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
    """Finite differences of the sum of an executor's first output, by each element of the arguments.

    Args:
        executor: the executor; its arguments are changed on the way and set to `location` at the end.
        location: values of the arguments by name.
        aux_states: values of auxiliary states by name, set before each forward pass; None for none.
        eps: the distance between the two points of a difference.
        use_forward_train: whether layers such as dropout behave as in training.
        dtype: dtype of the values and the results.

    Returns:
        A dict from names to NumPy arrays of the arguments' shapes.

    Raises:
        KeyError: the symbol has no such argument or state.

    Example:
        >>> run = (mx.sym.var("x") ** 2).bind(mx.cpu(), {"x": nd.zeros(2)})
        >>> mx.test_utils.numeric_grad(run, {"x": np.array([1, 3])}, eps=2**-6)["x"]
        array([2., 6.], dtype=float32)

    Source: `mxnet.test_utils.numeric_grad` of MXNet 1.9.1.
    """

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
    """Checks the gradients of a symbol with one output against finite differences.

    Args:
        sym: the symbol.
        location: values of the arguments, a list in their order or a dict by name.
        aux_states: values of auxiliary states, likewise; None for none.
        numeric_eps: the distance between the two points of a difference; None for that of the dtype.
        rtol, atol: the tolerances; None for those of the dtype.
        grad_nodes: names of the arguments to check, or a dict from them to requests ("write", "add" or "null"); None
            for all.
        use_forward_train: whether layers such as dropout behave as in training.
        ctx: the context; None for the current one.
        grad_stype_dict: storage types of gradients by name; None for dense ones.
        dtype: float16, float32 or float64.

    Raises:
        AssertionError: gradients differ, or `dtype` has another value.
        ValueError: a dict's names are not those of the symbol.

    Example:
        >>> mx.test_utils.check_numeric_gradient(mx.sym.tanh(mx.sym.var("x")), [np.array([0.5, 1.0])])

    Source: `mxnet.test_utils.check_numeric_gradient` of MXNet 1.9.1.
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
    """Checks the outputs of a symbol.

    Args:
        sym: the symbol.
        location: values of the arguments, a list in their order or a dict by name.
        expected: the outputs, likewise.
        rtol, atol: the tolerances; None for those of the dtype.
        aux_states: values of auxiliary states, like `location`; None for none.
        ctx: the context; None for the current one.
        equal_nan: whether NaN equals NaN.
        dtype: dtype that NumPy arrays are converted to; "asnumpy" for their own.

    Returns:
        The outputs, a list of NDArrays.

    Raises:
        AssertionError: an output differs.
        ValueError: a dict's names are not those of the symbol.

    Example:
        >>> double = 2 * mx.sym.var("x")
        >>> (y,) = mx.test_utils.check_symbolic_forward(double, [np.array([1, 2])], [np.array([2, 4])])

    Source: `mxnet.test_utils.check_symbolic_forward` of MXNet 1.9.1.
    """
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
    """Checks the gradients of a symbol.

    Args:
        sym: the symbol.
        location: values of the arguments, a list in their order or a dict by name.
        out_grads: gradients of the outputs, likewise; None for what the symbol's losses take.
        expected: gradients of the arguments, likewise; a dict may leave some out.
        rtol, atol: the tolerances; None for those of the dtype.
        aux_states: values of auxiliary states, like `location`; None for none.
        grad_req: "write", "add" or "null", one for all, a list or a dict.
        ctx: the context; None for the current one.
        grad_stypes: storage types of gradients by name; None for dense ones.
        equal_nan: whether NaN equals NaN.
        dtype: dtype that NumPy arrays are converted to; "asnumpy" for their own.

    Returns:
        The gradients, a dict from names to NDArrays.

    Raises:
        AssertionError: a gradient differs.
        ValueError: a dict's names are not those of the symbol, or a request has another value.

    Example:
        >>> x, ones = np.array([1, 2]), np.ones(2)
        >>> grads = mx.test_utils.check_symbolic_backward(mx.sym.var("x") ** 2, [x], [ones], [2 * x])
        >>> grads["x"].asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.test_utils.check_symbolic_backward` of MXNet 1.9.1.
    """
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
    """Seconds that a run of a symbol takes.

    Args:
        sym: the symbol.
        location: values of the arguments by name; None draws normally distributed numbers.
        ctx: the context; None for the current one.
        N: number of runs, after one that is not counted.
        grad_req: the request of gradients; None is "write".
        typ: "whole", forward and backward, or "forward".
        **kwargs: shapes of the arguments by name, if `location` is None.

    Returns:
        The mean of the runs.

    Raises:
        ValueError: `typ` has another value.

    Example:
        >>> mx.test_utils.check_speed(mx.sym.exp(mx.sym.var("x")), N=1, x=(2, 3)) < 60
        True

    Source: `mxnet.test_utils.check_speed` of MXNet 1.9.1.
    """
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
    """Checks that symbols give the same outputs and gradients on several contexts and dtypes.

    Args:
        sym: the symbol, or a list of one for each context.
        ctx_list: a dict for each run: "ctx", shapes of arguments by name, and "type_dict", dtypes by name.
        scale: size of random arguments.
        grad_req: the request of gradients; "null" compares outputs alone.
        arg_params, aux_params: arguments and auxiliary states by name; others are random and 0.
        rtol, atol: the tolerances; None for those of the dtypes.
        raise_on_err: whether a difference raises; otherwise it is printed.
        ground_truth: what the runs are compared to, arrays by name; None for the run of the most exact dtype.
        equal_nan: whether NaN equals NaN.
        use_uniform: random arguments are distributed uniformly between -0.92 and 0.92 times `scale`, otherwise
            normally.
        rand_type: dtype of random arguments.

    Returns:
        What the runs were compared to: outputs and gradients, NumPy arrays by name.

    Raises:
        AssertionError: a run differs, or there is only one context.

    Example:
        >>> runs = [{"ctx": mx.cpu(), "x": (2,), "type_dict": {"x": t}} for t in (np.float32, np.float64)]
        >>> sorted(mx.test_utils.check_consistency(mx.sym.exp(mx.sym.var("x"), name="y"), runs))
        ['x', 'y_output']

    Source: `mxnet.test_utils.check_consistency` of MXNet 1.9.1.
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
    """Whether two symbols have the same operators in the same order; names and parameters do not count.

    Args:
        sym1, sym2: the symbols.

    Returns:
        A bool.

    Raises:
        AttributeError: one is no symbol.

    Example:
        >>> x = mx.sym.var("x")
        >>> mx.test_utils.same_symbol_structure(mx.sym.exp(x), mx.sym.exp(x, name="y"))
        True

    Source: `mxnet.test_utils.same_symbol_structure` of MXNet 1.9.1.
    """
    first, second = ([n["op"] for n in json.loads(s.tojson())["nodes"]] for s in (sym1, sym2))
    return first == second
