"""Pictures of graphs: `graph(y)`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.adapters import FRONTENDS
from compatgrad.core.files import replacing
from compatgrad.drawing import _torch_record
from compatgrad.drawing import _walk as walk
from compatgrad.drawing._layout import printable, svg_text
from compatgrad.drawing.boxes import Box, Edge

__all__ = ["Graph", "graph"]

FILLS = {"parameter": "#fff2b3", "leaf": "#cfe8cf", "constant": "#e6e6e6", "result": "#ffffff", "function": "#cfe0f5",
         "boundary": "#e6d9f2"}  # fmt: skip
# Graphviz takes minutes for more boxes than this; the built-in layout takes seconds
_MOST_FOR_DOT = 800
_MOST_KEPT_LINES = 4


class Graph:
    """A drawn graph, made by `graph`. `str()` returns the source for Graphviz, `svg()` the picture; notebooks display
    it. It keeps no Variable and no function alive.

    Args:
        boxes: the boxes.
        edges: the arrows between them.
        direction: "TB", from top to bottom, or "LR", from left to right.
        caption: text below the picture.
        dot: the source for Graphviz; None makes it from the boxes and edges.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> x = compatgrad.Variable(torch.ones(2, 3), name="x")
        >>> interop.graph(x * 2)
        <Graph of 2 variables and 1 functions>

    Source: `compatgrad/drawing/graph.py`.
    """

    def __init__(
        self, boxes: list[Box], edges: list[Edge], direction: str = "TB", caption: str = "", dot: str | None = None
    ) -> None:
        self._boxes, self._edges, self._direction, self._caption, self._dot = boxes, edges, direction, caption, dot

    @property
    def dot(self) -> str:
        """The source for Graphviz."""
        if self._dot is not None:
            return self._dot
        out = [
            "digraph {",
            f"  rankdir={self._direction};",
            *([f"  label={_quoted(self._caption)}; labelloc=b;"] if self._caption else []),
            '  node [fontname="Helvetica", fontsize=11, style=filled];',
        ]
        for i, box in enumerate(self._boxes):
            shape = "ellipse" if box.oval else "box"
            bold = ", penwidth=2" if box.bold else ""
            out.append(f'  n{i} [label={_quoted(*box.lines)}, shape={shape}, fillcolor="{box.fill}"{bold}];')
        for e in self._edges:
            out.append(f"  n{e.tail} -> n{e.head}" + (f" [headlabel={_quoted(e.text)}];" if e.text else ";"))
        return "\n".join([*out, "}\n"])

    def svg(self, layout: str | None = None) -> str:
        """The picture as SVG. `layout`: "dot" is Graphviz's layout, "own" the built-in one; the default is Graphviz's
        if it is installed and the graph is not too large for it."""
        if layout not in (None, "dot", "own"):
            raise ValueError(f"svg: layout must be 'dot', 'own' or None, got {layout!r}")
        if layout is None:
            layout = "dot" if shutil.which("dot") and len(self._boxes) <= _MOST_FOR_DOT else "own"
        if layout == "dot":
            return self._by_dot("svg").decode()
        return svg_text(self._boxes, self._edges, self._direction, self._caption)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file, in the format of the extension of `path`.

        .dot and .gv are the source for Graphviz, .svg the picture. Other formats (.png, .pdf) need Graphviz:
        RuntimeError if it is not installed or does not support them. OSError if the file cannot be written.
        """
        path = Path(path)
        kind = path.suffix[1:].lower()
        if not kind:
            raise ValueError(f"save: path must end in .dot, .gv, .svg or another format of Graphviz, got '{path}'")
        if kind in ("dot", "gv"):
            content = self.dot.encode()
        elif kind == "svg":
            content = self.svg().encode()
        else:
            content = self._by_dot(kind)
        with replacing(path) as file:
            file.write(content)

    def _by_dot(self, kind: str) -> bytes:
        program = shutil.which("dot")
        if program is None:
            raise RuntimeError(
                f"'.{kind}' needs Graphviz, whose program `dot` was not found; .dot, .gv and .svg do not"
            )
        done = subprocess.run([program, f"-T{kind}"], input=self.dot.encode(), capture_output=True, check=False)
        if done.returncode:
            words = done.stderr.decode(errors="replace").strip()
            raise RuntimeError(f"`dot -T{kind}` failed: {words}")
        return done.stdout

    def _repr_svg_(self) -> str:
        return self.svg()

    def __str__(self) -> str:
        return self.dot

    def __repr__(self) -> str:
        functions = sum(box.oval for box in self._boxes)
        return f"<Graph of {len(self._boxes) - functions} variables and {functions} functions>"


