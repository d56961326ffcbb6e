"""Named parameters: a tree of scopes (ordered dictionaries) whose leaves are Variables.

A path such as ``net/conv/W`` names the leaf ``W`` of the scope ``conv`` in the scope ``net``. All names are
taken from the current scope, the root unless inside `parameter_scope`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from types import SimpleNamespace
from typing import IO, Any

import numpy as np

from compatgrad import _C

from .variable import Variable

_Path = str | PathLike | IO[Any]
_Initializer = np.ndarray | Callable[..., np.ndarray] | None

__all__ = [
    "clear_parameters",
    "current_no_grad",
    "current_scope",
    "get_current_parameter_scope",
    "get_parameter",
    "get_parameter_or_create",
    "get_parameters",
    "load_parameters",
    "no_grad",
    "parameter_scope",
    "pop_parameter",
    "root_scope",
    "save_parameters",
    "set_parameter",
    "set_parameter_from_proto",
]

root_scope: OrderedDict[str, Any] = OrderedDict()
current_scope: dict[str, Any] = root_scope
current_no_grad = False


def get_current_parameter_scope() -> dict[str, Any]:
    """The dictionary of the current scope: names to Variables and to the dictionaries of inner scopes."""
    return current_scope


@contextmanager
def no_grad(no_grad_: bool = True) -> Iterator[None]:
    """Inside, parameters are handed out as ones that need no gradient, whatever their registered flags say.

    In auto-forward mode functions record no graph either. ``no_grad(False)`` undoes it for an inner block.
    """
    global current_no_grad
    outer, current_no_grad = current_no_grad, no_grad_
    mode = _C.set_mode("enable_backprop", not no_grad_)  # static graphs do not look at it
    try:
        yield
    finally:
        _C.set_mode("enable_backprop", mode)
        current_no_grad = outer


def _descend(scope: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The scope below `scope` that `names` lead to, made where it is missing; empty names are passed over."""
    for name in filter(None, names):
        inner = scope.setdefault(name, OrderedDict())
        if not isinstance(inner, dict):
            raise ValueError(f"parameter scope {'/'.join(names)!r}: {name!r} is a parameter there, not a scope")
        scope = inner
    return scope


def _locate(key: str) -> tuple[dict[str, Any], str]:
    if not isinstance(key, str):
        raise TypeError(f"the name of a parameter must be a string, not {type(key).__name__}")
    *scopes, name = key.split("/")
    return _descend(current_scope, scopes), name


def _path(scope: dict[str, Any], leaf: str, below: dict[str, Any] | None = None, path: str = "") -> str:
    """The whole path of `leaf` in `scope`, for messages; `leaf` alone in a scope that is not below the root."""
    below = root_scope if below is None else below
    if below is scope:
        return path + leaf
    inner = ((name, part) for name, part in below.items() if isinstance(part, dict))
    paths = (_path(scope, leaf, part, f"{path}{name}/") for name, part in inner)
    return next((found for found in paths if found != leaf), leaf)


