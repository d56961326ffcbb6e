"""What expressions of a program mean, as far as a scan knows, and the scopes that hold names."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from pathlib import Path

from compatgrad.names import database


@dataclass(slots=True, frozen=True)
class Named:
    """The object of a dotted name: of a frontend (`chainer.functions.relu`), or of another package (`numpy.float`)."""

    name: str


@dataclass(slots=True, frozen=True)
class Instance:
    """An instance of a frontend's class."""

    cls: str
    guessed: bool = False


@dataclass(slots=True)
class UserClass:
    """A class of the program. `bases` are the frontends' classes that it derives from."""

    name: str
    bases: list[str] = field(default_factory=list)
    parents: list[UserClass] = field(default_factory=list)
    unknown_base: bool = False
    methods: set[str] = field(default_factory=set)
    attributes: dict[str, Value] = field(default_factory=dict)  # values, of those that are known
    assigned: set[str] = field(default_factory=set)

    def has(self, name: str) -> bool:
        """Whether the program itself defines the attribute."""
        return name in self.methods or name in self.assigned or any(parent.has(name) for parent in self.parents)

    def value(self, name: str) -> Value:
        """What the attribute of an instance is."""
        if name in self.attributes:
            return self.attributes[name]
        return next((value for parent in self.parents if (value := parent.value(name)) is not None), None)

    def certain_bases(self) -> list[str]:
        """The class that `super()` means, if it is certain that it is a frontend's."""
        return self.bases if len(self.bases) == 1 and not self.parents and not self.unknown_base else []

    def frontend_bases(self) -> list[str]:
        """The frontends' classes, those of the program's own bases included."""
        return [*self.bases, *(base for parent in self.parents for base in parent.frontend_bases())]


@dataclass(slots=True, frozen=True)
class Own:
    """The object `self`, or another instance of a class of the program; `up` is what `super()` gives."""

    cls: UserClass
    up: bool = False


@dataclass(slots=True, frozen=True)
class OwnModule:
    """A module of the program: its file."""

    path: Path


Value = Named | Instance | UserClass | Own | OwnModule | None

# functions whose results are instances, and those whose results have the class for all functions of a module
_RESULTS = {
    "chainermn.create_communicator": "chainermn.CommunicatorBase",
    "mxnet.kvstore.create": "mxnet.kvstore.KVStore",
    "mxnet.symbol.Variable": "mxnet.symbol.Symbol",
    "mxnet.symbol.var": "mxnet.symbol.Symbol",
    "mxnet.symbol.Group": "mxnet.symbol.Symbol",
    "mxnet.symbol.load": "mxnet.symbol.Symbol",
    "mxnet.symbol.load_json": "mxnet.symbol.Symbol",
    "mxnet.cpu": "mxnet.Context",
    "mxnet.gpu": "mxnet.Context",
    "nnabla.ext_utils.get_extension_context": "nnabla.Context",
}
_MODULES = (
    ("chainer.functions.", "chainer.Variable"),
    ("nnabla.functions.", "nnabla.Variable"),
    ("nnabla.function_bases.", "nnabla.Variable"),
    ("nnabla.parametric_functions.", "nnabla.Variable"),
    ("mxnet.ndarray.", "mxnet.ndarray.NDArray"),
    ("mxnet.symbol.", "mxnet.symbol.Symbol"),
    ("mxnet.numpy.", "mxnet.numpy.ndarray"),
    ("mxnet.gluon.model_zoo.vision.", "mxnet.gluon.HybridBlock"),
)
# the classes of values: operators and most methods give an instance of the same class
VARIABLES = (
    "chainer.Variable",
    "nnabla.Variable",
    "mxnet.ndarray.NDArray",
    "mxnet.symbol.Symbol",
    "mxnet.numpy.ndarray",
)
_FUNCTIONS_OF = {
    "chainer.Variable": "chainer.functions",
    "nnabla.Variable": "nnabla.functions",
    "mxnet.ndarray.NDArray": "mxnet.ndarray",
    "mxnet.symbol.Symbol": "mxnet.symbol",
    "mxnet.numpy.ndarray": "mxnet.numpy",
}
_NO_VALUES = ("load", "save", "waitall", "create", "split", "SliceChannel", "topk", "get", "seed")


def result(value: Value) -> Value:
    """What a call of the value gives."""
    if isinstance(value, UserClass):
        return Own(value)
    if isinstance(value, Own):
        is_link = any("chainer.Link" in database.bases(base) for base in value.cls.frontend_bases())
        return Instance("chainer.Variable", True) if is_link and not value.up else None
    if isinstance(value, Instance):
        return Instance("chainer.Variable", True) if "chainer.Link" in database.bases(value.cls) else None
    if not isinstance(value, Named):
        return None
    found = database.find(value.name)
    if found is None:
        return None
    if found.entry[0] in "cC":
        return Instance(found.name)
    if cls := _RESULTS.get(found.name):
        return Instance(cls)
    if found.entry[0] in "fx" and found.name.rpartition(".")[2] not in _NO_VALUES:
        for module, cls in _MODULES:
            if found.name.startswith(module):
                return Instance(cls, True)
    return None


def method_result(cls: str, method: str) -> Value:
    """What a method of an instance of the class gives: `x.reshape(...)` is a Variable if x is one."""
    for base in database.bases(cls):
        functions = _FUNCTIONS_OF.get(base)
        if functions and method in database.names_in(functions) and method not in _NO_VALUES:
            return Instance(base, True)
    return None


class Scope:
    """The names of a module, function or class."""

    __slots__ = ("is_class", "names", "parent")

    def __init__(self, parent: Scope | None = None, is_class: bool = False) -> None:
        self.names: dict[str, Value] = {}
        self.parent = parent
        self.is_class = is_class

    def get(self, name: str) -> Value:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
            while scope is not None and scope.is_class:
                scope = scope.parent
        return None

    def set(self, name: str, value: Value, conditional: bool) -> None:
        """Binds a name. A binding that may not happen does not replace one that means something by one that does not:
        after `try: import chainermn` and `except ImportError: chainermn = None`, the name is the module."""
        if value is None and conditional and isinstance(self.names.get(name), (Named, UserClass)):
            return
        self.names[name] = value


def self_name(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str | None:
    """The name of a method's first argument; None for static methods and class methods."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod"):
            return None
    arguments = [*node.args.posonlyargs, *node.args.args]
    return arguments[0].arg if arguments else None
