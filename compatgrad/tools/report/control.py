"""Starts the report of a process and writes it when the process ends."""

from __future__ import annotations

import atexit
import importlib.util
import multiprocessing.util
import os
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compatgrad.tools.report.collect import Collector

#: kinds of events that `--strict` makes errors, with what they are
STRICT = {
    "slow": "a call that takes a slow path",
    "transfer": "a copy between devices",
    "deviation": "a call that meets a difference from the original (docs/deviations.md)",
}
_CORE = "compatgrad.core"


class _State:
    """The report of this process."""

    target: str | None = None  # None: only `strict`; "": text on stderr; else a file's name
    strict: frozenset[str] = frozenset()
    collector: Collector | None = None
    wanted = False
    child = False  # whether another process of the same program has started this one


_state = _State()


def parse_strict(text: str) -> frozenset[str]:
    """The kinds in a text such as "slow,transfer". Raises ValueError for an unknown one."""
    kinds = [kind.strip() for kind in text.split(",")]
    for kind in kinds:
        if kind not in STRICT:
            raise ValueError(f"--strict: expected {', '.join(STRICT)}, or several with commas, got {kind!r}")
    return frozenset(kinds)


def parse_target(text: str) -> str:
    """Where the report goes: "" is stderr. Raises ValueError for the name of a file in an unknown format."""
    if text in ("", "1", "-"):
        return ""
    from pathlib import Path

    if Path(text).suffix not in (".json", ".html", ".txt"):
        raise ValueError(f"--report: expected a file that ends in .json, .html or .txt, got {text!r}")
    left = text.replace("{pid}", "").replace("{rank}", "")
    if "{" in left or "}" in left:
        raise ValueError(f"--report: a file's name may contain {{pid}} and {{rank}} but no other braces, got {text!r}")
    return text


def from_environment() -> tuple[str | None, frozenset[str]]:
    """What COMPATGRAD_REPORT and COMPATGRAD_STRICT ask for."""
    report, strict = os.environ.get("COMPATGRAD_REPORT", ""), os.environ.get("COMPATGRAD_STRICT", "")
    return (parse_target(report) if report not in ("", "0") else None), parse_strict(strict) if strict else frozenset()


def start(target: str | None, strict: frozenset[str]) -> None:
    """Begins to count as soon as a frontend is imported, and writes the report to `target` when the process ends.

    The environment passes both on to processes that this one starts; their files get their process's number.
    """
    if _state.wanted or (target is None and not strict):
        return
    if target:
        target = os.path.abspath(target)  # the program may change the folder
    _state.target, _state.strict, _state.wanted = target, strict, True
    _state.child = multiprocessing.parent_process() is not None
    if target is not None:
        os.environ["COMPATGRAD_REPORT"] = _for_children(target) or "1"
    if strict:
        os.environ["COMPATGRAD_STRICT"] = ",".join(sorted(strict))
    if _CORE in sys.modules:
        begin()
    else:
        # importing torch here would be before the program sets the variables that torch reads
        sys.meta_path.insert(0, _AfterCore())
    atexit.register(finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_after_fork)
    multiprocessing.util.register_after_fork(_state, lambda _: _finish_with_worker())


def _finish_with_worker() -> None:
    # a process of multiprocessing ends without calling the functions of `atexit`
    multiprocessing.util.Finalize(None, finish, exitpriority=-100)


def start_from_environment() -> None:
    """`start` with what the environment asks for."""
    start(*from_environment())


def _for_children(target: str) -> str:
    """The same file with the number of a child's process in its name."""
    if not target or "{pid}" in target:
        return target
    root, ending = os.path.splitext(target)
    return f"{root}-{{pid}}{ending}"


def begin() -> Collector:
    """Begins to count now."""
    from compatgrad.tools.report.collect import Collector

    _state.collector = Collector(_state.strict)
    _state.collector.start()
    return _state.collector


def running() -> Collector | None:
    """The collector of this process, while it counts."""
    collector = _state.collector
    return collector if collector is not None and collector.counts else None


def _after_fork() -> None:
    """The child of a fork counts anew."""
    collector, _state.child = running(), True
    if _state.target is not None:
        _state.target = _for_children(_state.target)
    if collector is not None:
        collector.clear()


def finish() -> None:
    """Writes the report, once."""
    collector, target = _state.collector, _state.target
    if not _state.wanted:
        return
    _state.wanted = False
    if target is None or (_state.child and not (target and collector and (collector.events or collector.labels))):
        return  # the workers of a program print nothing, and write no file if they have run nothing
    if collector is None:
        _say("compatgrad report: the program imported neither chainer nor nnabla nor mxnet\n")
        return
    from compatgrad.tools.report import files

    data = collector.data()
    if not target:
        _say(files.FORMATS["txt"](data))
        return
    path = files.path_of(target)
    try:
        files.write(data, path)
    except files.FileError as error:
        _say(f"compatgrad report: {error}\n")
    else:
        from compatgrad.core.lines import shown
        from compatgrad.tools.report.text import headline

        _say(f"compatgrad report: {headline(data)} Written to {shown(str(path))}\n")


def _say(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # closed
        pass


class _AfterCore(MetaPathFinder):
    """Begins to count when the engine has been imported."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _CORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Then(spec.loader)
        return spec


class _Then(Loader):
    """Loads a module as another loader does, and then begins to count."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        module.__loader__ = module.__spec__.loader = self._loader  # type: ignore[union-attr]
        begin()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)
