"""HybridBlock: a block whose `hybrid_forward` runs on arrays and on symbols."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils import _pytree

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.crossing import to
from compatgrad.core.foreign import advice

from .. import autograd, context, symbol
from .. import ndarray as nd
from .._checkpoint import checkpoint_file
from .._frontend import fe
from ..symbol import Symbol
from ..util import _state as _np_state
from . import _shape_probe
from ._block import Block
from ._plan import PLANS, Planner
from ._scope import _state
from .parameter import DeferredInitializationError
from .utils import _check_all_np_ndarrays, _save

if TYPE_CHECKING:
    from ..ndarray import NDArray
    from ._typing import Dtype
    from .parameter import ParameterDict

_NDArray = nd.NDArray
_WRONG = "In HybridBlock, {}. Please check the type of the args.\n"
_MIXED = _WRONG.format("we do not support mixed NDArrays and Symbols types for the input")
_NONE = _WRONG.format("there must be one NDArray or one Symbol in the input")


class HybridBlock(Block):
    """Base class of layers: a subclass defines `hybrid_forward(F, x, *args, **params)` with the parameters by name.

    F is `mxnet.nd`, or `mxnet.sym` where the inputs are symbols. Unknown shapes of parameters are inferred in the first
    call. `hybridize` changes results by rounding at most.

    Args:
        prefix: what all names inside start with; None makes one from the name of the class and a number.
        params: the ParameterDict of another block, whose parameters this one shares.

    Raises:
        ValueError: a child is no HybridBlock; in a call, there is neither an array nor a symbol, or there are both, or
            a shape cannot be inferred.
        RuntimeError: in a call, parameters are not initialized on the context of the input.

    Example:
        >>> class Scale(gluon.HybridBlock):
        ...     def __init__(self, **kwargs):
        ...         super().__init__(**kwargs)
        ...         with self.name_scope():
        ...             self.factor = self.params.get("factor", shape=(1,), init="ones")
        ...     def hybrid_forward(self, F, x, factor):
        ...         return F.broadcast_mul(x, factor)
        >>> net = Scale()
        >>> net.initialize()
        >>> net(nd.array([1, 2])).asnumpy()
        array([1., 2.], dtype=float32)

    Source: `mxnet.gluon.HybridBlock` of MXNet 1.9.1.
    """

    _active = False
    _planner = None
    _backend = None
    _in_format = _out_format = None  # the nested structures of the first hybridized call, for `export`
    _made_graph = ()
    _made_op = None

    def __init__(self, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix, params)
        self.__dict__.update(_flags=[], _backend_opts={})

    def register_op_hook(self, callback: Callable[..., Any], monitor_all: bool = False) -> None:
        """Does nothing, with a UserWarning: the original's callback gets addresses of arrays in MXNet's C library."""
        notes.note_difference("register_op_hook")
        warnings.warn(
            "register_op_hook: the callback is not called: it takes addresses of arrays in MXNet's C library, which is "
            "not there. register_forward_hook gives the outputs of blocks, an executor's set_monitor_callback those of "
            "operators",
            UserWarning,
            stacklevel=2,
        )

    def register_child(self, block: Block, name: str | None = None) -> None:
        """Adds a HybridBlock; ValueError for another block."""
        if not isinstance(block, HybridBlock):
            raise ValueError(
                f"Children of HybridBlock must also be HybridBlock, but {block} has type {type(block)}. "
                f"If you are using Sequential, please try HybridSequential instead.{advice(block, 'mxnet')}"
                + getattr(block, "_not_hybrid", "")
            )
        super().register_child(block, name)

    def hybridize(
        self,
        active: bool = True,
        backend: str | None = None,
        clear: bool = True,
        static_alloc: bool = False,
        static_shape: bool = False,
        inline_limit: int = 2,
        forward_bulk_size: int | None = None,
        backward_bulk_size: int | None = None,
        **kwargs: Any,
    ) -> None:
        """Hybridizes the blocks inside, which `export` needs before a forward pass.

        Networks with two or more convolutions, large dense layers or attentions are compiled for inference in float32
        on the CPU, after some equal calls (docs/guide/performance.md). Nothing else is compiled, and the options have
        no effect.
        """
        self._active = bool(active)
        if active:
            notes.note_difference("hybridize")
        self._backend, self._backend_opts = backend, kwargs
        self._planner = Planner(self) if active and PLANS else None
        self._flags = [("static_alloc", static_alloc), ("static_shape", static_shape), ("inline_limit", inline_limit)]
        if clear:
            self._clear_cached_op()
        super().hybridize(
            active,
            static_alloc=static_alloc,
            static_shape=static_shape,
            inline_limit=inline_limit,
            forward_bulk_size=forward_bulk_size,
            backward_bulk_size=backward_bulk_size,
        )

    def _clear_cached_op(self):
        if self._planner is not None:
            self._planner.clear()
        self._in_format = self._out_format = self._made_op = None
        self._made_graph = ()

    def cast(self, dtype: Dtype) -> None:
        """Changes the dtype of all parameters inside."""
        self._clear_cached_op()
        super().cast(dtype)

    # ---- running ----

    def __call__(self, *args: Any) -> Any:
        out = _C.call_block(fe, _FORWARD, self, args, Symbol, nd)
        if out is NotImplemented:
            if _C.foreign(fe, args):
                args = self._entered(args)
            if self._forward_pre_hooks or self._forward_hooks:
                return self._call_with_hooks(args)
            try:
                out = self.forward(*args)
            except DeferredInitializationError:
                if not self._can_retry():
                    raise
                out = self._retry(args)
        if _np_state.array:
            _check_all_np_ndarrays(out)
        return out

    def _run(self, args):
        try:
            return self.forward(*args)
        except DeferredInitializationError:
            if not self._can_retry():
                raise
            return self._retry(args)

    def _can_retry(self):
        """Whether the subclass defines `forward`, and `infer_shape` for the shapes of its parameters."""
        return type(self).forward is not HybridBlock.forward and type(self).infer_shape is not HybridBlock.infer_shape

    def _retry(self, args):
        """`forward` once more, with the shapes of the parameters from `infer_shape`."""
        self._deferred_infer_shape(*args)
        self._finish_own_init()
        return self.forward(*args)

    def forward(self, x: NDArray, *args: Any) -> Any:
        """Calls `hybrid_forward` with the parameters that are on the inputs' context.

        ValueError if there is no array or symbol among the inputs, or both; RuntimeError if parameters are
        not initialized on the context.
        """
        if self._active and not _state.hybridized:
            return self._forward_hybridized(x, args)
        params = _C.block_parameters(fe, x, args, self._reg_params, Symbol)
        if params is not None:
            return self.hybrid_forward(nd, x, *args, **params)
        if (
            isinstance(x, _NDArray)
            and x._ctx is None
            and (not x.tensor.is_cuda or _on_current_gpu(x))
            and (not args or not any(map(_is_symbol, args)))
        ):
            params = {}
            for name, param in self._reg_params.items():
                params[name] = value = param._one[0]
                if value is None or value._ctx is not None:
                    break
            else:
                return self.hybrid_forward(nd, x, *args, **params)
        return self._forward_anywhere(x, args)

    def _forward_hybridized(self, x, args):
        """A call from outside of hybridized blocks, where the original compiles: inputs it cannot compile are refused.

        ValueError if inputs are neither arrays nor None, are on several contexts, or are nested otherwise than those
        of the first call.
        """
        if self._out_format is not None and _fits((x, *args), self._in_format):
            return self._by_plan((x, *args), self._forward_inside)
        flat, structure = _flatten((x, *args))
        arrays = [value for value in flat if isinstance(value, _C.Variable)]
        if arrays and any(map(_is_symbol, flat)):
            raise ValueError(_MIXED)
        if arrays:
            _flatten((x, *args), "input")
            _check_one_context(arrays)
            if self._in_format is not None and not _same_structure(structure, self._in_format):
                raise ValueError(
                    "The argument structure of HybridBlock does not match the cached version. "
                    f"Stored format = {self._in_format}, input format = {structure}"
                )
        else:
            structure = None  # all inputs are symbols or None: the original compiles nothing
        out = self._forward_inside(x, *args)
        if structure is None:
            return out
        _, nested = _flatten(out, "output")
        if self._in_format is None:
            self._in_format, self._out_format = structure, nested
        return _in_lists(out)

    def _forward_inside(self, *args):
        """`forward` of a block whose inputs are checked."""
        _state.hybridized = True
        try:
            return HybridBlock.forward(self, *args)
        finally:
            _state.hybridized = False

    def _by_plan(self, args, run):
        """The results of `run(*args)`, from a plan if there is one for such inputs."""
        planner = self._planner
        if planner is not None and planner.owner != id(self):  # a shallow copy has the attributes of the original
            self._planner = planner = Planner(self)
        if planner is None or any(kind != 0 for kind in self._in_format):  # plans are for arrays that are in no lists
            return _in_lists(run(*args))
        found = planner.run(args)
        if found is not None:
            return _regroup(*found)[0]
        out = run(*args)
        planner.learn(self, args, *_flatten(out))
        return _in_lists(out)

    def _forward_anywhere(self, x, args):
        has_symbol, has_array, first = _kinds((x, args))
        if not has_symbol and not has_array:  # another frontend's Variables, perhaps
            x, args = _as_arrays((x, args))
            has_symbol, has_array, first = _kinds((x, args))
        if has_symbol == has_array:
            raise ValueError(_MIXED if has_symbol else _NONE)
        if has_symbol:
            params = {name: param.var() for name, param in self._reg_params.items()}
            if _np_state.array:
                params = {name: s.as_np_ndarray() for name, s in params.items()}
            with self.name_scope():
                return self.hybrid_forward(symbol, x, *args, **params)
        ctx = first.context
        if _state.ctx is not None and ctx == context._FIRST:
            ctx = _state.ctx
        params = self._probe_values(ctx, x, args) if _state.probing else self._values(ctx, x, args)
        F = nd
        if any(isinstance(value, _shape_probe.Unknown) for value in params.values()):
            F = _shape_probe.Operators(nd)
        if ctx == context.current_context():
            return self.hybrid_forward(F, x, *args, **params)
        outer, _state.ctx = _state.ctx, ctx
        try:
            with ctx:
                out = self.hybrid_forward(F, x, *args, **params)
        finally:
            _state.ctx = outer
        if ctx.device_type != "gpu" and isinstance(out, _NDArray) and out._ctx is None:
            out._ctx = ctx
        return out

    def _values(self, ctx, x, args):
        try:
            return {name: param.data(ctx) for name, param in self._reg_params.items()}
        except DeferredInitializationError:
            self._deferred_infer_shape(x, *args)
            self._finish_own_init()
            return {name: param.data(ctx) for name, param in self._reg_params.items()}

    def _finish_own_init(self):
        for param in (*self._params.values(), *self._reg_params.values()):
            param._finish_deferred_init()

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any, **kwargs: Any) -> Any:
        """To be defined by subclasses: the outputs, from functions of F on `x`, `args` and the parameters."""
        raise NotImplementedError(f"{type(self).__name__}.hybrid_forward is not defined")

    # ---- shapes ----

    def _deferred_infer_shape(self, *args):
        try:
            self.infer_shape(*args)
        except Exception as error:
            reason = str(error)
            if isinstance(error, IndexError):  # Python's message names neither the axis nor the input that lacks it
                shapes = ", ".join(str(x.shape) for x in _flatten(args)[0] if hasattr(x, "shape"))
                reason = f"{type(self).__name__} {self.name}, inputs of shape {shapes}: {error}"
            raise ValueError(f"Deferred initialization failed because shape cannot be inferred. {reason}") from error

    def infer_shape(self, *args: Any) -> None:
        """Sets the unknown dimensions of all parameters inside from these inputs; layers override it.

        ValueError if the operators that read a parameter do not determine it.
        """
        outer, _state.probing = _state.probing, True
        try:
            with autograd.pause():
                self.forward(*args)
        finally:
            _state.probing = outer
        _shape_probe.check_all_known(self._reg_params.values())

    def _probe_values(self, ctx, x, args):
        """Values for a pass that infers shapes: parameters without an array are zeros, or `Unknown` without a shape."""
        params = {}
        inferred = False
        for name, param in self._reg_params.items():
            if param._data is not None:
                params[name] = param.data(ctx)
                continue
            if (
                not _shape_probe.is_known(param)
                and not inferred
                and type(self).infer_shape is not HybridBlock.infer_shape
            ):
                inferred = True
                self.infer_shape(x, *args)
            params[name] = _shape_probe.stand_in(param)
        return params

    def infer_type(self, *args: Any) -> None:
        """Casts parameters of floating dtype to the first input's dtype."""
        _, _, first = _kinds(args)
        for param in self.collect_params().values():
            if np.dtype(param.dtype).kind == "f":
                param.cast(first.dtype)

    # ---- symbols ----

    @property
    def _cached_graph(self):
        """(input symbols, the outputs as one symbol) once the hybridized block was called, before that ()."""
        if not self._made_graph and self._in_format is not None:
            self._build_cache(*_regroup(None, self._in_format)[0])
        return self._made_graph

    @property
    def _cached_op(self):
        """A CachedOp of the graph once the hybridized block was called, before that None."""
        return self._made_op if self._cached_graph else None

    def _build_cache(self, *args):
        """Prepares `_cached_graph` and `_cached_op` for inputs like `args`."""
        if self._in_format is None:
            self._in_format = _structure(args)
        active, self._active = self._active, False
        try:
            self._made_graph = self._get_graph(*args)
        finally:
            self._active = active
        self._made_op = nd.CachedOp(self._made_graph[1], self._flags)

    def _call_cached_op(self, *args):
        return self.forward(*args)

    def _get_graph(self, *args):
        """(input symbols, the outputs as one symbol) of the block on inputs like `args`."""
        flat, structure = _flatten(args)
        real = [i for i, arg in enumerate(flat) if arg is not None]
        if not real:
            raise ValueError(f"All args are None and we do not support such a case. Received args={args}")
        names = {i: f"data{number}" if len(real) > 1 else "data" for number, i in enumerate(real)}
        inputs = [symbol.var(names[i]) if i in names else None for i in range(len(flat))]
        if _np_state.array:
            inputs = [None if x is None else x.as_np_ndarray() for x in inputs]
        grouped, _ = _regroup(inputs, structure)
        out = self(*grouped)
        flat_out, _ = _flatten(out)
        return [x for x in inputs if x is not None], flat_out[0] if len(flat_out) == 1 else symbol.Group(flat_out)

    def export(self, path: str, epoch: int = 0, remove_amp_cast: bool = True) -> None:
        """Writes the block as a symbol, `path`-symbol.json, and its parameters, `path`-0000.params (the epoch).

        remove_amp_cast: without the casts of mixed precision.

        RuntimeError unless the block was hybridized and called.
        """
        if self._in_format is None:
            raise RuntimeError(
                "Please first call block.hybridize() and then run forward with this block at least once before "
                "calling export."
            )
        self._build_cache(*_regroup(None, self._in_format)[0])
        _, out = self._made_graph
        out.save(f"{path}-symbol.json", remove_amp_cast=remove_amp_cast)
        arguments, auxiliary = set(out.list_arguments()), set(out.list_auxiliary_states())
        values = {}
        for name, param in self.collect_params().items():
            if name in arguments:
                values[f"arg:{name}"] = param._reduce()
            elif name in auxiliary:
                values[f"aux:{name}"] = param._reduce()
            else:
                warnings.warn(f'Parameter "{name}" is not found in the graph. ', stacklevel=2)
        _save(checkpoint_file(path, epoch), values)

    def optimize_for(
        self, x: NDArray, *args: Any, backend: str | None = None, clear: bool = False, **kwargs: Any
    ) -> None:
        """`hybridize`, and deferred parameters initialized for these inputs. No backend changes how operators run.

        ValueError without a backend.
        """
        if not backend:
            raise ValueError('Must specify "backend" to optimize_for')
        self.hybridize(True, backend, clear, **kwargs)
        with autograd.pause():
            self(x, *args)


