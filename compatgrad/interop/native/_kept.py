"""Parts of a network that stay calls of compatgrad, because they cannot be written as torch's: links, blocks, and
functions that a program defines.

A network is recorded on tensors without values, and the calls of its parts are watched. The code of a part may raise an
error on such tensors that it does not raise on values. Then the part runs outside the recording, on numbers of the same
shapes, and the recording begins again with outputs of the shapes that this run gave.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils import _pytree
from torch.utils._python_dispatch import _disable_current_modes

from compatgrad import _C
from compatgrad.core.adapters import Adapter
from compatgrad.core.configuration import using_modes
from compatgrad.exporting._trace import ExportError, place_of, raise_readable
from compatgrad.interop.native._calls import literal
from compatgrad.interop.native._layers import Layer

__all__ = ["Again", "Keeper", "Part"]


class Again(BaseException):
    """Ends a recording that has to begin again. Code of programs that catches exceptions does not catch it."""


@dataclass
class Part:
    """A part that is kept. name: its path. target: what is called. why: the reason."""

    name: str
    target: Any
    why: str


class _Function:
    """A function that a program defines, as often as it is called: a function node is called once."""

    def __init__(self, node: Any) -> None:
        kind: Any = type(node)
        self.kind, self.attributes = kind, dict(node.__dict__)

    def __call__(self, *xs: Any) -> Any:
        node: Any = self.kind.__new__(self.kind)
        node.__dict__.update({k: copy.copy(v) for k, v in self.attributes.items()})
        ys = node.apply(xs) if hasattr(node, "apply") else node(*xs)
        return ys[0] if isinstance(ys, tuple) and len(ys) == 1 else ys


class Keeper:
    """What is kept in one conversion. wanted: True for all parts that cannot be written, or names of parts, which are
    kept in any case."""

    def __init__(self, wanted: Any) -> None:
        self.all = wanted is True
        self.named = set() if isinstance(wanted, bool) else set(wanted)
        self.parts: dict[Any, Part] = {}
        self.found: set[str] = set()  # names that were called
        self._results: dict[Any, Any] = {}  # (key, shapes) -> tensors of the part's result
        self._examples: dict[Any, list[list[torch.Tensor]]] = {}
        self._wanted: Any = None

    @contextlib.contextmanager
    def watching(self, trace: Any, target: Any, adapter: Adapter, train: bool) -> Iterator[None]:
        """A block in which calls of parts are watched. trace: None while the network runs with values."""
        run = _Run(self, trace, target, adapter, train)
        with contextlib.ExitStack() as stack:
            for owner, name in run.places():
                original = owner.__dict__[name]
                setattr(owner, name, run.wrapped(original))
                stack.callback(setattr, owner, name, original)
            yield

    def again(self, target: Any, train: bool) -> None:
        """Runs the part that ended a recording."""
        key, shapes, rebuild, run = self._wanted
        frontend = target.frontend
        given = []
        examples = self._examples.get(key) or [[]]
        near = next((e for e in examples if len(e) == len(shapes)), [None] * len(shapes))
        for (shape, dtype), example in zip(shapes, near, strict=True):
            given.append(_some(shape, dtype, example))
        variables = [frontend.variable(t, False) for t in given]
        args, kwargs = rebuild(variables)
        record = _C.get_mode("auto_forward")
        with frontend.modes(train), using_modes(recording=True, auto_forward=record):
            result = run(*args, **kwargs)
            lazy = [y for y in _pytree.tree_leaves(result)
                    if isinstance(y, _C.DeferredVariable) and y.parent and y.data._lazy]  # fmt: skip
            if lazy:
                _C.deferred_forward(lazy, False, False, None, None, None)
        self._results[key, shapes] = target._read(result)

    def reason(self, error: BaseException) -> str:
        try:
            raise_readable(error, "")  # type: ignore[arg-type]
        except ExportError as e:
            text = str(e).removeprefix(": ").partition(". Return the value")[0]
            return text.replace(", but in a trace tensors have only shapes and dtypes", "")
        text = str(error).strip().split("\n")[0]
        return f"without values it raises {type(error).__name__}: {text}{place_of(error)}"


def _some(shape: Sequence[int], dtype: torch.dtype, example: torch.Tensor | None) -> torch.Tensor:
    """A tensor of numbers with this shape: the example's numbers, repeated, or random ones without an example."""
    if example is not None and example.dim() == len(shape) and example.numel() and 0 not in shape:
        t = example
        for d, n in enumerate(shape):
            t = t.index_select(d, torch.arange(n) % example.shape[d])
        return t.to(dtype)
    return torch.randn(tuple(shape)).to(dtype) if dtype.is_floating_point else torch.zeros(tuple(shape), dtype=dtype)