def graph(
    y: Any,
    *more: Any,
    parameters: bool = True,
    saved: bool = True,
    direction: str = "TB",
    names: Mapping[Any, Any] | None = None,
) -> Graph:
    """A picture of everything from which Variables of any frontend were computed. Boxes are variables: yellow for
    parameters, green for other leaves that get a gradient, grey for constants. Ovals are functions with their
    parameters and the data that they keep for backward; the last line gives its total size, in which shared memory
    counts once.

    Args:
        y: the Variable.
        *more: further Variables.
        parameters: whether to show the leaves.
        saved: whether to show the data that is kept.
        direction: "TB", from top to bottom, or "LR", from left to right.
        names: a dict from Variables to texts, or from texts to Variables (Chainer's Variables cannot be keys); the
            texts replace the Variables' names.

    Returns:
        The drawn graph: `str()` returns the source for Graphviz, `svg()` the picture, `save(path)` writes a file.

    Raises:
        TypeError: an argument is not a Variable, or `names` contains other objects.
        ValueError: `direction` is not one of these.

    Example:
        >>> import torch
        >>> import compatgrad
        >>> from compatgrad import interop
        >>> x = compatgrad.Variable(torch.ones(2, 3), name="x")
        >>> picture = interop.graph((x * x).sum())
        >>> picture
        <Graph of 3 variables and 2 functions>
        >>> picture.dot.splitlines()[0]
        'digraph {'

    Source: `compatgrad/drawing/graph.py`; docs/mixing.md.
    """
    for what, v in [("y", y), *((f"more[{i}]", v) for i, v in enumerate(more))]:
        if not isinstance(v, _C.Variable):
            raise TypeError(f"graph: {what} must be a Variable, got {type(v).__name__}")
    if direction not in ("TB", "LR"):
        raise ValueError(f"graph: direction must be 'TB' or 'LR', got {direction!r}")
    return _Drawing([y, *more], parameters, saved, _Names(names)).graph(direction)


class _Names:
    """The names of variables."""

    def __init__(self, given: Mapping[Any, Any] | None) -> None:
        if not isinstance(given, Mapping | None):
            raise TypeError(f"graph: names must be a dict, got {type(given).__name__}")
        pairs = []
        for item in (given or {}).items():
            v, text = reversed(item) if isinstance(item[0], str) else item
            if not isinstance(v, _C.Variable) or not isinstance(text, str):
                kinds = " and ".join(type(part).__name__ for part in item)
                raise TypeError(f"graph: names must pair Variables and texts, got {kinds}")
            pairs.append((v, text))
        self._given = {v.node: text for v, text in pairs}
        self._arrays = {k: text for a in FRONTENDS.loaded() for k, text in a.parameter_names().items()}
        self.parameters = set(self._arrays)
        # to a user, nnabla Variables that share arrays are the same
        self._arrays.update({v.data: text for v, text in pairs if isinstance(v, _C.DeferredVariable)})

    def add(self, node: Any, text: str) -> None:
        """Adds a name that is used if the caller has given none."""
        self._given.setdefault(node, text)

    def of(self, node: Any, array: Any) -> str:
        return self._given.get(node) or (array is not None and self._arrays.get(array)) or node.name or ""


