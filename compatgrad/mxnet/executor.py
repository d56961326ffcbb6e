"""Executor: a symbol with arrays for its arguments, run forward and backward."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from compatgrad import _C

from . import autograd
from . import ndarray as nd
from ._custom_op import keeping, prop_of
from .base import MXNetError
from .context import Context, current_context
from .ndarray import NDArray
from .symbol._common import without_repetitions
from .symbol._graph import order

__all__ = ["Executor", "simple_bind"]

_REQUESTS = ("null", "write", "add")
_HEADS_IGNORED = frozenset(  # operators whose backward does not read the output's gradient: losses, then step functions
    "BlockGrad stop_gradient MakeLoss make_loss SoftmaxOutput Softmax LinearRegressionOutput LogisticRegressionOutput "
    "MAERegressionOutput SVMOutput argmax argmax_channel argmin argsort ceil fix floor rint round trunc logical_not "
    "one_hot ones_like zeros_like shape_array size_array _contrib_Proposal _contrib_MultiProposal".split()
) | {
    form.format(name)
    for name in "equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor".split()
    for form in ("_{}", "_{}_scalar", "broadcast_{}")
}


def _arrays(who: str, given: Any, names: list[str], partial: bool) -> list[NDArray | None]:
    """Arrays in the order of `names`, from a list or a dict."""
    if given is None:
        given = {}
    if isinstance(given, (list, tuple)):
        if len(given) != len(names):
            raise ValueError(f"{who}: expected {len(names)} arrays for {names}, got {len(given)}")
        given = dict(zip(names, given, strict=True))
    if not isinstance(given, dict):
        raise TypeError(f"{who}: only accepts a list or a dict of NDArrays, got {type(given)}")
    for name in names:
        x = given.get(name)
        if x is None and not partial:
            raise ValueError(f"{who}: key `{name}` is missing in `{who}`")
        if x is not None and not isinstance(x, NDArray):
            raise TypeError(f"{who}: {name}: expected an NDArray, got {type(x)}")
    return [given.get(name) for name in names]


def _named(names: list[str], arrays: Any) -> dict[str, Any]:
    if len(set(names)) < len(names):
        raise ValueError(f"Duplicate names detected, {names}")
    return dict(zip(names, arrays, strict=True))


def _overwrite(place: NDArray, y: NDArray) -> None:
    """Copies a result to the beginning of `place`, unless `place` is too small."""
    if y.size <= place.size:
        place.tensor.view(-1)[: y.size].copy_(y.tensor.reshape(-1))


def _ignores_head(node: Any) -> bool:
    """Whether the operator's backward does not read the gradient of its output."""
    if node.op == "Custom":
        prop = prop_of(node.params)
        outputs, inputs = len(prop.list_outputs()), len(prop.list_arguments())
        numbers = list(range(2 * outputs + inputs))  # of gradients, inputs and outputs, in this order
        read = prop.declare_backward_dependency(
            numbers[:outputs], numbers[outputs : outputs + inputs], numbers[outputs + inputs :]
        )
        return not any(i < outputs for i in read)
    if node.op == "topk":
        return node.params.get("ret_typ", "indices") in ("indices", "mask")
    return node.op in _HEADS_IGNORED and node.params.get("out_grad") not in ("True", "1")


def _depends(node: Any, names: set[str]) -> bool:
    """Whether gradients of variables of these names are computed from the gradient of an output of `node`."""
    todo, seen = [node], set()
    while todo:
        node = todo.pop()
        if id(node) in seen or _ignores_head(node):
            continue
        if node.op is None and node.name in names:
            return True
        seen.add(id(node))
        todo.extend(n for n, _ in node.inputs)
    return False


