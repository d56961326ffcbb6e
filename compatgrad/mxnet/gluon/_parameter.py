"""Parameter: arrays on one or several contexts with gradients, initialized when their shape is known."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.core.changes import Changes

from .. import autograd, context, initializer, symbol
from .. import ndarray as nd
from .. import numpy as mx_np
from ..base import MXNetError, mx_real_t
from ..context import Context
from ..util import is_np_array, is_np_shape
from ._changes import ObservedList
from .utils import shape_is_known

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ..symbol import Symbol
    from ._typing import Contexts, Dtype, Init, Shape

_STYPES = ("default", "row_sparse", "csr")
_NONE = (None,)


class DeferredInitializationError(MXNetError):
    """A parameter was read before the first forward pass told its shape.

    Example:
        >>> layer = gluon.nn.Dense(3)
        >>> layer.initialize()
        >>> try:
        ...     layer.weight.data()
        ... except gluon.parameter.DeferredInitializationError:
        ...     print("not yet")
        not yet

    Source: `mxnet.gluon.parameter.DeferredInitializationError` of MXNet 1.9.1.
    """


def _observed(arrays):
    return arrays if arrays is None or isinstance(arrays, ObservedList) else ObservedList(arrays)


def _as_list(ctx):
    if ctx is None:
        return [context.current_context()]
    return [ctx] if isinstance(ctx, Context) else list(ctx)


class Parameter:
    """The weights of a block: an array, and one of the gradient, for each context.

    Args:
        name: the name, unique in a model.
        grad_req: what a backward pass does to the gradient: "write", "add", or "null" for none.
        shape: the lengths of the axes, 0 (or -1) for unknown ones; None is unknown altogether.
        dtype: the dtype of the arrays.
        lr_mult: the factor of the Trainer's learning rate.
        wd_mult: the factor of the Trainer's weight decay.
        init: an Initializer or its name; None is that of the block.
        allow_deferred_init: `initialize` may wait until an unknown shape is known; else it raises ValueError.
        differentiable: False fixes `grad_req` to "null".
        stype: the storage type of the arrays, "default", "row_sparse" or "csr".
        grad_stype: the storage type of the gradients, one of the same.

    Raises:
        AssertionError: `grad_req`, `stype` or `grad_stype` has another value.
        RuntimeError: `data` or `grad` is asked for before `initialize`, or on another context.

    Example:
        >>> w = gluon.Parameter("w", shape=(2, 3))
        >>> w.initialize(init="zeros")
        >>> w.data().shape, w.grad().shape
        ((2, 3), (2, 3))

    Source: `mxnet.gluon.Parameter` of MXNet 1.9.1.
    """

    def __init__(
        self,
        name: str = "weight",
        grad_req: str = "write",
        shape: Shape | None = None,
        dtype: Dtype = mx_real_t,
        lr_mult: float = 1.0,
        wd_mult: float = 1.0,
        init: Init | None = None,
        allow_deferred_init: bool = False,
        differentiable: bool = True,
        stype: str = "default",
        grad_stype: str = "default",
    ) -> None:
        for what, value in (("grad_stype", grad_stype), ("stype", stype)):
            assert value in _STYPES, (
                f"{what} for Parameter '{name}' must be one of 'default', 'row_sparse', or 'csr', but got '{value}'"
            )
        self._var = None
        self._data = self._grad = None
        self._ctx_list = None
        self._trainer = None
        self._deferred_init = ()  # (init, contexts, default_init, data or None) until the shape is known
        self._differentiable = differentiable
        self._allow_deferred_init = allow_deferred_init
        self._grad_req = None
        self._shape = (shape,) if isinstance(shape, int) else shape
        self.name = name
        self._dtype = dtype
        self.lr_mult = lr_mult
        self.wd_mult = wd_mult
        self.grad_req = grad_req
        self.init = init
        self._grad_stype = grad_stype
        self._stype = stype

    def __repr__(self):
        return f"{type(self).__name__} {self.name} (shape={self.shape}, dtype={self.dtype})"

    # ---- properties ----

    @property
    def _data(self):
        """One NDArray per context of _ctx_list, or None. Programs assign to it and to its elements."""
        return self._arrays

    @_data.setter
    def _data(self, arrays):
        self._arrays = arrays = _observed(arrays)
        # [NDArray] where there is one context: layers read it without a call of `data`. It is the same list, because
        # programs replace the array in `_data`.
        self._one = _NONE
        if arrays is not None and len(arrays) == 1 and self._stype == "default":
            if type(self).data is Parameter.data:  # else a subclass computes what layers read in its `data`
                self._one = arrays
        Changes.note_arrays()

    @property
    def _grad(self):
        """The gradients of `_data`, or None. Programs assign to it and to its elements."""
        return self._gradients

    @_grad.setter
    def _grad(self, gradients):
        self._gradients = _observed(gradients)
        Changes.note_arrays()

    @property
    def stype(self) -> str:
        """The storage type of the data, a str."""
        return self._stype

    @property
    def grad_stype(self) -> str:
        """The storage type of the gradient, a str."""
        return self._grad_stype

    @property
    def grad_req(self) -> str:
        """Whether backward passes overwrite ("write"), add to ("add") or leave out ("null") the gradient."""
        return self._grad_req

    @grad_req.setter
    def grad_req(self, req: str) -> str:
        assert req in ("write", "add", "null"), f"grad_req must be one of 'write', 'add', or 'null', but got '{req}'"
        if not self._differentiable:
            req = "null"
        if req == self._grad_req:
            return
        self._grad_req = req
        if self._data is None:
            return
        if req == "null":
            self._data = [array.detach() for array in self._data]
        self._make_grads()

    @property
    def dtype(self) -> Dtype:
        """The dtype, as it was given; setting it is `cast`."""
        return self._dtype

    @dtype.setter
    def dtype(self, dtype: Dtype) -> Dtype:
        self.cast(dtype)

    @property
    def shape(self) -> tuple[int, ...] | None:
        """The shape, a tuple with 0 (under np_shape: -1) for unknown dimensions, or None.

        Only unknown dimensions can be set: AssertionError.
        """
        if self._shape is not None and is_np_shape():
            return tuple([size if size else -1 for size in self._shape])
        return self._shape

    @shape.setter
    def shape(self, new_shape: Sequence[int]) -> tuple[int, ...] | None:
        known = self._shape
        if known is not None:
            agrees = len(known) == len(new_shape) and all(
                old in (-1, 0, new) for new, old in zip(new_shape, known, strict=True)
            )
            assert agrees, f"Expected shape {new_shape} is incompatible with given shape {known}."
        self._shape = tuple(new_shape)

    @property
    def _ctx_map(self):
        """The index in `list_data` of each context's array, in a list for CPUs and one for GPUs, by device number."""
        places = [[], []]
        for i, ctx in enumerate(self._ctx_list or ()):
            row = places[ctx.device_typeid & 1]
            row.extend([None] * (ctx.device_id + 1 - len(row)))
            row[ctx.device_id] = i
        return places

    @_ctx_map.setter
    def _ctx_map(self, places):
        """Does nothing: the map follows from `_ctx_list`. Programs that copy a parameter's attributes set both."""

    def _set_trainer(self, trainer):
        if self._stype != "default" and self._trainer and trainer and self._trainer is not trainer:
            raise RuntimeError(
                f"Failed to set the trainer for Parameter '{self.name}' because it was already set. "
                f"More than one trainers for a {self._stype} Parameter is not supported."
            )
        self._trainer = trainer

    # ---- initialization ----

    def initialize(
        self,
        init: Init | None = None,
        ctx: Contexts | None = None,
        default_init: Init | None = None,
        force_reinit: bool = False,
    ) -> None:
        """Makes the arrays on `ctx` (a Context or a list; default: the current one) and fills them.

        The initializer is `init`, else the parameter's own, else `default_init` (default: Uniform). Where the
        shape is not known yet, the first forward pass does it; ValueError if that is not allowed. A second
        call warns and does nothing without `force_reinit`.
        """
        if self._data is not None and not force_reinit:
            warnings.warn(
                f"Parameter '{self.name}' is already initialized, ignoring. Set force_reinit=True to re-initialize.",
                stacklevel=2,
            )
            return
        if default_init is None:
            default_init = initializer.Uniform()
        self._data = self._grad = None
        if init is None:
            init = default_init if self.init is None else self.init
        if not shape_is_known(self.shape) and not self._allow_deferred_init:
            raise ValueError(f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}.")
        self._deferred_init = (init, _as_list(ctx), default_init, None)
        if shape_is_known(self.shape):
            self._finish_deferred_init()

    def _finish_deferred_init(self):
        """Does the initialization that waited for the shape."""
        if not self._deferred_init:
            return
        init, ctx, default_init, data = self._deferred_init
        self._deferred_init = ()
        assert shape_is_known(self.shape), (
            f"Cannot initialize Parameter '{self.name}' because it has invalid shape: {self.shape}. "
            "Please specify in_units, in_channels, etc for `Block`s."
        )
        with autograd.pause():
            self._place(self._first_value(init, default_init) if data is None else data, ctx)

    def _first_value(self, init, default_init):
        data = self._zeros(self.shape, self.dtype, context.cpu(), self._stype)
        initializer.create(default_init)(initializer.InitDesc(self.name, {"__init__": init}), data)
        return data

    @staticmethod
    def _zeros(shape, dtype, ctx, stype):
        if is_np_array():
            if stype != "default":
                raise ValueError(f"mxnet.numpy.zeros does not support stype = {stype}")
            return mx_np.zeros(shape=shape, dtype=dtype, ctx=ctx)
        return nd.zeros(shape=shape, dtype=dtype, ctx=ctx, stype=stype)

    def _place(self, data, ctx_list):
        """Copies `data` to the contexts and makes gradients."""
        self._ctx_list = list(ctx_list)
        self._data = [data.copyto(ctx) for ctx in self._ctx_list]
        self._make_grads()

    def _make_grads(self):
        self._grad = None
        if self._grad_req == "null":
            return
        self._grad = [self._zeros(a.shape, a.dtype, a.context, self._grad_stype) for a in self._data]
        self._mark()

    def _load_init(self, data, ctx, cast_dtype=False, dtype_source="current"):
        """Takes `data`, an array from a file, as the value, on the contexts of an earlier `initialize` or on `ctx`.

        AssertionError if shape, dtype or contexts disagree; with `cast_dtype`, `dtype_source` ("current" or
        "saved") tells whose dtype wins.
        """
        where = f"Failed loading Parameter '{self.name}' from saved params:"
        if cast_dtype:
            assert dtype_source in ("current", "saved"), f"dtype_source must be current or saved, got {dtype_source}"
        if self._shape:
            agrees = len(self._shape) == len(data.shape) and all(
                own in (0, -1, size) for own, size in zip(self._shape, data.shape, strict=True)
            )
            assert agrees, f"{where} shape incompatible expected {self.shape} vs saved {data.shape}"
            self.shape = data.shape
        if self._dtype and np.dtype(self._dtype) != np.dtype(data.dtype):
            assert cast_dtype, (
                f"{where} dtype incompatible expected {self.dtype} vs saved {data.dtype}. "
                "Set cast_dtype=True to cast the dtype of saved params."
            )
            if dtype_source == "current":
                data = data.astype(self._dtype)
            else:
                self.dtype = data.dtype
        if self._stype != data.stype:
            data = data.tostype(self._stype)
        if isinstance(ctx, Context):
            ctx = [ctx]
        before = None if self._data is None and not self._deferred_init else self.list_ctx()
        assert ctx is None or before is None or set(ctx) == set(before), (
            f"Failed to load Parameter '{self.name}' on {ctx} because it was previous initialized on {before}."
        )
        if self._data is None:
            with autograd.pause():
                # an empty list of contexts stays empty, and the Parameter has no array
                contexts = ctx if before is None else before
                self._place(data, [context.cpu()] if contexts is None else contexts)
        else:
            self.set_data(data)
        self._deferred_init = ()

    def reset_ctx(self, ctx: Contexts | None) -> None:
        """Moves the data to `ctx`, a Context or a list of them; ValueError before `initialize`."""
        ctx = _as_list(ctx)
        if self._data:
            data = self._reduce()
            with autograd.pause():
                self._place(data, ctx)
        elif self._deferred_init:
            init, _, default_init, data = self._deferred_init
            self._deferred_init = (init, ctx, default_init, data)
        else:
            raise ValueError(f"Cannot reset context for Parameter '{self.name}' because it has not been initialized.")

    # ---- arrays ----

    def data(self, ctx: Context | None = None) -> NDArray:
        """The array on `ctx` (default: the only one, else that of the current context).

        RuntimeError before `initialize`, on other contexts and for row_sparse parameters;
        DeferredInitializationError while the shape is unknown.
        """
        if ctx is None and self._one is not _NONE:
            return self._one[0]
        self._need_default("a copy", f" on ctx {ctx}", "data", "row_sparse_data")
        return self._pick(self._data, ctx)

    def list_data(self) -> list[NDArray]:
        """The arrays of all contexts, in the order of `list_ctx`."""
        self._need_default("copies", " on all contexts", "list_data", "row_sparse_data")
        return self._checked(self._data)

    def grad(self, ctx: Context | None = None) -> NDArray:
        """The gradient array on `ctx`, as in `data`; RuntimeError if grad_req is "null"."""
        self._need_grad()
        return self._pick(self._grad, ctx)

    def list_grad(self) -> list[NDArray]:
        """The gradient arrays of all contexts."""
        self._need_grad()
        return self._checked(self._grad)

    def row_sparse_data(self, row_id: NDArray) -> NDArray:
        """The rows `row_id` (NDArray of ints) of a row_sparse parameter, on their context.

        RuntimeError for other storage types, and before a Trainer holds the parameter.
        """
        self._need_sparse("a copy of Parameter", "row_sparse_data", "data")
        return self._rows(self._data, row_id.context, row_id)

    def list_row_sparse_data(self, row_id: NDArray) -> list[NDArray]:
        """`row_sparse_data` on all contexts, a list."""
        self._need_sparse("copies of Parameter", "list_row_sparse_data", "data")
        return self._rows(self._data, list, row_id)

    def _need_default(self, what, where, method, other):
        if self._stype != "default":
            raise RuntimeError(
                f"Cannot return {what} of Parameter '{self.name}'{where} via {method}() because its storage type is "
                f"{self._stype}. Please use {other}() instead."
            )

    def _need_sparse(self, what, method, other):
        if self._stype != "row_sparse":
            raise RuntimeError(
                f"Cannot return {what} {self.name} via {method}() because its storage type is {self._stype}. "
                f"Please use {other}() instead."
            )

    def _need_grad(self):
        if self._data is not None and self._grad is None:
            raise RuntimeError(f"Cannot get gradient array for Parameter '{self.name}' because grad_req='null'")

    def _checked(self, arrays):
        if arrays is not None:
            return arrays
        if self._deferred_init:
            raise DeferredInitializationError(
                f"Parameter '{self.name}' has not been initialized yet because initialization was deferred. Actual "
                "initialization happens during the first forward pass. Please pass one batch of data through the "
                "network before accessing Parameters. You can also avoid deferred initialization by specifying "
                "in_units, num_features, etc., for network layers."
            )
        raise RuntimeError(
            f"Parameter '{self.name}' has not been initialized. Note that you should initialize parameters and "
            "create Trainer with Block.collect_params() instead of Block.params because the later does not include "
            "Parameters of nested child Blocks"
        )

    def _pick(self, arrays, ctx):
        arrays = self._checked(arrays)
        if ctx is list:
            return arrays
        if ctx is None:
            if len(arrays) == 1:
                return arrays[0]
            ctx = context.current_context()
        for own, array in zip(self._ctx_list, arrays, strict=True):
            if own == ctx:
                return array
        raise RuntimeError(
            f"Parameter '{self.name}' was not initialized on context {ctx}. "
            f"It was only initialized on {self._ctx_list}."
        )

    _check_and_get = _pick  # MXNet's name, which extensions call

    def _rows(self, arrays, ctx, row_id):
        if not isinstance(row_id, nd.NDArray):
            raise TypeError(f"row_id must have NDArray type, but {type(row_id)} is given")
        if not self._trainer:
            raise RuntimeError(
                f"Cannot get row_sparse data for Parameter '{self.name}' when no Trainer is created with it."
            )
        results = self._pick(arrays, ctx)
        self._trainer._row_sparse_pull(self, results, row_id)
        return results

    def _reduce(self):
        """The value on the CPU, averaged over the contexts."""
        ctx = context.cpu()
        if self._stype == "default":
            arrays = self.list_data()
            if len(arrays) < 2:
                return self.data().copyto(ctx)
            with autograd.pause():
                return nd.add_n(*(array.copyto(ctx) for array in arrays)) / len(arrays)
        if self._trainer is None:
            return self._checked(self._data)[0].copyto(ctx)
        rows = nd.arange(0, self.shape[0], dtype="int64", ctx=ctx)
        data = nd.zeros(self.shape, stype="row_sparse", ctx=ctx)
        self._trainer._row_sparse_pull(self, data, rows, full_idx=True)
        return data

    def set_data(self, data: NDArray) -> None:
        """Sets the value on all contexts; before the deferred initialization, the value it will use.

        AssertionError if the shape disagrees.
        """
        self.shape = data.shape
        if self._data is None:
            assert self._deferred_init, f"Parameter '{self.name}' has not been initialized"
            self._deferred_init = (*self._deferred_init[:3], data)
            return
        if self._trainer is not None:
            self._trainer._data_was_set(self)
        with autograd.pause():
            for array in self._data:
                array[:] = data

    def list_ctx(self) -> list[Context]:
        """The contexts, a list; RuntimeError before `initialize`."""
        if self._data is not None:
            return self._ctx_list
        if self._deferred_init:
            return self._deferred_init[1]
        raise RuntimeError(f"Parameter '{self.name}' has not been initialized")

    def _mark(self):
        """Makes backward passes write into the gradient arrays. `_grad` keeps the arrays that the engine then holds: as
        no other array shares their memory, a pass may replace the memory instead of copying into it.
        """
        autograd.mark_variables(self._data, self._grad, self._grad_req)
        for x in self._data:
            x.node.name = self.name  # drawings of graphs show the name
        self._grad = [x.grad if g.stype == "default" else g for x, g in zip(self._data, self._grad, strict=True)]

    def zero_grad(self) -> None:
        """Fills the gradients with zeros; without gradients nothing happens."""
        for grad in self._grad or ():
            _fill_zero(grad)

    def cast(self, dtype: Dtype) -> None:
        """Changes the dtype of data and gradients."""
        self._dtype = dtype
        if self._data is None:
            return
        with autograd.pause():
            self._data = [array.astype(dtype) for array in self._data]
            if self._grad is not None:
                self._grad = [grad.astype(dtype) for grad in self._grad]
                self._mark()

    def var(self) -> Symbol:
        """A symbol with the parameter's name and attributes, the same at each call."""
        if self._var is None:
            self._var = symbol.var(
                self.name,
                shape=self.shape,
                dtype=self.dtype,
                lr_mult=self.lr_mult,
                wd_mult=self.wd_mult,
                init=self.init,
                stype=self._stype,
            )
        return self._var


def _fill_zero(array):
    if array.stype == "default":
        array.tensor.zero_()
    else:
        nd.zeros_like(array, out=array)
