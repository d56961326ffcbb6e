"""The table of backward functions that `nn.grad` uses, by function type.

Every function of `nnabla.functions` has an entry; each is a function

    f(grad_inputs, inputs, input_shapes, outputs, output_shapes, **args)

that returns one Variable (or None) per forward input. Replace one with `register`, or add one for a PythonFunction.
"""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from compatgrad import _C
from compatgrad.nnabla import _declare
from compatgrad.nnabla import backward_function as backward_function  # declares function types
from compatgrad.nnabla._declare import call, specs
from compatgrad.nnabla._dropout_workaround import dropout_of, scale_of
from compatgrad.nnabla._op_names import _TYPES
from compatgrad.nnabla.functions import constant
from compatgrad.nnabla.variable import Variable

__all__ = ["register", "registry", "show_registry"]


#: The functions whose registered backward is running. A backward of this table that it calls computes the gradient of
#: that function.
_asked: list[Any] = []


def _native(type_name: str) -> Callable[..., Any]:
    """Makes the engine's backward of a function type, in the form of a registered one."""

    def backward(
        grad_inputs: Any, inputs: Any, input_shapes: Any, outputs: Any, output_shapes: Any, **args: Any
    ) -> list[Variable | None]:
        spec = specs[type_name]
        if _asked and _asked[-1].info.type_name == type_name:
            asked = _asked[-1]
            return _C.function_gradient(asked, list(grad_inputs), [x.need_grad for x in asked.inputs])
        xs = _stand_ins(inputs, input_shapes)
        ys = _again(spec, xs, args, len(output_shapes))
        some = [x.need_grad for x in xs]
        return _C.function_gradient(ys[0].parent, list(grad_inputs), some)

    backward.__name__ = backward.__qualname__ = f"{_snake(type_name)}_backward"
    backward.__doc__ = f"The gradient of {type_name}."
    backward._native = True
    return backward


def dropout_backward(
    grad_inputs: Sequence[Variable | None],
    inputs: Sequence[Variable | None],
    input_shapes: Sequence[tuple[int, ...]],
    outputs: Sequence[Variable | None],
    output_shapes: Sequence[tuple[int, ...]],
    p: float = 0.5,
    seed: int = -1,
) -> Variable:
    """The gradient of the dropout whose input is `inputs[0]`, with the mask of its last forward pass.

    Args:
        grad_inputs: a list of the gradient of its result.
        inputs: a list of its input.
        input_shapes, outputs, output_shapes: have no effect.
        p: has no effect.
        seed: has no effect.

    Returns:
        The gradient of `inputs[0]`.

    Raises:
        RuntimeError: `inputs[0]` is not the input of a dropout.

    Example:
        >>> from compatgrad.nnabla.backward_functions import dropout_backward
        >>> x = nn.Variable.from_numpy_array(np.ones(4), need_grad=True)
        >>> y = F.dropout(x, p=0.5, seed=5)
        >>> gx = dropout_backward([F.constant(1, (4,))], [x], [(4,)], [y], [(4,)])
        >>> nn.forward_all([y, gx])
        >>> np.array_equal(y.d, gx.d)
        True

    Source: `nnabla.backward_functions.dropout_backward` of nnabla 1.39.0.
    """
    if _asked and _asked[-1].info.type_name == "Dropout":  # nn.grad says which dropout, as several may have this input
        return _C.function_gradient(_asked[-1], list(grad_inputs), [True])[0]
    return grad_inputs[0] * scale_of(dropout_of(inputs[0]))


dropout_backward._native = True  # type: ignore[attr-defined]


def _stand_ins(inputs: Sequence[Variable | None], shapes: Sequence[tuple[int, ...]]) -> list[Variable]:
    """The inputs; new Variables of the same shapes replace those that the gradient does not read."""
    return [Variable(s, need_grad=True) if x is None else x for x, s in zip(inputs, shapes, strict=True)]


#: Arguments that say which optional inputs are missing; for other functions the last ones are missing.
_ABSENT = {"no_bias": "beta", "no_scale": "gamma"}


def _again(spec: Any, xs: Sequence[Variable], args: dict[str, Any], outputs: int) -> tuple[Variable, ...]:
    given, rest = [], list(xs)
    if spec.variadic:
        given = rest
    else:
        absent = {name for flag, name in _ABSENT.items() if args.get(flag)} & set(spec.inputs)
        missing = len(spec.inputs) - len(rest) - len(absent)
        for name, optional in zip(reversed(spec.inputs), reversed(spec.optional), strict=True):
            if name in absent:
                given.append(None)
            elif optional and missing:
                given.append(None)
                missing -= 1
            else:
                given.append(rest.pop())
        given.reverse()
    result = call(spec, given, [args[a] for a in spec.args], outputs if spec.passes_n_outputs else -1)
    return tuple(result) if isinstance(result, tuple) else (result,)


