"""Drawings of graphs, made by Graphviz."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections import Counter
from typing import TYPE_CHECKING

from ..parameter import get_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..variable import Variable

__all__ = ["SimpleGraph"]

# part of a function's name -> its colour
_COLORS = (
    ("Conv", "blue"),
    ("Affine", "red"),
    ("Norm", "orange"),
    ("ReLU", "green"),
    ("Pool", "lightblue2"),
    ("Add", "purple"),
    ("Sub", "purple"),
    ("Mul", "purple"),
    ("Div", "purple"),
)


def _installed():
    return importlib.util.find_spec("graphviz") is not None and shutil.which("dot") is not None


class SimpleGraph:
    """Draws the functions and variables that compute a Variable, with Graphviz and the Python package graphviz.

    Args:
        format: the format of files, such as "png" or "svg".
        verbose: whether shapes and arguments are shown.
        fname_color_map: the colours of functions by name; None for colours by type.
        vname_color_map: the colours of variables by name; parameters are pink.

    Example:
        >>> from compatgrad.nnabla.experimental.viewers import SimpleGraph
        >>> y = PF.affine(nn.Variable((2, 3)), 4)
        >>> SimpleGraph(format="svg").save(y, "graph")
        >>> "Affine" in open("graph.svg").read()
        True

    Source: `nnabla.experimental.viewers.SimpleGraph` of nnabla 1.39.0.
    """

    def __init__(
        self,
        format: str = "png",
        verbose: bool = False,
        fname_color_map: Mapping[str, str] | None = None,
        vname_color_map: Mapping[str, str] | None = None,
    ) -> None:
        self._format = format
        self._verbose = verbose
        self._fname_color_map = fname_color_map
        self._vname_color_map = vname_color_map

    def save(self, vleaf: Variable, fpath: str, cleanup: bool = False, format: str | None = None) -> None:
        """Draws the graph that computes `vleaf` into the file `fpath`, to which the extension of the format is added.
        `cleanup` removes the input file of Graphviz; `format` replaces that of the constructor. Without Graphviz,
        `compatgrad.drawing.graph` draws svg, gv and dot; other formats raise ImportError.
        """
        kind = format or self._format
        if kind in ("svg", "gv", "dot") and not _installed():
            from compatgrad.drawing import graph

            graph(vleaf).save(f"{fpath}.{kind}")
            return
        self.create_graphviz_digraph(vleaf, format=format).render(fpath, cleanup=cleanup)

    def view(
        self,
        vleaf: Variable,
        fpath: str | None = None,
        cleanup: bool = True,
        format: str | None = None,
        params: Mapping[str, Variable] | None = None,
    ) -> None:
        """Draws like `save` and shows the file. `params` are the parameters, by default the global ones."""
        self.create_graphviz_digraph(vleaf, params, format=format).view(fpath, cleanup=cleanup)

    def create_graphviz_digraph(
        self,
        vleaf: Variable,
        params: Mapping[str, Variable] | None = None,
        format: str | None = None,
    ) -> Any:
        """The graphviz.Digraph of the graph that computes the Variable `vleaf`. Raises ImportError if graphviz is
        missing. `params` are the parameters by name, by default the global ones; `format` replaces that of the
        constructor.
        """
        try:
            from graphviz import Digraph
        except ImportError as error:
            raise ImportError("SimpleGraph needs graphviz: pip install graphviz") from error
        graph = Digraph(format=format or self._format)
        graph.attr("node", style="filled")
        params = get_parameters(grad_only=False) if params is None else params
        names = {param.data: name for name, param in params.items()}
        drawn = Counter()

        def visit(f):
            drawn[f.name] += 1
            name = f"{f.name}-{drawn[f.name]}"
            used = [names[x.data] for x in f.inputs if x.data in names]
            scope = os.path.commonprefix([os.path.dirname(used[0]), *used[1:]]) if used else ""
            for x in f.inputs:
                graph.edge(self._node(graph, x, names, scope), name)
            for y in f.outputs:
                graph.edge(name, self._node(graph, y, names, scope))
            self._function(graph, f, name, scope)

        vleaf.visit(visit)
        return graph

    def _node(self, graph, v, names, scope):
        key = str(hash(v))
        label = getattr(v, "name", "") or "h"
        color = (self._vname_color_map or {}).get(label, "lightgray")
        if v.data in names:
            name = names[v.data]
            label, color = name[len(scope) + 1 :] if scope and name.startswith(scope) else name, "pink"
        elif self._verbose:
            label += f"\n(({v.shape}, need_grad={v.need_grad}))"
        shape = "" if self._verbose else "circle"
        graph.node(key, label=label, shape=shape, color="black" if v.need_grad else color, fillcolor=color)
        return key

    def _function(self, graph, f, name, scope):
        label = f.name
        if scope:
            label += "\n" + scope
        elif self._verbose:
            label += f"\n({json.dumps(f.info.args, default=str)})"
        if self._fname_color_map is not None:
            color = self._fname_color_map.get(f.name, "lightgray")
        else:
            color = next((color for part, color in _COLORS if part in f.name), "gray")
        shape = "box" if self._verbose else "square"
        graph.node(name, label=label, shape=shape, color=color, fontcolor="white")
