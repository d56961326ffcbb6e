"""Writes what `compatgrad.names` knows about the originals' names, for each frontend (`make names`).

    python -m tests.census.names              write compatgrad/names/names_FRONTEND.json.gz
    python -m tests.census.names --check      print what is out of date, and fail if something is

It compares the names that were recorded from the originals with the frontends, and reads docs/deviations.md. The form
of the files is in `compatgrad/names/database.py`.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import gzip
import importlib
import inspect
import io
import json
import os
import pathlib
import subprocess
import sys
import textwrap
import types
import warnings

import compatgrad
from compatgrad.names import database, table
from tests.census import deviations, private
from tests.census.compare import FRONTENDS, _on_instance, recorded
from tests.census.walk import StandIns, parameters

ROOT = pathlib.Path(__file__).resolve().parents[2]
# modules of packages that the recorded installations of the originals lacked: of ours, what there is
_NOT_RECORDED = {"chainer": ["chainerx"], "nnabla": ["nnabla_ext.cuda", "nnabla_ext.cudnn"], "mxnet": []}
_LETTERS = {"module": "m", "class": "c", "function": "f", "value": "v", "property": "p"}


def call(theirs: list | None, ours: list | None, refused: dict[str, str]) -> list | None:
    """How a function may be called; see `database`."""
    if ours is None or (theirs is not None and _anything(ours)):
        ours = theirs
    if theirs is None or _anything(theirs):
        theirs = ours
    if ours is None or theirs is None:
        return None
    accepted = ["-" if p[1] == "p" else p[0] for p in ours if p[1] in "pak"]  # in the order of places
    open_here, open_there = (any(p[1] == "w" for p in side) for side in (ours, theirs))
    wanted = [p[0] for p in theirs if p[1] in "ak"]
    lacking = [] if open_here else [name for name in wanted if name not in accepted]
    accepted += [name for name in wanted if name not in accepted and open_here]
    places = -1 if any(p[1] == "v" for p in ours) else sum(p[1] in "pa" for p in ours)
    found = [" ".join(accepted), places, int(open_here and open_there), " ".join(lacking), refused]
    while found and not found[-1] and len(found) > 3:
        found.pop()
    return found


def _anything(side: list) -> bool:
    return bool(side) and all(p[1] in "vw" for p in side)


def further_keywords(value: object, ours: list | None) -> tuple[list | None, dict[str, str]]:
    """The parameters of `ours` with the keywords that Chainer's `argument.parse_kwargs` takes out of `**kwargs`, and
    the keywords that it or `check_unexpected_kwargs` refuses, with their sentences."""
    if not ours or ours[-1][1] != "w":
        return ours, {}
    function = value.__init__ if isinstance(value, type) else value  # type: ignore[misc]
    try:
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
        looks = "_kwargs(" in source or (isinstance(value, type) and "super()" in source)
        tree = ast.parse(source) if looks else ast.Module([], [])
    except (OSError, TypeError, SyntaxError):
        return ours, {}
    refused: dict[str, str] = {}
    if isinstance(value, type) and _passed_on(tree, ours[-1][0]):
        owners = [owner for owner in value.__mro__[:-1] if "__init__" in vars(owner)]
        above = owners[1] if len(owners) > 1 else None
        theirs, refused = further_keywords(above, parameters(above)) if above else ([], {})
        if theirs is not None:
            have = {p[0] for p in ours}
            return [
                *ours[:-1],
                *([p[0], "k" if p[1] in "pa" else p[1], *p[2:]] for p in theirs if p[0] not in have),
            ], {}
    for node in ast.walk(tree):
        called = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
        if called not in ("parse_kwargs", "check_unexpected_kwargs") or ast.unparse(node.args[0]) != ours[-1][0]:
            continue
        if called == "parse_kwargs":
            pairs = [a for a in node.args[1:] if isinstance(a, ast.Tuple) and isinstance(a.elts[0], ast.Constant)]
            if len(pairs) == len(node.args) - 1:
                ours = [*ours[:-1], *([pair.elts[0].value, "k", "..."] for pair in pairs)]
        for keyword in node.keywords:
            constant = isinstance(keyword.value, ast.Constant)
            text = str(keyword.value.value) if constant else "the original refuses it as well"
            if keyword.arg:
                refused[keyword.arg] = text
        break
    return ours, refused


def _passed_on(tree: ast.AST, name: str) -> bool:
    """Whether a function only passes its further keywords on to `super().__init__`."""
    passed = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "super().__init__":
            passed += any(k.arg is None and ast.unparse(k.value) == name for k in node.keywords)
    return passed == 1 == sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree))


def _with_operators(modules: dict[str, dict[str, list]]) -> dict[str, dict[str, list]]:
    """The record of a module lacks functions that another module defines. MXNet shows those of gen_op and gen__internal
    in its other modules, nnabla those of function_bases and solver."""
    for api in ("mxnet.ndarray", "mxnet.symbol"):
        for source, places in (("gen_op", (api, f"{api}.op")), ("gen__internal", (f"{api}._internal",))):
            for place in places if api in modules else ():
                modules[place] = {**modules[f"{api}.{source}"], **modules.get(place, {})}
    for place, source in (("nnabla.functions", "nnabla.function_bases"), ("nnabla.solvers", "nnabla.solver")):
        if place in modules:
            shown = {name: ["same", f"{source}.{name}"] for name in modules[source]}
            modules[place] = {**shown, **modules[place]}
    return modules


class Builder:
    """Makes the database of one frontend, with the frontends installed."""

    def __init__(self, frontend: str) -> None:
        self.frontend = frontend
        self.recorded = _with_operators(recorded(frontend)["modules"])
        self.modules: dict[str, dict[str, list]] = {}
        self.members: dict[str, dict[str, list]] = {}
        self.bases: dict[str, list[str]] = {}
        self.classes: dict[type, str] = {}

    def build(self) -> dict:
        for name in sorted(self.recorded, key=lambda n: (n.count("."), n)):
            self._module(name)
        for name, names in private.read().items():
            if name.partition(".")[0] in FRONTENDS[self.frontend]:
                self._outside(name, names)
        for name in _NOT_RECORDED[self.frontend]:
            module = importlib.import_module(name)
            public = (key for key in dir(module) if not key.startswith("_") and key != "annotations")
            self.modules[name] = {key: ["x"] for key in public}
        for cls, name in self.classes.items():
            found = [self.classes[base] for base in cls.__mro__[1:] if base in self.classes]
            if found:
                self.bases[name] = found
        data = {
            "schema": database.SCHEMA,
            "modules": self.modules,
            "members": {name: found for name, found in self.members.items() if found},
            "bases": self.bases,
        }
        return data

    def _module(self, name: str) -> None:
        module = _imported(name)
        if module is None and "." in name and name.rpartition(".")[0] not in self.modules:
            return
        out = self.modules[name] = {}
        for key, entry in self.recorded[name].items():
            value, there = self._value(module, key)
            if not there and name.endswith("._internal"):
                continue  # operators that only the original's own gradients and kernels use
            if entry[0] == "module":
                target = entry[1] if entry[1] in self.recorded else f"{name}.{key}"
                if there and not _imported(target):  # mxnet.ndarray.numpy is mxnet.numpy here
                    target = value.__name__
                out[key] = ["m" if there or _imported(target) else "M", target]
            elif entry[0] == "same" and there and self._found(entry[1]):
                out[key] = ["a", entry[1]]
            else:
                if entry[0] == "same":
                    at, _, last = entry[1].rpartition(".")
                    entry = self.recorded[at][last]
                out[key] = self._entry(f"{name}.{key}", entry, value, there)
        parent, _, last = name.rpartition(".")
        shown = self.modules.get(parent, {}).get(last, ["m", name])
        if shown[0] == "m" and shown[1] != name and module is None:
            del self.modules[name]
        elif module is None and parent in self.modules:
            self.modules[parent].setdefault(last, ["M", name])

    def _found(self, path: str) -> bool:
        """Whether what a name refers to is at its own place here, too."""
        at, _, last = path.rpartition(".")
        return self._value(_imported(at), last)[1]

    @staticmethod
    def _value(module: types.ModuleType | None, key: str) -> tuple[object, bool]:
        if module is None:
            return None, False
        try:
            return getattr(module, key), True
        except Exception:
            return None, False

    def _entry(self, path: str, entry: list, value: object, there: bool) -> list:
        letter = _LETTERS[entry[0]]
        if not there:
            if letter == "c":
                self.members[path] = {name: [_LETTERS[member[0]].upper()] for name, member in entry[2].items()}
            return [letter.upper(), *([call(entry[1], None, {})] if letter in "cf" else [])]
        if letter in "cf":
            out = [letter, call(entry[1], *further_keywords(value, parameters(value)))]
            if isinstance(value, type):
                out[0] = "c"
                self.classes.setdefault(value, path)
                self._members(value, path, entry[2] if letter == "c" else {})
            return out
        return [letter]

    def _members(self, cls: type, path: str, theirs: dict[str, list]) -> None:
        out = self.members[path] = {}
        for name, entry in theirs.items():
            if name.startswith("__") and name not in ("__call__",):
                continue
            letter = _LETTERS[entry[0]]
            try:
                value = getattr(cls, name)
            except AttributeError:
                on_instances = _on_instance(cls, name)
                if entry[0] != "function":
                    row = table.row_of(f"{path}.{name}")
                    on_instances |= any(name in _assigned(owner) for owner in cls.__mro__)
                    on_instances |= row is not None and "attribute of instances" in row.reason
                out[name] = [letter if on_instances else letter.upper(), *([None] if letter in "cf" else [])]
                continue
            if value is None and entry[0] != "value":
                out[name] = [letter.upper()]
            elif letter == "f":
                out[name] = ["f", self._method(cls, name, entry[1], value)]
            elif letter == "p":
                out[name] = _property(cls, name)
            else:
                out[name] = [letter, *([None] if letter == "c" else [])]
        own = [owner for owner in cls.__mro__[:-1] if owner.__module__.partition(".")[0] in FRONTENDS[self.frontend]]
        for owner in own:
            for name in vars(owner):
                if name not in out and not name.startswith("_"):
                    value = getattr(cls, name, None)
                    method = callable(value) and not isinstance(value, type)
                    out[name] = ["f", self._method(cls, name, None, value)] if method else _property(cls, name)
            for name in _assigned(owner):
                out.setdefault(name, ["p"])

    @staticmethod
    def _method(cls: type, name: str, theirs: list | None, value: object) -> list | None:
        ours = parameters(value)
        bound = isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod))
        if theirs and theirs[0][0] in ("self", "cls"):
            theirs = theirs[1:]
        if ours and ours[0][1] in "pa" and not bound:
            ours = ours[1:]
        return call(theirs, *further_keywords(value, ours))

    def _outside(self, name: str, names: list[str]) -> None:
        """Names outside the API that both have. Those of a module that is itself outside the API are taken as ours."""
        module = importlib.import_module(name)
        out = self.modules.setdefault(name, {})
        for key in names:
            value = getattr(module, key, None)
            if isinstance(value, types.ModuleType) and value.__name__.partition(".")[0] in FRONTENDS[self.frontend]:
                out.setdefault(key, ["m", value.__name__])
                if value.__name__ not in self.modules:
                    self.modules[value.__name__] = {n: ["x"] for n in sorted(dir(value)) if not n.startswith("__")}
            else:
                out.setdefault(key, ["x"])


def _imported(name: str) -> types.ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        if not str(e.name).startswith(tuple(table.FRONTENDS)):
            raise  # a package that the module needs, for which there is no stand-in
        return None


@functools.cache
def _classes(path: str) -> dict[str, frozenset[str]]:
    """The classes of a file: the names that the methods of each assign to `self`."""
    found: dict[str, frozenset[str]] = {}

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ClassDef):
                name = f"{prefix}{child.name}"
                stores = (n for n in ast.walk(child) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
                own = (s.attr for s in stores if isinstance(s.value, ast.Name) and s.value.id == "self")
                found[name] = found.get(name, frozenset()) | {attribute for attribute in own if attribute[0] != "_"}
                visit(child, f"{name}.")
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                visit(child, f"{prefix}{child.name}.<locals>.")
            else:
                visit(child, prefix)

    visit(ast.parse(pathlib.Path(path).read_text(encoding="utf-8")), "")
    return found


def _property(cls: type, name: str) -> list:
    """The entry of a property or an attribute of instances."""
    value = inspect.getattr_static(cls, name, None)
    return ["p", "r"] if isinstance(value, property) and value.fset is None else ["p"]


def _assigned(cls: type) -> frozenset[str]:
    """The names that methods of the class assign to `self`."""
    try:
        path = inspect.getsourcefile(cls)
    except TypeError:
        return frozenset()
    return _classes(path).get(cls.__qualname__, frozenset()) if path else frozenset()


def _operators(frontend: str, data: dict) -> dict[str, int]:
    """The operators that the original's files of networks may contain: 1 for those that we can read."""
    if frontend == "nnabla":
        names = data["modules"]["nnabla.function"]
        return {name: int(entry[0] == "f") for name, entry in names.items() if entry[0] in "fF"}
    if frontend != "mxnet":
        return {}
    from compatgrad.mxnet.symbol import _exists
    from compatgrad.mxnet.symbol._facts import CONTROL, FUSED

    modules = recorded(frontend)["modules"]
    names = {*modules["mxnet.symbol.gen_op"], *modules["mxnet.symbol.gen__internal"]}
    for prefix in ("contrib", "linalg", "image"):
        names |= {f"_{prefix}_{name}" for name in modules[f"mxnet.symbol.gen_{prefix}"]}
    read = {name: _exists(name) or name in (*CONTROL, *FUSED) for name in names if "_backward" not in name}
    return {name: int(there) for name, there in sorted(read.items())}