class _Drawing:
    def __init__(self, outputs: list[Any], parameters: bool, saved: bool, names: _Names) -> None:
        self.names, self.saved = names, saved
        self.roots = {v.node for v in outputs}
        self.boxes: list[Box] = []
        self.edges: list[Edge] = []
        self.number: dict[Any, int] = {}
        self.kept: list[walk.Kept] = []
        self.arrays = {v.node: v for v in outputs if isinstance(v, _C.DeferredVariable)}
        self.parameters: dict[Any, torch.Tensor] = {}  # torch's parameters, by the nodes that represent them
        self.places: dict[torch.Tensor, int] = {}  # the boxes of these parameters
        self.tried = walk.Trial()
        order = walk.in_order(self.roots_in_order(outputs))
        self.frontends = walk.frontends(order, outputs[0]._frontend.name)
        for f in order:
            if isinstance(f, _C.FunctionNode):
                self.look(f)
        with walk.undisturbed():
            for node in order:
                if isinstance(node, _C.FunctionNode):
                    self.function(node)
                elif parameters or node in self.roots or walk.creator_of(node) is not None:
                    self.variable(node)

    def look(self, f: Any) -> None:
        """Collects what a function says about its input variables."""
        if (source := walk.source_of(f)) is not None:
            if isinstance(source, _C.DeferredVariable):
                self.arrays[source.node] = source
        elif walk.is_deferred(f):
            inputs = zip(walk.inputs_of(f), _C.function_inputs(f), strict=True)
            self.arrays.update((node, x) for node, x in inputs if isinstance(x, _C.DeferredVariable))
        if (record := _torch_record.record_of(f)) is not None:
            for node, name, parameter in record.parameters(walk.inputs_of(f)):
                self.parameters[node] = parameter
                self.names.add(node, name)

    @staticmethod
    def roots_in_order(outputs: list[Any]) -> list[Any]:
        return list(dict.fromkeys(v.node for v in outputs))

    def graph(self, direction: str) -> Graph:
        return Graph(self.boxes, self.edges, direction, self.summary() if self.saved else "")

    def add(self, node: Any, box: Box) -> None:
        self.number[node] = len(self.boxes)
        self.boxes.append(box)

    # ---- variables -------------------------------------------------------------------------------------------------

    def variable(self, node: Any) -> None:
        f = walk.creator_of(node)
        if (parameter := self.parameters.get(node)) is not None:  # each call has its own node for the parameter
            self.number[node] = self.places.setdefault(parameter, len(self.boxes))
            if self.number[node] < len(self.boxes):
                return
        array = self.arrays.get(node)
        name = self.names.of(node, None if array is None else array.data)
        self.add(
            node,
            Box([*([name] if name else []), _described(node)], FILLS[self.kind(node, array)], bold=node in self.roots),
        )
        if f is not None and f in self.number:
            outputs = walk.outputs_of(f)
            index = next((j for j, y in enumerate(outputs) if y is node), 0)
            self.edges.append(Edge(self.number[f], self.number[node], str(index) if len(outputs) > 1 else ""))

    def kind(self, node: Any, array: Any) -> str:
        if walk.creator_of(node) is not None:
            return "result"
        if array is not None:
            if array.data in self.names.parameters:
                return "parameter"
            return "leaf" if array.need_grad else "constant"
        if node in self.parameters or _is_parameter(node.get_variable_or_none()):
            return "parameter"
        return "leaf" if node.requires_grad else "constant"

    # ---- functions -------------------------------------------------------------------------------------------------

    def function(self, f: Any) -> None:
        frontend = self.frontends[f]
        if (source := walk.source_of(f)) is not None:
            self.add(f, Box([f"{source._frontend.name} → {frontend}"], FILLS["boundary"], oval=True))
            self.join((source.node,), f)
            return
        inputs = walk.inputs_of(f)
        if (record := _torch_record.record_of(f)) is not None:
            name, words = record.name, record.words()
        else:
            name, params = _named(f, inputs, frontend)
            # tensors among the parameters are listed with the kept data
            words = [
                f"{k}={_short(v)}"
                for k, v in params.items()
                if not (self.saved and isinstance(v, torch.Tensor) or name.startswith("_ ") and _short(v) in name)
            ]
        lines = [name, *_wrapped(words)]
        if f.op_name is not None and not inputs:
            lines.append("(inputs released)")
        if self.saved:
            lines += self.saved_lines(f)
        self.add(f, Box(lines, FILLS["function"], oval=True))
        self.join(inputs, f)

    def join(self, inputs: Sequence[Any], f: Any) -> None:
        self.edges += [Edge(self.number[x], self.number[f]) for x in inputs if x in self.number]

    def saved_lines(self, f: Any) -> list[str]:
        kept = walk.kept_by(f, self.tried)
        self.kept += kept
        lines = []
        shown = len(kept)
        if shown > _MOST_KEPT_LINES:
            kept = sorted(kept, key=lambda k: -k.nbytes)
            shown = _MOST_KEPT_LINES - 1
        for k in kept[:shown]:
            array = self.arrays.get(k.node)
            what = (k.node and self.names.of(k.node, None if array is None else array.data)) or k.what
            lines.append(f"{'keeps' if k.there else 'reads'} {what} {k.shape}: {_bytes(k.nbytes)}")
        if rest := kept[shown:]:
            lines.append(f"and {len(rest)} more: {_bytes(sum(k.nbytes for k in rest))}")
        return lines

    def summary(self) -> str:
        there = [k for k in self.kept if k.there]
        absent = walk.total(k for k in self.kept if not k.there)
        tensors = len({(k.place, k.part) for k in there})
        text = f"kept for backward: {_bytes(walk.total(there))} in {tensors} tensor{'s' * (tensors != 1)}"
        if leaves := walk.total(k for k in there if k.leaf):
            text += f", {_bytes(leaves)} of it leaves"
        return text + (f"; {_bytes(absent)} not in memory" if absent else "")


