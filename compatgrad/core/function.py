"""Functions defined in Python: the parts that all frontends share, and the native `FunctionNode` and `Function`."""

from __future__ import annotations

import shutil
import traceback
import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from compatgrad import _C
from compatgrad.core import bridge, notes
from compatgrad.core.hooks import FunctionHook

__all__ = ["Function", "FunctionAdapter", "FunctionBase", "FunctionNode", "FunctionNodeBase"]

_Gradients: TypeAlias = Sequence[Any]  # a Variable or None for each
_get_mode = _C.get_mode
_function_hooks = _C.function_hooks


class FunctionNodeBase(_C.FunctionNode):
    """The base class of the function nodes of all frontends. A frontend adds `apply` and its kind of data. A subclass
    defines `forward(inputs)`, from a tuple of data to a tuple of data, and `backward(target_input_indexes,
    grad_outputs)`, from Variables to Variables: one gradient or None per input, or per target. `retain_inputs` and
    `retain_outputs`, called in forward, select what `get_retained_inputs` and `get_retained_outputs` return in
    backward.

    Example:
        >>> import compatgrad
        >>> from compatgrad.core.function import FunctionNodeBase
        >>> issubclass(compatgrad.FunctionNode, FunctionNodeBase)
        True

    Source: `compatgrad/core/function.py`.
    """

    _input_indexes_to_retain: Sequence[int] | None = None
    _output_indexes_to_retain: Sequence[int] | None = None
    _output_count = 0
    _fuses = False  # whether backward_accumulate is overridden

    _variable_type: Any  # the class of this frontend's Variables
    _raw = staticmethod(attrgetter("tensor"))  # a Variable's data, as this frontend's functions get it
    _check_outputs: Callable[[tuple[Any, ...]], None]  # raises TypeError for outputs that are not this frontend's data
    _has_nan: Callable[[Any], bool]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._fuses = cls.backward_accumulate is not FunctionNodeBase.backward_accumulate

    @property
    def _accumulates(self) -> bool:
        """Whether the loop passes the gradients accumulated so far, and gets the new sums back. Debug mode needs them
        for a check."""
        return self._fuses or _get_mode("debug")

    @property
    def label(self) -> str:
        """Short name of this function in messages and graph drawings."""
        return self.op_name or type(self).__name__

    @property
    def _impl_name(self) -> str:
        return type(self).__name__

    @property
    def _user_object(self) -> Any:
        return self  # the value of `Variable.creator`

    # ---- forward -------------------------------------------------------------------------------------------

    def _run(self, inputs: tuple[Any, ...], in_data: tuple[Any, ...]) -> tuple[Any, ...]:
        """Runs hooks, forward and checks of one application and records it; `in_data` is the raw data of `inputs`."""
        hooks = self._active_hooks()
        for hook in hooks:
            hook.forward_preprocess(self, in_data)
        self._input_indexes_to_retain = None
        self._output_indexes_to_retain = None
        if notes.listener is not None:
            notes.listener("python", self._user_object)
        outputs = self._forward(in_data)
        if type(outputs) is not tuple and not isinstance(outputs, tuple):
            raise TypeError(f"forward output must be a tuple ({self.label})\nActual: {type(outputs)}")
        self._check_outputs(outputs)
        for hook in hooks:
            hook.forward_postprocess(self, in_data)
        if _get_mode("debug"):
            for y in outputs:
                if y is not None and self._has_nan(y):
                    raise RuntimeError(f"NaN is detected on forward computation of {self.label}")
        self._output_count = len(outputs)
        return self._record(inputs, outputs, self._input_indexes_to_retain, self._output_indexes_to_retain)

    def _forward(self, in_data: tuple[Any, ...]) -> Any:
        return self.forward(in_data)

    def forward(self, inputs: tuple[Any, ...]) -> Any:
        """Must be defined: gets a tuple with each input's data and returns a tuple with each output's data."""
        raise NotImplementedError(f"{type(self).__name__}.forward: a subclass must define it")

    def retain_inputs(self, indexes: Sequence[int]) -> None:
        """Keeps these inputs' data for backward, where `get_retained_inputs` returns them in this order.

        indexes: a tuple or list of ints, the inputs' numbers. Must be called in forward; a later call replaces an
            earlier one. After forward, IndexError for an invalid number.
        """
        self._input_indexes_to_retain = indexes

    def retain_outputs(self, indexes: Sequence[int]) -> None:
        """Keeps these outputs' data for backward, where `get_retained_outputs` returns them in this order.

        indexes: a tuple or list of ints, the outputs' numbers. Must be called in forward; a later call replaces an
            earlier one. After forward, IndexError for an invalid number.
        """
        self._output_indexes_to_retain = indexes

    @property
    def output_data(self) -> tuple[Any, ...]:
        """The data of all outputs, None for outputs that are not retained. RuntimeError before the function was
        recorded."""
        retained = self._retained_output_arrays()
        if retained is None:
            raise RuntimeError("retained output data is gone")
        data: list[Any] = [None] * self._output_count
        for index, y in zip(self._output_indexes_to_retain or (), retained, strict=True):
            data[index] = y
        return tuple(data)

    # ---- backward ------------------------------------------------------------------------------------------

    def backward(self, target_input_indexes: Sequence[int], grad_outputs: _Gradients) -> _Gradients:
        """Must be defined, to apply the chain rule: gets Variables and returns one gradient or None for each target or
        each input.

        Without a definition all gradients are None. `target_input_indexes` are the numbers of the inputs that need a
        gradient, in ascending order; `grad_outputs` has None for an output without a gradient.
        """
        if self.is_native:
            return super().backward(target_input_indexes, grad_outputs)
        return (None,) * len(target_input_indexes)

    def backward_accumulate(
        self, target_input_indexes: Sequence[int], grad_outputs: _Gradients, grad_inputs: _Gradients
    ) -> _Gradients:
        """Gradients of the targets plus `grad_inputs` (Variable or None per target). May be overridden to
        fuse both.
        """
        gxs = _one_per_target(self, target_input_indexes, self.backward(target_input_indexes, grad_outputs))
        return _sums(gxs, grad_inputs)

    def _backward_step(
        self, indexes: Sequence[int], grad_outputs: _Gradients, grad_inputs: _Gradients | None
    ) -> _Gradients:
        """Called by the loop. `grad_inputs`: if `_accumulates`, for each target the gradient accumulated so far, or
        None."""
        try:
            if self._fuses:
                gxs = self.backward_accumulate(indexes, grad_outputs, grad_inputs or ())
            else:
                gxs = self.backward(indexes, grad_outputs)
        except Exception as e:
            _add_stack(self, e)
            raise
        debug = _get_mode("debug")
        if debug:
            self._check_gradient_types(gxs)
        gxs = _one_per_target(self, indexes, gxs)
        if debug:
            self._check_gradients(indexes, gxs, () if self._fuses else grad_inputs)
        return gxs if self._fuses or not grad_inputs else _sums(gxs, grad_inputs)

    def _check_gradient_types(self, gxs: _Gradients) -> None:
        for gx in gxs:
            if gx is not None and not isinstance(gx, _C.Variable):
                raise ValueError(
                    self._get_error_message(
                        "type of gradients returned from backward is incorrect: "
                        f"{type(gx)} != expected {self._variable_type}"
                    )
                )

    def _check_gradients(self, indexes: Sequence[int], gxs: _Gradients, grad_inputs: _Gradients | None) -> None:
        seen: dict[Any, Any] = {}
        for k, (i, gx) in enumerate(zip(indexes, gxs, strict=True)):
            if gx is None or gx.tensor is None:
                continue
            x = (self.inputs or ())[i]
            earlier = seen.setdefault(x, gx)
            pending = grad_inputs[k] if grad_inputs else None
            for what, expected in (("shape", x), ("shape", earlier), ("dtype", earlier), ("dtype", pending)):
                if expected is None or getattr(gx, what) == getattr(expected, what):
                    continue
                raise ValueError(
                    self._get_error_message(
                        f"{what} of gradients returned from backward is incorrect: input-index={i}, "
                        f"actual {getattr(gx, what)} != expected {getattr(expected, what)}"
                    )
                )

    def _get_error_message(self, message: str) -> str:
        lines = [message, f"  function={self._impl_name} ({self.label})"]
        for i, x in enumerate(self.inputs or ()):
            lines.append(f"    input {i}: shape={x.shape} dtype={x.dtype}")
        for i, ref in enumerate(self.outputs or ()):
            y = ref()
            state = "not available" if y is None else f"shape={y.shape} dtype={y.dtype}"
            lines.append(f"    output {i}: {state}")
        return "\n".join(lines)

    # ---- hooks ---------------------------------------------------------------------------------------------

    def _active_hooks(self) -> tuple[FunctionHook, ...]:
        if self._n_local_function_hooks:
            return tuple({**_function_hooks(), **self.local_function_hooks}.values())
        hooks = _function_hooks()
        return tuple(hooks.values()) if hooks else ()

    def add_hook(self, hook: FunctionHook, name: str | None = None) -> None:
        """Registers a hook for this function alone.

        hook: a FunctionHook, TypeError for anything else. name: str, by default the hook's name; KeyError if a hook of
            this function already has it.
        """
        if not isinstance(hook, FunctionHook):
            raise TypeError("Hook must be of type FunctionHook")
        name = hook.name if name is None else name
        hooks = self.local_function_hooks
        if name in hooks:
            raise KeyError(f"Hook {name} already exists")
        hooks[name] = hook
        hook.added(self)

    def delete_hook(self, name: str) -> None:
        """Removes the hook of that name; KeyError if there is none."""
        hooks = self.local_function_hooks
        if name not in hooks:
            raise KeyError(f"Hook {name} does not exist")
        hooks[name].deleted(self)
        del hooks[name]


