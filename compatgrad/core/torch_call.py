"""torch modules and functions as nodes of the engine's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from compatgrad import _C

__all__ = ["call", "call_with"]

_Variable = _C.Variable


class TorchInfo:
    """The description of a deferred function that runs torch: attributes `type_name`, `args` and `tags`.

    Args:
        name: name of the function.

    Example:
        >>> from compatgrad.core.torch_call import TorchInfo
        >>> TorchInfo("Linear").gradient().type_name
        'LinearGradient'

    Source: `compatgrad/core/torch_call.py`.
    """

    def __init__(self, name: str) -> None:
        self.type_name = name
        self.args: dict[str, Any] = {}
        self.tags: dict[str, Any] = {}

    def gradient(self) -> TorchInfo:
        """The description of the function's gradient."""
        return TorchInfo(f"{self.type_name}Gradient")


def _result_taken_apart(result: Any, name: str) -> tuple[list[torch.Tensor], Callable[[list[Any]], Any]]:
    """The tensors in a structured result, and a function that rebuilds the result with Variables in their places."""
    if type(result) in (tuple, list) and all(isinstance(y, torch.Tensor) for y in result):
        return list(result), type(result)
    flat, structure = _pytree.tree_flatten(result)
    places = [k for k, y in enumerate(flat) if isinstance(y, torch.Tensor)]
    if not places:
        raise TypeError(
            f"interop.call: output of {name}: expected a tensor, or tensors in tuples, lists and dicts, "
            f"got {type(result).__name__}"
        )

    def rebuild(ys: list[Any]) -> Any:
        for k, y in zip(places, ys, strict=True):
            flat[k] = y
        return _pytree.tree_unflatten(flat, structure)

    return [flat[k] for k in places], rebuild


_C.set_taken_apart(_result_taken_apart)


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function or a module in messages and pictures.

    Args:
        function: the function.

    Returns:
        Its name, or that of its class.

    Raises:
        TypeError: the argument is missing.

    Example:
        >>> import torch
        >>> from compatgrad.core.torch_call import name_of
        >>> name_of(torch.sum), name_of(torch.nn.Linear(1, 1))
        ('sum', 'Linear')

    Source: `compatgrad/core/torch_call.py`.
    """
    return getattr(function, "__name__", type(function).__name__)


def _leaves_of(ys: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The leaves of torch's graph of `ys`."""
    todo = [y.grad_fn for y in ys if y.grad_fn is not None]
    seen = set(todo)
    while todo:
        f = todo.pop()
        if hasattr(f, "variable"):
            yield f.variable
        for g, _ in f.next_functions:
            if g is not None and g not in seen:
                seen.add(g)
                todo.append(g)


def _bound(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], Callable[..., Any]]:
    """The Variables among the arguments, and a function of tensors that replace them."""
    if not kwargs:
        for a in args:
            if not isinstance(a, _Variable):
                break
        else:
            return args, function
    flat, structure = _pytree.tree_flatten((args, kwargs))
    places = [k for k, v in enumerate(flat) if isinstance(v, _Variable)]
    variables = [flat[k] for k in places]
    for k in places:
        flat[k] = None

    def bound(*tensors: torch.Tensor) -> Any:
        values = list(flat)
        for k, t in zip(places, tensors, strict=True):
            values[k] = t
        a, k = _pytree.tree_unflatten(values, structure)
        return function(*a, **k)

    bound.__name__ = name_of(function)
    return variables, bound


def _infer(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[Sequence[Sequence[int]]], tuple[list[tuple[int, ...]], Any]]:
    """A function from shapes to shapes, and a function that rebuilds the result, for frontends that run later."""

    def infer(shapes: Sequence[Sequence[int]]) -> tuple[list[tuple[int, ...]], Any]:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            run = function
            if isinstance(function, torch.nn.Module):  # shape inference must not update its buffers
                buffers = {name: torch.empty_like(b) for name, b in function.named_buffers()}

                def run(*a: Any, **k: Any) -> Any:
                    return torch.func.functional_call(function, buffers, a, k)

            result = _bound(run, args, kwargs)[1](*(torch.empty(s) for s in shapes))
        if isinstance(result, torch.Tensor):
            return [tuple(result.shape)], None
        ys, rebuild = _result_taken_apart(result, name_of(function))
        return [tuple(y.shape) for y in ys], rebuild

    return infer


