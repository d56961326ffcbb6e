"""Compares the frontends' public names with those recorded from the originals.

    python -m tests.census.compare FRONTEND...

prints a JSON object: frontend -> differences. A difference is one line, the name or parameter and how it differs:

    chainer.functions.fft: absent
    chainer.functions.fft(real): default 0, here None
"""

from __future__ import annotations

import importlib
import inspect
import json
import pathlib
import re
import sys
import types
import warnings

from tests.census.walk import StandIns, default_text, parameters
from tests.golden import files

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"
FRONTENDS = {
    "chainer": ["chainer", "chainermn", "onnx_chainer"],
    "nnabla": ["nnabla", "nnabla_ext"],
    "mxnet": ["mxnet"],
}
# methods called by the library, never with keywords, so the names of their arguments may differ
_CALLED_BY_THE_LIBRARY = ("forward", "forward_cpu", "forward_gpu", "backward", "hybrid_forward")
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def recorded(frontend: str) -> dict:
    """The recorded names of `frontend`'s original."""
    return files.read(GOLDEN / f"census_{frontend}.json.gz")


def parameter_differences(theirs: list | None, ours: list | None) -> list[tuple[str, str]]:
    """Calls that `theirs` accepts and `ours` refuses or understands differently: [(parameter, difference)]."""
    if theirs is None or (len(theirs) == 2 and all(p[1] in "vw" for p in theirs)):
        return []  # parameters are unknown, or only *args and **kwargs
    if ours is None:
        return [("...", "parameters unknown here")]
    mine = {p[0]: (i, p) for i, p in enumerate(ours)}
    kinds = {p[1]: p[0] for p in ours}
    if "v" in kinds and "w" in kinds and all(p[1] in "vw" for p in ours) and not all(p[1] in "vw" for p in theirs):
        return [("...", "parameters not named here")]
    # MXNet's generated functions give required inputs the default None
    generated = {p[0] for p in theirs[-3:]} in ({"out", "name", "kwargs"}, {"out", "name", "attr"})
    out = []
    for i, (name, kind, *default) in enumerate(theirs):
        if kind in "vw":
            if kind not in kinds:
                out.append((name, f"no further arguments by {'place' if kind == 'v' else 'keyword'}"))
            continue
        if kind == "p" and i < len(ours) and ours[i][1] in "pa":
            found = i, ours[i]
        elif name in mine and mine[name][1][1] not in "vw":
            found = mine[name]
        else:
            out.append((name, "only among further keywords" if "w" in kinds else "absent"))
            continue
        j, (_, own_kind, *own_default) = found
        if kind in "pa" and own_kind == "k":
            out.append((name, "by keyword only here"))
        elif kind in "pa" and i != j:
            out.append((name, f"at place {i}, here {j}"))
        elif kind in "ak" and own_kind == "p":
            out.append((name, "by place only here"))
        if default and not own_default and not (generated and default[0] == "None"):
            out.append((name, f"default {default[0]}, here required"))
        elif own_default and not default:
            out.append((name, f"required, here default {own_default[0]}"))
        elif default and own_default and not _same_text(default[0], own_default[0]):
            out.append((name, f"default {default[0]}, here {own_default[0]}"))
    names = {p[0] for p in theirs}
    places = sum(p[1] == "p" for p in theirs)
    for name, kind, *default in ours[places:]:
        if name not in names and kind in "pak" and not default:
            out.append((name, "required here, not there"))
    return out


def _same_text(theirs: str, ours: str) -> bool:
    """Whether two defaults mean the same."""
    # `_Null` means the operator's own default; None may stand for an object that the original creates at import
    if theirs == ours or theirs == "_Null" or (theirs.startswith("<") and ours == "None"):
        return True
    module = re.compile(r"<module '([\w.]+)' from .*>")
    if module.fullmatch(theirs) and module.sub(r"\1", theirs) == module.sub(r"\1", ours):
        return True  # the same module in another installation
    if theirs[:1] in "[{" and "".join(ours.split(",)")).strip("()[]{}") == theirs.strip("[]{}"):
        return True  # a tuple in place of a list or dict, which is mutable
    try:
        return float(theirs) == float(ours) and ("." in theirs) == ("." in ours)
    except ValueError:
        return False