def _sums(gxs: _Gradients, grad_inputs: _Gradients) -> _Gradients:
    return tuple(gx if g is None else g if gx is None else gx + g for gx, g in zip(gxs, grad_inputs, strict=True))


def _must_return(node: FunctionNodeBase) -> str:
    return f"backward of {node.label} must return a tuple of Variables or None,"


def _one_per_target(node: FunctionNodeBase, indexes: Sequence[int], gxs: Any) -> _Gradients:
    if gxs is None:
        raise TypeError(f"{_must_return(node)} not None: is `return` missing?")
    if isinstance(gxs, _C.Variable):
        raise ValueError(f"{_must_return(node)} not a Variable: (gx,)")
    given: _Gradients = gxs
    count, inputs = len(given), len(node.inputs or ())
    if count == inputs:
        return given if inputs == len(indexes) else tuple([given[i] for i in indexes])
    if count == len(indexes):
        return given
    expected = str(inputs) if inputs == len(indexes) else f"{inputs} or {len(indexes)}"
    raise ValueError(
        node._get_error_message(
            f"number of gradients returned from backward is incorrect: {count} != expected {expected}"
        )
    )


def _add_stack(node: FunctionNodeBase, error: BaseException) -> None:
    """Appends to the error's message where the function was called in forward, which is only known in debug mode."""
    if node.stack is None:
        return
    rule = "-" * shutil.get_terminal_size().columns
    where = "".join(traceback.format_list(node.stack[:-1]))
    text = f"\n{rule}\nStacktrace of the function is below:\n{where}"
    error.args = (f"{error.args[0]}{text}", *error.args[1:]) if error.args else (text,)