_FORWARD = HybridBlock.forward


def _on_current_gpu(x):
    """Whether the current context is the GPU of x, because an outer call has entered it."""
    ctx = context.current_context()
    return ctx.device_typeid == 2 and ctx.device_id == x.tensor.get_device()


# ---- nested inputs ----


def _flatten(values, inout_str=None):
    """(list of leaves, structure): 0 for a leaf, -1 for None, n for a symbol of n > 1 outputs, else a list.

    inout_str ("input" or "output", for the message): raises ValueError if a leaf is neither NDArray nor Symbol.
    """
    if values is None:
        return [None], -1
    if isinstance(values, (list, tuple)):
        flat, structure = [], []
        for value in values:
            leaves, inner = _flatten(value, inout_str)
            flat += leaves
            structure.append(inner)
        return flat, structure
    if isinstance(values, _NDArray):
        return [values], 0
    if _is_symbol(values):
        n = len(values.list_outputs())
        return [values], n if n > 1 else 0
    if inout_str is not None and not isinstance(values, _C.Variable):  # other frontends' Variables pass
        raise ValueError(
            f"When hybridized, the {inout_str} of HybridBlock must be (nested) list of Symbol or NDArray, "
            f"but got {values} of type {type(values)}"
        )
    return [values], 0


def _structure(values):
    return _flatten(values)[1]


