"""`to_native`: a network of a frontend as source of torch."""

from __future__ import annotations

import contextlib
import copy
import linecache
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from compatgrad import _C
from compatgrad.core.adapters import Adapter, frontend_of
from compatgrad.exporting._trace import ExportError
from compatgrad.interop.native import _check
from compatgrad.interop.native._kept import Keeper
from compatgrad.interop.native._record import Recorder
from compatgrad.interop.native._source import PartsShared, Source

__all__ = ["NativeError", "NativeModule", "to_native"]


class NativeError(RuntimeError):
    """The error for a network that cannot be written as source of torch; the message says what and why.

    Example:
        >>> import torch
        >>> from compatgrad import interop
        >>> try:
        ...     interop.to_native(lambda x: x * float(x.tensor.sum()), torch.ones(2), frontend="compatgrad")
        ... except interop.NativeError:
        ...     print("a value is read")
        a value is read

    Source: `compatgrad/interop/native/native.py`.
    """


class _Differs(RuntimeError):
    """The error for a module that computes other numbers than the network."""


@dataclass
class NativeModule:
    """The result of `to_native`.

    Args:
        source: a Python file with the class `name`, which imports torch only.
        name: the class.
        state_dict: the network's parameters under torch's names, in torch's layouts.
        module: an instance with these parameters, in the mode in which the network was recorded.
        legacy_names: for each name in `state_dict` the original's name of the parameter; several, with commas between
            them, where parameters are joined.
        unused: the original's parameters that the network did not use when it was recorded; `state_dict` lacks them.
        kept: the parts that are not written as torch but call compatgrad, with the reason; only with `keep`.
        parts: the links, blocks and functions that these parts are: the arguments of the class `name`.
        notes: what behaves differently in torch.
        differences: for each mode that was compared the largest difference of outputs and of gradients, relative to
            the largest number in each; empty with `check=False`.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> result = interop.to_native(L.Linear(3, 2), torch.ones(4, 3))
        >>> sorted(result.state_dict)
        ['linear.bias', 'linear.weight']

    Source: `compatgrad/interop/native/native.py`.
    """

    source: str
    name: str
    state_dict: dict[str, torch.Tensor]
    module: torch.nn.Module
    legacy_names: dict[str, str] = field(default_factory=dict)
    unused: list[str] = field(default_factory=list)
    kept: dict[str, str] = field(default_factory=dict)
    parts: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    differences: dict[str, _check.Difference] = field(default_factory=dict)
    _back: Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]] = field(init=False, repr=False, default=dict)

    def legacy_state(self, state_dict: Mapping[str, torch.Tensor] | None = None) -> dict[str, torch.Tensor]:
        """The original's parameters, under their names and in their layouts, for a state dict of the module; None: for
        `state_dict`. Raises ValueError if a tensor is missing or has another shape, or if a parameter that the
        original does not have is not the constant that it is there."""
        return self._back(self.state_dict if state_dict is None else state_dict)

    def save(self, path: str | os.PathLike[str], force: bool = False) -> tuple[str, str]:
        """Writes the source and, beside it, the state dict for `torch.load`.

        path: the Python file, whose name ends in .py; or a folder, which is made if it is missing, for files named
        after the class. force: True replaces files. Returns the paths of both files. Raises FileExistsError if a file
        exists.
        """
        target = os.fspath(path)
        if not target.endswith(".py"):
            os.makedirs(target, exist_ok=True)
            target = os.path.join(target, f"{self.name.lower()}.py")
        weights = f"{target[:-3]}.pt"
        for file in (target, weights):
            if os.path.lexists(file) and not force:
                raise FileExistsError(f"{file} exists: save(path, force=True) replaces it")
        with open(target, "w", encoding="utf-8") as f:
            f.write(self.source)
        torch.save(self.state_dict, weights)
        return target, weights