class Executor:
    """A symbol with arrays for its arguments, which is run forward and backward; `Symbol.bind` makes one.

    Args:
        symbol: the symbol.
        ctx: the context.
        args: arrays of the arguments, a list in their order or a dict by name.
        args_grad: arrays that take their gradients, likewise; arguments without one have no gradient.
        grad_req: "write", "add" or "null", one for all, a list or a dict.
        aux_states: arrays of the auxiliary states, like `args`.

    Attributes:
        arg_arrays, grad_arrays, aux_arrays: the arrays in lists; `arg_dict`, `grad_dict` and `aux_dict` have them by
            name.

    Raises:
        TypeError: `ctx` is no Context, or arrays are none.
        ValueError: an array is missing, or a request has another value.

    Example:
        >>> x, gx = nd.array([1, 2]), nd.zeros(2)
        >>> run = mx.executor.Executor(mx.sym.var("x") ** 2, mx.cpu(), {"x": x}, {"x": gx})
        >>> run.forward(is_train=True)[0].asnumpy()
        array([1., 4.], dtype=float32)
        >>> run.backward(nd.ones(2))
        >>> gx.asnumpy()
        array([2., 4.], dtype=float32)

    Source: `mxnet.executor.Executor` of MXNet 1.9.1.
    """

    def __init__(
        self, symbol: Any, ctx: Any, args: Any, args_grad: Any = None, grad_req: Any = "write", aux_states: Any = None
    ) -> None:
        if not isinstance(ctx, Context):
            raise TypeError(f"bind: ctx: expected a Context, got {type(ctx)}")
        self._symbol, self._ctx = symbol, ctx
        self._names = symbol.list_arguments()
        self._aux_names = symbol.list_auxiliary_states()
        self.arg_arrays: Any = _arrays("args", args, self._names, False)
        self.grad_arrays = _arrays("args_grad", args_grad, self._names, True)
        self.aux_arrays: Any = _arrays("aux_states", aux_states, self._aux_names, False)
        self._requests = self._request_list(grad_req)
        self._outputs: list[NDArray] | None = None
        # arrays that `outputs` gave before the first run, which the run then overwrites
        self._places: list[NDArray] | None = None
        self._recorded = False
        self._leaves: list[tuple[NDArray, NDArray, str]] = []
        self._head_read: dict[int, bool] = {}
        self._monitor: Any = None
        self._operators: dict[int, Any] = {}  # CustomOps by node, so that each is created once
        self._watched: Any = None  # inputs of the operators, whose gradients a monitor gets
        self._monitor_all = False
        self._shortened = os.environ.get("MXNET_ELIMINATE_COMMON_EXPR", "1") != "0"

    def _request_list(self, grad_req: Any) -> list[str]:
        if isinstance(grad_req, str):
            requests = [grad_req] * len(self._names)
        elif isinstance(grad_req, dict):
            requests = [grad_req.get(n, "null") for n in self._names]
        else:
            requests = list(grad_req)
        for r in requests:
            if r not in _REQUESTS:
                raise ValueError(f"bind: grad_req must be in {_REQUESTS}, got {r!r}")
        return requests

    @property
    def arg_dict(self) -> dict[str, NDArray]:
        """Arguments by name."""
        return _named(self._names, self.arg_arrays)

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradients by name; None if no gradient is requested."""
        return _named(self._names, self.grad_arrays)

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """States by name."""
        return _named(self._aux_names, self.aux_arrays)

    @property
    def outputs(self) -> list[NDArray]:
        """Outputs of the last run; zeros before the first one."""
        if self._outputs is None:
            shapes = {n: x.shape for n, x in zip(self._names, self.arg_arrays, strict=True)}
            types = {n: x.dtype for n, x in zip(self._names, self.arg_arrays, strict=True)}
            found, dtypes = self._symbol.infer_shape_partial(**shapes)[1], self._symbol.infer_type_partial(**types)[1]
            if not all(s and all(n > 0 for n in s) for s in found):
                return []  # some shapes depend on the values of arrays
            self._outputs = self._places = [
                nd.zeros(s, ctx=self._ctx, dtype=t or "float32") for s, t in zip(found, dtypes, strict=True)
            ]
        return self._outputs

    @outputs.setter
    def outputs(self, value: list[NDArray]) -> None:
        self._outputs = value

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs of the last run by name."""
        return _named(self._symbol.list_outputs(), self.outputs)

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Runs the symbol; keyword arguments overwrite arguments first. `is_train`: layers such as dropout train."""
        arguments = self.arg_dict
        for name, value in kwargs.items():
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ValueError(f"forward: {name}: only accepts NDArrays and NumPy arrays, got {type(value)}")
            if name not in arguments:
                raise TypeError(f"forward: unknown argument {name}; the arguments are {self._names}")
            if tuple(value.shape) != arguments[name].shape:
                raise ValueError(f"forward: {name}: shape {value.shape} does not match {arguments[name].shape}")
            arguments[name][:] = value
        arrays = {**arguments, **self.aux_dict}
        self._leaves = []
        for n, x, g, r in zip(self._names, self.arg_arrays, self.grad_arrays, self._requests, strict=True):
            if g is not None and r != "null":
                # a leaf on the same memory: other executors may bind the same array, with other gradient arrays
                arrays[n] = x.detach()
                self._leaves.append((arrays[n], g, r))
        self._recorded = bool(self._leaves)
        if self._recorded:  # `backward` may follow in prediction mode too
            autograd.mark_variables(*(list(part) for part in zip(*self._leaves, strict=True)))
            scope = autograd.record(train_mode=bool(is_train))
        else:
            scope = autograd.pause(train_mode=bool(is_train))
        with scope, keeping(self._operators):
            if self._monitor is None:
                outputs = self._symbol.eval_imperative(arrays)
            else:
                self._watched = [] if self._recorded else None
                outputs = self._symbol._eval_monitored(arrays, self._monitor, self._monitor_all, self._watched)
        for seen in self._watched or ():
            for x in seen.inputs:
                if not x._is_marked:
                    x.attach_grad()
        if self._places is not None:
            for place, y in zip(self._places, outputs, strict=True):
                _overwrite(place, y)
            self._places = None
        self._outputs = outputs
        return outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Writes the gradients of the arguments. `out_grads`: gradients of the outputs; losses need none.

        The symbol is run first if it was not. MXNetError if a needed gradient is missing, or has another shape than
        its output; TypeError if one is no NDArray.
        """
        if not any(g is not None and r != "null" for g, r in zip(self.grad_arrays, self._requests, strict=True)):
            return
        if not self._recorded:
            self.forward(is_train)
        outputs = self.outputs
        if isinstance(out_grads, dict):
            out_grads = [out_grads[n] for n in self._symbol.list_outputs()]
        grads = [out_grads] if isinstance(out_grads, NDArray) else list(out_grads or ())
        for g in grads:
            if not isinstance(g, NDArray):
                raise TypeError(f"Executor.backward: out_grads: inputs must be NDArray, got {type(g)}")
        for i, (g, y) in enumerate(zip(grads, outputs, strict=False)):
            if g.size == y.size == 0 and g.shape != y.shape:  # MXNet accepts any shape without elements
                grads[i] = nd.zeros_like(y)
        for i, y in enumerate(outputs):  # more gradients than outputs are ignored, as in MXNet
            if i < len(grads) and grads[i].shape == y.shape or not (_C.in_graph(y) and self._reads_head(i)):
                continue
            if i < len(grads):
                raise MXNetError(
                    f"Executor.backward: out_grads[{i}]: expected the shape of output {i}, {y.shape}, got "
                    f"{grads[i].shape}"
                )
            raise MXNetError(
                f"Executor.backward: expected {i + 1} out_grads or more, got {len(grads)}: output {i} is not of a "
                "loss and needs its gradient (head_gradient)"
            )
        heads = [
            None if g.shape != y.shape else g if g.dtype == y.dtype else g.astype(y.dtype)
            for g, y in zip(grads, outputs, strict=False)
        ]
        heads += [None] * (len(outputs) - len(heads))
        # outputs that are not in the graph, as those of BlockGrad, are left out of backward below
        wanted = [(x, g) for x, g, r in self._leaves if r == "write"]
        for x, _ in wanted:
            x._fresh_grad = False
        pairs = [(y, g) for y, g in zip(outputs, heads, strict=True) if _C.in_graph(y)]
        if pairs:
            autograd.backward([y for y, _ in pairs], [g for _, g in pairs], train_mode=is_train)
        self._recorded = False
        watched, self._watched = self._watched, None
        for seen in reversed(watched or ()):
            for name, g in seen.gradients():
                self._monitor(name, g)
        for x, g in wanted:
            if not x._fresh_grad:  # no output depends on x: its gradient is 0
                g[:] = 0

    def _reads_head(self, i: int) -> bool:
        """Whether an argument's gradient depends on the gradient of output `i`: no loss lies between them."""
        if i not in self._head_read:
            wanted = {n for n, r in zip(self._names, self._requests, strict=True) if r != "null"}
            self._head_read[i] = _depends(self._symbol._outputs[i][0], wanted)
        return self._head_read[i]

    def set_monitor_callback(self, callback: Any, monitor_all: bool = False) -> None:
        """Has `callback(name, array)` called with the outputs of each operator when they are computed, with
        `monitor_all` also with its inputs before that, and after `backward` with the gradients of its inputs, which
        are named `NAME_backward_output0` and so on.
        """
        self._monitor, self._monitor_all = callback, monitor_all

    def copy_params_from(self, arg_params: Any, aux_params: Any = None, allow_extra_params: bool = False) -> None:
        """Overwrites arguments and states by name; ValueError for an unknown name, unless allowed."""
        for what, given, own in (("argument", arg_params, self.arg_dict), ("state", aux_params or {}, self.aux_dict)):
            for name, x in given.items():
                if name in own:
                    own[name][:] = x.astype(own[name].dtype)
                elif not allow_extra_params:
                    raise ValueError(f'copy_params_from: name "{name}" is no {what} of the symbol')

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """An Executor for inputs of other shapes. It shares memory with this one, so only one of the two can be used.

        MXNetError if an argument that is not named changes its shape, unless `partial_shaping` is set, or if an
        argument becomes larger, unless `allow_up_sizing` is set: then it gets new memory.
        """
        shapes, outputs, aux_shapes = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise ValueError(f"Executor.reshape: the shapes {kwargs} do not determine the shapes of all arguments")

        def fitting(name: str, x: Any, shape: Any) -> Any:
            if x is None or x.shape == shape:
                return x
            if name not in kwargs and not partial_shaping:
                raise MXNetError(
                    f"Shape of unspecified arg: {name} changed from {x.shape} to {shape}: the new executor would not "
                    "share it. If this is intended, set partial_shaping=True"
                )
            size = math.prod(shape)
            if size <= x.size:
                return x.reshape((-1,))[:size].reshape(shape)
            if not allow_up_sizing:
                raise MXNetError(
                    f"New shape of arg: {name} is larger than original: {shape}, not {x.shape}. A large executor may "
                    "be made smaller; set allow_up_sizing=True to allocate new arrays"
                )
            return nd.zeros(shape, ctx=self._ctx, dtype=x.dtype)

        args, grads = (
            [fitting(n, x, s) for n, x, s in zip(self._names, arrays, shapes, strict=True)]
            for arrays in (self.arg_arrays, self.grad_arrays)
        )
        aux = [fitting(n, x, s) for n, x, s in zip(self._aux_names, self.aux_arrays, aux_shapes, strict=True)]
        new = Executor(self._symbol, self._ctx, args, grads, self._requests, aux)
        new._monitor, new._monitor_all = self._monitor, self._monitor_all
        if self._outputs is None or self._outputs is self._places:  # before the first run, outputs are shared too
            new._places = self.outputs or None
        return new

    def get_optimized_symbol(self) -> Any:
        """The graph with equal subexpressions merged; unchanged if MXNET_ELIMINATE_COMMON_EXPR is 0."""
        return without_repetitions(self._symbol) if self._shortened else self._symbol

    def debug_str(self) -> str:
        """The graph as text."""
        return self._symbol.debug_str()


