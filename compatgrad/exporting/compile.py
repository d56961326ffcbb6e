"""Functions of Variables that run as compiled graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._functorch import config as functorch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils import _pytree

from compatgrad import _C
from compatgrad.core.torch_call import call_with
from compatgrad.exporting import _target as targets
from compatgrad.exporting._run import Exporter
from compatgrad.exporting._trace import ExportError
from compatgrad.exporting.module import TorchModule

__all__ = ["compile"]


def compile(
    fn: Callable[..., Any],
    *,
    example_inputs: Any = None,
    parameters: Any = None,
    frontend: str | None = None,
    dynamic: Any = True,
    **torch_compile_options: Any,
) -> Callable[..., Any]:
    """Compiles a function: it is traced as by `export`, and the whole graph is compiled by `torch.compile`. It is
    traced at the first call, and again if the structure, dtypes, sizes that are not dynamic, fixed arguments or the
    train mode are new. The result never falls back to running `fn` itself: it raises an error, like `export`, if `fn`
    cannot be traced or compiled; if `fn` calls `backward` and leaves gradients in its parameters, because a graph has
    only results; and in a backward pass, if the gradients of `fn` are not those of its calls (unchained Variables,
    functions that define their own gradient).

    Args:
        fn: a Chainer link, a Gluon block, a function of Variables, or a torch module, which may contain such.
        example_inputs: if given, `fn` is traced for these at once; None waits for the first call.
        parameters, frontend, dynamic: as for `export`.
        **torch_compile_options: options of `torch.compile`, such as `backend` and `mode`.

    Returns:
        A function with the arguments of `fn`. For Variables or arrays it returns Variables, whose gradients reach the
        parameters of `fn` as with `fn` itself; for torch tensors it returns tensors of torch's autograd.

    Raises:
        ExportError: in a call, if `fn` cannot be written as one graph.
        TypeError: `fn` is not callable, or the option `fullgraph` is given.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> f = interop.compile(lambda x: (x * x).sum(), backend="eager")
        >>> x = compatgrad.Variable(torch.tensor([1.0, 2.0]))
        >>> y = f(x)
        >>> y.backward()
        >>> y.item(), x.grad
        (5.0, tensor([2., 4.]))

    Source: `compatgrad/exporting/compile.py`.
    """
    compiled = _Compiled(fn, parameters, frontend, dynamic, torch_compile_options)
    if example_inputs is not None:
        args = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
        compiled.graph_for(args, {})
    return compiled


class _Compiled:
    def __init__(self, fn: Any, parameters: Any, frontend: str | None, dynamic: Any, options: dict[str, Any]) -> None:
        if "fullgraph" in options:
            raise TypeError("interop.compile: fullgraph cannot be chosen: a part that is not compiled is an error")
        self.fn, self.parameters, self.frontend, self.dynamic, self.options = fn, parameters, frontend, dynamic, options
        self.graphs: dict[Any, _CompiledGraph] = {}
        # dynamic sizes and mode, by the structure of the inputs
        self.kinds: dict[Any, tuple[list[dict[int, str]], str]] = {}
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.exporter(False)  # raises errors in the arguments

    def exporter(self, train: bool) -> Exporter:
        return Exporter("interop.compile", self.fn, self.parameters, self.frontend, train)

    def graph_for(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _CompiledGraph:
        flat, structure = _pytree.tree_flatten((args, kwargs))
        kind = (structure, tuple([type(x) for x in flat]))
        if kind not in self.kinds:
            self.kinds[kind] = self._kind(args, kwargs)
        places, mode = self.kinds[kind]
        given = [x for x in flat if targets.is_input(x)]
        looks = []
        for x, dims in zip(given, places, strict=True):
            sizes = list(x.shape)
            for d in dims:
                sizes[d] = -1
            t = x if isinstance(x, torch.Tensor) else targets.tensor_of(x)
            looks.append((t.dtype, t.device, *sizes))
        fixed = tuple([repr(x) for x in flat if not targets.is_input(x)]) if len(given) < len(flat) else ()
        train = bool(self.fn.training) if mode == "module" else bool(mode) and _C.get_mode(mode)
        key = (kind, *looks, fixed, train)
        if key not in self.graphs:
            self.graphs[key] = _CompiledGraph(self.exporter(train), args, kwargs, self.dynamic, self.options)
        return self.graphs[key]

    def _kind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[dict[int, str]], str]:
        exporter = self.exporter(False)
        exporter.take_apart(args, kwargs)
        places = exporter.dynamic_places(self.dynamic) or [{}] * len(exporter.examples)
        frontend = exporter.target.frontend
        return places, "module" if frontend is None else frontend.training_mode

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.graph_for(args, kwargs).run(args, kwargs)


class _CompiledGraph(torch.nn.Module):
    """One compiled graph, with the Variables that are its parameters."""

    compiled: Callable[..., Any]

    def __init__(self, exporter: Exporter, args: Any, kwargs: Any, dynamic: Any, options: dict[str, Any]) -> None:
        super().__init__()
        self.graph = exporter.run(args, kwargs, dynamic, True)
        target = exporter.target
        if target.leaves_gradients:
            raise ExportError(
                "interop.compile: the function calls backward and leaves gradients in its parameters, but a compiled "
                "function only has results: return the gradients, or call backward on the compiled function's result"
            )
        self.wraps, self.places = target.frontend, exporter.places
        self.legacy = list(exporter.module._legacy) if isinstance(exporter.module, TorchModule) else []
        self.wrong = "" if exporter.random else _wrong_gradients(exporter, self.graph)
        self.__dict__["compiled"] = torch.compile(self.graph, fullgraph=True, **options)

    def forward(self, *tensors: torch.Tensor) -> Any:
        if any(isinstance(t, FakeTensor) for t in tensors):  # only shapes are needed
            return self.graph(*tensors)
        for t, dims in zip(tensors, self.places, strict=False):
            for d in dims:
                torch._dynamo.maybe_mark_dynamic(t, d)  # otherwise torch compiles again for a second size
        with functorch.patch(donated_buffer=False):
            result = self.compiled(*tensors)
        nodes: set[Any] = {y.grad_fn for y in _pytree.tree_leaves(result) if isinstance(y, torch.Tensor)} - {None}
        for node in nodes:
            if self.wrong:
                node.register_prehook(self._refuse)
            elif type(node).__name__ == "CompiledFunctionBackward":
                _go_back_often(node)
        return result

    def _refuse(self, gradients: Any) -> None:
        raise ExportError(self.wrong)

    def run(self, args: Any, kwargs: Any) -> Any:
        given = [x for x in _pytree.tree_leaves((args, kwargs)) if targets.is_input(x)]
        if all(isinstance(x, torch.Tensor) for x in given):
            return self(*given)
        frontend = self.wraps
        assert frontend is not None
        variables = [x if isinstance(x, _C.Variable) else frontend.variable(targets.tensor_of(x), False) for x in given]
        pairs = []
        for variable, place, name in self.legacy:
            parameter = place._parameters[name]
            tensor = targets.tensor_of(variable)
            if tensor.data_ptr() != parameter.data_ptr():  # the Variable was assigned another array, which is used
                parameter.data = tensor
            if parameter.requires_grad:
                pairs.append((variable, parameter))
        return call_with(self, pairs, tuple(variables), {})


def _go_back_often(node: Any) -> None:
    """Makes torch keep the graph of a compiled function for several backward passes, which needs a global option."""
    patches = []

    def before(gradients: Any) -> None:
        patches.append(functorch.patch(donated_buffer=False))
        patches[-1].__enter__()

    def after(inputs: Any, outputs: Any) -> None:
        patches.pop().__exit__(None, None, None)

    node.register_prehook(before)
    node.register_hook(after)


def _wrong_gradients(exporter: Exporter, graph: Any) -> str:
    """The error text for a backward pass whose gradients would differ from those of the function; empty if they do
    not."""
    names = exporter.wrong_gradients(graph)
    if not names:
        return ""
    return (
        f"interop.compile: the gradient of {', '.join(names)} is not that of the function's calls: it unchains "
        "Variables, stops gradients or uses functions that define their own gradient. Compile a function that returns "
        "the gradients"
    )
