"""A picture of the graph."""

import os
import subprocess

from compatgrad.chainer import computational_graph, configuration, variable
from compatgrad.chainer.training import extension
from compatgrad.chainer.utils import argument
from compatgrad.core.files import replacing


def is_return_code_zero(args):
    """Whether a command, a list of strings, exists and succeeds."""
    try:
        return subprocess.run(args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def is_graphviz_available():
    """Whether the command ``dot`` is there."""
    return is_return_code_zero(["dot", "-V"])


_var_style = {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
_func_style = {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}


class DumpGraph(extension.Extension):
    """Writes the graph of an observed Variable after the first update, in DOT and, with Graphviz, as PNG.

    `root_name`: name of the Variable. `filename`: name of the file in the trainer's output folder;
    ``out_name`` is an old name of it. `variable_style`, `function_style`: see `build_computational_graph`.
    Until then it sets ``config.keep_graph_on_report``. Raises TypeError where the value is no Variable.
    """

    default_name = "dump_graph"

    def __init__(self, root_name, filename=None, variable_style=None, function_style=None, **kwargs):
        (out_name,) = argument.parse_kwargs(kwargs, ("out_name", "cg.dot"))
        self._root_name = root_name
        self._filename = out_name if filename is None else filename
        self._variable_style = _var_style if variable_style is None else variable_style
        self._function_style = _func_style if function_style is None else function_style
        self._original_flag = None
        self._flag_called = False

    def initialize(self, trainer):
        if not self._flag_called:
            self._original_flag = configuration.config.keep_graph_on_report
            configuration.config.keep_graph_on_report = True

    def trigger(self, trainer):
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

    def serialize(self, serializer):
        self._original_flag = serializer("_original_flag", self._original_flag)
        self._flag_called = serializer("_flag_called", self._flag_called)
