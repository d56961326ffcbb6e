"""What the tables of removed names consist of."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

# how messages write a library's name
TITLES = {
    "numpy": "NumPy",
    "scipy": "SciPy",
    "PIL": "Pillow",
    "sklearn": "scikit-learn",
    "yaml": "PyYAML",
    "pkg_resources": "setuptools",
    "skimage": "scikit-image",
    "python": "Python",
    "six": "six",
}


class Row(NamedTuple):
    """A name that a library had once."""

    library: str  # the root package, or "python"
    name: str  # "numpy.float"; "PIL.ImageDraw.ImageDraw.textsize" for a method
    removed: str  # the version that does not have the name; empty if the library is an optional package
    year: int  # when that version was published
    now: str  # what a program of today uses instead
    value: str  # the dotted name of the object; one of this package if it begins with a dot
    until: str = ""  # the version that has the name again

    @property
    def why(self) -> str:
        if not self.removed:
            return "not installed"
        return f"removed in {TITLES.get(self.library, self.library)} {self.removed}"


def rows(
    library: str, removed: str, year: int, owner: str, names: Mapping[str, str | tuple[str, str]], until: str = ""
) -> list[Row]:
    """The rows of one owner's names that one version removed. A name's entry is the object that takes its place, or
    that object and the words for it."""
    made = []
    for name, entry in names.items():
        value, now = entry if isinstance(entry, tuple) else (entry, entry.removeprefix("builtins."))
        made.append(Row(library, f"{owner}.{name}" if owner else name, removed, year, now, value, until))
    return made


def renamed(library: str, removed: str, year: int, owner: str, target: str, names: str) -> list[Row]:
    """The rows of names, separated by spaces, that `target` has under the same name."""
    return rows(library, removed, year, owner, {name: f"{target}.{name}" for name in names.split()})


def version(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])


def installed_version(library: str) -> tuple[int, ...]:
    """The version of a library that is loaded; of one that does not say it, a version above all others."""
    if library == "python":
        return sys.version_info[:3]
    return version(str(getattr(sys.modules.get(library), "__version__", ""))) or (sys.maxsize,)


def is_absent(row: Row) -> bool:
    """Whether the library's version at hand does not have the name."""
    have = installed_version(row.library)
    return version(row.removed) <= have and not (row.until and version(row.until) <= have)


def resolve(path: str) -> Any:
    """The object of a dotted name."""
    if path.startswith("."):
        path = __package__ + path
    parts = path.split(".")
    for count in range(len(parts), 0, -1):
        name = ".".join(parts[:count])
        try:
            found = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not (name == error.name or name.startswith(error.name + ".")):
                raise
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise ModuleNotFoundError(f"No module named {parts[0]!r}", name=parts[0])
