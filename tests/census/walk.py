"""Lists the public names below some modules, with parameters, defaults and members of classes.

    python tests/census/walk.py OUT ROOT...

Runs in an original's interpreter; `record.py` calls it. OUT becomes a JSON file:

    {"modules": {MODULE: {NAME: ENTRY}}, "broken": {MODULE: why it cannot be imported}}

An ENTRY is a list whose first item is its kind:

    ["module", its name]              ["value", the repr of a constant or null, the name of its type]
    ["function", PARAMETERS]          ["class", PARAMETERS, {MEMBER: ENTRY}]
    ["property"]                      ["same", the full name under which the same object was listed before]

PARAMETERS is null if the interpreter does not know them, else a list of [name, kind, default]: kind is one letter of
KINDS, and default is missing for required parameters.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import os
import pkgutil
import re
import sys
import types
import warnings

KINDS = {0: "p", 1: "a", 2: "v", 3: "k", 4: "w"}  # positional only, any, *args, keyword only, **kwargs
_SIMPLE = (bool, int, float, complex, str, bytes, type(None))
_NO_MODULES = ("tests", "test", "setup", "libmxnet", "libnnabla")
_NO_MEMBER = set(
    """
    __module__ __dict__ __doc__ __weakref__ __slots__ __hash__ __qualname__ __annotations__ __init__ __new__
    __del__ __repr__ __str__ __getattr__ __setattr__ __getattribute__ __delattr__ __reduce__ __reduce_ex__
    __reduce_cython__ __setstate_cython__ __setstate__ __getstate__ __pyx_vtable__ __abstractmethods__
    __orig_bases__ __parameters__ __init_subclass__ __subclasshook__ __sizeof__ __copy__ __deepcopy__
    __class_getitem__ __firstlineno__ __static_attributes__ __test__ __dir__ __format__ __cinit__ __dealloc__
    __signature__ __instancecheck__ __subclasscheck__ __getnewargs__ __match_args__ __dataclass_fields__
    __dataclass_params__ __text_signature__ __members__
    """.split()
)


def default_text(value: object) -> str:
    """The repr of a default, without parts that differ between processes, such as addresses."""
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    if callable(value) and isinstance(getattr(value, "__name__", None), str):
        return value.__name__
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__name__}>"
    text = re.sub(r" at 0x[0-9a-f]+|(?<=TextIOWrapper) name=.*(?=>)", "", text)
    return re.sub(re.escape(os.path.expanduser("~")), "~", text)[:200]


def _from_docstring(value: object) -> list | None:
    """The parameters from the signature that Cython writes into the first line of a docstring."""
    doc = (getattr(value, "__doc__", None) or "").strip().split("\n")[0]
    name = getattr(value, "__name__", "")
    found = re.match(rf"(?:\w+\.)*{re.escape(name)}(\(.*?\))(?: *->.*)?$", doc) if name else None
    if not found:
        return None
    # removes C types
    inner = re.sub(r"(?<=[(,])(\s*)(?:unsigned |const )?[\w.]+(?:\[[^\]]*\])? (?=\w)", r"\1", found[1])
    try:
        return _from_ast(ast.parse(f"def f{inner}: pass").body[0].args)
    except SyntaxError:
        return None


def _from_ast(a: ast.arguments) -> list:
    plain = [*a.posonlyargs, *a.args]
    none = [None] * (len(plain) - len(a.defaults))
    out = []
    for i, (arg, d) in enumerate(zip(plain, [*none, *a.defaults])):  # noqa: B905
        entry = [arg.arg, "p" if i < len(a.posonlyargs) else "a"]
        out.append(entry if d is None else [*entry, ast.unparse(d)])
    if a.vararg:
        out.append([a.vararg.arg, "v"])
    for arg, d in zip(a.kwonlyargs, a.kw_defaults):  # noqa: B905
        out.append([arg.arg, "k"] if d is None else [arg.arg, "k", ast.unparse(d)])
    if a.kwarg:
        out.append([a.kwarg.arg, "w"])
    return out


def parameters(value: object) -> list | None:
    """The parameters of a callable, None if they are unknown."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError, AttributeError):
        return _from_docstring(value)
    except Exception:
        return None
    out = []
    for p in signature.parameters.values():
        entry = [p.name, KINDS[p.kind]]
        out.append(entry if p.default is p.empty else [*entry, default_text(p.default)])
    return out


