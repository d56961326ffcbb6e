"""Times the functions and layers of training steps, by hooks of the frontends that are set only while it measures."""

from __future__ import annotations

import functools
import importlib
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core import FunctionHook
from compatgrad.core.adapters import FRONTENDS
from compatgrad.core.lines import program_frame
from compatgrad.tools.compatgrad_recorder._calls import ROOTS, Watches, function_names
from compatgrad.tools.compatgrad_recorder._steps import PARTS, Phases, clock, clock_function

KEY = "compatgrad profile"
BACKWARD = "compatgrad profile: backward"
LABEL = "compatgrad profile: where"  # a hook of a function replaces one of the thread with the same name
Line = tuple[str, int]


def now() -> float:
    """The time in seconds, once the GPU has finished what was launched."""
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return clock()


class Label(FunctionHook):
    """Says where a function of the graph was called. It stays with the function as a hook that does nothing, so that it
    is there in backward, and goes when the function goes."""

    name = LABEL

    def __init__(self, layer: str, line: Line | None) -> None:
        super().__init__()
        self.layer, self.line = layer, line


class Row:
    """Times in seconds in one step: `self_forward` without inner layers, `own` of updates, data and other parts."""

    __slots__ = ("backward", "calls", "forward", "own", "self_forward")

    def __init__(self) -> None:
        self.calls = 0.0
        self.forward = self.backward = self.own = self.self_forward = 0.0


#: Rows by function, by layer and by line
Tables = tuple[dict[Any, Row], dict[Any, Row], dict[Any, Row]]


def typical(steps: list[Tables]) -> Tables:
    """The rows of a step: medians over several steps, so that a step that another program has delayed does not count;
    means of rows that most steps do not have."""
    found: list[dict[Any, Row]] = []
    for tables in zip(*steps, strict=True):
        rows: dict[Any, Row] = {}
        for key in dict.fromkeys(key for table in tables for key in table):
            those = [table[key] for table in tables if key in table]
            rows[key] = row = Row()
            for name in Row.__slots__:
                values = [getattr(each, name) for each in those]
                often = 2 * len(those) > len(tables)
                setattr(row, name, statistics.median(values) if often else sum(values) / len(tables))
        found.append(rows)
    return (found[0], found[1], found[2]) if found else ({}, {}, {})


class Ranges:
    """What is told about each range as it begins and ends; `profile` with a trace makes ranges of torch of them."""

    def begin(self, name: str) -> None: ...

    def end(self) -> None: ...


