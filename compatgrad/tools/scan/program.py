"""The modules of the program that is scanned: what the names mean that one of its files imports from another."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path

from compatgrad.names import table
from compatgrad.tools.scan.values import Instance, Named, OwnModule, UserClass, Value

_MOST = 12  # folders above a file in which a module is looked for
_ELSEWHERE = sys.stdlib_module_names | table.FRONTENDS.keys()


class Program:
    """Finds modules from the place of one file. `names_of` gives the names of a file's module."""

    def __init__(self, file: Path, names_of: Callable[[Path], dict[str, Value]]) -> None:
        self.folders = _folders(file.resolve().parent)
        self.names_of = names_of

    def module(self, name: str, level: int = 0) -> OwnModule | None:
        """The module that `import name` in the file means, if that is a file of the program: in the folder of the
        file, or in one above it."""
        if not level and name.partition(".")[0] in _ELSEWHERE:
            return None
        parts = tuple(filter(None, name.split(".")))
        for folder in self.folders[level - 1 : level] if level else self.folders:
            found = _module_at(folder, parts)
            if found is not None:
                return found
        return None

    def lacks(self, name: str, level: int = 0) -> bool:
        """Whether a package of the program has no module of this name: it is to be built or generated."""
        parts = name.split(".")
        if not level and parts[0] in _ELSEWHERE:
            return False
        for folder in self.folders[level - 1 : level] if level else self.folders:
            inside = _is_there(folder / "__init__")  # of a package, whose folder is not where modules are looked for
            if level or (_is_there(folder / parts[0] / "__init__") and not inside):
                return not _is_there(folder.joinpath(*parts))
        return False

    def names(self, module: OwnModule) -> dict[str, Value]:
        """The names of a module whose meaning is known."""
        return self.names_of(module.path)

    def attribute(self, module: OwnModule, name: str) -> Value:
        """What `module.name` is: a name of the module, or a module of the package."""
        value = self.names(module).get(name)
        if value is None and module.path.name == "__init__.py":
            return _module_at(module.path.parent, (name,))
        return value


@functools.cache
def _folders(folder: Path) -> list[Path]:
    """The folder and those above it, up to that of the repository or the working folder."""
    found = []
    for each in [folder, *folder.parents][:_MOST]:
        found.append(each)
        if each == Path.cwd() or (each / ".git").exists():
            break
    return found


@functools.cache
def _module_at(folder: Path, parts: tuple[str, ...]) -> OwnModule | None:
    path = folder.joinpath(*parts)
    files = [path / "__init__.py"]
    if parts:
        files.append(path.with_name(f"{path.name}.py"))
    try:
        return next((OwnModule(file) for file in files if file.is_file()), None)
    except OSError:  # a name that is too long, or a folder that cannot be looked into
        return None


@functools.cache
def _is_there(path: Path) -> bool:
    """Whether a folder or a file can be imported by this path without its suffix."""
    try:
        return path.is_dir() or any(f.suffix in (".py", ".so", ".pyd") for f in path.parent.glob(f"{path.name}.*"))
    except (OSError, ValueError):  # a name that is too long, or none
        return True


def known(names: dict[str, Value]) -> dict[str, Value]:
    """The names of a module that mean something in another file."""
    return {name: value for name, value in names.items() if isinstance(value, (Named, Instance, UserClass, OwnModule))}
