"""An extension that writes a picture of the graph."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import computational_graph, configuration, variable
from compatgrad.chainer.training import extension
from compatgrad.chainer.utils import argument
from compatgrad.core.files import replacing

if TYPE_CHECKING:
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.training.trainer import Trainer


def is_return_code_zero(args: Sequence[str]) -> bool:
    """Whether a command exists and succeeds; its output is discarded.

    Args:
        args: the command and its arguments.

    Returns:
        True if it returns 0.

    Raises:
        IndexError: `args` is empty.
        TypeError: `args` has something other than strings.

    Example:
        >>> chainer.training.extensions.computational_graph.is_return_code_zero(["no-such-command"])
        False

    Source: `chainer.training.extensions.computational_graph.is_return_code_zero` of Chainer 7.8.1.
    """
    try:
        return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def is_graphviz_available() -> bool:
    """Whether Graphviz, the command `dot`, is installed.

    Returns:
        True if it is.

    Example:
        chainer.training.extensions.computational_graph.is_graphviz_available()

    Source: `chainer.training.extensions.computational_graph.is_graphviz_available` of Chainer 7.8.1.
    """
    return is_return_code_zero(["dot", "-V"])


_var_style = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
_func_style = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}


class DumpGraph(extension.Extension):
    """Writes the graph of an observed Variable after the first update, as a DOT file and, with Graphviz, as a picture.
    It sets `config.keep_graph_on_report` until then.

    Args:
        root_name: name of the observed Variable.
        filename: name of the DOT file in the trainer's output folder; None is "cg.dot". The picture's is the same with
            ".png".
        variable_style, function_style: attributes of DOT for the boxes of Variables and of functions; None is gray
            octagons and blue boxes.
        **kwargs: `out_name`: old name of `filename`.

    Raises:
        TypeError: another keyword is given, or, when the extension is called, the value is no Variable.

    Example:
        >>> from types import SimpleNamespace
        >>> loss = F.sum(chainer.Variable(np.ones(2)))
        >>> dump = chainer.training.extensions.DumpGraph("main/loss")
        >>> dump.initialize(None)
        >>> dump(SimpleNamespace(observation={"main/loss": loss}, out="."))
        >>> open("cg.dot").read()[:17]
        'digraph graphname'

    Source: `chainer.training.extensions.DumpGraph` of Chainer 7.8.1.
    """

    default_name = "dump_graph"

    def __init__(
        self,
        root_name: str,
        filename: str | None = None,
        variable_style: dict[str, Any] | None = None,
        function_style: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        (out_name,) = argument.parse_kwargs(kwargs, ("out_name", "cg.dot"))
        self._root_name = root_name
        self._filename = out_name if filename is None else filename
        self._variable_style = _var_style if variable_style is None else variable_style
        self._function_style = _func_style if function_style is None else function_style
        self._original_flag = None
        self._flag_called = False

    def initialize(self, trainer: Trainer) -> None:
        """Keeps graphs on report."""
        if not self._flag_called:
            self._original_flag = configuration.config.keep_graph_on_report
            configuration.config.keep_graph_on_report = True

    def trigger(self, trainer: Trainer) -> bool:
        """Fires once."""
        first = not self._flag_called
        self._flag_called = True
        return first

    def __call__(self, trainer):
        try:
            root = trainer.observation[self._root_name]
            if not isinstance(root, variable.Variable):
                raise TypeError(f"root value is not a Variable: {self._root_name} is a {type(root).__name__}")
            graph = computational_graph.build_computational_graph(
                [root], variable_style=self._variable_style, function_style=self._function_style
            ).dump()
            path = os.path.join(trainer.out, self._filename)
            with replacing(path, "w") as f:
                f.write(graph)
            if is_graphviz_available():
                subprocess.check_call(["dot", "-Tpng", path, "-o", f"{os.path.splitext(path)[0]}.png"])
        finally:
            configuration.config.keep_graph_on_report = self._original_flag

    def serialize(self, serializer: AbstractSerializer) -> None:
        """Saves or loads whether it has run."""
        self._original_flag = serializer("_original_flag", self._original_flag)
        self._flag_called = serializer("_flag_called", self._flag_called)