def build(frontends: list[str]) -> dict[str, dict]:
    """The databases, made in a process of their own: frontend -> database."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-m", "tests.census.names", "--print", *frontends]
    done = subprocess.run(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def _here(frontends: list[str]) -> dict[str, dict]:
    warnings.simplefilter("ignore")
    compatgrad.install()
    sys.meta_path.append(StandIns())
    with contextlib.redirect_stdout(io.StringIO()):
        built = {frontend: Builder(frontend).build() for frontend in frontends}
        for frontend, data in built.items():
            data["python"] = f"{sys.version_info[0]}.{sys.version_info[1]}"
            data["operators"] = _operators(frontend, data)
            data["deviations"], data["differs"] = deviations.of(frontend, data)
    return built


def since(before: dict | None, now: dict, version: str) -> dict[str, str]:
    """The versions of compatgrad in which names came that its first version lacks.

    Args:
        before: the database that `now` replaces, None if there is none.
        version: the version of `now`.
    """
    found = dict(before.get("since", {})) if before else {}
    if before and version != database.FIRST:
        known = _present(before)
        found |= {name: version for name in _present(now) if name not in known}
    return found


def _present(data: dict) -> set[str]:
    places = {**data["modules"], **data["members"]}
    return {f"{at}.{name}" for at, names in places.items() for name, entry in names.items() if not entry[0].isupper()}


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--print"]:
        sys.stdout.write(json.dumps(_here(arguments[1:])))
        return 0
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)
    stale = []
    for frontend, data in build(list(FRONTENDS)).items():
        path = database.path_of(frontend)
        before = json.loads(gzip.decompress(path.read_bytes())) if path.exists() else None
        data["since"] = since(before, data, compatgrad.__version__)
        text = json.dumps(data, sort_keys=True, separators=(",", ":")).encode()
        if path.exists() and gzip.decompress(path.read_bytes()) == text:
            continue
        stale.append(frontend)
        if not arguments:
            path.write_bytes(gzip.compress(text, 9, mtime=0))
            print(f"{path.name}: {path.stat().st_size:,} bytes")
    if arguments and stale:
        print(f"out of date: {', '.join(stale)}; `make names` writes them")
    return int(bool(arguments and stale))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
