"""Executor: a symbol with arrays for its arguments, run forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from compatgrad import _C

from . import autograd
from . import ndarray as nd
from .base import MXNetError
from .context import Context
from .ndarray import NDArray

__all__ = ["Executor", "simple_bind"]

_REQUESTS = ("null", "write", "add")


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


class Executor:
    """See Symbol.bind. `arg_dict`, `grad_dict`, `aux_dict` and `outputs` hold the arrays."""

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
        self.outputs: list[NDArray] = []
        self._monitor: Any = None

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
        return dict(zip(self._names, self.arg_arrays, strict=True))

    @property
    def grad_dict(self) -> dict[str, NDArray | None]:
        """Gradients by name, None where none is wanted."""
        return dict(zip(self._names, self.grad_arrays, strict=True))

    @property
    def aux_dict(self) -> dict[str, NDArray]:
        """States by name."""
        return dict(zip(self._aux_names, self.aux_arrays, strict=True))

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """Outputs of the last run by name."""
        return dict(zip(self._symbol.list_outputs(), self.outputs, strict=True))

    def forward(self, is_train: bool = False, **kwargs: Any) -> list[NDArray]:
        """Runs the symbol; keyword arguments overwrite arguments first. `is_train`: layers such as dropout train."""
        arguments = self.arg_dict
        for name, value in kwargs.items():
            if name not in arguments:
                raise TypeError(f"forward: unknown argument {name}; the arguments are {self._names}")
            if not isinstance(value, (NDArray, np.ndarray)):
                raise ValueError(f"forward: {name}: only accepts NDArrays and NumPy arrays, got {type(value)}")
            if tuple(value.shape) != arguments[name].shape:
                raise ValueError(f"forward: {name}: shape {value.shape} does not match {arguments[name].shape}")
            arguments[name][:] = value
        marked = [
            (x, g, r) for x, g, r in zip(self.arg_arrays, self.grad_arrays, self._requests, strict=True)
            if g is not None and r != "null"
        ]  # fmt: skip
        arrays = {**arguments, **self.aux_dict}
        if marked:  # `backward` may follow in prediction mode too
            autograd.mark_variables(*(list(part) for part in zip(*marked, strict=True)))
            with autograd.record(train_mode=bool(is_train)):
                self.outputs = self._symbol.eval_imperative(arrays)
        else:
            with autograd.pause(train_mode=bool(is_train)):
                self.outputs = self._symbol.eval_imperative(arrays)
        if self._monitor is not None:
            for name, y in self.output_dict.items():
                self._monitor(name, y)
        return self.outputs

    def backward(self, out_grads: Any = None, is_train: bool = True) -> None:
        """Writes the gradients of the arguments, from those of the outputs (ones unless given).

        MXNetError where nothing was run before.
        """
        if not self.outputs:
            raise MXNetError("Executor.backward: call forward first")
        if not any(g is not None and r != "null" for g, r in zip(self.grad_arrays, self._requests, strict=True)):
            return
        if isinstance(out_grads, dict):
            out_grads = [out_grads[n] for n in self._symbol.list_outputs()]
        grads = [out_grads] if isinstance(out_grads, NDArray) else out_grads
        if grads is not None and len(grads) != len(self.outputs):
            raise MXNetError(f"Executor.backward: expected {len(self.outputs)} out_grads, got {len(grads)}")
        grads = [None] * len(self.outputs) if grads is None else list(grads)
        # an output without a history, behind BlockGrad say, has no gradient to give
        wanted = [(x, g) for x, g, r in zip(self.arg_arrays, self.grad_arrays, self._requests, strict=True)
                  if g is not None and r == "write"]  # fmt: skip
        for x, _ in wanted:
            x._fresh_grad = False
        pairs = [(y, g) for y, g in zip(self.outputs, grads, strict=True) if _C.in_graph(y)]
        if pairs:
            autograd.backward([y for y, _ in pairs], [g for _, g in pairs], train_mode=is_train)
        for x, g in wanted:
            if not x._fresh_grad:  # the outputs do not depend on it
                g[:] = 0

    def set_monitor_callback(self, callback: Any, monitor_all: bool = False) -> None:
        """`callback(name, array)` is called for each output after each run."""
        self._monitor = callback

    def copy_params_from(self, arg_params: Any, aux_params: Any = None, allow_extra_params: bool = False) -> None:
        """Overwrites arguments and states by name; ValueError for a name that is not there, unless allowed."""
        for what, given, own in (("argument", arg_params, self.arg_dict), ("state", aux_params or {}, self.aux_dict)):
            for name, x in given.items():
                if name in own:
                    own[name][:] = x.astype(own[name].dtype)
                elif not allow_extra_params:
                    raise ValueError(f'copy_params_from: name "{name}" is no {what} of the symbol')

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Any) -> Executor:
        """An Executor for inputs of other shapes, which shares the arrays whose shape stays."""
        shapes, _, aux_shapes = self._symbol.infer_shape(**kwargs)
        if shapes is None:
            raise ValueError("Executor.reshape: the shapes given do not suffice")

        def fitting(x: Any, shape: Any) -> Any:
            return x if x is None or x.shape == shape else nd.zeros(shape, ctx=self._ctx, dtype=x.dtype)

        args = [fitting(x, s) for x, s in zip(self.arg_arrays, shapes, strict=True)]
        grads = {n: fitting(g, s) for n, g, s in zip(self._names, self.grad_arrays, shapes, strict=True)}
        aux = [fitting(x, s) for x, s in zip(self.aux_arrays, aux_shapes, strict=True)]
        return Executor(self._symbol, self._ctx, args, grads, self._requests, aux)

    def debug_str(self) -> str:
        """The graph as text."""
        return self._symbol.debug_str()


def simple_bind(
    symbol: Any, ctx: Any, grad_req: Any, type_dict: Any, stype_dict: Any, shapes: dict[str, Any]
) -> Executor:
    """An Executor with zeros of inferred shapes; RuntimeError where the shapes do not suffice."""
    ctx = Context.default_ctx if ctx is None else ctx
    arg_shapes, _, aux_shapes = symbol.infer_shape(**shapes)
    if arg_shapes is None:
        raise RuntimeError(f"simple_bind error: the shapes {shapes} do not suffice")
    types, stypes = type_dict or {}, stype_dict or {}
    names = symbol.list_arguments()

    def zeros(name: str, shape: Any) -> NDArray:
        return nd.zeros(shape, ctx=ctx, dtype=types.get(name, "float32"), stype=stypes.get(name))

    args = {n: zeros(n, s) for n, s in zip(names, arg_shapes, strict=True)}
    if isinstance(grad_req, str):
        wanted = {n: grad_req for n in names}
    else:
        wanted = dict(grad_req) if isinstance(grad_req, dict) else dict(zip(names, grad_req, strict=True))
    grads = {n: zeros(n, x.shape) for n, x in args.items() if wanted.get(n, "null") != "null"}
    aux = {n: zeros(n, s) for n, s in zip(symbol.list_auxiliary_states(), aux_shapes, strict=True)}
    return Executor(symbol, ctx, args, grads, wanted, aux)