class Comparison:
    """Looks up every recorded name in the installed modules, and collects the differences in `lines`."""

    def __init__(self, census: dict) -> None:
        self.modules = census["modules"]
        self.lines: list[str] = []
        self.absent: set[str] = set()

    def run(self) -> list[str]:
        for name in sorted(self.modules, key=lambda n: (n.count("."), n)):
            if name.rpartition(".")[0] in self.absent:
                self.absent.add(name)
                continue
            try:
                module = importlib.import_module(name)
            except Exception as e:
                self.absent.add(name)
                missing = isinstance(e, ModuleNotFoundError) and name.startswith(str(e.name))
                what = "absent" if missing else f"cannot be imported: {type(e).__name__}: {e}"
                self.lines.append(f"{name}: {what}")
                continue
            for key, entry in self.modules[name].items():
                self._name(module, f"{name}.{key}", key, entry)
        return self.lines

    def _name(self, module: types.ModuleType, path: str, key: str, entry: list) -> None:
        if entry[0] == "module" and (path in self.modules or path in self.absent):
            return  # modules are compared, or reported as absent, separately
        try:
            value = getattr(module, key)
        except Exception:
            self.lines.append(f"{path}: absent")
            return
        if entry[0] == "same":
            if self._resolve(entry[1]) is value:
                return
            module_name, _, name = entry[1].rpartition(".")
            entry = self.modules[module_name][name]
        self._entry(value, path, entry)

    def _resolve(self, path: str) -> object:
        module, _, name = path.rpartition(".")
        return getattr(sys.modules.get(module), name, None)

    def _entry(self, value: object, path: str, entry: list) -> None:
        kind = entry[0]
        own = "module" if isinstance(value, types.ModuleType) else "class" if isinstance(value, type) else None
        own = own or ("function" if callable(value) else "value")
        if kind != own:
            self.lines.append(f"{path}: a {kind}, here a {own}")
            return
        if kind == "value":
            self._value(value, path, entry)
        elif kind in ("function", "class"):
            self._parameters(path, entry[1], parameters(value))
        if kind == "class":
            for name, member in entry[2].items():
                self._member(value, f"{path}.{name}", name, member)

    def _value(self, value: object, path: str, entry: list) -> None:
        if entry[1] is not None and "version" not in path.lower():
            text = default_text(value) if isinstance(value, _SIMPLE) else f"a {type(value).__name__}"
            if not _same_text(entry[1], text):
                self.lines.append(f"{path}: {entry[1]}, here {text}")

    def _parameters(self, path: str, theirs: list | None, ours: list | None) -> None:
        self.lines += [f"{path}({name}): {what}" for name, what in parameter_differences(theirs, ours)]

    def _member(self, cls: type, path: str, name: str, entry: list) -> None:
        try:
            value = getattr(cls, name)
        except AttributeError:
            if not (_on_instance(cls, name) or entry[0] != "function" and _set_on_instances(cls, name)):
                self.lines.append(f"{path}: absent")
            return
        if value is None and entry[0] != "value":
            self.lines.append(f"{path}: absent")
            return
        if entry[0] == "function":
            if not callable(value):
                self.lines.append(f"{path}: a function, here a property or value")
            else:
                self._called(cls, path, name, entry[1], parameters(value))
        elif entry[0] == "property" and callable(value) and not isinstance(value, type):
            self.lines.append(f"{path}: a property, here a function")
        elif entry[0] == "value" and isinstance(value, _SIMPLE):
            self._value(value, path, entry)

    def _called(self, cls: type, path: str, name: str, theirs: list | None, ours: list | None) -> None:
        if theirs and theirs[0][0] == "self":
            theirs = theirs[1:]
            bound = isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod))
            if ours and ours[0][1] in "pa" and not bound:
                ours = ours[1:]
        if name in _CALLED_BY_THE_LIBRARY and ours is not None:
            return
        self._parameters(path, theirs, ours)


def _on_instance(cls: type, name: str) -> bool:
    """Whether instances find the name by `__getattr__` (only tried for MXNet's Symbol)."""
    if f"{cls.__module__}.{cls.__name__}" != "mxnet.symbol.symbol.Symbol":
        return False
    try:
        return callable(getattr(sys.modules["mxnet.symbol"].var("x"), name))
    except AttributeError:
        return False
    except Exception as e:
        return type(e).__name__ == "NotImplementedForSymbol"  # MXNet's method raises it, too


def _set_on_instances(cls: type, name: str) -> bool:
    """Whether a method of `cls` contains `self.NAME = ...`."""
    for owner in cls.__mro__[:-1]:
        try:
            source = inspect.getsource(owner)
        except (OSError, TypeError):
            continue
        if re.search(rf"\bself\.{name}\b[^=\n]*=[^=]", source):
            return True
    return False


def main(frontends: list[str]) -> None:
    import compatgrad

    warnings.simplefilter("ignore")
    compatgrad.install()
    sys.meta_path.append(StandIns())
    json.dump({name: Comparison(recorded(name)).run() for name in frontends}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])
