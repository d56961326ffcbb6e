"""torch modules and functions as nodes of the engine's graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from compatgrad import _C

_ALL_INPUTS = 1 << 15
# torch.autograd.grad without its checks, which take longer than a small module does
_run_backward = torch.autograd.Variable._execution_engine.run_backward


class TorchInfo:
    """What a deferred function tells of itself."""

    def __init__(self, name: str) -> None:
        self.type_name, self.args, self.tags = name, {}, {}


class _Host:
    """One application of a torch function, as the engine's host protocol asks for it (csrc/python/host.cpp).

    torch records what the function does on `leaves`, the inputs' data; the gradient is torch's on that record, and in a
    recorded pass a function of its own on the same record. So nothing runs twice, and buffers move once.
    """

    on_arrays, integers, saves, torch = 0, 0, _ALL_INPUTS, True

    def __init__(self, name: str) -> None:
        self.name = name
        self.leaves: Sequence[torch.Tensor] = ()
        self.ys: Sequence[torch.Tensor] = ()

    def compute(self, tensors: Sequence[torch.Tensor]) -> None:
        """Sets `leaves` and `ys`."""
        raise NotImplementedError

    # ---- what the engine calls ---------------------------------------------------------------------------------
    def forward(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        self.compute(tensors)
        return [y.detach() for y in self.ys]

    forward_again = forward

    def _asked(self, gradients: Sequence[Any], wanted: Sequence[bool]) -> tuple[list[int], list[int]]:
        """Which outputs lead somewhere, and which inputs they may lead to."""
        ys = [j for j, g in enumerate(gradients) if g is not None and self.ys[j].requires_grad]
        xs = [i for i, w in enumerate(wanted) if w and self.leaves[i].requires_grad]
        return (ys, xs) if ys and xs else ([], [])

    def backward(
        self, inputs: Any, outputs: Any, gradients: Sequence[torch.Tensor | None], wanted: Sequence[bool]
    ) -> list[torch.Tensor | None]:
        result: list[torch.Tensor | None] = [None] * len(wanted)
        ys, xs = self._asked(gradients, wanted)
        if ys:
            found = _run_backward(
                tuple(self.ys[j] for j in ys), tuple(gradients[j] for j in ys), True, False,
                tuple(self.leaves[i] for i in xs), allow_unreachable=True, accumulate_grad=False,
            )  # fmt: skip
            for i, g in zip(xs, found, strict=True):
                result[i] = g
        return result

    def gradient(
        self, inputs: Sequence[Any], outputs: Any, gradients: Sequence[Any], wanted: Sequence[bool]
    ) -> list[Any]:
        result: list[Any] = [None] * len(wanted)
        ys, xs = self._asked(gradients, wanted)
        if ys:
            host = _Gradient(self, ys, xs)
            frontend = gradients[ys[0]]._frontend
            given = [*inputs, *(gradients[j] for j in ys)]
            found = _C.apply_host(frontend, host, given, TorchInfo(host.name) if frontend.deferred else None)
            for i, g in zip(xs, found, strict=True):
                result[i] = g
        return result


class _Gradient(_Host):
    """The gradient of a torch function, a function of its inputs and of its outputs' gradients."""

    def __init__(self, of: _Host, ys: Sequence[int], xs: Sequence[int]) -> None:
        super().__init__(f"{of.name}Gradient")
        self.of, self.chosen, self.wanted = of, ys, xs

    def infer(self, shapes: Sequence[Any]) -> list[tuple[int, ...]]:
        return [tuple(shapes[i]) for i in self.wanted]

    def compute(self, tensors: Sequence[torch.Tensor]) -> None:
        of = self.of
        gys = [g.detach().requires_grad_() for g in tensors[len(of.leaves) :]]
        targets = [of.leaves[i] for i in self.wanted]
        with torch.enable_grad():
            found = torch.autograd.grad(
                [of.ys[j] for j in self.chosen], targets, gys, create_graph=True, allow_unused=True
            )
        self.leaves = (*of.leaves, *gys)
        self.ys = [torch.zeros_like(x) if g is None else g for g, x in zip(found, targets, strict=True)]


