"""Operators defined in Python: a CustomOpProp defines shapes and names, a CustomOp computes; `nd.Custom` runs them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.entering import let_in

from . import autograd
from . import ndarray as nd
from ._profile import recorder
from .base import MXNetError
from .ndarray import NDArray
from .ndarray._operator import operators, write
from .ndarray._operator import register as _register_operator

_enter = let_in("mxnet")

_props: dict[str, Callable[..., CustomOpProp]] = {}
_kept = threading.local()  # .operators: the CustomOps of the Executor that runs, by node


class CustomOp:
    """The computation of a user-defined operator: a subclass defines `forward` and, for a gradient, `backward`.

    A CustomOpProp creates it; `register` makes that known to `mx.nd.Custom` and `mx.sym.Custom`.

    Example:
        >>> class Twice(mx.operator.CustomOp):
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], 2 * in_data[0])
        ...     def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        ...         self.assign(in_grad[0], req[0], 2 * out_grad[0])
        >>> @mx.operator.register("doc_twice")
        ... class TwiceProp(mx.operator.CustomOpProp):
        ...     def create_operator(self, ctx, in_shapes, in_dtypes): return Twice()
        >>> nd.Custom(nd.array([1, 2]), op_type="doc_twice").asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.operator.CustomOp` of MXNet 1.9.1.
    """

    def forward(
        self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]
    ) -> None:
        """To be defined: writes the outputs into `out_data`, by `assign`."""

    def backward(
        self, req: list[str], out_grad: list[NDArray], in_data: list[NDArray], out_data: list[NDArray],
        in_grad: list[NDArray], aux: list[NDArray],
    ) -> None:  # fmt: skip
        """To be defined: writes the gradients of the inputs into `in_grad`, by `assign`."""

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Writes ("write", "inplace") or adds ("add") an array or a number to `dst`; nothing for "null".

        In `grad(create_graph=True)` the gradient that is written this way can be differentiated again.
        """
        if req == "null":
            return
        if req not in ("write", "inplace", "add"):
            raise ValueError(f"CustomOp.assign: req must be 'null', 'write', 'inplace' or 'add', got {req!r}")
        if autograd.is_recording() and isinstance(src, NDArray):
            src = src if src.dtype == dst.dtype else src.astype(dst.dtype)
            src = (
                dst + src if req == "add" else src if src.shape == dst.shape else nd.broadcast_to(src, shape=dst.shape)
            )
            result = nd.identity(src)  # a new node of the graph, which `dst` then stands for
            dst.tensor = result.tensor
            _C.take_place(dst, result)
        elif req == "add":
            dst[:] = dst + src
        else:
            dst[:] = src


class CustomOpProp:
    """The description of a user-defined operator: names, shapes and dtypes. It creates the CustomOp.

    The defaults are those of an operator with the input "data" and an output of the same shape and type.

    Args:
        need_top_grad: whether the operator's backward reads `out_grad`.

    Example:
        >>> class Row(mx.operator.CustomOpProp):
        ...     def list_arguments(self): return ["data", "weight"]
        ...     def infer_shape(self, in_shape): return in_shape, [in_shape[0][:1]], []
        >>> Row().infer_shape([[2, 3], [3]])
        ([[2, 3], [3]], [[2]], [])

    Source: `mxnet.operator.CustomOpProp` of MXNet 1.9.1.
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def infer_shape(self, in_shape: list[Any]) -> Any:
        """Shapes of inputs, outputs and states from those of the inputs; by default all outputs are like input 0."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> Any:
        """Types of inputs, outputs and states from those of the inputs; by default that of input 0."""
        first = in_type[0]
        return in_type, [first] * len(self.list_outputs()), [first] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> Any:
        """Storage types of inputs, outputs and states; by default all are dense, and a sparse input raises
        AssertionError.
        """
        for i, stype in enumerate(in_stype):
            assert stype == "default", f"infer_storage_type must be defined for input {i} to be {stype}"
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the inputs."""
        return ["data"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the states, which come after the inputs."""
        return []

    def declare_backward_dependency(self, out_grad: Any, in_data: Any, out_data: Any) -> list[Any]:
        """The arrays that backward reads; here all arrays are kept."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Any, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """To be defined: the CustomOp for inputs of these shapes."""
        return CustomOp()


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """The decorator that makes a CustomOpProp known by a name.

    Args:
        reg_name: the name, which `Custom(op_type=...)` takes; a second class of that name replaces the first.

    Returns:
        The decorator, which gives back the class.

    Raises:
        Nothing.

    Example:
        >>> @mx.operator.register("doc_same")
        ... class Same(mx.operator.CustomOpProp): pass
        >>> "doc_same" in mx.operator.get_all_registered_operators()
        True

    Source: `mxnet.operator.register` of MXNet 1.9.1.
    """

    def decorate(prop_cls: type[CustomOpProp]) -> type[CustomOpProp]:
        _props[reg_name] = prop_cls
        return prop_cls

    return decorate


def get_all_registered_operators() -> list[str]:
    """The names of all operators, those of MXNet and then those that `register` made known.

    Returns:
        A list of names.

    Example:
        >>> "Convolution" in mx.operator.get_all_registered_operators()
        True

    Source: `mxnet.operator.get_all_registered_operators` of MXNet 1.9.1.
    """
    return [*operators, *_props]


def prop_of(params: dict[str, Any]) -> CustomOpProp:
    """The CustomOpProp of a call; MXNetError for an `op_type` that is not registered."""
    op_type = params.get("op_type")
    if op_type not in _props:
        raise MXNetError(f"Custom: op_type {op_type!r} is not registered; registered are {list(_props)}")
    # MXNet hands parameters to the class as text, because graphs store them as text
    return _props[op_type](**{k: str(v) for k, v in params.items() if k != "op_type"})


class _Call(autograd.Function):
    """One call of a CustomOp, in the graph."""

    def __init__(self, op_type: str, op: CustomOp, out: list[tuple[Any, Any, str]], aux: list[NDArray]) -> None:
        super().__init__()
        self.op_type, self.op, self.out, self.aux = op_type, op, out, aux

    def forward(self, *inputs: NDArray) -> Any:
        ctx = inputs[0].context if inputs else None
        ys = [nd.zeros(shape, ctx=ctx, dtype=dtype, stype=stype) for shape, dtype, stype in self.out]
        # detached: the operator's code may attach gradients to its inputs, record with them and call backward
        alone = [x.detach() for x in inputs]
        if notes.listener is not None:
            notes.listener("python", self.op)
        self._run("forward", autograd.is_training(), ["write"] * len(ys), alone, ys, self.aux)
        self.save_for_backward(*inputs, *ys)
        return tuple(ys) if len(ys) != 1 else ys[0]

    def _run(self, method: str, *args: Any) -> None:
        try:
            if recorder.on:
                with recorder.custom(("_backward_" if method == "backward" else "") + self.op_type):
                    getattr(self.op, method)(*args)
            else:
                getattr(self.op, method)(*args)
        except Exception as e:  # the original turns any exception of the operator's code into an MXNetError
            raise MXNetError(f"Error in CustomOp.{method} of {self.op_type}: {type(e).__name__}: {e}") from e

    def backward(self, *out_grads: NDArray) -> Any:
        n = len(self.saved_tensors) - len(self.out)
        inputs, ys = list(self.saved_tensors[:n]), list(self.saved_tensors[n:])
        grads = [nd.zeros(x.shape, ctx=x.context, dtype=x.dtype) for x in inputs]
        self._run("backward", ["write"] * n, list(out_grads), inputs, ys, grads, self.aux)
        return tuple(grads) if n != 1 else grads[0]


def _lists(op_type: str, what: str, found: Any, sizes: tuple[int, int, int]) -> list[list[Any]]:
    parts = [list(p) for p in found]
    if len(parts) == 2:
        parts.append([])
    if len(parts) != 3:
        raise MXNetError(f"Custom: {op_type}.{what} must return 2 or 3 lists, got {len(parts)}")
    for part, size, kind in zip(parts, sizes, ("input", "output", "state"), strict=True):
        if len(part) != size:
            raise MXNetError(f"Custom: {op_type}.{what}: expected {size} {kind} entries, got {len(part)}")
    return parts


@contextlib.contextmanager
def keeping(operators: dict[int, CustomOp]) -> Iterator[None]:
    """Inside the `with` block, graphs use the CustomOps in `operators`, and add to it those that they create."""
    outer = getattr(_kept, "operators", None)
    _kept.operators = operators
    try:
        yield
    finally:
        _kept.operators = outer


def Custom(*data: NDArray, op_type: str | None = None, out: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """Runs an operator that `mx.operator.register` made known.

    The operator is created for each call; an Executor creates those of its graph once, so that they can keep something
    from batch to batch.

    Args:
        *data: the inputs and then the states, by position.
        op_type: the name of the operator.
        out: array, or list of arrays, that takes the outputs.
        name: without effect; `mx.sym.Custom` names its node by it.
        **kwargs: inputs and states by name; the others are parameters of the CustomOpProp, which gets them as text.

    Returns:
        The output, or a list of outputs.

    Raises:
        MXNetError: `op_type` is unknown, shapes or the number of inputs do not fit, or the operator's own code raised.
        AssertionError: an input is no NDArray.

    Example:
        >>> class Scale(mx.operator.CustomOp):
        ...     def __init__(self, factor): self.factor = factor
        ...     def forward(self, is_train, req, in_data, out_data, aux):
        ...         self.assign(out_data[0], req[0], self.factor * in_data[0])
        >>> @mx.operator.register("doc_scale")
        ... class ScaleProp(mx.operator.CustomOpProp):
        ...     def __init__(self, factor):
        ...         super().__init__()
        ...         self.factor = float(factor)
        ...     def create_operator(self, ctx, in_shapes, in_dtypes): return Scale(self.factor)
        >>> nd.Custom(nd.array([1, 2]), op_type="doc_scale", factor=3).asnumpy()
        array([3., 6.], dtype=float32)

    Source: `mxnet.ndarray.Custom` of MXNet 1.9.1.
    """
    return _custom(None, data, op_type, out, kwargs)


def of_node(node: int, *data: NDArray, op_type: str | None = None, **kwargs: Any) -> Any:
    """`Custom` as a node of a graph."""
    return _custom(node, data, op_type, None, kwargs)


def _custom(node: int | None, data: tuple[NDArray, ...], op_type: str | None, out: Any, kwargs: dict[str, Any]) -> Any:
    arrays = {k: v for k, v in kwargs.items() if isinstance(v, NDArray)}
    prop = prop_of({"op_type": op_type, **{k: v for k, v in kwargs.items() if k not in arrays}})
    arguments, states, outputs = prop.list_arguments(), prop.list_auxiliary_states(), prop.list_outputs()
    names: Sequence[str] = [*arguments, *states]
    given = dict(zip(names, data, strict=False)) | arrays
    missing = [n for n in names if n not in given]
    if missing or len(data) + len(arrays) != len(names):
        raise MXNetError(f"Custom: {op_type} takes {list(names)}, got {len(data)} arrays and {list(arrays)} by name")
    for n in names:
        given[n] = _enter(given[n])
        if not isinstance(given[n], NDArray):
            raise AssertionError(f"Custom: argument {n} must have NDArray type, but got {given[n]!r}")
    inputs, aux = [given[n] for n in arguments], [given[n] for n in states]
    sizes = (len(arguments), len(outputs), len(states))
    shapes = _lists(op_type or "", "infer_shape", prop.infer_shape([list(x.shape) for x in inputs]), sizes)
    types = _lists(op_type or "", "infer_type", prop.infer_type([x.dtype for x in inputs]), sizes)
    for n, x, shape in zip(names, [*inputs, *aux], [*shapes[0], *shapes[2]], strict=True):
        if tuple(shape) != x.shape:
            raise MXNetError(f"Custom: {op_type}: {n} has shape {x.shape}, expected {tuple(shape)}")
    ctx = inputs[0].context if inputs else None
    kept = getattr(_kept, "operators", None) if node is not None else None
    op = kept.get(node) if kept is not None else None
    if op is None:
        op = prop.create_operator(ctx, [list(x.shape) for x in inputs], [x.dtype for x in inputs])
        if kept is not None:
            kept[node] = op
    stypes = _lists(op_type or "", "infer_storage_type", prop.infer_storage_type([x.stype for x in inputs]), sizes)
    made = [(tuple(s), t, k) for s, t, k in zip(shapes[1], types[1], stypes[1], strict=True)]
    y = _Call(op_type or "", op, made, aux)(*inputs)
    if out is not None:
        return write(out, y)
    return list(y) if isinstance(y, tuple) else y


_register_operator(Custom)
nd.Custom = Custom  # type: ignore[attr-defined]
