"""Puts removed names where the program looks for them.

A name of a module is an attribute of the module's class, which Python looks up before it gives up: names that exist are
found without it, and if a library asks, the error is the module's own, because an AttributeError of such an attribute
makes Python continue as if it were not there. A method is found by the `__getattr__` of its class, since libraries take
what `dir` lists for existing methods. A module that is gone is found by the last finder of the import system.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any

from compatgrad.surroundings._callers import calling_frame
from compatgrad.surroundings._row import Row, is_absent, resolve
from compatgrad.surroundings._uses import is_given

# called on the class itself, whose attributes no `__getattr__` of it finds
_CLASS_METHODS = ("pandas.DataFrame.from_csv",)


class _Given:
    """An attribute that only the program sees."""

    def __init__(self, row: Row) -> None:
        self.row = row
        self.values: list[Any] = []  # the object, once it was needed

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if is_given(self.row, calling_frame()):
            return self.bound(instance, owner)
        # for a module, Python continues and says it in the module's words
        what = getattr(owner, "__name__", "")
        raise AttributeError(f"type object {what!r} has no attribute {self.row.name.rpartition('.')[2]!r}")

    def bound(self, instance: Any, owner: type | None) -> Any:
        if not self.values:
            self.values.append(resolve(self.row.value))
        value = self.values[0]
        if isinstance(instance, ModuleType) or not hasattr(type(value), "__get__"):
            return value
        return value.__get__(instance, owner)


def _find_methods(owner: type, methods: dict[str, _Given]) -> Callable[[], None]:
    """Makes objects of a class find methods that it does not have. Returns what undoes it."""
    own = vars(owner).get("__getattr__")
    inherited = getattr(owner, "__getattr__", None)

    def __getattr__(self: Any, name: str) -> Any:
        method = methods.get(name)
        if method is not None and is_given(method.row, calling_frame()):
            return method.bound(self, type(self))
        if inherited is not None:
            return inherited(self, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def undo() -> None:
        if own is None:
            del owner.__getattr__  # type: ignore[attr-defined]
        else:
            owner.__getattr__ = own  # type: ignore[attr-defined]

    owner.__getattr__ = __getattr__  # type: ignore[attr-defined]
    return undo


def _reduce(module: ModuleType, protocol: Any) -> tuple[Callable[..., Any], tuple[str]]:
    # cloudpickle and dill know modules by their exact type
    return importlib.import_module, (module.__name__,)


class Patches:
    """The rows in force, and what has to be undone."""

    def __init__(self, names: Iterable[tuple[str, Row]], gone: Iterable[Row], changes: Iterable[Any]) -> None:
        """names: module and row of attributes. gone: rows of modules. changes: module, and a function that changes
        something in it and returns what undoes the change."""
        self.names: dict[str, list[Row]] = {}
        for module, row in names:
            self.names.setdefault(module, []).append(row)
        self.gone = {row.name: row for row in gone}
        self.changes: dict[str, list[Callable[[ModuleType], Callable[[], None]]]] = {}
        for module, change in changes:
            self.changes.setdefault(module, []).append(change)
        self.aliases: dict[str, str] = {}  # module that is gone -> module in its place
        self.undo: list[Callable[[], None]] = []
        self.patched: set[str] = set()
        self.watcher, self.finder = _Watcher(self), _Gone(self)

    def watches(self, module: str) -> bool:
        return module in self.names or module in self.changes

    def install(self) -> None:
        sys.meta_path.insert(0, self.watcher)
        sys.meta_path.append(self.finder)
        for name in [*self.names, *self.changes]:
            module = sys.modules.get(name)
            if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
                self.patch(module, name)

    def uninstall(self) -> None:
        for finder in (self.watcher, self.finder):
            if finder in sys.meta_path:
                sys.meta_path.remove(finder)
        while self.undo:
            self.undo.pop()()
        self.patched.clear()
        self.aliases.clear()

    def patch(self, module: ModuleType, name: str) -> None:
        if name in self.patched:
            return
        self.patched.add(name)
        attributes: dict[str, Any] = {}
        methods: dict[type, dict[str, _Given]] = {}
        for row in self.names.get(name, ()):
            if not is_absent(row):
                continue
            inner, _, attribute = row.name.removeprefix(f"{name}.").rpartition(".")
            if not inner:
                attributes[attribute] = _Given(row)
                continue
            owner: Any = module
            for part in inner.split("."):
                owner = getattr(owner, part, None)
            if not isinstance(owner, type) or hasattr(owner, attribute):
                continue
            if row.name in _CLASS_METHODS:
                setattr(owner, attribute, _Given(row))
                self.undo.append(functools.partial(delattr, owner, attribute))
            else:
                methods.setdefault(owner, {})[attribute] = _Given(row)
        self.undo += [_find_methods(owner, found) for owner, found in methods.items()]
        if attributes:
            self.undo.append(_find_attributes(module, attributes))
        for change in self.changes.get(name, ()):
            self.undo.append(change(module))


def _find_attributes(module: ModuleType, attributes: dict[str, Any]) -> Callable[[], None]:
    """Gives a module a class with attributes. Returns what undoes it."""
    plain = type(module)
    namespace = {"__module__": plain.__module__, "__reduce_ex__": _reduce, **attributes}
    module.__class__ = type(plain.__name__, (plain,), namespace)
    return lambda: setattr(module, "__class__", plain)


class _Watcher(MetaPathFinder):
    """Patches a module that has rows as soon as it is loaded."""

    def __init__(self, patches: Patches) -> None:
        self.patches = patches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, last = fullname.rpartition(".")
        if parent in self.patches.aliases:
            # found in the alias's folder, it would be loaded a second time
            return _alias(fullname, f"{self.patches.aliases[parent]}.{last}", self.patches)
        if not self.patches.watches(fullname):
            return None
        for finder in list(sys.meta_path):
            find = None if finder is self or finder is self.patches.finder else getattr(finder, "find_spec", None)
            spec = find(fullname, path, target) if find else None
            if spec is not None:
                if hasattr(spec.loader, "exec_module"):
                    spec.loader = _PatchingLoader(spec.loader, self.patches)
                return spec
        return None


class _PatchingLoader(Loader):
    """Loads a module by its own loader, and gives the loader back to it before its code runs."""

    def __init__(self, loader: Any, patches: Patches) -> None:
        self.loader = loader
        self.patches = patches

    def __getattr__(self, name: str) -> Any:  # what others ask the loader for, such as its source
        return getattr(self.loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.patches.patch(sys.modules.get(module.__name__, module), module.__name__)

    # as a part of the import system, it is left out of tracebacks and of the frames that warnings count
    exec_module.__code__ = exec_module.__code__.replace(
        co_filename=importlib._bootstrap._load.__code__.co_filename  # type: ignore[attr-defined]
    )


class _Gone(MetaPathFinder):
    """Finds modules that no other finder has found."""

    def __init__(self, patches: Patches) -> None:
        self.patches = patches

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        row = self.patches.gone.get(fullname)
        if row is None:
            return None
        # six appends a finder of its own
        later = sys.meta_path[sys.meta_path.index(self) + 1 :]
        if any(finder.find_spec(fullname, path, target) for finder in later if hasattr(finder, "find_spec")):
            return None
        if not is_given(row, calling_frame(), is_module=True):
            return None
        if row.value.startswith("."):
            return ModuleSpec(fullname, _OwnLoader(row.value, self.patches), is_package=True)
        return _alias(fullname, row.value, self.patches)


def _alias(name: str, target: str, patches: Patches) -> ModuleSpec | None:
    try:
        known = importlib.util.find_spec(target)
    except (ImportError, ValueError):
        known = sys.modules.get(target)  # type: ignore[assignment]
    return ModuleSpec(name, _AliasLoader(target, patches)) if known else None


class _OwnLoader(Loader):
    """Loads a module that is gone: one with the names of a module of this package."""

    def __init__(self, value: str, patches: Patches) -> None:
        self.value = value
        self.patches = patches

    def exec_module(self, module: ModuleType) -> None:
        kept = ("__all__", "__doc__", "__getattr__", "__version__")
        names = vars(resolve(self.value)).items()
        vars(module).update({name: value for name, value in names if name in kept or not name.startswith("__")})
        self.patches.patch(module, module.__name__)
        self.patches.undo.append(lambda: _forget(module.__name__))


class _AliasLoader(_OwnLoader):
    """Loads a module that is gone by returning the one that takes its place."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.name = spec.name
        module: ModuleType = resolve(self.value)
        self.own = {name: getattr(module, name, None) for name in ("__spec__", "__loader__", "__package__")}
        return module

    def exec_module(self, module: ModuleType) -> None:
        for name, value in self.own.items():  # the import system has replaced some of them
            setattr(module, name, value)
        self.patches.aliases[self.name] = self.value
        self.patches.undo.append(lambda: _forget(self.name))


def _forget(name: str) -> None:
    parent, _, last = name.rpartition(".")
    module = sys.modules.pop(name, None)
    if parent in sys.modules and vars(sys.modules[parent]).get(last) is module:
        delattr(sys.modules[parent], last)


def without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    """The traceback without the frames of this module."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    if traceback is not None:
        traceback.tb_next = without_own_frames(traceback.tb_next)
    return traceback