class _Call(_Host):
    """A module or function on Variables. Its torch parameters are further inputs, though it holds them itself."""

    def __init__(self, function: Callable[..., Any], bind: Callable[[Sequence[torch.Tensor]], Any], n: int) -> None:
        super().__init__(_name_of(function))
        self.bind, self.n = bind, n
        self.module = function if isinstance(function, torch.nn.Module) else None
        self.several: type | None = None
        self.done = False  # whether the first run is over already

    def infer(self, shapes: Sequence[Any]) -> list[tuple[int, ...]]:
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            ys = self._flat(self.bind([torch.empty(s) for s in shapes[: self.n]]))
        return [tuple(y.shape) for y in ys]

    def _flat(self, result: Any) -> list[torch.Tensor]:
        self.several = type(result) if isinstance(result, (tuple, list)) else None
        ys = list(result) if self.several else [result]
        for j, y in enumerate(ys):
            if not isinstance(y, torch.Tensor):
                raise TypeError(
                    f"interop.call: output {j} of {self.name}: expected a tensor, got {type(y).__name__}; "
                    "wrap what gives other structures in a function that gives a tensor or a tuple of tensors"
                )
        return ys

    def compute(self, tensors: Sequence[torch.Tensor]) -> None:
        if self.done:
            self.done = False
            return
        recorded = _C.get_mode("enable_backprop")
        xs = [t.detach() for t in tensors[: self.n]]
        if recorded:
            for x in xs:
                if x.is_floating_point() or x.is_complex():
                    x.requires_grad_()
        with torch.set_grad_enabled(recorded):
            self.ys = self._flat(self.bind(xs))
        self.leaves = xs

    def parameters(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The torch leaves that the function holds: those of a module, or those that a run of a function came to."""
        if self.module is not None:
            return [p for p in self.module.parameters() if p.requires_grad]
        self.compute(tensors)
        self.done = True
        own = {id(x) for x in self.leaves}
        return [p for p in _leaves_of(self.ys) if id(p) not in own]

    def forward(self, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        ys = super().forward(tensors)
        self.leaves = (*self.leaves[: self.n], *self.held)
        return ys

    held: Sequence[torch.Tensor] = ()

    def apply(self, frontend: Any, variables: Sequence[Any], leaves: Sequence[Any]) -> Any:
        """The results on Variables, the parameters' leaves being further inputs."""
        info = TorchInfo(self.name) if frontend.deferred else None
        ys = _C.apply_host(frontend, self, [*variables, *leaves], info)
        return ys[0] if self.several is None else self.several(ys)


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _leaves_of(ys: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The leaves of torch's record of `ys`."""
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


def _taken_apart(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Sequence[Any], Callable[[Sequence[torch.Tensor]], Any]]:
    """The Variables among the arguments, and the call with tensors in their places."""
    if not kwargs and all(isinstance(a, _C.Variable) for a in args):
        return args, lambda tensors: function(*tensors)
    flat, structure = _pytree.tree_flatten((args, kwargs))
    places = [k for k, v in enumerate(flat) if isinstance(v, _C.Variable)]

    def bind(tensors: Sequence[torch.Tensor]) -> Any:
        values = list(flat)
        for k, t in zip(places, tensors, strict=True):
            values[k] = t
        a, k = _pytree.tree_unflatten(values, structure)
        return function(*a, **k)

    return [flat[k] for k in places], bind


def call(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs a torch module, or any function of tensors, on Variables as one node of their graph.

    `args` and `kwargs` are what the function takes, with Variables of any frontend in the places of tensors, also
    inside tuples, lists and dicts. The results, a tensor or a tuple or list of them, come back as Variables of the
    first one's frontend. Gradients flow to the Variables, at any order, and into `.grad` of the torch parameters that
    the function uses, as torch's own passes add them. Buffers move once per call; train and eval are the module's.
    TypeError where no Variable is given or a result is no tensor.
    """
    variables, bind = _taken_apart(function, args, kwargs)
    if not variables:
        raise TypeError(f"interop.call: {_name_of(function)} is given no Variable; call it itself on tensors")
    frontend = variables[0]._frontend
    host = _Call(function, bind, len(variables))
    host.held = host.parameters([v.tensor for v in variables])
    return host.apply(frontend, variables, [_C.torch_leaf(frontend, p) for p in host.held])


def call_with(
    module: torch.nn.Module,
    parameters: Sequence[tuple[Any, torch.Tensor]],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`call` of a module whose torch parameters have Variables of the frontend's own: gradients go to those."""
    variables, bind = _taken_apart(module, args, kwargs)
    if not variables:
        raise TypeError(f"{_name_of(module)}: no Variable is given; call the module itself on tensors")
    host = _Call(module, bind, len(variables))
    host.held = [p for _, p in parameters]
    return host.apply(variables[0]._frontend, variables, [v for v, _ in parameters])