def _held(function: Callable[..., Any], bound: Callable[..., Any], variables: Sequence[Any]) -> list[torch.Tensor]:
    """The torch leaves that a function uses: those of a module, or those that a run on the values reaches."""
    if isinstance(function, torch.nn.Module):
        return [p for p in function.parameters() if p.requires_grad]
    with torch.enable_grad():
        result = bound(*(v.tensor for v in variables))
    ys = [result] if isinstance(result, torch.Tensor) else _result_taken_apart(result, name_of(function))[0]
    return list(_leaves_of(ys))


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs a torch module, or any function of tensors, on Variables as one node of their graph. Gradients of any order
    flow to the Variables, and into `.grad` of the torch parameters that the function uses, in the same way as in
    torch's own passes. Buffers are updated once per call; the module's own mode decides between train and eval.
    Exceptions of the function are not changed.

    Args:
        function: the module or function.
        *args: its arguments, with Variables of any frontend in place of tensors, also inside tuples, lists and dicts.
        **kwargs: the same by keyword.

    Returns:
        The result, with its tensors replaced by Variables, which belong to the frontend of the first Variable among the
        arguments.

    Raises:
        TypeError: `function` is not callable, no argument is a Variable, or the result contains no tensor.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> layer = torch.nn.Linear(3, 1)
        >>> x = compatgrad.Variable(torch.ones(5, 3))
        >>> y = interop.call(layer, x)
        >>> y.shape
        torch.Size([5, 1])
        >>> compatgrad.backward([y.sum()])
        >>> x.grad.shape, layer.weight.grad.shape
        (torch.Size([5, 3]), torch.Size([1, 3]))

    Source: `compatgrad/core/torch_call.py`, `csrc/python/torch_call.cpp`; how passes cross: docs/mixing.md.
    """
    if not callable(function):
        raise TypeError(f"interop.call: function: expected a torch module or a function, got {type(function).__name__}")
    variables, bound = _bound(function, args, kwargs)
    if not variables:
        got = ", ".join(type(value).__name__ for value in (*args, *kwargs.values())) or "no argument"
        raise TypeError(
            f"interop.call: no argument of {name_of(function)} is a Variable, got {got}; call it directly on tensors"
        )
    frontend = variables[0]._frontend
    if not frontend.deferred:
        return _C.torch_call(frontend, bound, variables, None, None, None)
    pairs = [(_C.torch_leaf(frontend, p), p) for p in _held(function, bound, variables)]
    return _C.torch_call(
        frontend, bound, variables, pairs, TorchInfo(name_of(function)), _infer(function, args, kwargs)
    )


def call_with(
    module: Callable[..., Any],
    parameters: Sequence[tuple[Any, torch.Tensor]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`call` for a module whose torch parameters have corresponding Variables of the frontend, which get the gradients.

    Args:
        module: the module.
        parameters: pairs of a Variable and the torch parameter that shares its memory.
        args: the module's arguments, with Variables in place of tensors.
        kwargs: the same by keyword.

    Returns:
        The result, with its tensors replaced by Variables.

    Raises:
        TypeError: no argument is a Variable, or the result contains no tensor.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad.core.torch_call import call_with
        >>> layer = torch.nn.Linear(3, 1, bias=False)
        >>> w = compatgrad.Variable(layer.weight.detach())
        >>> y = call_with(layer, [(w, layer.weight)], (compatgrad.Variable(torch.ones(5, 3)),), {})
        >>> compatgrad.backward([y.sum()])
        >>> w.grad
        tensor([[5., 5., 5.]])

    Source: `compatgrad/core/torch_call.py`.
    """
    variables, bound = _bound(module, args, kwargs)
    if not variables:
        raise TypeError(f"{name_of(module)}: no argument is a Variable; call the module directly on tensors")
    frontend = variables[0]._frontend
    if not frontend.deferred:
        return _C.torch_call(frontend, bound, variables, parameters, None, None)
    return _C.torch_call(
        frontend, bound, variables, parameters, TorchInfo(name_of(module)), _infer(module, args, kwargs)
    )
