"""Modules of the frontends explain why a name is absent, or suggest the one that was meant.

`speak` makes a frontend's modules do so. Names that exist are found as before, at no cost: a module's `__getattr__` is
called only after the look-up failed, and the finder only adds that function to the modules that it loads. A text is
made when it is read, so that `hasattr` and `except ImportError` stay fast.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import FrameType, ModuleType
from typing import Any

from compatgrad.names.originals import FRONTENDS, NOT_RECORDED, ORIGINALS, original_name

_FOLDER = os.path.dirname(os.path.dirname(__file__))
#: Called with the full name of each public name that was asked for and is absent; None: nobody listens.
listener: Callable[[str], object] | None = None


def explanation(name: str) -> str:
    """Why a name of an original is absent here; the empty text if the original does not have it either."""
    from compatgrad.names import database, table

    root = name.partition(".")[0]
    kind = database.kind_of(name) if root in FRONTENDS else None
    row = table.row_of(name)
    if row is not None and (
        kind is not None or "*" not in row.name or root in NOT_RECORDED
    ):  # a wildcard fits misspelt names, too
        what = f"a {kind}" if kind else "a name"
        return f"{ORIGINALS[FRONTENDS[root]]} has {what} of this name, compatgrad has none: {row.sentence()}"
    row = table.row_of(name, "earlier")
    return f"{ORIGINALS[FRONTENDS[root]]} does not have it either: {row.sentence()}" if row else ""


def advice(error: BaseException) -> str | None:
    """For an error that stopped a program: why a frontend's class does not have an attribute of the original's."""
    if not isinstance(error, AttributeError) or isinstance(error, _Told):
        return None
    obj, name = error.obj, error.name
    if obj is None or not name:
        return None
    from compatgrad.names import database

    for owner in (obj if isinstance(obj, type) else type(obj)).__mro__:
        own = original_name(owner.__module__)
        if own is None:
            continue
        for module in [own[0], *database.places(own[1], owner.__qualname__)[:1]]:  # the second: where it is public
            cls = database.find(f"{module}.{owner.__qualname__}")
            if cls is not None and (text := explanation(f"{cls.name}.{name}")):
                return f"{cls.name}.{name}: {text}"
    return None


def similar(name: str, candidates: Iterable[str]) -> list[str]:
    """At most three of the candidates that may have been meant by `name`, the likeliest first."""
    import difflib

    lower = name.lower().replace("_", "")
    found: dict[str, str] = {}
    same = []
    for candidate in candidates:
        if candidate.startswith("_") and not name.startswith("_"):
            continue
        key = candidate.lower().replace("_", "")
        if key == lower:
            same.append(candidate)
        found.setdefault(key, candidate)
    close = [found[key] for key in difflib.get_close_matches(lower, found, 3, 0.75)]
    return list(dict.fromkeys([*same, *close]))[:3]


def suggestion(module: str, name: str, candidates: Iterable[str]) -> str:
    """A sentence with what may have been meant by the name, which `module` does not have; may be empty."""
    elsewhere = _elsewhere(module, name)
    if elsewhere == f"{module}.{name}":
        return f"It is no module; `from {module} import {name}` imports it."
    found = similar(name, candidates)
    if elsewhere:
        found.insert(int(bool(found) and found[0].lower() == name.lower()), elsewhere)
    return f"Did you mean {' or '.join(found[:3])}?" if found else ""


def _elsewhere(module: str, name: str) -> str:
    """Another module of the same frontend that has the name: `chainer.links.Linear`; may be empty."""
    from compatgrad.names import database

    own = original_name(module)
    if own is None or name.startswith("_"):
        return ""
    found = database.places(own[1], name)
    prefix = module[: len(module) - len(own[0])]
    return f"{prefix}{found[0]}.{name}" if found else ""


class _Told(Exception):
    """What the errors below share: the text is made when it is first read."""

    standard: type[Exception]

    def __init__(self, module: str, name: str, start: str, candidates: Callable[[], Iterable[str]]) -> None:
        super().__init__()
        self.__dict__["told"] = (module, name, start, candidates)

    def _text(self) -> str:
        told = self.__dict__["told"]
        if not isinstance(told, str):
            module, name, start, candidates = told
            own = original_name(module)
            why = explanation(f"{own[0]}.{name}") if own else ""
            more = why or suggestion(module, name, candidates())
            told = self.__dict__["told"] = f"{start}. {more}" if more else start
        return str(told)

    def __str__(self) -> str:
        return self._text()

    def __repr__(self) -> str:
        return f"{self.standard.__name__}({self._text()!r})"

    @property
    def args(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (self._text(),)

    @property
    def msg(self) -> str:
        return self._text()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.standard, (self._text(),)


def _named_like(standard: type[Exception]) -> Any:
    """Tracebacks show the class under the name of the standard exception that it stands for."""

    def change(cls: type[_Told]) -> type[_Told]:
        cls.standard = standard
        cls.__module__, cls.__name__, cls.__qualname__ = "builtins", standard.__name__, standard.__name__
        return cls

    return change


@_named_like(AttributeError)
class _NoAttribute(_Told, AttributeError):
    pass


@_named_like(ImportError)
class _NoName(_Told, ImportError):  # type: ignore[override]
    pass


@_named_like(ModuleNotFoundError)
class _NoModule(_Told, ModuleNotFoundError):  # type: ignore[override]
    pass


def _names_in(module: ModuleType) -> list[str]:
    """The names that the module has, those included that are made or imported when they are asked for."""
    import pkgutil

    from compatgrad.names import database

    own = original_name(module.__name__)
    known = database.names_in(own[0]) if own else {}
    below = [m.name for m in pkgutil.iter_modules(getattr(module, "__path__", []))]
    return [*dir(module), *below, *(name for name, entry in known.items() if entry[0].islower())]


def no_attribute(module: ModuleType | str, name: str) -> Exception:
    """The error of a module without the attribute, for its `__getattr__` to raise; ImportError in a statement
    `from module import name`, else AttributeError."""
    if isinstance(module, str):
        module = sys.modules[module]
    candidates = partial(_names_in, module)
    if listener is not None and not name.startswith("_") and f"{module.__name__}.{name}" not in sys.modules:
        listener(f"{module.__name__}.{name}")
    # Python finds a module that is still being imported after an AttributeError, not after an ImportError
    if f"{module.__name__}.{name}" not in sys.modules and _imports(sys._getframe(2)):
        where = getattr(module, "__file__", None) or "unknown location"
        start = f"cannot import name {name!r} from {module.__name__!r} ({where})"
        error: Any = _NoName(module.__name__, name, start, candidates)
        error.name, error.path = module.__name__, getattr(module, "__file__", None)
        return error  # type: ignore[no-any-return]
    error = _NoAttribute(module.__name__, name, f"module {module.__name__!r} has no attribute {name!r}", candidates)
    # With a name set, Python adds neither the module nor a suggestion of its own.
    error.name = name
    return error  # type: ignore[no-any-return]


def _imports(frame: FrameType) -> bool:
    """Whether the frame is at a statement `from module import name`."""
    import opcode

    code = frame.f_code.co_code
    return 0 <= frame.f_lasti < len(code) and code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]


def _getattr(module: ModuleType, name: str) -> Any:
    raise no_attribute(module, name)


class _Loader(SourceFileLoader):
    """Loads a module of a frontend, which then explains the names that it does not have."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.__dict__.setdefault("__getattr__", partial(_getattr, module))