class Recorder:
    """Rows by function, layer and line, and the parts of each step."""

    def __init__(self, targets: list[Any], ranges: Ranges | None = None, timed: bool = True) -> None:
        self.phases = Phases()
        self.steps: list[Tables] = []
        self._begin_tables()
        self.layers: list[tuple[str, float, list[float]]] = []  # path, start, time of inner layers
        self.names = Names(targets)
        self.ranges = ranges
        self.now = now if timed and torch.cuda.is_initialized() else clock_function()
        self.in_layer = False  # a function has a range of its layer around its own
        self.depth = 0  # functions inside a function belong to it
        self.start = 0.0
        self.hooks: dict[str, Any] = {}
        self.forward_hook: Any = None
        self.backward = 0  # passes that run
        # parts that run: start, line, time of functions and other parts inside
        self.kinds: list[tuple[float, Line | None, list[float]]] = []
        self.labels: dict[tuple[str, Line | None], Label] = {}
        self._undo: list[Callable[[], None]] = []

    def _begin_tables(self) -> None:
        self.by_function: dict[Any, Row] = defaultdict(Row)
        self.by_layer: dict[Any, Row] = defaultdict(Row)
        self.by_line: dict[Any, Row] = defaultdict(Row)

    # ---- parts of steps, from `Steps` --------------------------------------------------------------------------------

    def begin_part(self, kind: str, function: Any, arguments: Any) -> None:
        t = self.now()
        self.depth = 0
        self.phases.begin(kind, t)
        if kind == "backward":
            self.backward += 1
            self.forward_hook = self.hooks.pop(KEY, None)
        if self.ranges is not None:
            self.ranges.begin(kind)
        self.kinds.append((t, self.line(), [0.0]))

    def end_part(self, kind: str, function: Any, arguments: Any) -> None:
        t = self.now()
        self.phases.end(t)
        if kind == "backward":
            self.backward -= 1
            if self.forward_hook is not None:
                self.hooks[KEY] = self.forward_hook
        if self.ranges is not None:
            self.ranges.end()
        if not self.kinds:  # the step has ended inside this part
            return
        start, line, inner = self.kinds.pop()
        rest = t - start - inner[0]
        if self.kinds:
            self.kinds[-1][2][0] += t - start
        if kind in ("update", "data"):
            row = self.by_function[self.part_name(function, arguments)]
            row.calls += 1
            row.own += rest
        if line is not None and kind in ("update", "data", "backward"):
            self.by_line[line].own += rest
            self.by_line[line].calls += 1

    def part_name(self, function: Any, arguments: Any) -> str:
        """The name of an update or of a part that gets data: that of the object's class and of the method."""
        root = str(getattr(function, "__module__", "")).removeprefix("compatgrad.").partition(".")[0]
        name = str(getattr(function, "__qualname__", None) or function_names.get(id(function), "call"))
        if arguments and "." in name:
            name = f"{type(arguments[0]).__name__}.{name.rpartition('.')[2]}"
        return f"{root}:{name}" if root in ROOTS else name

    def step(self, start: float, end: float) -> None:
        self.phases.step(self.now())
        self.steps.append((self.by_function, self.by_layer, self.by_line))
        self._begin_tables()
        self.depth, self.backward = 0, 0
        self.layers.clear()
        self.kinds.clear()

    # ---- functions ---------------------------------------------------------------------------------------------------

    def line(self) -> Line | None:
        frame = program_frame(sys._getframe(2))
        return None if frame is None else (frame.f_code.co_filename, frame.f_lineno)

    def label(self) -> Label:
        """The label of a function that is called now."""
        return self.label_at(self.layers[-1][0] if self.layers else "", self.line())

    def label_at(self, layer: str, line: Line | None) -> Label:
        found = self.labels.get((layer, line))
        if found is None:
            found = self.labels[layer, line] = Label(layer, line)
        return found

    def enter_function(self, name: Callable[[], str], label: Label | None = None) -> None:
        """A function begins; `label` says of which layer, if that is not the layer that runs."""
        self.depth += 1
        if self.depth > 1:
            return
        if self.ranges is not None:
            self.in_layer = label is not None and bool(label.layer)
            if label is not None and label.layer:
                self.ranges.begin(f"layer {label.layer}")
            self.ranges.begin(name())
        self.start = self.now()

    def leave_function(self) -> float:
        """The time of a function that has ended; -1 for a function inside another one."""
        self.depth = max(self.depth - 1, 0)
        if self.depth:
            return -1.0
        seconds = self.now() - self.start
        if self.ranges is not None:
            self.ranges.end()
            if self.in_layer:
                self.ranges.end()
        if self.kinds:
            self.kinds[-1][2][0] += seconds
        return seconds

    def count(self, name: str, seconds: float, label: Label | None, backward: bool) -> None:
        rows = [self.by_function[name]]
        if label is not None:
            if label.line is not None:
                rows.append(self.by_line[label.line])
            layer = self.by_layer[label.layer]
            if backward:
                layer.backward += seconds
            elif not self.layers:  # layers have their own ranges, which include their functions
                layer.forward += seconds
                layer.self_forward += seconds
                layer.calls += 1
        for row in rows:
            if backward:
                row.backward += seconds
            else:
                row.forward += seconds
                row.calls += 1

    # ---- layers ------------------------------------------------------------------------------------------------------

    def enter_layer(self, path: str) -> None:
        if self.ranges is not None:
            self.ranges.begin(f"layer {path}")
        self.layers.append((path, self.now(), [0.0]))

    def leave_layer(self) -> None:
        if not self.layers:
            return
        path, start, inner = self.layers.pop()
        seconds = self.now() - start
        if self.ranges is not None:
            self.ranges.end()
        row = self.by_layer[path]
        row.calls += 1
        row.forward += seconds
        row.self_forward += seconds - inner[0]
        if self.layers:
            self.layers[-1][2][0] += seconds

    # ---- hooks -------------------------------------------------------------------------------------------------------

    def set_hooks(self) -> None:
        """Sets the hooks of the frontends that the program has imported, in this thread."""
        hooks = self.hooks = _C.function_hooks()
        hooks[KEY], hooks[BACKWARD] = _ForwardHook(self), _BackwardHook(self)

        def undo() -> None:
            hooks.pop(KEY, None)
            hooks.pop(BACKWARD, None)

        self._undo.append(undo)
        for root, install in (("chainer", _set_chainer), ("nnabla", _set_nnabla), ("mxnet", _set_mxnet)):
            if root in sys.modules:
                self._undo.append(install(self, sys.modules[root]))

    def remove_hooks(self) -> None:
        while self._undo:
            self._undo.pop()()


_names: dict[tuple[type, str | None], str] = {}