class _Run:
    """One run of the network, in which the calls of its parts are counted."""

    def __init__(self, keeper: Keeper, trace: Any, target: Any, adapter: Adapter, train: bool) -> None:
        self.keeper, self.trace, self.target, self.adapter, self.train = keeper, trace, target, adapter, train
        self.names = dict(_named(target.holder))
        self.active: list[int] = []
        self.counts: dict[Any, int] = {}

    def places(self) -> list[tuple[Any, str]]:
        """The classes with the methods by which parts are called."""
        classes = {c for part in self.names.values() for c in type(part[1]).__mro__ if "__call__" in c.__dict__}
        found = [(c, "__call__") for c in classes if c is not object]
        module, owner, name = _FUNCTIONS.get(self.adapter.name, ("", "", ""))
        if module:
            found.append((getattr(importlib.import_module(f"compatgrad.{module}"), owner), name))
        return found

    def wrapped(self, original: Any) -> Callable[..., Any]:
        def call(unit: Any, *args: Any, **kwargs: Any) -> Any:
            if id(unit) in self.active:
                return original(unit, *args, **kwargs)
            self.active.append(id(unit))
            try:
                return self._call(original, unit, args, kwargs)
            finally:
                self.active.remove(id(unit))

        return call

    def _identity(self, unit: Any) -> tuple[Any, str, Any, bool] | None:
        """The key, the name and the target of a part, and whether it is kept without a try."""
        if id(unit) in self.names:
            name = self.names[id(unit)][0]
            return ("part", name), name, unit, False
        module, owner, _ = _FUNCTIONS.get(self.adapter.name, ("", "", ""))
        if not module or not isinstance(unit, getattr(importlib.import_module(f"compatgrad.{module}"), owner)):
            return None
        node = getattr(unit, "function", unit)  # the old form of a function inside its node
        kind = type(node).__name__
        if (type(node).__module__ or "").startswith("compatgrad."):
            return None  # a function of the frontend itself
        k = self.counts[kind] = self.counts.get(kind, 0) + 1
        name = kind if k == 1 else f"{kind}_{k}"
        return ("function", name), name, _Function(node), self.adapter.name == "nnabla"

    def _call(self, original: Any, unit: Any, args: Any, kwargs: Any) -> Any:
        identity = self._identity(unit)
        if identity is None:
            return original(unit, *args, **kwargs)
        key, name, target, always = identity
        keeper = self.keeper
        keeper.found.add(name)
        spread = hasattr(type(unit), "apply") and key[0] == "function"  # its inputs are one argument
        given = (args[0] if spread else args, kwargs)
        if self.trace is None:
            flat = [_tensor(x) for x in _pytree.tree_leaves(given) if _is_input(x)]
            keeper._examples.setdefault(key, []).append([t.detach() for t in flat if t is not None])
            return original(unit, *args, **kwargs)
        if key in keeper.parts:
            return self._outputs(key, target, given, spread)
        if name in keeper.named or (always and keeper.all):
            why = "it is kept as you wished" if name in keeper.named else "it is a function written in Python"
            keeper.parts[key] = Part(name, target, why)
            return self._outputs(key, target, given, spread)
        self.trace._finish()
        start = len(self.trace.calls)
        try:
            return original(unit, *args, **kwargs)
        except Exception as e:
            if not keeper.all:
                raise
            self.trace.drop_calls(start)
            keeper.parts[key] = Part(name, target, keeper.reason(e))
        return self._outputs(key, target, given, spread)

    def _outputs(self, key: Any, target: Any, given: Any, spread: bool) -> Any:
        """Outputs without values of a part."""
        trace = self.trace
        trace._finish()
        flat, structure = _pytree.tree_flatten(given)
        at = [k for k, x in enumerate(flat) if _is_input(x)]
        tensors = [_tensor(flat[k]) for k in at]
        values = [trace.value(t) for t in tensors]
        shapes = tuple((tuple(v.fake.shape), v.fake.dtype) for v in values)
        results = self.keeper._results
        if (key, shapes) not in results:

            def rebuild(variables: Sequence[Any]) -> Any:
                new = list(flat)
                for k, v in zip(at, variables, strict=True):
                    new[k] = v
                return _pytree.tree_unflatten(new, structure)

            self.keeper._wanted = (key, shapes, rebuild, target)
            raise Again
        layer = self._layer(key, flat, at, structure, results[key, shapes])
        leaves, made_structure = _pytree.tree_flatten(results[key, shapes])
        with _disable_current_modes():
            outputs = [trace.new_tensor(t) if isinstance(t, torch.Tensor) else t for t in leaves]
        trace.add_call(layer, values, [t for t in outputs if isinstance(t, torch.Tensor)])
        made = [self.adapter.variable(t, t.is_floating_point()) if isinstance(t, torch.Tensor) else t for t in outputs]
        if spread and made_structure.num_leaves == 1:
            return tuple(made)
        return _pytree.tree_unflatten(made, made_structure)

    def _layer(self, key: Any, flat: Any, at: Sequence[int], structure: Any, result: Any) -> Layer:
        inside = [f"\x05{at.index(k)}\x06" if k in at else x for k, x in enumerate(flat)]
        args, kwargs = _pytree.tree_unflatten(inside, structure)
        texts = [literal(a, str) for a in args] + [f"{k}={literal(v, str)}" for k, v in kwargs.items()]
        call = ", ".join(texts).replace("{", "{{").replace("}", "}}")
        for k in range(len(at)):
            call = call.replace(repr(f"\x05{k}\x06"), f"{{{k}}}")
        paths = [path for path, t in _pytree.tree_flatten_with_path(result)[0] if isinstance(t, torch.Tensor)]
        results = tuple("{0}" + "".join(map(_subscript, path)) for path in paths)
        state: tuple[tuple[str, str, str], ...] = ()
        if key[0] == "part":
            prefix = key[1].replace("/", ".").strip(".")
            own = [n.replace("/", ".") for n, _ in self.adapter.parameters(self.names_target(key[1]))]
            own += [b.name for b in self.adapter.buffers(self.names_target(key[1]))]
            state = tuple((n, f"{prefix}.{n}", "same") for n in own)
        return Layer("kept", (self.keeper.parts[key].name,), f"{{m}}({call})", tuple(range(len(at))), state,
                     results=results)  # fmt: skip

    def names_target(self, name: str) -> Any:
        return next(part for own, part in self.names.values() if own == name)


