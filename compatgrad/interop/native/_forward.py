"""The statements of `forward` from a recorded graph."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree

from compatgrad.interop.native._attention import DROPPED
from compatgrad.interop.native._calls import Text, call_text, literal, loose, tight
from compatgrad.interop.native._layers import Layer
from compatgrad.interop.native._record import LAYER
from compatgrad.interop.native._straight import VALUE

__all__ = ["MODULE", "VARIABLE", "Statement", "statements", "without_whole_slices"]

# placeholders in the text of statements: paths of modules and parameters, and variables
MODULE = re.compile("\x01([^\x02]*)\x02")
VARIABLE = re.compile("\x03([^\x04]*)\x04")
_WIDTH = 84


@dataclass
class Statement:
    """`target = text`; an empty target for a call without a result, "return" for the last line."""

    target: str
    text: str

    def modules(self) -> set[tuple[str, ...]]:
        return {tuple(found.split(".")) for found in MODULE.findall(self.text)}

    def variables(self) -> list[str]:
        return VARIABLE.findall(self.text)


def variable(name: str) -> str:
    return f"\x03{name}\x04"


def module(path: Iterable[str]) -> str:
    return f"\x01{'.'.join(path)}\x02"


def statements(
    graph: fx.Graph,
    module_of: Callable[[Layer], tuple[str, ...]],
    state_text: Callable[[str], str],
    without_dropout: bool,
) -> list[Statement]:
    """The statements of a graph. module_of: the path of a layer. state_text: source of a parameter, buffer or constant.
    without_dropout: leave out calls of dropout, to compare two modes."""
    return _Writer(graph, module_of, state_text, without_dropout).run()


def writes(graph: fx.Graph) -> bool:
    """Whether calls of a graph write to tensors."""
    return any(hasattr(n.target, "_schema") and n.target._schema.is_mutable for n in graph.nodes)


def without_whole_slices(graph: fx.Graph) -> None:
    """Removes slices that take all of an axis."""
    if writes(graph):
        return
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.slice.Tensor:
            own, of = ([t.shape for t in n.meta.get("runs", ())] for n in (node, node.args[0]))
            if own and own == of:
                node.replace_all_uses_with(node.args[0])
                graph.erase_node(node)


class _Writer:
    def __init__(self, graph: fx.Graph, module_of: Any, state_text: Any, without_dropout: bool) -> None:
        self.graph, self.module_of, self.state_text = graph, module_of, state_text
        self.without_dropout = without_dropout
        self.texts: dict[fx.Node, str] = {}
        self.lines: list[Statement] = []
        self.float_inputs: dict[torch.dtype, str] = {}
        self.any_input = ""
        self.owners: dict[fx.Node, tuple[str, ...] | None] = {}  # the part of the network to which a node belongs

    def run(self) -> list[Statement]:
        self.writes = writes(self.graph)
        nodes = list(self.graph.nodes)
        real = [
            n
            for n in nodes
            if n.op == "output" or (n.op == "call_function" and not self._copies(n) and not self._always_inline(n))
        ]
        following = dict(zip(real, real[1:], strict=False))
        for node in nodes:
            self.owners[node] = self._owner(node)
            if node.op == "placeholder":
                self.texts[node] = Text(variable(node.name))
                self.any_input = self.any_input or self.texts[node]
                dtype = node.meta["runs"][0].dtype
                if dtype.is_floating_point:
                    self.float_inputs.setdefault(dtype, self.texts[node])
            elif node.op == "get_attr":
                self.texts[node] = Text(self.state_text(str(node.target)))
            elif node.op == "output":
                self.owners[node] = ()
                self.lines.append(Statement("return", literal(node.args[0], self.text)))
            else:
                self._call(node, following.get(node))
        return self.lines

    def _always_inline(self, node: fx.Node) -> bool:
        if node.target is operator.getitem:
            return True
        return "runs" not in node.meta and node.target is not LAYER and not self._several(node)

    @staticmethod
    def _several(node: fx.Node) -> bool:
        return bool(node.users) and all(u.target is operator.getitem for u in node.users)

    def _owner(self, node: fx.Node) -> tuple[str, ...] | None:
        """The path of the module that contains a layer; for a call, that of the part that contains its inputs."""
        if node.target is LAYER and node.args[0].kind:  # type: ignore[union-attr]
            return self.module_of(node.args[0])[:-1]  # type: ignore[no-any-return]
        found: tuple[str, ...] | None = None
        for x in node.all_input_nodes:
            owner = self.owners.get(x)
            if owner is not None:
                found = owner if found is None else _common(found, owner)
        return found

    def text(self, node: Any) -> str:
        return self.texts[node]

    def like(self, dtype: torch.dtype) -> str | None:
        if dtype == torch.uint8:
            return f"{self.any_input}.device" if self.any_input else None
        return f"{self.float_inputs[dtype]}.dtype" if dtype in self.float_inputs else None

    def _call(self, node: fx.Node, after: fx.Node | None) -> None:
        text = self._layer(node) if node.target is LAYER else self._result(node)
        if self._copies(node):
            self.texts[node] = self.texts[node.args[0]]  # type: ignore[index]
        if node in self.texts:  # it is left out
            return
        if self._always_inline(node):
            self.texts[node] = text
            return
        if not node.users:
            self.lines.append(Statement("", text))
            return
        together = after is not None and (
            after.op == "output" or self._owner(after) in (self.owners[node], None) or self.owners[node] is None
        )
        uses = _uses(node, after) if after is not None else 0
        if together and len(node.users) == 1 and uses == 1 and after in node.users and len(_plain(text)) < _WIDTH:
            whole = after is not None and after.op != "output"
            mutates = hasattr(node.target, "_schema") and node.target._schema.is_mutable
            if not mutates and (not whole or len(_plain(text)) < _WIDTH - 30):
                self.texts[node] = text
                return
        self.lines.append(Statement(node.name, text))
        self.texts[node] = Text(variable(node.name))

    def _copies(self, node: fx.Node) -> bool:
        """Whether a call only copies, in a graph that writes to no tensor."""
        if node.target is not torch.ops.aten.clone.default:
            return False
        return not self.writes

    def _result(self, node: fx.Node) -> str:
        """A call, or one of the results of a layer."""
        of: Any = node.args[0] if node.target is operator.getitem else None
        if isinstance(of, fx.Node) and of.target is LAYER and of.args[0].results:  # type: ignore[union-attr]
            results: Any = of.args[0].results  # type: ignore[union-attr]
            return Text(results[node.args[1]].format(tight(self.texts[of])))
        return call_text(node, self.text, self.like)

    def _layer(self, node: fx.Node) -> str:
        layer: Any = node.args[0]
        given: Any = node.args[1]
        inputs = [self.texts[x] for x in given]
        if self.without_dropout and layer.call.startswith("F.dropout("):
            self.texts[node] = inputs[0]
            return ""
        shown = [tight(x) if f"{{{k}}}." in layer.call else x for k, x in enumerate(inputs)]
        call = DROPPED.sub("", layer.call) if self.without_dropout else layer.call
        if layer.kind == "nn.LSTMCell" and len(given) == 3 and (last := self._state(given[1:])):
            call, shown = call.replace("({1}, {2})", "{1}"), [shown[0], last]
        if layer.kind == "nn.MultiheadAttention" and all(n.args[1] == 0 for n in node.users):
            rest = "" if "mask=" in call else ", need_weights=False"
            call = call.replace(", average_attn_weights=False", rest)
        text = call.format(*shown, m=module(self.module_of(layer)) if layer.kind else "")
        return loose(text) if layer.call.startswith(VALUE) else Text(text)

    def _state(self, given: list[fx.Node]) -> str | None:
        """The text of the call of a cell whose two results these are, in torch's order."""
        of = {n.args[0] if n.target is operator.getitem else None for n in given}
        before: Any = of.pop()
        if of or before is None or before.target is not LAYER or before.args[0].kind != "nn.LSTMCell":
            return None
        text = self.texts[before]
        return text if [self.texts[n] for n in given] == [f"{text}[0]", f"{text}[1]"] else None


def _uses(node: fx.Node, after: fx.Node) -> int:
    """How often the text of a call contains that of a node."""
    if after.target is LAYER:
        layer: Any = after.args[0]
        given: Any = after.args[1]
        return sum(max(layer.call.count(f"{{{k}}}"), 1) for k, n in enumerate(given) if n is node)
    return sum(n is node for n in _pytree.tree_leaves((after.args, after.kwargs)))


def _common(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    k = 0
    while k < min(len(a), len(b)) and a[k] == b[k]:
        k += 1
    return a[:k]


def _plain(text: str) -> str:
    return VARIABLE.sub("h1", MODULE.sub(lambda m: f"self.{m[1]}", text))


def rendered(text: str, variables: Mapping[str, str], prefix: tuple[str, ...] = ()) -> str:
    """The text of a statement with names in place of the placeholders; `prefix`: the path of the class's module."""

    def path(found: re.Match[str]) -> str:
        parts = tuple(found[1].split("."))
        assert parts[: len(prefix)] == prefix
        return ".".join(("self", *parts[len(prefix) :]))

    return VARIABLE.sub(lambda m: variables[m[1]], MODULE.sub(path, text))