def _name(function: Any) -> str:
    """The frontend's name of a function of the graph."""
    key = type(function), function.op_name
    name = _names.get(key)
    if name is None:
        name = _find_name(function)
        if (
            function.op_name is not None
        ):  # else it is defined in Python, and its label may depend on more than its class
            _names[key] = name
    return name


def _find_name(function: Any) -> str:
    root = type(function).__module__.removeprefix("compatgrad.").partition(".")[0]
    frontend = root if root in ROOTS else "mxnet" if "mxnet" in sys.modules else "compatgrad"
    name = None
    if frontend == "mxnet":
        name = _mxnet_names()(function) or getattr(function, "label", None)
    elif frontend == "chainer" and type(function).__name__ != "NativeFunctionNode":
        name = type(function).__name__
    return f"{frontend}:{name or function.op_name or type(function).__name__}"


@functools.cache
def _mxnet_names() -> Callable[[Any], str | None]:
    found: Callable[[Any], str | None] = importlib.import_module("compatgrad.mxnet._engine_names").operator_name
    return found


class _ForwardHook(FunctionHook):
    """What the engine calls for functions that run when they are called. While backward runs it is not set: then the
    engine would also call it for the functions of which each backward consists."""

    name = KEY

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def forward_preprocess(self, function: Any, in_data: Any) -> None:
        self.recorder.enter_function(lambda: _name(function))

    def forward_postprocess(self, function: Any, in_data: Any) -> None:
        seconds = self.recorder.leave_function()
        if seconds >= 0:
            label = self.recorder.label()
            self.recorder.count(_name(function), seconds, label, False)
            function.local_function_hooks[LABEL] = label


class _BackwardHook(FunctionHook):
    """What the engine calls for functions in backward."""

    name = BACKWARD

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def backward_preprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        label = function.local_function_hooks.get(LABEL) if self.recorder.ranges is not None else None
        self.recorder.enter_function(lambda: _name(function) + " backward", label)

    def backward_postprocess(self, function: Any, in_data: Any, out_grad: Any) -> None:
        seconds = self.recorder.leave_function()
        if seconds >= 0:
            self.recorder.count(_name(function), seconds, function.local_function_hooks.get(LABEL), True)


# ---- names of layers -------------------------------------------------------------------------------------------------


class Names:
    """Paths of layers: below the model of an optimizer, or else below the layer that the program calls."""

    def __init__(self, targets: list[Any]) -> None:
        self.paths: dict[int, str] = {}
        self.roots: dict[str, int] = {}
        self.kept: list[Any] = []  # so that no other object gets an id in `paths`
        for target in targets:
            if target is not None and (hasattr(target, "namedlinks") or hasattr(target, "_children")):
                self.add(target)

    def add(self, root: Any) -> None:
        kind = type(root).__name__
        self.roots[kind] = self.roots.get(kind, 0) + 1
        first = kind if self.roots[kind] == 1 else f"{kind}#{self.roots[kind]}"
        for path, layer in _below(root, first):
            self.paths.setdefault(id(layer), path)
            self.kept.append(layer)

    def of(self, layer: Any) -> str:
        path = self.paths.get(id(layer))
        if path is None:
            self.add(layer)
            path = self.paths[id(layer)]
        return path


def _below(layer: Any, path: str) -> Iterator[tuple[str, Any]]:
    yield path, layer
    children: list[tuple[str, Any]] = []
    if isinstance(getattr(layer, "_children", None), dict):  # blocks of Gluon
        children = list(layer._children.items())
    elif hasattr(layer, "children"):  # links of Chainer
        children = [(link.name or str(i), link) for i, link in enumerate(layer.children())]
    for name, child in children:
        yield from _below(child, f"{path}/{name}.{type(child).__name__}" if name.isdigit() else f"{path}/{name}")


# ---- Chainer ---------------------------------------------------------------------------------------------------------


class _LinkHook:
    name = KEY

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder

    def forward_preprocess(self, args: Any) -> None:
        self.recorder.enter_layer(self.recorder.names.of(args.link))

    def forward_postprocess(self, args: Any) -> None:
        self.recorder.leave_layer()


def _set_chainer(recorder: Recorder, chainer: Any) -> Callable[[], None]:
    """All links, also those of old programs, whose classes define `__call__`, which calls no hooks."""
    hooks = importlib.import_module("compatgrad.chainer.link_hook")._get_link_hooks()
    hooks[KEY] = _LinkHook(recorder)
    watches = Watches(_watch_layers(recorder))
    for cls in {cls for link in recorder.names.kept for cls in type(link).__mro__}:
        if cls is not chainer.Link and issubclass(cls, chainer.Link) and "__call__" in vars(cls):
            watches.replace(cls, "__call__", "layer")

    def undo() -> None:
        watches.remove()
        hooks.pop(KEY, None)

    return undo


