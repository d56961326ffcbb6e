"""All public names of the originals, and how they stand here: `names_FRONTEND.json.gz`.

`python -m tests.census.names` (`make names`) writes these files, from the names that were recorded from the originals,
the frontends themselves, the tables of absences and docs/deviations.md; a test compares them. An entry of a module or
class is a list, whose first item is a letter:

    ["m", MODULE]  a module           ["a", NAME]  the same object as NAME, or a re-export of it
    ["c", CALL]    a class            ["f", CALL]  a function or method
    ["v"]          a value            ["p"]        a property or an attribute of instances; ["p", "r"] without setter
    ["x"]          exists in both, outside the API

It is a capital letter (M, C, F, V, P) for what compatgrad does not have. A CALL is null if the parameters are
unknown, else [keywords in the order of places (- for one by place only), how many arguments by place or -1, whether
there may be further keywords (0 or 1), keywords
refused here, {keyword refused in both: why}].
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from compatgrad.names import table

SCHEMA = 1
FIRST = "0.1.0"  # the first version of compatgrad; `since` has the names that came later
KINDS = {"m": "module", "c": "class", "f": "function", "v": "value", "p": "property"}


class Found(NamedTuple):
    """A name that was looked up: where its object is defined, and its entry."""

    name: str
    entry: list[Any]
    exact: bool = True  # False: below a class, whose instances may have attributes that nobody knows


def path_of(frontend: str) -> Path:
    """The file of the frontend's names."""
    return table.FOLDER / f"names_{frontend}.json.gz"


@functools.cache
def read(frontend: str) -> dict[str, Any]:
    """The frontend's names."""
    data: dict[str, Any] = json.loads(gzip.decompress(path_of(frontend).read_bytes()))
    if data["schema"] != SCHEMA:
        raise ValueError(f"{path_of(frontend).name}: expected schema {SCHEMA}, got {data['schema']}")
    return data


@functools.cache
def find(name: str) -> Found | None:
    """Looks a dotted name up: `chainer.functions.relu`, `mxnet.nd.NDArray.asnumpy`. None if there is no such name."""
    root, *rest = name.split(".")
    frontend = table.FRONTENDS.get(root)
    if frontend is None:
        return None
    data = read(frontend)
    if root not in data["modules"]:
        return None
    at = Found(root, ["m", root])
    for part in rest:
        found = _below(data, at, part)
        if found is None:
            return None
        at = found
    return at


def _below(data: dict[str, Any], at: Found, part: str) -> Found | None:
    letter = at.entry[0]
    if letter in ("M", "C"):  # what is below an absent name is absent, too
        known = _below(data, Found(at.name, [letter.lower(), *at.entry[1:]]), part)
        return known and Found(known.name, [known.entry[0].upper(), *known.entry[1:]])
    if letter == "m":
        module = at.entry[1]
        entry = data["modules"].get(module, {}).get(part)
        if entry is not None:
            return _resolved(data, Found(f"{module}.{part}", entry))
        below = f"{module}.{part}"
        return Found(below, ["m", below]) if below in data["modules"] else None
    if letter == "c":
        return _member(data, at.name, part)
    return None


def _resolved(data: dict[str, Any], found: Found) -> Found | None:
    """Follows ["a", NAME]."""
    for _ in range(10):
        if found.entry[0] in "mM":  # under the module's own name
            return Found(found.entry[1], found.entry)
        if found.entry[0] != "a":
            return found
        target = found.entry[1]
        module, _, name = target.rpartition(".")
        entry = data["modules"].get(module, {}).get(name)
        if entry is None:
            return None
        found = Found(target, entry)
    return None


def _member(data: dict[str, Any], cls: str, part: str) -> Found | None:
    for owner in [cls, *data["bases"].get(cls, ())]:
        entry = data["members"].get(owner, {}).get(part)
        if entry is not None:
            return Found(f"{owner}.{part}", entry)
    return None


def is_class(name: str) -> bool:
    """Whether the name is a class."""
    found = find(name)
    return found is not None and found.entry[0] in "cC"


def members(name: str) -> set[str]:
    """The known members of the class, those of its bases included."""
    found = find(name)
    if found is None or found.entry[0] not in "cC":
        return set()
    data = read(table.FRONTENDS[found.name.partition(".")[0]])
    return {m for owner in [found.name, *data["bases"].get(found.name, ())] for m in data["members"].get(owner, ())}


def bases(name: str) -> tuple[str, ...]:
    """The class itself, and the classes that it derives from."""
    found = find(name)
    if found is None or found.entry[0] not in "cC":
        return ()
    data = read(table.FRONTENDS[found.name.partition(".")[0]])
    return (found.name, *data["bases"].get(found.name, ()))


def names_in(module: str) -> dict[str, list[Any]]:
    """The names of a module, with their entries."""
    found = find(module)
    if found is None or found.entry[0] not in "mM":
        return {}
    data = read(table.FRONTENDS[found.name.partition(".")[0]])
    names: dict[str, list[Any]] = data["modules"].get(found.entry[1], {})
    return names


def places(frontend: str, name: str) -> list[str]:
    """The modules of the frontend that have the public name, packages nearer to the top first."""
    modules = read(frontend)["modules"]
    found = [module for module, names in modules.items() if name in names and names[name][0] in "acfmv"]
    public = [module for module in found if "._" not in module]
    return sorted(public, key=lambda module: (module.count("."), module))


def kind_of(name: str) -> str | None:
    """What the name was in the original: "module", "class", "function", "value" or "property"; None if nothing."""
    found = find(name)
    return None if found is None else KINDS.get(found.entry[0].lower())


def absent(frontend: str) -> Iterator[tuple[str, str]]:
    """Every public name of the original that is absent here, and its kind; what is below an absent name is left out."""
    data = read(frontend)
    for owners, absent_kind in (data["modules"], "M"), (data["members"], "C"):
        for owner in sorted(owners):
            found = find(owner)
            if found is None or found.entry[0] == absent_kind:
                continue
            for name, entry in sorted(owners[owner].items()):
                if entry[0].isupper():
                    yield f"{owner}.{name}", KINDS[entry[0].lower()]


def absences(frontend: str) -> Iterator[tuple[str, str, table.Row]]:
    """Every public name of the original that is absent here: (name, what it was, its row), for support pages."""
    for name, kind in absent(frontend):
        row = table.row_of(name)
        if row is not None:
            yield name, kind, row
