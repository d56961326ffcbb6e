"""What the docstrings and signatures of public names lack.

`python -m tests.docs.public_names compatgrad.nnabla.functions ...` prints it for modules and all below them, a line for
each name.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any

import numpy as np
import torch

SECTION = re.compile(r"^(Args|Returns|Yields|Raises|Example|Source|Attributes|Note):", re.M)

# Names that examples of a frontend use without an import, as its own documentation does: modules of compatgrad.
CHAINER = {"chainer": "chainer", "F": "chainer.functions", "L": "chainer.links"}
NNABLA = {
    "nn": "nnabla",
    "F": "nnabla.functions",
    "PF": "nnabla.parametric_functions",
    "S": "nnabla.solvers",
    "I": "nnabla.initializer",
}
MXNET = {"mx": "mxnet", "nd": "mxnet.ndarray", "gluon": "mxnet.gluon", "autograd": "mxnet.autograd"}
SHORT = {
    "chainer": CHAINER,
    "chainermn": {**CHAINER, "chainermn": "chainermn"},
    "chainerx": {"chainerx": "chainerx"},
    "onnx_chainer": {**CHAINER, "onnx_chainer": "onnx_chainer"},
    "nnabla": NNABLA,
    "nnabla_ext": NNABLA,
    "mxnet": MXNET,
    "horovod": {**MXNET, "hvd": "horovod.mxnet"},
}


def names_of_examples(frontend: str) -> dict[str, Any]:
    """What the examples of a frontend, or of another package, need not import."""
    short = SHORT.get(frontend, {})
    return {"np": np, "torch": torch, **{n: importlib.import_module(f"compatgrad.{m}") for n, m in short.items()}}


def modules(name: str) -> Iterator[Any]:
    """The module `name` and all public ones below it."""
    try:
        module = importlib.import_module(name)
    except ImportError as e:
        missing = e if isinstance(e, ModuleNotFoundError) else e.__cause__
        if not isinstance(missing, ModuleNotFoundError) or str(missing.name).startswith("compatgrad"):
            raise
        return  # it needs an optional package that is not installed
    yield module
    for _, child, _ in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if not child.startswith("_"):
            yield from modules(f"{name}.{child}")


def public(name: str) -> dict[str, Any]:
    """The classes and functions of compatgrad that public modules below `name` show, each by its shortest name.

    A module with `__all__` shows what it defines and what that names, not what else it imports.
    """
    found: dict[int, tuple[str, Any]] = {}
    for module in modules(name):
        shown = getattr(module, "__all__", None)
        for key, value in list(vars(module).items()):
            if shown is not None and key not in shown and getattr(value, "__module__", "") != module.__name__:
                continue
            if key.startswith("_") or inspect.ismodule(value) or not callable(value):
                continue
            if not str(getattr(value, "__module__", "")).startswith("compatgrad"):
                continue
            full = f"{module.__name__}.{key}"
            if id(value) not in found or len(full) < len(found[id(value)][0]):
                found[id(value)] = full, value
    return dict(sorted(found.values(), key=lambda pair: pair[0]))


def signature(value: Any) -> inspect.Signature | None:
    """The signature of a function, or of a class's constructor, without `self`; None where there is none to see.

    An enumeration, a protocol and a class derived from one of Python's, such as a tuple, have Python's constructors.
    """
    if inspect.isclass(value):
        home = next(c for c in value.__mro__ if "__init__" in vars(c) or "__new__" in vars(c))
        of_python = home.__module__.split(".")[0] in sys.stdlib_module_names and home is not object
        if of_python or issubclass(value, Enum) or getattr(value, "_is_protocol", False):
            return None
    try:
        return inspect.signature(value)
    except (ValueError, TypeError):
        return None


def sections(text: str) -> dict[str, str]:
    """The sections of a docstring by their names."""
    parts = SECTION.split(text)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def lacks(value: Any) -> list[str]:
    """What the docstring and the signature of a public function or class lack."""
    own = value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)
    if not own:
        return ["docstring"]
    text = inspect.cleandoc(own)
    found, missing = sections(text), []
    seen = signature(value)
    parameters = list(seen.parameters.values()) if seen else []
    for p in parameters:
        if not re.search(rf"^\s+(\w+, )*\*{{0,2}}{p.name}\b", found.get("Args", ""), re.M):
            missing.append(f"Args: {p.name}")
        if p.annotation is p.empty:
            missing.append(f"type of {p.name}")
    if inspect.isclass(value):
        missing += [f"docstring of {name}" for name in members(value) if not inspect.getdoc(getattr(value, name))]
        missing += [
            f"types of {name}" for name, f in own_methods(value) if any(p is inspect.Parameter.empty for p in types(f))
        ]
    else:
        returns = seen.return_annotation if seen else None
        if seen and returns is inspect.Signature.empty:
            missing.append("type of the result")
        if returns not in (None, "None") and not {"Returns", "Yields"} & set(found):
            missing.append("Returns")
        if parameters and "Raises" not in found:
            missing.append("Raises")
    if ">>>" not in text and "Example" not in found:
        missing.append("Example")
    if "Source" not in found:
        missing.append("Source")
    return missing


def members(cls: type) -> list[str]:
    """The public methods and properties that the class itself defines."""
    return [
        name
        for name, value in vars(cls).items()
        if not name.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, property))
        and not type(value).__module__.startswith("compatgrad")  # a descriptor of ours is an attribute
    ]


def own_methods(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods that the class itself defines in Python."""
    for name, value in vars(cls).items():
        f = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if not name.startswith("_") and inspect.isfunction(f):
            yield name, f


def types(f: Any) -> Iterator[Any]:
    """The annotations of a method's parameters, without `self`, and of its result."""
    seen = inspect.signature(f)
    for i, p in enumerate(seen.parameters.values()):
        if i or p.name not in ("self", "cls"):
            yield p.annotation
    yield seen.return_annotation


if __name__ == "__main__":
    for start in sys.argv[1:]:
        names = public(start)
        without = {name: missing for name, value in names.items() if (missing := lacks(value))}
        for name, missing in without.items():
            print(f"{name}: {', '.join(missing)}")
        print(f"{start}: {len(names)} names, {len(without)} lack something", file=sys.stderr)
