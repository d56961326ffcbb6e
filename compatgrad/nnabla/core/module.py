"""`Module`, the base class of objects that contain parameters and other modules."""

from __future__ import annotations

import functools
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

from compatgrad.core import foreign

from .. import parameter
from ..variable import Variable
from . import graph_def

__all__ = ["Module"]


_depth = 0  # the parameter scopes of modules whose methods are running


def _in_scope(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Module, *args: Any, **kwargs: Any) -> Any:
        global _depth
        _depth += 1
        try:
            with parameter.parameter_scope("", self.parameter_scope):
                result = method(self, *args, **kwargs)
        finally:
            _depth -= 1
        if not _depth:
            graph_def.commit(self)
        return result

    return run


def _all_modules(module: Module) -> Iterator[Module]:
    yield module
    for inner in module.submodules.values():
        yield from _all_modules(inner)


class Module:
    """A part of a network with parameters of its own. Subclasses define `call`, and set modules as attributes.

    All methods that subclasses define run in the module's parameter scope. The parameter `W` of the module that is the
    attribute `conv` has the path `@conv/W`. Setting the flag `training` sets it in all submodules.

    Example:
        >>> class Net(nn.Module):
        ...     def call(self, x):
        ...         return F.relu(PF.affine(x, 4))
        >>> net = Net()
        >>> net(nn.Variable((2, 3))).shape, list(net.get_parameters())
        ((2, 4), ['affine/W', 'affine/b'])

    Source: `nnabla.core.module.Module` of nnabla 1.39.0.
    """

    _recursive_attrs = ["training"]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, value in list(vars(cls).items()):
            if isinstance(value, FunctionType):
                setattr(cls, name, _in_scope(value))

    def __repr__(self) -> str:
        return type(self).__name__

    def __len__(self) -> int:
        return len(self.submodules)

    def __bool__(self) -> bool:
        return True

    # Subclasses need not call __init__ of this class: its attributes are made when they are first used.
    @property
    def parameter_scope(self) -> dict[str, Any]:
        """The dictionary of the module's own parameters."""
        return self.__dict__.setdefault("_parameter_scope", OrderedDict())

    @property
    def submodules(self) -> dict[str, Module]:
        """The modules that are attributes of this one, by name."""
        return self.__dict__.setdefault("_submodules", OrderedDict())

    @property
    def training(self) -> bool:
        """A flag for `call`; True until it is set."""
        return self.__dict__.get("training", True)

    @training.setter
    def training(self, flag: bool) -> None:
        self.__dict__["training"] = flag

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("__") and name in self.submodules:
            return self.submodules[name]
        raise AttributeError(f"{type(self).__name__!r} has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Module):
            self.submodules[name] = value
            value.__dict__["_name"] = name
            value.__dict__["_parent"] = self
            return
        object.__setattr__(self, name, value)
        if name in self._recursive_attrs:
            for module in self.submodules.values():
                setattr(module, name, value)

    @property
    def name(self) -> str:
        """The name of the attribute of the parent that contains it, or the class name in snake case."""
        held = self.__dict__.get("_name")
        return held or re.sub("(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()

    @property
    def parent(self) -> Module | None:
        """The module of which it is an attribute, if any."""
        return self.__dict__.get("_parent")

    def is_root(self) -> bool:
        """Whether no module contains it."""
        return self.parent is None

    def get_path_name(self) -> str:
        """The path of names from the outermost module to this one."""
        above = "" if self.parent is None else self.parent.get_path_name() + "/"
        return f"{above}@{self.name}"

    def get_scope_name(self) -> str:
        """The path of names of its first submodule, of that one's first submodule, and so on; "" where it has none."""
        for name, module in self.submodules.items():
            return f"@{name}/{module.get_scope_name()}".rstrip("/")
        return ""

    def get_parameters(
        self, recursive: bool = True, grad_only: bool = False, memo: set[Variable] | None = None
    ) -> dict[str, Variable]:
        """A dict of the parameters by path, those of submodules first; a shared parameter occurs once. Without
        `recursive` only its own parameters, with `grad_only` only those that need gradients. Parameters in `memo` are
        left out, and those found are added to it.
        """
        outermost = memo is None
        memo = set() if memo is None else memo
        found: dict[str, Variable] = OrderedDict()
        for name, module in self.submodules.items() if recursive else ():
            for key, param in module.get_parameters(recursive, grad_only, memo).items():
                found[f"@{name}/{key}"] = param
        with parameter.parameter_scope("", self.parameter_scope):
            for key, param in parameter.get_parameters(grad_only=grad_only).items():
                if param not in memo:
                    memo.add(param)
                    found[key] = param
        if outermost:
            for module in _all_modules(self):
                effect = "get_parameters() does not contain: solvers and save_parameters miss them"
                foreign.warn_of(module, "nnabla", found.values(), effect)
        return found

    def set_parameter(self, key: str, param: Variable, raise_if_missing: bool = False) -> None:
        """Registers `param` under the path `key`, in a submodule if the path starts with ``@``. Where there is no such
        submodule nothing happens, or with `raise_if_missing` ValueError is raised.
        """
        if not key.startswith("@"):
            with parameter.parameter_scope("", self.parameter_scope):
                parameter.set_parameter(key, param)
            return
        name, _, rest = key[1:].partition("/")
        if not rest:
            raise ValueError(f"set_parameter: {key!r} names a module; expected a '/' and a parameter after it")
        if name in self.submodules:
            self.submodules[name].set_parameter(rest, param, raise_if_missing)
        elif raise_if_missing:
            raise ValueError(f"set_parameter: {self} has no module {name!r}; raise_if_missing=False ignores it")

    def set_parameters(self, params: Mapping[str, Variable], raise_if_missing: bool = False) -> None:
        """`set_parameter` for each path and Variable of `params`."""
        for key, param in params.items():
            self.set_parameter(key, param, raise_if_missing)

    def update_parameter(self) -> None:
        """Passes parameters that were loaded into this module's scope on to the submodules."""
        self.set_parameters(self.get_parameters())

    def load_parameters(self, path: Any, extension: str = ".h5", raise_if_missing: bool = True) -> None:
        """Loads the parameters of a file, like nnabla.load_parameters."""
        with parameter.parameter_scope("", OrderedDict()):
            parameter.load_parameters(path, extension=extension)
            params = parameter.get_parameters(grad_only=False)
        self.set_parameters(params, raise_if_missing)

    def save_parameters(self, path: Any, extension: str = ".h5") -> None:
        """Writes all parameters to a file, like nnabla.save_parameters."""
        parameter.save_parameters(path, self.get_parameters(), extension)

    def zero_grad(self) -> None:
        """Fills the gradients of all parameters with zeros."""
        for param in self.get_parameters().values():
            param.grad.zero()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Computes the module's result; subclasses define it."""
        raise NotImplementedError(f"{type(self).__name__} defines no call(...)")