# A mixin for classes of nodes, whose attributes it uses.
if TYPE_CHECKING:
    _Node = FunctionNodeBase
else:
    _Node = object


class FunctionAdapter(_Node):
    """A mixin for the node that runs a `Function`, whose backward computes on raw data and is not recorded. Before the
    first call the function owns its node; afterwards the node owns the function.

    Args:
        function: the function.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> class Double(compatgrad.Function):
        ...     def forward(self, inputs):
        ...         return (inputs[0] * 2,)
        >>> y = Double()(compatgrad.Variable(torch.ones(2)))
        >>> type(y.node.creator_node.function).__name__
        'Double'

    Source: `compatgrad/core/function.py`.
    """

    _function: Any = None
    _weak_function: Callable[[], Any] | None = None
    _check_raw_gradient: Callable[[int, Any, Any], None]  # checks an input's gradient: raises TypeError or ValueError

    def __init__(self, function: FunctionBase) -> None:
        super().__init__()
        self._weak_function = weakref.ref(function)
        function._owned_node = self

    @property
    def function(self) -> Any:
        """The `Function` object, or None if it was deleted."""
        if self._function is not None:
            return self._function
        return self._weak_function() if self._weak_function else None

    @property
    def _user_object(self) -> Any:
        return self.function

    @property
    def label(self) -> str:
        """The label of the function that the node runs."""
        return str(self.function.label)

    @property
    def _impl_name(self) -> str:
        return type(self.function).__name__

    def check_type_forward(self, in_types: Any) -> None:
        """Lets the function check shapes and dtypes of its inputs."""
        self.function.check_type_forward(in_types)

    def forward(self, inputs: tuple[Any, ...]) -> Any:
        """Calls the function's forward; all inputs are retained unless it calls `retain_inputs`."""
        self.retain_inputs(range(len(inputs)))
        return self.function.forward(inputs)

    def backward(self, target_input_indexes: Sequence[int], grad_outputs: _Gradients) -> _Gradients:
        """Calls the function's backward with raw data; its gradients are constants, so that the pass cannot be
        differentiated."""
        raw, variable = self._raw, self._variable_type
        nodes = self.inputs or ()
        in_data: list[Any] = [None] * len(nodes)
        for i, x in zip(self._input_indexes_to_retain or (), self.get_retained_inputs(), strict=True):
            in_data[i] = None if x is None else raw(x)
        out_grad = tuple([None if g is None else raw(g) for g in grad_outputs])
        gxs = self._function_backward(tuple(in_data), out_grad)
        for i, (x, gx) in enumerate(zip(nodes, gxs, strict=False)):
            if gx is not None:
                self._check_raw_gradient(i, x, gx)
        ret = []
        for i in target_input_indexes:
            gx = gxs[i]
            if gx is not None:
                gx = variable(gx)
                gx.node._old_style_grad_generator = self.function.label
            ret.append(gx)
        return tuple(ret)

    def _function_backward(self, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> Any:
        return self.function.backward(in_data, out_grad)


class FunctionBase:
    """A function whose forward and backward both compute on raw data, so that it can be differentiated only once.
    Calling it returns a Variable, or a tuple of Variables. All inputs are retained unless forward calls
    `retain_inputs`.

    Example:
        >>> import compatgrad
        >>> from compatgrad.core.function import FunctionBase
        >>> issubclass(compatgrad.Function, FunctionBase)
        True

    Source: `compatgrad/core/function.py`.
    """

    _node: Callable[[], Any] | None = None
    _owned_node: Any = None
    _adapter: Any  # the class of its nodes

    def __call__(self, *inputs: Any) -> Any:
        node = self.node
        node._function = self
        node._weak_function = None
        self._node = weakref.ref(node)
        self._owned_node = None  # from now on the graph owns the node, and the node owns the function
        ret = node.apply(inputs)
        return ret[0] if len(ret) == 1 else tuple(ret)

    @property
    def node(self) -> Any:
        """The function node, made at first use."""
        node = (self._node and self._node()) or self._owned_node
        return self._adapter(self) if node is None else node

    inputs = property(attrgetter("node.inputs"), doc="Variable nodes of the inputs.")
    outputs = property(attrgetter("node.outputs"), doc="Weak references to the variable nodes of the outputs.")
    local_function_hooks = property(attrgetter("node.local_function_hooks"), doc="Hooks of this function alone.")
    output_data = property(
        attrgetter("node.output_data"), doc="Data of the outputs, None for others than retained ones."
    )
    rank = property(attrgetter("node.rank"), doc="Longest path from a leaf.")
    stack = property(attrgetter("node.stack"), doc="Where the function was called; only known in debug mode.")

    @property
    def label(self) -> str:
        """Short name of this function in messages and graph drawings."""
        return type(self).__name__

    def forward(self, inputs: tuple[Any, ...]) -> Any:
        """Must be defined: gets a tuple with each input's data and returns a tuple with each output's data."""
        raise NotImplementedError(f"{type(self).__name__}.forward: a subclass must define it")

    def backward(self, inputs: tuple[Any, ...], grad_outputs: tuple[Any, ...]) -> Any:
        """Must return one gradient or None per input, computed from data. `inputs` has None for inputs that are not
        retained, `grad_outputs` for outputs without a gradient."""
        return (None,) * len(inputs)

    def unchain(self) -> None:
        """Cuts this function out of the graph."""
        self.node.unchain()

    def add_hook(self, hook: FunctionHook, name: str | None = None) -> None:
        """Registers a hook for this function alone."""
        self.node.add_hook(hook, name)

    def delete_hook(self, name: str) -> None:
        """Removes the hook of that name."""
        self.node.delete_hook(name)

    def retain_inputs(self, indexes: Sequence[int]) -> None:
        """Keeps only these inputs' data for backward. Must be called in forward."""
        self.node.retain_inputs(indexes)

    def retain_outputs(self, indexes: Sequence[int]) -> None:
        """Keeps these outputs' data for backward, in `output_data`. Must be called in forward."""
        self.node.retain_outputs(indexes)


# ---- the native API: torch tensors -------------------------------------------------------------------------


class FunctionNode(FunctionNodeBase):
    """A user-defined function, written with torch, that can be differentiated any number of times.

    A subclass defines

    - ``forward(inputs)``: gets a tuple of tensors (None for an input that is None); returns a tuple of tensors. It
    selects the data that backward reads, by number: ``self.retain_inputs((0,))``, ``self.retain_outputs((0,))``.
    - ``backward(target_input_indexes, grad_outputs)``: gets a tuple of the numbers of the inputs that need a gradient,
    and a tuple of Variables, None for an output without a gradient; returns a tuple with one Variable or None for each
    target, or for each input, computed with functions of Variables. ``self.get_retained_inputs()`` and
    ``self.get_retained_outputs()`` return Variables.

    Each object can be called once: ``MyFunction(...).apply((x, y))`` returns a tuple of Variables.

        >>> import torch
        >>> import compatgrad
        >>> class Square(compatgrad.FunctionNode):
        ...     def forward(self, inputs):
        ...         self.retain_inputs((0,))
        ...         return (inputs[0] ** 2,)
        ...     def backward(self, target_input_indexes, grad_outputs):
        ...         (x,) = self.get_retained_inputs()
        ...         return (2 * x * grad_outputs[0],)
        >>> x = compatgrad.Variable(torch.tensor([3.0]))
        >>> (y,) = Square().apply((x,))
        >>> (gx,) = compatgrad.grad([y], [x], enable_double_backprop=True)
        >>> (ggx,) = compatgrad.grad([gx], [x])
        >>> y.item(), gx.item(), ggx.item()
        (9.0, 6.0, 2.0)

    Raises NotImplementedError if `forward` is not defined; TypeError for inputs that are not tensors, for a forward
    that does not return a tuple of tensors and for a backward that returns anything but Variables; ValueError for a
    wrong number of gradients.

    Source: `compatgrad/core/function.py`, `csrc/python/function.cpp`.
    """

    _frontend = _C.native_frontend

    def apply(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """Runs forward once, and records it if an input requires a gradient.

        inputs: a tuple or list of Variables, tensors (constants) or None. Returns a tuple of Variables. TypeError for
            other inputs, and for a forward that returns anything but a tuple of tensors or None.
        """
        inputs = bridge.left(inputs, self._frontend) or inputs
        in_data = tuple([x.tensor if isinstance(x, _C.Variable) else x for x in inputs])
        for x in in_data:
            if x is not None and not isinstance(x, torch.Tensor):
                raise TypeError(f"inputs of {self.label} must be Variables or tensors, not {type(x)}")
        if _get_mode("debug"):
            self.stack = traceback.extract_stack()
        return self._run(tuple(inputs), in_data)

    def _check_outputs(self, outputs: tuple[Any, ...]) -> None:
        for y in outputs:
            if y is not None and not isinstance(y, torch.Tensor):
                raise TypeError(f"forward output must be a tuple of tensors ({self.label})\nActual: {type(y)}")

    @staticmethod
    def _has_nan(y: torch.Tensor) -> bool:
        return y.is_floating_point() and bool(y.isnan().any())


class _NativeAdapter(FunctionAdapter, FunctionNode):
    def _function_backward(self, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> Any:
        gxs = self.function.backward(in_data, out_grad)
        if not isinstance(gxs, (tuple, list)):
            raise TypeError(f"backward of {self.label} must return a tuple of tensors or None, not {type(gxs)}")
        if len(gxs) != len(in_data):
            raise ValueError(
                f"backward of {self.label} must return one gradient per input: {len(gxs)} != {len(in_data)}"
            )
        return gxs

    def _check_raw_gradient(self, index: int, x: Any, gx: Any) -> None:
        if not isinstance(gx, torch.Tensor):
            raise TypeError(f"gradient {index} of {self.label} must be a tensor, not {type(gx)}")
        if gx.dtype != x.dtype:
            raise TypeError(f"gradient {index} of {self.label} has dtype {gx.dtype}, its input {x.dtype}")
        if gx.shape != x.shape:
            raise ValueError(f"gradient {index} of {self.label} has shape {gx.shape}, its input {x.shape}")


class Function(FunctionBase):
    """A user-defined function whose forward and backward both compute on torch tensors: it can be differentiated once.

    A subclass defines ``forward(inputs)``, from a tuple of tensors to a tuple of tensors, and ``backward(inputs,
    grad_outputs)``, from two tuples of tensors (None for a missing gradient) to a tuple with one tensor of the input's
    shape and dtype, or None, for each input. A call takes Variables or tensors, and returns a Variable, or a tuple of
    Variables. All inputs are kept for backward unless forward calls `retain_inputs`.

        >>> import torch
        >>> import compatgrad
        >>> class Cube(compatgrad.Function):
        ...     def forward(self, inputs):
        ...         return (inputs[0] ** 3,)
        ...     def backward(self, inputs, grad_outputs):
        ...         return (3 * inputs[0] ** 2 * grad_outputs[0],)
        >>> x = compatgrad.Variable(torch.tensor([2.0]))
        >>> y = Cube()(x)
        >>> y.backward()
        >>> y.item(), x.grad
        (8.0, tensor([12.]))

    Raises TypeError or ValueError, with the function's name, for gradients of a wrong type, number, dtype or shape.

    Source: `compatgrad/core/function.py`.
    """

    _adapter = _NativeAdapter