@contextmanager
def parameter_scope(name: str, scope: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Inside, parameters are taken from and put into the scope `name`, which is made if it is missing.

    ``"a/b"`` is the scope b of the scope a, ``""`` the scope itself that it starts from: the current one, or
    the dictionary `scope`. Gives the dictionary of the scope entered. Raises ValueError where `scope` is no
    dictionary, or a parameter has a name that a scope is to have.
    """
    global current_scope
    if scope is None:
        scope = current_scope
    elif not isinstance(scope, dict):
        raise ValueError(f"parameter_scope: scope must be a dictionary, not {type(scope).__name__}")
    outer, current_scope = current_scope, _descend(scope, name.strip("/").split("/"))
    try:
        yield current_scope
    finally:
        current_scope = outer


def get_parameter(key: str) -> Variable | None:
    """The registered Variable of that path, itself and not a copy; None if there is none.

    Raises ValueError where the path leads to a scope.
    """
    scope, name = _locate(key)
    param = scope.get(name)
    if param is not None and not isinstance(param, Variable):
        raise ValueError(f"get_parameter: {key!r} is a {type(param).__name__} (a scope), not a parameter")
    return param


def pop_parameter(key: str) -> Variable | None:
    """Takes the parameter of that path out of the tree and returns it; None if there is none."""
    scope, name = _locate(key)
    return scope.pop(name, None)


def set_parameter(key: str, param: Variable) -> None:
    """Registers the Variable `param` under that path, in place of what was there."""
    scope, name = _locate(key)
    scope[name] = param


def clear_parameters() -> None:
    """Takes everything out of the current scope."""
    current_scope.clear()


def _create_parameter_by_initializer(
    initializer: _Initializer, shape: Sequence[int] | None, need_grad: bool, name: str = ""
) -> Variable:
    if isinstance(initializer, np.ndarray):
        if shape is not None and tuple(shape) != initializer.shape:
            raise ValueError(
                f"parameter {name!r} of shape {tuple(shape)} cannot start from an array of shape {initializer.shape}"
            )
        return Variable.from_numpy_array(initializer, need_grad=need_grad)
    if shape is None:
        raise ValueError(f"parameter {name!r}: a shape is needed unless it starts from a numpy array")
    if initializer is None:
        param = Variable(shape, need_grad=need_grad)
        param.data.zero()
        return param
    if callable(initializer):
        return Variable.from_numpy_array(initializer(shape=[int(n) for n in shape]), need_grad=need_grad)
    raise ValueError(
        f"parameter {name!r}: initializer must be a numpy array or an nnabla.initializer.BaseInitializer "
        f"(or another callable of the shape), not {type(initializer).__name__}"
    )


def get_parameter_or_create(
    name: str,
    shape: Sequence[int] | None = None,
    initializer: _Initializer = None,
    need_grad: bool = True,
    as_need_grad: bool | None = None,
) -> Variable:
    """A Variable that shares data and gradient with the parameter of that path, which is made if it is
    missing.

    `initializer` is a numpy array, a callable from the shape to one, or None for zeros; it is not asked
    where the parameter exists. `shape` may be missing beside an array. `need_grad` becomes the registered
    parameter's flag; `as_need_grad`, by default the same, is the flag of the Variable returned (False inside
    `no_grad`). Raises ValueError where the parameter has another shape.
    """
    scope, leaf = _locate(name)
    if shape is not None and not isinstance(shape, Iterable):
        raise TypeError(f"parameter {name!r}: shape must be a tuple of integers, not {shape!r}")
    with parameter_scope("", scope):
        param = get_parameter(leaf)
        if param is None:
            param = _create_parameter_by_initializer(initializer, shape, need_grad, name)
            # the graph's writers tell from it how a parameter started
            param.info = SimpleNamespace(initializer=initializer)
            set_parameter(leaf, param)
    if shape is not None and param.shape != tuple(shape):
        raise ValueError(
            f"parameter {_path(scope, leaf)!r} has shape {param.shape} already, and cannot be taken as one of shape "
            f"{tuple(shape)}; nn.clear_parameters() removes all parameters"
        )
    if param.need_grad != need_grad:
        param.need_grad = need_grad
    if as_need_grad is None:
        as_need_grad = need_grad
    taken = param.get_unlinked_variable(need_grad=as_need_grad and not current_no_grad)
    taken.name = leaf
    return taken


def get_parameters(
    params: dict[str, Variable] | None = None, path: str = "", grad_only: bool = True
) -> dict[str, Variable]:
    """All parameters below the current scope, in the order they were made: paths to registered Variables.

    `grad_only` leaves out those that need no gradient. They are added to `params`, if given, their paths
    following `path`.
    """
    if params is None:
        params = OrderedDict()
    _collect(current_scope, path, grad_only, params)
    return params


def _collect(scope: dict[str, Any], path: str, grad_only: bool, params: dict[str, Variable]) -> None:
    for name, value in scope.items():
        inner = f"{path}/{name}" if path else name
        if isinstance(value, dict):
            _collect(value, inner, grad_only, params)
        elif not grad_only or value.need_grad:
            params[inner] = value


def set_parameter_from_proto(proto: Any) -> None:
    """Creates or overwrites the parameters that `proto`, an NNablaProtoBuf message, holds."""
    from .utils import _parameter_files

    _register(_parameter_files.records_of(proto))


def _register(found: Sequence[Any]) -> None:
    """Creates or overwrites parameters of the current scope by the records of a file (`_parameter_files.Record`).

    Raises ValueError, and does nothing, if one has another shape than the existing parameter.
    """
    for record in found:
        _check(record)
    for record in found:
        param = get_parameter_or_create(record.name, record.data.shape, need_grad=record.need_grad)
        param.data.cast(record.data.dtype)[...] = record.data


def _check(record: Any) -> None:
    at: Any = current_scope
    passed: list[str] = []
    for name in filter(None, record.name.split("/")):
        if not isinstance(at, dict):
            raise ValueError(f"cannot load parameter {record.name!r}: {'/'.join(passed)!r} is a parameter, not a scope")
        passed.append(name)
        at = at.get(name)
        if at is None:
            return
    if isinstance(at, dict):
        raise ValueError(f"cannot load parameter {record.name!r}: a scope has that name")
    if at.shape != record.data.shape:
        raise ValueError(
            f"cannot load parameter {record.name!r} of shape {record.data.shape}: it exists with shape {at.shape}"
        )


def load_parameters(
    path: _Path | Sequence[_Path], proto: Any = None, needs_proto: bool = False, extension: str = ".nntxt"
) -> Any:
    """Creates or overwrites parameters of the current scope from a file, or from several.

    `path` is a file name (.h5, .protobuf, .nntxt, .prototxt or .nnp) or an open file, whose format
    `extension` names. Files are read as a whole first: one that is broken, or has a parameter of another
    shape than the existing one, raises (ValueError, and OSError for .h5) and changes nothing. Returns the
    NNablaProtoBuf message read, or `proto` with it merged in; an .h5 file adds its parameters to it only
    with `needs_proto`.
    """
    from .utils import _parameter_files

    message, found = _parameter_files.load(path, needs_proto, extension)
    _register(found)
    if proto is None:
        return message
    proto.MergeFrom(message)
    return proto


def save_parameters(path: _Path, params: dict[str, Variable] | None = None, extension: str | None = None) -> None:
    """Writes parameters, by default all below the current scope, to a .h5 or .protobuf file.

    `path` is a file name or an open binary file, whose format `extension` names. Another format raises
    AssertionError.
    """
    from .utils import _parameter_files

    _parameter_files.save(path, get_parameters(grad_only=False) if params is None else params, extension)