def _watch_layers(recorder: Recorder) -> Callable[[str, Any, Any, Any], Any]:
    """Makes calls of methods ranges of the layers whose methods they are."""

    def layer(kind: str, function: Any, arguments: Any, named: Any) -> Any:
        path = recorder.names.of(arguments[0])
        if recorder.layers and recorder.layers[-1][0] == path:  # a method of the class and that of its base
            return function(*arguments, **named)
        with _layer(recorder, path):
            return function(*arguments, **named)

    return layer


# ---- MXNet -----------------------------------------------------------------------------------------------------------


def _set_mxnet(recorder: Recorder, mx: Any) -> Callable[[], None]:
    """Blocks, and the nodes of symbols that executors run."""

    def node(kind: str, function: Any, arguments: Any, named: Any) -> Any:
        with _layer(recorder, arguments[0].name):
            return function(*arguments, **named)

    watches, nodes = Watches(_watch_layers(recorder)), Watches(node)
    watches.watch([target for target in PARTS if target[0] == "mxnet.gluon.block"])
    evaluate = importlib.import_module("compatgrad.mxnet.symbol._evaluate")
    nodes.replace(evaluate, "run_node", "node")

    def undo() -> None:
        nodes.remove()
        watches.remove()

    return undo


@contextmanager
def _layer(recorder: Recorder, path: str) -> Iterator[None]:
    recorder.enter_layer(path)
    try:
        yield
    finally:
        recorder.leave_layer()


# ---- nnabla ----------------------------------------------------------------------------------------------------------


def _set_nnabla(recorder: Recorder, nnabla: Any) -> Callable[[], None]:
    """Functions of graphs that run later, and calls of functions that run at once."""
    nnabla = importlib.import_module("compatgrad.nnabla")
    parameters = FRONTENDS["nnabla"].parameter_names()

    def before(function: Any) -> None:
        label = function.local_function_hooks.get(LABEL) if recorder.ranges is not None else None
        recorder.enter_function(lambda: f"nnabla:{function.name}" + " backward" * (recorder.backward > 0), label)

    def after(function: Any) -> None:
        seconds = recorder.leave_function()
        if seconds < 0:
            return
        label = function.local_function_hooks.get(LABEL)
        if label is None or not label.layer:
            line = recorder.line() if label is None else label.line
            label = recorder.label_at(_scope(function, parameters), line)
            function.local_function_hooks[LABEL] = label
        recorder.count(f"nnabla:{function.name}", seconds, label, recorder.backward > 0)

    def call(kind: str, function: Any, arguments: Any, named: Any) -> Any:
        if recorder.depth or not nnabla.get_auto_forward():
            return function(*arguments, **named)
        recorder.enter_function(lambda: f"nnabla:{function.__name__}")
        y = None
        try:
            y = function(*arguments, **named)
        finally:
            seconds = recorder.leave_function()
        made = _parent(y)
        label = recorder.label_at("" if made is None else _scope(made, parameters), recorder.line())
        if made is not None:
            made.local_function_hooks[LABEL] = label
        recorder.count(f"nnabla:{getattr(made, 'name', function.__name__)}", seconds, label, False)
        return y

    nnabla.set_function_pre_hook(KEY, before)
    nnabla.set_function_post_hook(KEY, after)
    watches = Watches(call)
    for name in nnabla.functions.__all__ if hasattr(nnabla.functions, "__all__") else dir(nnabla.functions):
        watches.replace(nnabla.functions, name, "function")

    def undo() -> None:
        watches.remove()
        nnabla.unset_function_pre_hook(KEY)
        nnabla.unset_function_post_hook(KEY)

    return undo


def _parent(y: Any) -> Any:
    """The function that made a result, if it is a Variable."""
    y = y[0] if isinstance(y, (tuple, list)) and y else y
    return y.parent if isinstance(y, _C.DeferredVariable) else None


def _scope(function: Any, parameters: Mapping[Any, str]) -> str:
    """The scope of the parameters that a function reads; what follows such a function, up to the next one, belongs to
    the same layer."""
    for _ in range(1000):
        inputs = function.inputs
        for x in inputs:
            name = parameters.get(x.data)
            if name is not None:
                return name.rpartition("/")[0]
        function = next((x.parent for x in inputs if x.parent is not None), None)
        if function is None:
            return ""
        label = function.local_function_hooks.get(LABEL)
        if label is not None and label.layer:
            return str(label.layer)
    return ""