class _Finder:
    """Finds the modules below the frontends' packages, and explains those that are absent."""

    def __init__(self) -> None:
        self.ours: dict[str, bool] = {}  # whether a package's folder belongs to a frontend

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not isinstance(path, list) or not path:
            return None
        folder = path[0]
        ours = self.ours.get(folder)
        if ours is None:
            ours = self.ours[folder] = (
                folder.startswith(_FOLDER + os.sep) and folder[len(_FOLDER) + 1 :].partition(os.sep)[0] in FRONTENDS
            )
        if not ours:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None:
            # importlib.util.find_spec asks whether there is such a module, and gets None
            if sys._getframe(2).f_code.co_name == "_find_and_load_unlocked":
                raise _no_module(fullname)
        elif type(spec.loader) is SourceFileLoader:
            spec.loader.__class__ = _Loader
        return spec


def _no_module(fullname: str) -> _NoModule:
    package, _, name = fullname.rpartition(".")
    if listener is not None:
        listener(fullname)
    candidates = partial(_modules_in, sys.modules[package])
    error = _NoModule(package, name, f"No module named {fullname!r}", candidates)
    error.name = fullname
    return error


def _modules_in(package: ModuleType) -> list[str]:
    import pkgutil

    return [module.name for module in pkgutil.iter_modules(package.__path__)]


_finder = _Finder()


def speak(name: str) -> None:
    """Lets the package of the name, and the modules below it that are imported from now on, explain absent names."""
    package = sys.modules[name]
    vars(package).setdefault("__getattr__", partial(_getattr, package))
    if _finder not in sys.meta_path:
        place = next((i for i, finder in enumerate(sys.meta_path) if finder is PathFinder), len(sys.meta_path))
        sys.meta_path.insert(place, _finder)