def _is_parameter(variable: Any) -> bool:
    return any(a.is_parameter(variable) for a in FRONTENDS.loaded())


def _described(node: Any) -> str:
    if node.shape is None:
        return "uninitialized"
    return f"{tuple(node.shape)} {str(node.dtype).removeprefix('torch.')}"


def _named(f: Any, inputs: tuple[Any, ...], frontend: str) -> tuple[str, dict[str, Any]]:
    """The frontend's name of a function, and its relevant parameters."""
    if f.op_name is not None or (walk.is_deferred(f) and _C.function_info(f) is not None):
        adapter = FRONTENDS.get(frontend.partition(".")[0])  # mxnet.numpy has the adapter of mxnet
        if adapter is not None and (found := adapter.operator(f, inputs)) is not None:
            return found[0], _telling(found[1])
    if f.op_name is None:
        return str(getattr(f, "label", None) or _unlabelled(f)), {}
    defaults = {name: default for name, _, default in _C.op_info(f.op_name)["params"]}
    params = {k: v for k, v in f.op_params.items() if isinstance(v, torch.Tensor) or not _same(v, defaults.get(k, f))}
    return str(getattr(f, "label", None) or f.op_name), params


def _unlabelled(f: Any) -> str:
    host = _C.function_host(f)
    return type(f if host is None else host).__name__.lstrip("_")


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (RuntimeError, ValueError):  # arrays
        return False


def _telling(params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters without those that are switched off; most frameworks list every flag."""
    return {k: v for k, v in params.items() if str(v) not in ("None", "False")}


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"array{tuple(value.shape)}"
    text = str(value).removeprefix("torch.")
    return text if len(text) <= 24 else text[:23] + "…"


def _wrapped(words: list[str]) -> list[str]:
    """The words in at most three lines of about 36 letters."""
    lines: list[str] = []
    for word in words:
        if lines and len(lines[-1]) + len(word) < 36:
            lines[-1] += ", " + word
        elif len(lines) == 3:
            lines[-1] += ", …"
            break
        else:
            lines.append(word)
    return lines


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{n} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def _quoted(*lines: str) -> str:
    text = "\\n".join(printable(line).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for line in lines)
    return f'"{text}"'