def _subscript(part: Any) -> str:
    return f"[{part.idx if hasattr(part, 'idx') else part.key!r}]"


def _named(holder: Any) -> Iterator[tuple[int, tuple[str, Any]]]:
    """The parts inside a link or block with their paths."""
    if hasattr(holder, "namedlinks"):
        for name, link in holder.namedlinks(skipself=True):
            yield id(link), (name.strip("/").replace("/", "."), link)
    elif hasattr(holder, "_collect_params_with_prefix"):
        todo = [("", holder)]
        while todo:
            path, block = todo.pop()
            for name, child in block._children.items():
                own = f"{path}.{name}".lstrip(".")
                yield id(child), (own, child)
                todo.append((own, child))


def _is_input(x: Any) -> bool:
    return isinstance(x, (_C.Variable, _C.Array))


def _tensor(x: Any) -> torch.Tensor:
    if isinstance(x, _C.DeferredVariable):
        if x.parent and x.data._lazy:
            _C.deferred_forward([x], False, False, None, None, None)
        found: torch.Tensor = x.data.read()
        return found
    found = x.read() if isinstance(x, _C.Array) else x.tensor
    return found


# frontend -> module, class and method by which functions that a program defines are called
_FUNCTIONS = {
    "chainer": ("chainer.function_node", "FunctionNode", "apply"),
    "nnabla": ("nnabla.function", "PythonFunction", "__call__"),
}