def _storage_types(symbol: Any) -> dict[str, str]:
    """Storage types of variables that were created with one, by name."""
    kinds = ("default", "row_sparse", "csr")
    return {n: kinds[int(a["__storage_type__"])] for n, a in symbol.attr_dict().items() if "__storage_type__" in a}


def _gradient_types(symbol: Any) -> dict[str, str]:
    """Storage types of the gradients of weights that only embeddings read: `sparse_grad` decides, not the weight."""
    kinds: dict[str, set[str]] = {}
    for node in order(symbol._outputs):
        sparse = node.op == "_contrib_SparseEmbedding" or node.params.get("sparse_grad") in ("True", "1", True)
        for i, (source, _) in enumerate(node.inputs):
            if source.op is None:
                embedded = i == 1 and node.op in ("Embedding", "_contrib_SparseEmbedding")
                kind = "" if not embedded else "row_sparse" if sparse else "default"
                kinds.setdefault(source.name, set()).add(kind)
    return {name: next(iter(found)) for name, found in kinds.items() if len(found) == 1 and "" not in found}


def _places_of(symbol: Any, group2ctx: Any) -> dict[str, Context]:
    """Contexts by name, for variables whose attribute `ctx_group` is in `group2ctx`."""
    groups = {n: a["ctx_group"] for n, a in symbol.attr_dict().items() if "ctx_group" in a} if group2ctx else {}
    return {n: group2ctx[group] for n, group in groups.items() if group in group2ctx}


