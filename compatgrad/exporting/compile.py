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
    """A function that runs compiled: traced as by `export`, then given to `torch.compile` as one whole graph. It is
    traced at the first call, and again where the structure, dtypes, sizes that are not dynamic, fixed arguments or the
    train mode are new. It never runs `fn` as it is instead: what cannot be traced or compiled raises, as `export` does.
    So does a function that calls `backward` and leaves gradients in its parameters, as a graph has only results, and a
    backward pass through one whose gradients are not those of its calls (unchained Variables, functions with a gradient
    of their own).

    Args:
        fn: a Chainer link, a Gluon block, a function of Variables, or a torch module, which may hold such.
        example_inputs: traces for these at once; None waits for the first call.
        parameters, frontend, dynamic: as for `export`.
        **torch_compile_options: those of `torch.compile`, such as `backend` and `mode`.

    Returns:
        A function of what `fn` takes. Variables, or arrays, give Variables, and gradients go on through them to the
        parameters of `fn` as from `fn` itself; torch tensors give tensors, in torch's autograd.

    Raises:
        ExportError: in a call, `fn` cannot be written as one graph.
        TypeError: `fn` cannot be called, or the option `fullgraph` is given.

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
        self.kinds: dict[Any, tuple[list[dict[int, str]], str]] = {}  # dynamic sizes and mode, by the inputs' kinds
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.exporter(False)  # for its errors

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
    """One graph, compiled, with the Variables that are its parameters."""

    compiled: Callable[..., Any]

    def __init__(self, exporter: Exporter, args: Any, kwargs: Any, dynamic: Any, options: dict[str, Any]) -> None:
        super().__init__()
        self.graph = exporter.run(args, kwargs, dynamic, True)
        target = exporter.target
        if target.leaves_gradients:
            raise ExportError(
                "interop.compile: the function calls backward and leaves gradients in its parameters, and a compiled "
                "one has results only: return the gradients, or call backward on what the compiled function gives"
            )
        self.wraps, self.places = target.frontend, exporter.places
        self.legacy = list(exporter.module._legacy) if isinstance(exporter.module, TorchModule) else []
        self.wrong = "" if exporter.random else _wrong_gradients(exporter, self.graph)
        self.__dict__["compiled"] = torch.compile(self.graph, fullgraph=True, **options)

    def forward(self, *tensors: torch.Tensor) -> Any:
        if any(isinstance(t, FakeTensor) for t in tensors):  # asked for shapes alone
            return self.graph(*tensors)
        for t, dims in zip(tensors, self.places, strict=False):
            for d in dims:
                torch._dynamo.maybe_mark_dynamic(t, d)  # else each second size is compiled once more
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
            if tensor.data_ptr() != parameter.data_ptr():  # given another array: the Variable's counts
                parameter.data = tensor
            if parameter.requires_grad:
                pairs.append((variable, parameter))
        return call_with(self, pairs, tuple(variables), {})


def _go_back_often(node: Any) -> None:
    """Lets the engine keep the record of a compiled function, to go back again; torch asks a global option for it."""
    patches = []

    def before(gradients: Any) -> None:
        patches.append(functorch.patch(donated_buffer=False))
        patches[-1].__enter__()

    def after(inputs: Any, outputs: Any) -> None:
        patches.pop().__exit__(None, None, None)

    node.register_prehook(before)
    node.register_hook(after)


def _wrong_gradients(exporter: Exporter, graph: Any) -> str:
    """What to say where a backward pass comes through that would give others than the function's own gradients."""
    names = exporter.wrong_gradients(graph)
    if not names:
        return ""
    return (
        f"interop.compile: the gradient of {', '.join(names)} is not that of the function's calls: it unchains "
        "Variables, stops gradients or uses functions with a gradient of their own. Compile a function that gives the "
        "gradients"
    )