def to_native(
    model: Callable[..., Any],
    *example_inputs: Any,
    kwargs: Mapping[str, Any] | None = None,
    parameters: Any = None,
    frontend: str | None = None,
    train: bool | None = None,
    training: Callable[..., Any] | None = None,
    dynamic: Any = True,
    name: str | None = None,
    check: bool = True,
    keep: bool | Sequence[str] = False,
) -> NativeModule:
    """Writes a network of a frontend as a Python file of torch: a class of `torch.nn` layers with a `forward`, which
    imports torch only, and a state dict with the network's parameters under torch's names and in torch's layouts.

    The network runs on the example inputs, and what it computes is recorded as for `interop.export`. A function with
    parameters becomes a layer where torch has one; other functions become calls in `forward`. Parts of the network
    whose calls follow each other become classes of their own. Comments keep the original's names of the parameters.

    Args:
        model: a Chainer link, a Gluon block, or a function of Variables; or an nnabla Variable, for the static graph
            that computes it, with the graph's input Variables as `example_inputs`.
        example_inputs: its arguments: tensors, arrays or Variables, also inside tuples, lists and dicts. Each becomes
            an argument of `forward`; arguments of other types are fixed.
        kwargs: keyword arguments.
        parameters: for a function, the Variables that it uses, by name (nnabla: `nn.get_parameters(grad_only=False)`),
            or the link or block that contains them.
        frontend: for a function, the frontend whose Variables it takes, as for `export`.
        train: True or False: only this mode is written; None: both, `module.train()` and `module.eval()` choose. A
            function of nnabla chooses its mode itself, and is recorded once; where it normalizes by the statistics of
            the batch, or drops out, the module is in train mode.
        training: for nnabla, the function that builds the network for training; `model` is the one for inference.
        dynamic: the sizes that may differ from the examples', as for `export`. If the network cannot be recorded with a
            variable batch size, all sizes are fixed, and `notes` says so.
        name: the class; None is the class of `model`.
        check: True runs both networks on the same inputs and compares outputs and gradients, in each mode.
        keep: True: a link, a block, or a function that the program defines, which cannot be written, stays a call. The
            source then imports compatgrad, names these parts and the reasons at its beginning, and the class takes them
            as arguments. Names of parts, such as "noise" or "block.noise", keep these.

    Returns:
        A `NativeModule`: `source`, `state_dict`, `module`, `differences`, `save(path)`.

    Raises:
        NativeError: the network cannot be written, or computes other numbers than the original.
        TypeError: an argument has a wrong type.
        ValueError: an argument is wrong.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.functions as F
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> link = L.Linear(3, 2)
        >>> result = interop.to_native(lambda x: F.relu(link(x)), torch.ones(4, 3), parameters=link, name="Net")
        >>> print(result.source.partition("class ")[2])
        Net(nn.Module):
            \"\"\"`load_state_dict` takes the tensors saved beside this file.\"\"\"
        <BLANKLINE>
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(3, 2)  # W, b
        <BLANKLINE>
            def forward(self, x):
                return F.relu(self.linear(x))
        <BLANKLINE>

    Source: `compatgrad/interop/native/native.py`; docs/leaving.md.
    """
    if train is not None and training is not None:
        raise ValueError(f"to_native: expected at most one of train and training, got {train=} and {training=}")
    if isinstance(model, _C.DeferredVariable):
        own = frontend_of(model)
        model, frontend = own.function_of(model, example_inputs), own.name
    keeper = Keeper(keep) if keep else None
    request = _Request(model, example_inputs, dict(kwargs or {}), parameters, frontend, train, training, keeper)
    with _in_single_precision(parameters):
        first: _Differs | None = None
        attempts = [(stops, dynamic, joins) for stops in (False, True) for joins in (True, False)]
        for k, (request.stops, sizes, request.joins) in enumerate([*attempts, (False, False, False)]):
            if k in (1, 3) and not request.joined:
                continue  # the attempt before joined nothing
            request.whole = True
            try:
                made = _made(request, sizes, name, check)
            except _Differs as e:
                first = first or e
                continue
            if sizes is False and dynamic:
                made.notes.insert(0, "the sizes are fixed at those of the example inputs: at other sizes the network "
                                  "makes other calls")  # fmt: skip
            return made
    raise NativeError(str(first))


@contextlib.contextmanager
def _in_single_precision(parameters: Any) -> Iterator[None]:
    """A block in which nnabla's parameters of double precision, in which nnabla does not compute, are of single
    precision."""
    found: list[tuple[Any, torch.Tensor]] = []
    for p in parameters.values() if isinstance(parameters, Mapping) else ():
        if isinstance(p, _C.DeferredVariable) and (t := p.data.read()).dtype == torch.float64:
            found.append((p, t))
            p.data.tensor = t.float()
    try:
        yield
    finally:
        for p, t in found:
            p.data.tensor = t


def _made(request: _Request, dynamic: Any, name: str | None, check: bool) -> NativeModule:
    notes: list[str] = []
    try:
        try:
            source = request.written(dynamic, notes, name)
        except PartsShared:
            notes.clear()
            request.whole = False
            source = request.written(dynamic, notes, name)
        if (keeper := request.keeper) is not None and (unknown := keeper.named - keeper.found):
            raise ValueError(f"to_native: keep: the network calls no part {sorted(unknown)[0]!r}: it calls "
                             f"{', '.join(sorted(keeper.found))}")  # fmt: skip
    except (ExportError, NotImplementedError) as e:
        hint = (
            ""
            if request.keeper
            else ". With keep=True, the link, the block or the function that does this stays a call"
        )
        raise NativeError(f"to_native: {str(e).removeprefix('interop.to_native: ')}{hint}") from e
    recorders = source.recorders
    module = _instance(source, next(iter(recorders.values())))
    pairs = source.pairs()
    used = {n for legacy, _ in pairs.values() for n in legacy}
    result = NativeModule(
        source.text, source.name, dict(module.state_dict()), module,
        {own: ", ".join(source.names.get(n, n) for n in legacy) for own, (legacy, _) in pairs.items()},
        sorted(source.names.get(n, n) for n in source.state if n not in used),
        {path: part.why for path, (_, part) in source.kept.items()},
        {argument: part.target for argument, part in source.kept.values()}, source.notes(notes),
    )  # fmt: skip
    result._back = source.back
    if check:
        for mode, recorder in recorders.items():
            found = _check.compare(recorder, source, module, mode)
            result.differences[mode] = found
            for what in found.rounded:
                result.notes.append(f"in {mode} mode, in float32, the module and the network differ by rounding, which "
                                    f"float64 shows, in {what} of its size")  # fmt: skip
            if found.wrong:
                raise _Differs(
                    f"to_native: in {mode} mode {found.wrong} differs from the network's: {found.text()}. The network "
                    "reads values while it runs, stops a gradient, keeps a state between calls, or has gradients that "
                    "are no derivatives, as where numbers are rounded"
                )
    module.train("eval" not in recorders if request.train is None else request.train)
    return result