def simple_bind(
    symbol: Any,
    ctx: Any,
    grad_req: Any,
    type_dict: Any,
    stype_dict: Any,
    shapes: dict[str, Any],
    shared_names: Any = None,
    shared: Executor | None = None,
    group2ctx: Any = None,
    buffer: dict[str, NDArray] | None = None,
) -> Executor:
    """An Executor with arrays of zeros, whose shapes are inferred; `Symbol.simple_bind` calls it.

    Args:
        symbol: the symbol.
        ctx: the context; None for the current one.
        grad_req: "write", "add" or "null", one for all, a list or a dict.
        type_dict: dtypes of arguments and states by name; None for inferred ones, or float32.
        stype_dict: storage types by name; None for those of the variables.
        shapes: shapes of arguments and states by name.
        shared_names: arguments that are those of `shared`; None for all.
        shared: an executor whose arguments and states are used where it has them; None for none.
        group2ctx: contexts of variables by their attribute `ctx_group`.
        buffer: memory by name, which other arguments take or leave theirs in.

    Returns:
        The Executor.

    Raises:
        RuntimeError: the shapes do not suffice.
        MXNetError: an argument has another shape in `shared`.

    Example:
        >>> y = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")
        >>> run = mx.executor.simple_bind(y, mx.cpu(), "write", None, None, {"x": (2, 5)})
        >>> {name: x.shape for name, x in run.arg_dict.items()}
        {'x': (2, 5), 'fc_weight': (3, 5), 'fc_bias': (3,)}

    Source: `mxnet.symbol.Symbol.simple_bind` of MXNet 1.9.1.
    """
    ctx = current_context() if ctx is None else ctx
    names, states = symbol.list_arguments(), symbol.list_auxiliary_states()
    known = {n: s for n, s in shapes.items() if n in names or n in states}  # other names mean nothing, as in MXNet
    arg_shapes, _, aux_shapes = symbol.infer_shape(**known)
    if arg_shapes is None:
        raise RuntimeError(f"simple_bind error: the shapes {shapes} do not determine the shapes of all arguments")
    given = {n: t for n, t in (type_dict or {}).items() if n in names or n in states}
    arg_types, _, aux_types = symbol.infer_type_partial(**given)
    types = dict(zip([*names, *states], [*arg_types, *aux_types], strict=True))
    stypes = {**_storage_types(symbol), **(stype_dict or {})}
    shares = set() if shared is None else set(names if shared_names is None else shared_names)
    places = _places_of(symbol, group2ctx)

    def zeros(name: str, shape: Any) -> NDArray:
        return nd.zeros(shape, ctx=places.get(name, ctx), dtype=types[name] or "float32", stype=stypes.get(name))

    def gradient(name: str, shape: Any) -> NDArray:
        g, stype = made(name, shape, there), gradient_types.get(name) or stypes.get(name) or "default"
        return g if g.stype == stype else g.tostype(stype)  # tostype copies, and executors may share a gradient

    def argument(name: str, shape: Any) -> NDArray:
        if buffer is None or shared_names is None or name in shared_names or name in stypes:
            return made(name, shape, there)
        x, size = buffer.get(name), math.prod(shape)
        if x is None or x.size < size or np.dtype(x.dtype) != np.dtype(types[name] or "float32"):
            x = buffer[name] = zeros(name, shape)
        return x if x.shape == tuple(shape) else x.reshape((-1,))[:size].reshape(shape)

    def made(name: str, shape: Any, there: dict[str, Any]) -> NDArray:
        x = there.get(name)
        if x is None:
            return zeros(name, shape)
        if x.shape != tuple(shape):
            raise MXNetError(f"simple_bind: {name} has shape {x.shape} in the shared executor, here {tuple(shape)}")
        return x

    there = {} if shared is None else {n: x for n, x in shared.arg_dict.items() if n in shares}
    args = {n: argument(n, s) for n, s in zip(names, arg_shapes, strict=True)}
    if isinstance(grad_req, str):
        wanted = {n: grad_req for n in names}
    else:
        wanted = dict(grad_req) if isinstance(grad_req, dict) else dict(zip(names, grad_req, strict=True))
    there = {} if shared is None else {n: g for n, g in shared.grad_dict.items() if n in shares}
    gradient_types = _gradient_types(symbol)
    grads = {n: gradient(n, x.shape) for n, x in args.items() if wanted.get(n, "null") != "null"}
    there = {} if shared is None else shared.aux_dict
    aux = {n: made(n, s, there) for n, s in zip(states, aux_shapes, strict=True)}
    return Executor(symbol, ctx, args, grads, wanted, aux)