class _AnythingType(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __or__(cls, other):
        return cls

    def __getitem__(cls, key):
        return cls


class _Anything(metaclass=_AnythingType):
    """Stands for any object of a missing package."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, function):  # as a decorator
        return function


class StandIns:
    """Provides stand-ins for packages that some of the originals' modules import, so that these can be walked."""

    names = ("mpi4py", "onnx", "mlflow", "tensorboardX", "pydub", "cv2", "pydicom", "png")

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in self.names:
            return None
        return importlib.util.spec_from_loader(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        module.__getattr__ = self._answer
        return module

    def exec_module(self, module):
        module.__path__ = []
        module.__version__ = "1.10.0"

    @staticmethod
    def _answer(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything


class Walk:
    """Walks the modules `roots`, and fills `modules` and `broken`."""

    def __init__(self, roots: list[str]) -> None:
        self.roots = tuple(roots)
        self.modules: dict[str, dict[str, list]] = {}
        self.broken: dict[str, str] = {}
        self.met: dict[int, tuple[str, object]] = {}

    def inside(self, name: str | None) -> bool:
        return isinstance(name, str) and name.split(".")[0] in self.roots

    def run(self) -> dict:
        names = []
        for root in self.roots:
            self._find(root, names)
        for name in sorted(names, key=lambda n: (n.count("."), n)):
            self.modules[name] = self._module(name)
        return {"modules": self.modules, "broken": self.broken}

    def _find(self, name: str, names: list[str]) -> None:
        try:
            module = importlib.import_module(name)
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            self.broken[name] = f"{type(e).__name__}: {e}"[:200]
            return
        names.append(name)
        for child in pkgutil.iter_modules(getattr(module, "__path__", [])):
            if not child.name.startswith("_") and child.name not in _NO_MODULES:
                self._find(f"{name}.{child.name}", names)

    def _module(self, name: str) -> dict[str, list]:
        module = sys.modules[name]
        package = hasattr(module, "__path__")
        listed = getattr(module, "__all__", None)
        out = {}
        for key in sorted(set(listed or []) | set(dir(module))):
            if key.startswith("_") and key not in (listed or []):
                continue
            try:
                value = getattr(module, key)
            except BaseException as e:
                self.broken[f"{name}.{key}"] = f"{type(e).__name__}: {e}"[:200]
                continue
            if self._belongs(value, name, package or key in (listed or [])):
                entry = self._entry(value, f"{name}.{key}")
                if entry is not None:
                    out[key] = entry
        return out

    def _belongs(self, value: object, module: str, collects: bool) -> bool:
        if isinstance(value, types.ModuleType):
            # modules that a module imports are not its own names, unless it only collects names
            return collects and self.inside(value.__name__)
        if type(value).__module__ == "__future__":
            return False
        own = getattr(value, "__module__", None)
        if isinstance(value, type) or callable(value):
            if isinstance(own, str) and not self.inside(own):
                return False
            return collects or own in (module, None)
        return True

    def _entry(self, value: object, path: str) -> list | None:
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__]
        before = self.met.get(id(value))
        if before is not None and before[1] is value and not isinstance(value, _SIMPLE):
            return ["same", before[0]]
        if not isinstance(value, _SIMPLE):
            self.met[id(value)] = (path, value)
        if isinstance(value, type):
            return ["class", parameters(value), self._members(value)]
        if callable(value):
            return ["function", parameters(value)]
        return ["value", default_text(value) if isinstance(value, _SIMPLE) else None, type(value).__name__]

    def _members(self, cls: type) -> dict[str, list]:
        out = {}
        for owner in cls.__mro__:
            private = any(part.startswith("_") for part in [*owner.__module__.split("."), owner.__name__])
            if owner is not cls and not (self.inside(owner.__module__) and private):
                continue
            for name, raw in list(vars(owner).items()):
                special = name.startswith("__") and name.endswith("__")
                if name in out or name in _NO_MEMBER or (name.startswith("_") and not special):
                    continue
                out[name] = self._member(cls, name, raw, special)
        return dict(sorted(out.items()))

    def _member(self, cls: type, name: str, raw: object, special: bool) -> list:
        if isinstance(raw, (property, types.GetSetDescriptorType, types.MemberDescriptorType)):
            return ["property"]
        try:
            value = getattr(cls, name)
        except BaseException:
            return ["property"]
        if isinstance(value, type):
            return ["class", None, {}]
        if callable(value):
            return ["function", None if special and name != "__call__" else parameters(value)]
        return ["value", default_text(value) if isinstance(value, _SIMPLE) else None, type(value).__name__]


def main(arguments: list[str]) -> None:
    warnings.simplefilter("ignore")
    sys.meta_path.append(StandIns())
    out, *roots = arguments
    result = Walk(roots).run()
    with open(out, "w") as f:
        json.dump(result, f, separators=(",", ":"), sort_keys=True)


if __name__ == "__main__":
    sys.path.pop(0)
    main(sys.argv[1:])