@dataclass
class _Request:
    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    parameters: Any
    frontend: str | None
    train: bool | None
    training: Any
    keeper: Keeper | None = None
    whole: bool = True  # recurrent layers as layers
    joins: bool = True  # attention and cells of several functions become torch's
    joined: int = 0  # how many there were
    stops: bool = False  # gradients end where the network's do

    def written(self, dynamic: Any, notes: list[str], name: str | None) -> Source:
        model = self.model
        recorders = self.record(dynamic, notes)
        count = -1
        while self.keeper is not None and count != len(self.keeper.parts):  # both modes keep the same parts
            count = len(self.keeper.parts)
            notes.clear()
            recorders = self.record(dynamic, notes)
        first = next(iter(recorders.values()))
        adapter = first.target.frontend
        title = name or (type(model).__name__ if type(model).__name__ not in ("function", "method", "partial")
                         else getattr(model, "__name__", "Network"))  # fmt: skip
        title = "Network" if not title or title == "<lambda>" else str(title)
        about = f"{_safe(title)}, a network of {adapter.name if adapter else 'torch'}, written for torch by compatgrad."
        parts = list(self.keeper.parts.values()) if self.keeper is not None else []
        names = _original_names(adapter, first, self.parameters)
        made = Source(title, recorders, names, about, parts, self.joins)
        self.joined = made.joined
        return made

    def _one(self, model: Any, train: bool, dynamic: Any, notes: list[str]) -> Recorder:
        def recorded(dynamic: Any) -> Recorder:
            recorder = Recorder(model, self.parameters, self.frontend, train, self.whole, self.keeper)
            recorder.stops = self.stops
            recorder.record(self.args, self.kwargs, dynamic)
            return recorder

        try:
            return recorded(dynamic)
        except ExportError as e:
            if not dynamic:
                raise
            made = recorded(False)
            why = str(e).removeprefix("interop.to_native: ")
            notes.append(f"the sizes are fixed at those of the example inputs: {why}")
            return made

    def record(self, dynamic: Any, notes: list[str]) -> dict[str, Recorder]:
        first = self._one(self.model, bool(self.train), dynamic, notes)
        adapter = first.target.frontend
        has_modes = bool(adapter is not None and adapter.training_mode) or first.target.is_module
        if self.training is not None:
            return {"train": self._one(self.training, True, dynamic, notes), "eval": first}
        if self.train is not None:
            return {"train" if self.train else "eval": first}
        if not has_modes:
            modes = {layer.mode for layer in _layers(first)} - {""}
            if modes == {"train"}:
                return {"train": first}
            if modes == {"train", "eval"}:  # some layers use the running statistics, others those of the batch
                again = self._one(self.model, True, dynamic, notes)
                return {"train": again}
            return {"eval": first}
        return {"train": self._one(self.model, True, dynamic, notes), "eval": first}


def _layers(recorder: Recorder) -> list[Any]:
    from compatgrad.interop.native._record import layers

    return list(layers(recorder.assembly.graph))


def _safe(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode().replace("\\", "/").replace('"', "'").replace("\n", " ")


def _original_names(adapter: Adapter | None, recorder: Recorder, parameters: Any) -> dict[str, str]:
    """For each name in the recorder's state the name that the frontend uses."""
    if isinstance(parameters, Mapping):
        return {str(name).replace("/", "."): str(name) for name in parameters}
    separator = getattr(adapter, "separator", ".")
    return {name: name.replace(".", separator) for name in recorder.state}


def _instance(source: Source, recorder: Recorder) -> torch.nn.Module:
    """The module that the source defines, with the legacy values."""
    file = f"<to_native {source.name} {id(source)}>"
    linecache.cache[file] = (len(source.text), None, source.text.splitlines(keepends=True), file)  # for tracebacks
    scope: dict[str, Any] = {"__name__": source.name}
    exec(compile(source.text, file, "exec"), scope)
    module: torch.nn.Module = scope[source.name](**{argument: part.target for argument, part in source.kept.values()})
    if source.kept:  # so that training the module leaves the network as it is
        module = copy.deepcopy(module)
    values = source.values(recorder.state)
    floats = {t.dtype for t in values.values() if t.is_floating_point()}
    if len(floats) == 1:
        module.to(dtype=floats.pop())
    module.load_state_dict(values, assign=len(floats) > 1)
    return module