def _snake(name: str) -> str:
    return "".join(
        "_" + c.lower() if c.isupper() and i and not name[i - 1].isupper() else c.lower() for i, c in enumerate(name)
    )


class _Registry(OrderedDict):
    """A dict from function types to backward functions; the engine uses entries that programs set."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: set[str] = set()

    def __setitem__(self, name: str, f: Callable[..., Any]) -> None:
        super().__setitem__(name, f)
        if getattr(f, "_native", False):
            self.changed.discard(name)
        else:
            self.changed.add(name)
        # The engine looks up functions here only once a program has set an entry.
        _C.set_registered_backwards(_registered if self.changed else None)

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        self.changed.add(name)
        _C.set_registered_backwards(_registered)


def _old_form(f: Callable[..., Any]) -> bool:
    """Whether `f` has the signature from before nnabla 1.32: f(inputs, **args)."""
    try:
        parameters = list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return False
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return False
    positional = [
        p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.default is p.empty
    ]
    return bool(positional) and (len(positional) < 5 and positional[0].name != "grad_inputs")


def _registered(function: Any, gradients: Sequence[Variable | None]) -> list[Variable | None] | None:
    """Called by the engine in nn.grad. None: the engine's own backward is to be used."""
    if _declare.in_gradients:
        return None
    name = function.info.type_name
    f = registry.get(name)
    if f is None and name in registry.changed:
        raise ValueError(f"{name} is not in the backward function registry")
    if f is None or name not in registry.changed:
        return None
    inputs, outputs = function.inputs, function.outputs
    gys = [constant(0, y.shape) if g is None else g for g, y in zip(gradients, outputs, strict=True)]
    _asked.append(function)
    try:
        result = _ask(f, function, gys, inputs, outputs)
    finally:
        _asked.pop()
    result = list(result) if isinstance(result, (list, tuple)) else [result]
    if len(result) > len(inputs):
        raise ValueError(f"{name}: its registered backward returned {len(result)} gradients for {len(inputs)} inputs")
    return result + [None] * (len(inputs) - len(result))


def _ask(
    f: Callable[..., Any], function: Any, gys: list[Variable], inputs: list[Variable], outputs: list[Variable]
) -> Any:
    if _old_form(f):
        return f([*gys, *inputs], **function.info.args)
    n = range(len(inputs))
    reads_input = [any(function.grad_depends_input_data(i, j) for i in n) for j in n]
    reads_output = [any(function.grad_depends_output_data(i, o) for i in n) for o in range(len(outputs))]
    return f(
        gys,
        [x if r else None for x, r in zip(inputs, reads_input, strict=True)],
        [x.shape for x in inputs],
        [y if r else None for y, r in zip(outputs, reads_output, strict=True)],
        [y.shape for y in outputs],
        **function.info.args,
    )


registry: OrderedDict[str, Callable[..., Any]] = _Registry()


def _fill() -> None:
    for name in sorted({*specs, *(t for t, _ in _TYPES.values())}):
        if name in specs and name not in registry:
            registry[name] = _native(name)
    registry["Dropout"] = dropout_backward


def register(func_name: str, func: Callable[..., Any]) -> None:
    """Sets the backward that `nnabla.grad` uses for all functions of a type.

    Args:
        func_name: the type, such as "Affine".
        func: called as func(grad_inputs, inputs, input_shapes, outputs, output_shapes, **args), with None instead of
            inputs and outputs that the gradient does not read; args are the arguments of the function. It returns a
            gradient or None for each input. The form func(inputs, **args) of nnabla before 1.32, where gradients of
            outputs precede the inputs, is recognized by its signature.

    Raises:
        Nothing.

    Example:
        >>> from compatgrad.nnabla import backward_functions
        >>> shipped = backward_functions.registry["Tanh"]
        >>> backward_functions.register("Tanh", lambda gys, xs, x_shapes, ys, y_shapes: 10 * gys[0])
        >>> x = nn.Variable.from_numpy_array(np.array([1.0]), need_grad=True)
        >>> (gx,) = nn.grad([F.tanh(x)], [x])
        >>> gx.forward()
        >>> gx.d
        array([10.], dtype=float32)
        >>> backward_functions.register("Tanh", shipped)

    Source: `nnabla.backward_functions.register` of nnabla 1.39.0.
    """
    registry[func_name] = func


def show_registry() -> None:
    """Prints every entry of the table, then a note.

    Example:
        >>> import contextlib, io
        >>> from compatgrad.nnabla.backward_functions import show_registry
        >>> with contextlib.redirect_stdout(io.StringIO()) as shown:
        ...     show_registry()
        >>> "Affine" in shown.getvalue()
        True

    Source: `nnabla.backward_functions.show_registry` of nnabla 1.39.0.
    """
    for name, f in registry.items():
        print(name, f)
    print(
        "These are the functions that have a gradient.\n"
        "Other functions, such as F.constant, may occur in a graph for nn.grad, but no gradient flows through them."
    )


_fill()