def _fits(values, structure):
    """Whether inputs are arrays on cpu(0) or a GPU, nested as those of the first call, and need no further check."""
    if len(values) != len(structure):
        return False
    for value, kind in zip(values, structure, strict=True):
        if kind == 0:
            if not isinstance(value, _NDArray) or value._ctx is not None:
                return False
        elif kind == -1:
            if value is not None:
                return False
        elif not isinstance(value, (list, tuple)) or not _fits(value, kind):
            return False
    return True


def _in_lists(out):
    """Results with tuples replaced by lists, which the original's compiled blocks give."""
    return [_in_lists(y) for y in out] if isinstance(out, (list, tuple)) else out


def _same_structure(given, known):
    """Whether inputs are nested as those of the first call; None at the end may be left out."""
    n = min(len(given), len(known))
    return given[:n] == known[:n] and all(rest == -1 for rest in (*given[n:], *known[n:]))


def _check_one_context(arrays):
    """ValueError if arrays are on several contexts. Results of operators on the CPU have none, and do not count."""
    contexts = {x.context for x in arrays if isinstance(x, _NDArray) and (x._ctx is not None or x.tensor.is_cuda)}
    if len(contexts) > 1 or (len({x.tensor.device for x in arrays}) > 1):
        raise ValueError(
            "Find multiple contexts in the input. After hybridized, the HybridBlock only supports one input context. "
            f"Find all contexts = {contexts}"
        )


def _regroup(leaves, structure):
    """(values nested as `structure`, the remaining leaves). Without `leaves`, True stands for each leaf."""
    if isinstance(structure, int):
        if leaves is None:
            return (None if structure == -1 else True), None
        if structure > 0:
            return leaves[:structure], leaves[structure:]
        return leaves[0], leaves[1:]
    values = []
    for inner in structure:
        value, leaves = _regroup(leaves, inner)
        values.append(value)
    return values, leaves


def _kinds(values):
    """(has symbols, has arrays, the first array) of nested inputs."""
    has_symbol = False
    first = None
    for value in _flatten(values)[0]:
        if isinstance(value, _NDArray):
            first = value if first is None else first
        elif not has_symbol and value is not None and _is_symbol(value):
            has_symbol = True
    return has_symbol, first is not None, first


def _as_arrays(values):
    """Nested inputs with other frontends' Variables converted to NDArrays."""
    return _pytree.tree_map_only(_C.Variable, lambda v: to("mxnet", v), values)


def _is_symbol(value):
    return isinstance(value, Symbol)
