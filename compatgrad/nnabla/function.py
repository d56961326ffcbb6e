"""`Function`, a function of the graph, and `PythonFunction`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core import notes
from compatgrad.core.masks import mask_of
from compatgrad.nnabla import context as _context
from compatgrad.nnabla import functions as _functions  # noqa: F401 - declares the types
from compatgrad.nnabla._attributes import refuse_others
from compatgrad.nnabla._declare import Info, _entered, _place, call, specs
from compatgrad.nnabla._frontend import fe
from compatgrad.nnabla._nd_array import NdArray, NotAVariable, dimensions
from compatgrad.nnabla._op_names import info_of
from compatgrad.nnabla.variable import Variable, _around

__all__ = ["Function", "PythonFunction"]


@refuse_others
class Function(_C.FunctionNode):
    """One function of a graph: the value of `Variable.parent`, and the argument of hooks and of callbacks of `visit`.

    Example:
        >>> x = nn.Variable((2, 3), need_grad=True)
        >>> f = F.elu(x, alpha=0.5).parent
        >>> f.name, f.args, f.inputs[0] == x, f.rank
        ('ELU', {'alpha': 0.5}, True, 0)

    Source: `nnabla.function.Function` of nnabla 1.39.0.
    """

    _frontend = fe

    def __repr__(self) -> str:
        return self.name

    @property
    def info(self) -> Info:
        """`type_name`, `args` and `tags` of the function."""
        return info_of(self)

    @property
    def name(self) -> str:
        """The type's name; "Callback" for a PythonFunction."""
        info = self.info
        return getattr(info, "shown_as", None) or info.type_name

    label = name

    @property
    def args(self) -> dict[str, Any]:
        """The arguments by name."""
        return self.info.args

    arguments = args

    @property
    def tags(self) -> Any:
        """Values by name that a user has attached."""
        return self.info.tags

    @tags.setter
    def tags(self, tags: Any) -> None:
        self.info.tags = tags

    @property
    def inputs(self) -> list[Variable]:
        """The input Variables; without optional inputs that were left out and without those of other frameworks."""
        return [x for x in _C.function_inputs(self) if isinstance(x, _C.DeferredVariable)]

    @property
    def outputs(self) -> list[Variable]:
        """The output Variables."""
        return _C.function_outputs(self)

    @property
    def need_grad(self) -> bool:
        """Whether any input needs a gradient."""
        return _C.function_need_grad(self)

    @property
    def rank(self) -> int:
        """Length of the longest path from a leaf."""
        return _C.function_rank(self)

    @property
    def context(self) -> Any:
        """The context in which the function was made."""
        return self.info.context

    def min_outputs(self) -> int:
        """Number of outputs."""
        return len(self.outputs)

    def setup(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Sets the shapes of `outputs`."""
        for given, own in zip(outputs, self.outputs, strict=True):
            given.reset_shape(own.shape, True)

    def forward(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Runs the function on the given Variables' data."""
        _C.function_forward(self, inputs, outputs, False)

    def backward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], accum: Sequence[bool] | None = None
    ) -> None:
        """Computes the gradients of those `inputs` that have need_grad from the gradients of `outputs`; where `accum`
        is True, they are added to the existing ones."""
        flags = [] if accum is None else list(accum)
        _C.function_backward(
            self, inputs, outputs, [v.need_grad for v in inputs], flags + [True] * (len(inputs) - len(flags))
        )

    def setup_recompute(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Does nothing: running a function again needs no preparation."""

    def recompute(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Runs the function again because its data was freed, with the same random numbers."""
        _C.function_forward(self, inputs, outputs, True)

    def need_setup_recompute(self, o: int) -> bool:
        """False: computing an output again needs no preparation."""
        return False

    def grad_depends_input_data(self, i: int, j: int) -> bool:
        """Whether the gradient of input i reads the data of input j."""
        return _C.function_saves(self, None)[0][j]

    def grad_depends_output_data(self, i: int, o: int) -> bool:
        """Whether the gradient of input i reads the data of output o."""
        return _C.function_saves(self, None)[1][o]

    def auto_grad_depends_input_data(self, i: int, j: int) -> bool:
        """The same as `grad_depends_input_data`: recorded gradients read the same data."""
        return self.grad_depends_input_data(i, j)

    def auto_grad_depends_output_data(self, i: int, o: int) -> bool:
        """The same as `grad_depends_output_data`: recorded gradients read the same data."""
        return self.grad_depends_output_data(i, o)

    def inplace_data(self, i: int) -> int:
        """0: functions are not defined to share memory between input i and an output."""
        return 0

    def inplace_data_with(self, i: int) -> int:
        """0: see `inplace_data`."""
        return 0

    def set_active_input_mask(self, mask: Sequence[bool]) -> None:
        """Sets which inputs of an AddN or MulN take part: those whose flag is set. Other types ignore the flags."""
        active = (self.op_params or {}).get("active")
        if active is not None:
            active.copy_(torch.as_tensor([int(m) for m in mask]))

    def __call__(self, *inputs: Any, n_outputs: int = -1, auto_forward: bool = False, outputs: Any = None) -> Any:
        """Applies the same function, with the same arguments, to other inputs."""
        spec = specs.get(self.info.type_name)
        if spec is None:
            raise TypeError(f"{self.info.type_name}: this function cannot be applied again")
        if not spec.variadic:
            inputs = (*inputs, *[None] * (len(spec.inputs) - len(inputs)))
        return call(spec, inputs, [self.info.args[a] for a in spec.args], n_outputs, outputs)


fe.node_class = Function


class UnsafeVariable:
    """The object that the methods of a PythonFunction get for each input and output. It is valid during the call only.

    Args:
        data: the values.
        grad: the gradient.

    Example:
        >>> from compatgrad.nnabla.function import UnsafeVariable
        >>> v = UnsafeVariable(nn.NdArray((2,)), nn.NdArray((2,)))
        >>> v.d = [1, 2]
        >>> v.d, v.size_from_axis(0)
        (array([1., 2.], dtype=float32), 2)

    Source: compatgrad's own, like the object that a PythonFunction of nnabla 1.39.0 gets.
    """

    __slots__ = ("_data", "_grad")

    def __init__(self, data: NdArray, grad: NdArray) -> None:
        self._data, self._grad = data, grad

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("data", "grad"):
            short = name[0]
            raise AttributeError(f"{name} cannot be replaced; write the numbers into it, as by `.{short} = ...`")
        super().__setattr__(name, value)

    @property
    def data(self) -> NdArray:
        """The NdArray of the values. A method writes into it; an assignment raises AttributeError, as in nnabla."""
        return self._data

    @property
    def grad(self) -> NdArray:
        """The NdArray of the gradient. A method writes into it; an assignment raises AttributeError, as in nnabla."""
        return self._grad

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, a tuple of ints."""
        return self.data.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.data.size

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self.data.ndim

    def size_from_axis(self, axis: int = -1) -> int:
        """Number of elements from `axis` on; -1: of all axes."""
        return self.data.size_from_axis(axis)

    def reset_shape(self, shape: Any, force: bool = False) -> None:
        """Sets the shape. Raises RuntimeError if the number of elements changes and `force` is not set."""
        shape = dimensions(shape)
        if int(np.prod(shape, dtype=np.int64)) != self.size and not force:
            raise RuntimeError(f"reset_shape: shape {shape} has another size than {self.shape}; force=True allows it")
        self.data._set_shape(shape)
        self.grad._set_shape(shape)

    @property
    def d(self) -> np.ndarray:
        """The values as a NumPy array that shares their memory."""
        return self.data.data

    @d.setter
    def d(self, value: Any) -> None:
        self.data.data[...] = value

    @property
    def g(self) -> np.ndarray:
        """The gradient as a NumPy array that shares its memory."""
        return self.grad.data

    @g.setter
    def g(self, value: Any) -> None:
        self.grad.data[...] = value


class _Callback:
    """Adapts a PythonFunction to the engine's host protocol."""

    on_arrays, integers = 1, 0

    def __init__(self, own: PythonFunction, needs: list[bool], n_outputs: int) -> None:
        self.own, self.n_outputs = own, n_outputs
        asked = list(enumerate(needs))
        outputs = [
            o
            for o in range(n_outputs)
            if any([self._depends(own.grad_depends_output_data, i, o, need) for i, need in asked])
        ]
        inputs = [
            j
            for j in range(len(needs))
            if any([self._depends(own.grad_depends_input_data, i, j, need) for i, need in asked])
        ]
        self.saves = mask_of(inputs, outputs)

    @staticmethod
    def _depends(ask: Callable[[int, int], bool], i: int, k: int, need: bool) -> bool:
        """Whether the gradient of input i reads the data of input or output k, as `ask` says. For an input that needs
        no gradient, `ask` is called in a dynamic graph only, where memory is freed at once. In a static graph the input
        may need a gradient later, so the answer is True. Many classes do not define `ask` for such inputs, so an
        exception also counts as True.
        """
        if not need and not _C.get_mode("auto_forward"):
            return True
        try:
            return bool(ask(i, k))
        except Exception:
            if need:
                raise
            return True

    def _run(self, method: str, *args: Any) -> None:
        with _context.context_scope(self.own.ctx):
            try:
                getattr(self.own, method)(*args)
            except SystemError:
                raise
            except Exception as e:
                raise SystemError(f"{type(self.own).__name__}.{method} failed: {e}") from e

    def infer(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        ins = [UnsafeVariable(NdArray(s), NdArray(s)) for s in shapes]
        outs = [UnsafeVariable(NdArray(), NdArray()) for _ in range(self.n_outputs)]
        self._run("setup_impl", ins, outs)
        return [o.shape for o in outs]

    @staticmethod
    def _wrap(pairs: list[tuple[NdArray, NdArray]]) -> list[UnsafeVariable]:
        return [UnsafeVariable(*pair) for pair in pairs]

    def forward(self, inputs: Any, outputs: Any) -> None:
        if notes.listener is not None:
            notes.listener("python", self.own)
        self._run("forward_impl", self._wrap(inputs), self._wrap(outputs))

    def backward(self, inputs: Any, outputs: Any, wanted: list[bool], accumulate: list[bool]) -> None:
        self._run("backward_impl", self._wrap(inputs), self._wrap(outputs), wanted, accumulate)

    def gradient(self, inputs: Any, outputs: Any, gradients: Any, wanted: list[bool]) -> Any:
        raise ValueError(f"{self.own._name()} is not in the backward function registry")


class PythonFunction:
    """A function written in Python.

    Subclasses define:

    - `name` (property or attribute), `min_outputs()`;
    - `setup_impl(inputs, outputs)`: sets the outputs' shapes; `forward_impl(inputs, outputs)`: their data;
    - `backward_impl(inputs, outputs, propagate_down, accum)`: sets the gradients of the inputs whose `propagate_down`
    is True; where `accum` is True, it adds to the existing gradient; - `grad_depends_output_data(i, o)` and
    `grad_depends_input_data(i, j)`: whether the gradient of input i reads that data, for inputs that need a gradient; -
    optionally `args`, a dictionary: the keyword arguments of its backward in `nnabla.backward_functions.registry`.

    Args:
        ctx: the context of all its calls; None: the current one.

    Raises:
        SystemError: one of these methods has raised an exception, which is the cause of the SystemError.
        TypeError: in a call, an input is neither a Variable nor an NdArray.

    Example:
        >>> from compatgrad.nnabla.function import PythonFunction
        >>> class Double(PythonFunction):
        ...     name = "Double"
        ...     def min_outputs(self):
        ...         return 1
        ...     def setup_impl(self, inputs, outputs):
        ...         outputs[0].reset_shape(inputs[0].shape, True)
        ...     def forward_impl(self, inputs, outputs):
        ...         outputs[0].d = 2 * inputs[0].d
        ...     def backward_impl(self, inputs, outputs, propagate_down, accum):
        ...         if propagate_down[0]:
        ...             inputs[0].g = 2 * outputs[0].g + (inputs[0].g if accum[0] else 0)
        ...     def grad_depends_input_data(self, i, j):
        ...         return False
        ...     def grad_depends_output_data(self, i, o):
        ...         return False
        >>> x = nn.Variable.from_numpy_array([1.0, 2.0], need_grad=True)
        >>> y = Double()(x)
        >>> y.forward()
        >>> y.d
        array([2., 4.], dtype=float32)

    Source: `nnabla.function.PythonFunction` of nnabla 1.39.0.
    """

    def __init__(self, ctx: Any = None) -> None:
        self.ctx = ctx

    @property
    def ctx(self) -> Any:
        """The context of all calls."""
        own = getattr(self, "_ctx", None)
        return _context.get_current_context() if own is None else own

    @ctx.setter
    def ctx(self, ctx: Any) -> None:
        self._ctx = ctx

    @property
    def name(self) -> str:
        """To be defined, as an attribute or a property: the name that drawings of graphs show."""
        raise NotImplementedError("a PythonFunction must define `name`")

    @property
    def args(self) -> dict[str, Any]:
        """The keyword arguments of its backward in `nnabla.backward_functions.registry`."""
        return {}

    @property
    def tags(self) -> dict[str, Any]:
        """Values by name that a user has attached."""
        return {}

    def min_outputs(self) -> int:
        """To be defined: the number of outputs."""
        raise NotImplementedError("a PythonFunction must define `min_outputs`")

    def setup_impl(self, inputs: Any, outputs: Any) -> None:
        """To be defined: calls `reset_shape(shape, True)` of each output; values are not known yet."""
        raise NotImplementedError("a PythonFunction must define `setup_impl`")

    def forward_impl(self, inputs: Any, outputs: Any) -> None:
        """To be defined: writes `data` of the outputs from `data` of the inputs."""
        raise NotImplementedError("a PythonFunction must define `forward_impl`")

    def backward_impl(self, inputs: Any, outputs: Any, propagate_down: Any, accum: Any) -> None:
        """To be defined: writes `grad` of the inputs from `grad` of the outputs.

        propagate_down, accum: for each input, whether its gradient is wanted, and whether to add it to the existing
            one.
        """
        raise NotImplementedError("a PythonFunction must define `backward_impl`")

    def grad_depends_output_data(self, i: int, o: int) -> bool:
        """To be defined: whether the gradient of input i reads the data of output o, which must then be kept."""
        raise NotImplementedError("a PythonFunction must define `grad_depends_output_data`")

    def grad_depends_input_data(self, i: int, j: int) -> bool:
        """To be defined: whether the gradient of input i reads the data of input j, which must then be kept."""
        raise NotImplementedError("a PythonFunction must define `grad_depends_input_data`")

    def _name(self) -> str:
        return self.name() if callable(self.name) else self.name

    def __call__(self, *inputs: Any, n_outputs: int = -1, outputs: Any = None) -> Any:
        if n_outputs < 0:
            n_outputs = self.min_outputs()
        inputs = tuple(_entered(x) for x in inputs)
        for i, x in enumerate(inputs):
            if not isinstance(x, (Variable, NdArray)):
                raise NotAVariable(
                    f"{self._name()}: input {i}: expected a Variable or an NdArray, got {type(x).__name__}"
                )
        try:
            needs = [isinstance(x, Variable) and x.need_grad for x in inputs]
            host = _Callback(self, needs, n_outputs)
        except Exception as e:
            raise SystemError(f"{type(self).__name__}: {e}") from e
        at_once = any(isinstance(x, NdArray) for x in inputs)
        variables = [_around(x) if isinstance(x, NdArray) else x for x in inputs]
        if notes.listener is not None:
            notes.listener("python", self, calls=0)  # called here, and run by a later forward
        info = _PythonInfo(self._name(), dict(self.args), dict(self.tags))
        from compatgrad.core.configuration import using_modes

        if at_once:
            with using_modes(auto_forward=True, enable_backprop=False):
                ys = _C.apply_host(fe, host, variables, info)
        else:
            ys = _C.apply_host(fe, host, variables, info)
        _place(ys, outputs)
        if at_once:
            ys = [y.data for y in ys]
        return ys[0] if len(ys) == 1 else tuple(ys)


class _PythonInfo(Info):
    shown_as = "Callback"


class _OfType:
    """A function of one type with its arguments. It can be called with inputs, or run on given Variables by `setup` and
    then `forward` and `backward`, like a `Function`.
    """

    def __init__(self, ctx: Any, type_name: str, args: Sequence[Any], named: dict[str, Any]) -> None:
        spec = specs[type_name]
        unknown = set(named) - set(spec.args)
        if unknown or len(args) > len(spec.args):
            raise TypeError(f"{type_name} takes {', '.join(spec.args) or 'no arguments'}")
        given = dict(zip(spec.args, args, strict=False)) | named
        self.context = ctx
        self.args = self.arguments = {p.name: given.get(p.name, p.default) for p in spec.parameters}
        self.info = Info(type_name, self.args)
        self.name = self.type_name = type_name
        self._results: tuple[Variable, ...] = ()  # results of setup, which keep the function of the graph alive

    def setup(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Sets the shapes of `outputs` from those of `inputs`; the number of `outputs` is that of the function's
        outputs."""
        alike = [None if v is None else Variable(v.shape, need_grad=True) for v in inputs]
        results = self(*alike, n_outputs=len(outputs))
        self._results = results if isinstance(results, tuple) else (results,)
        self._made().setup(inputs, outputs)

    def _made(self) -> Function:
        if not self._results:
            raise RuntimeError(f"{self.name}: call setup(inputs, outputs) before forward and backward")
        return self._results[0].parent

    def forward(self, inputs: Sequence[Variable], outputs: Sequence[Variable]) -> None:
        """Runs the function on the given Variables' data. Raises RuntimeError before `setup`."""
        self._made().forward(inputs, outputs)

    def backward(
        self, inputs: Sequence[Variable], outputs: Sequence[Variable], accum: Sequence[bool] | None = None
    ) -> None:
        """Computes the gradients of those `inputs` that have need_grad from the gradients of `outputs`; where `accum`
        is True, they are added to the existing ones."""
        self._made().backward(inputs, outputs, accum)

    def __call__(self, *inputs: Any, n_outputs: int = -1, auto_forward: bool = False, outputs: Any = None) -> Any:
        from compatgrad.nnabla.auto_forward import auto_forward as forwarding

        spec = specs[self.name]
        if not spec.variadic:
            inputs = (*inputs, *[None] * (len(spec.inputs) - len(inputs)))
        with _context.context_scope(self.context), forwarding(auto_forward):
            return call(spec, inputs, [self.args[a] for a in spec.args], n_outputs, outputs)


def __getattr__(name: str) -> Any:
    if name not in specs:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)

    def make(ctx: Any, *args: Any, **named: Any) -> _OfType:
        return _OfType(ctx, name, args, named)

    make.__name__ = name
    place = inspect.Parameter.POSITIONAL_OR_KEYWORD
    given = [p.replace(kind=place) for p in specs[name].parameters]
    make.__signature__ = inspect.Signature([inspect.Parameter("ctx", place), *given])  # type: ignore[attr-defined]
    return make
