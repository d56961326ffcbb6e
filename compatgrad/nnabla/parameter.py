"""Named parameters: a tree of scopes (ordered dictionaries) whose leaves are Variables.

A path such as ``net/conv/W`` names the leaf ``W`` of the scope ``conv`` in the scope ``net``. All names are relative to
the current scope, which is the root outside `parameter_scope`.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from types import SimpleNamespace
from typing import IO, Any

import numpy as np
import torch

from compatgrad import _C
from compatgrad.core.configuration import Settings
from compatgrad.core.configuration import scope as block
from compatgrad.core.files import naming

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

_this_module = sys.modules[__name__]
root_scope: OrderedDict[str, Any] = OrderedDict()
current_scope: dict[str, Any] = root_scope
current_no_grad = False


def get_current_parameter_scope() -> dict[str, Any]:
    """The dictionary of the current scope.

    Returns:
        A dict from names to Variables, and to the dictionaries of inner scopes.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("fc/w", (2,))
        >>> list(nn.get_current_parameter_scope())
        ['fc']

    Source: `nnabla.get_current_parameter_scope` of nnabla 1.39.0.
    """
    return current_scope


def no_grad(no_grad_: bool = True) -> block:
    """Context manager inside which parameters are returned with need_grad=False, whatever their registered flags are.

    In auto-forward mode, functions also record no graph.

    Args:
        no_grad_: False switches this off for an inner block.

    Returns:
        A context manager.

    Raises:
        Nothing.

    Example:
        >>> with nn.no_grad():
        ...     y = PF.affine(nn.Variable((2, 3)), 4)
        >>> [v.need_grad for v in y.parent.inputs], len(nn.get_parameters())
        ([False, False, False], 2)

    Source: `nnabla.no_grad` of nnabla 1.39.0.
    """
    modes = {"enable_backprop": not no_grad_}  # this mode has no effect in static graphs
    return block(lambda: (modes, ((_this_module, "current_no_grad", no_grad_),), None))


def _descend(scope: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The scope at the path `names` below `scope`; missing scopes are made, and empty names are skipped."""
    for name in filter(None, names):
        inner = scope.get(name)
        if inner is None:
            inner = scope.setdefault(name, OrderedDict())
        if not isinstance(inner, dict):
            raise ValueError(f"parameter scope {'/'.join(names)!r}: {name!r} is a parameter there, not a scope")
        scope = inner
    return scope


def _inside(scope: Any, name: str) -> dict[str, Any]:
    """The scope that `parameter_scope(name, scope)` enters."""
    if type(scope) is OrderedDict and type(name) is str:
        inner = scope.get(name)
        if type(inner) is OrderedDict and "/" not in name:
            return inner
    if not isinstance(scope, dict):
        raise ValueError(f"parameter_scope: scope must be a dictionary, not {type(scope).__name__}")
    return _descend(scope, name.strip("/").split("/"))


def _locate(key: str) -> tuple[dict[str, Any], str]:
    if not isinstance(key, str):
        raise TypeError(f"the name of a parameter must be a string, not {type(key).__name__}")
    if "/" not in key:
        return current_scope, key
    *scopes, name = key.split("/")
    return _descend(current_scope, scopes), name


def _path(scope: dict[str, Any], leaf: str, below: dict[str, Any] | None = None, path: str = "") -> str:
    """The full path of `leaf` in `scope`, for messages; only `leaf` where `scope` is not below the root."""
    below = root_scope if below is None else below
    if below is scope:
        return path + leaf
    inner = ((name, part) for name, part in below.items() if isinstance(part, dict))
    paths = (_path(scope, leaf, part, f"{path}{name}/") for name, part in inner)
    return next((found for found in paths if found != leaf), leaf)


def parameter_scope(name: str, scope: dict[str, Any] | None = None) -> block:
    """Context manager inside which parameters are looked up and registered in a scope, which is made if it does not
    exist.

    Args:
        name: the scope's name: "a/b" is the scope b in the scope a, "" the outer scope itself.
        scope: the dictionary of the outer scope; None: the current one.

    Returns:
        A context manager; `as` binds the dictionary of the scope.

    Raises:
        ValueError: on entry, `scope` is no dictionary, or a parameter already has the name of a scope.

    Example:
        >>> with nn.parameter_scope("net"):
        ...     y = PF.affine(nn.Variable((2, 3)), 4, name="first")
        >>> list(nn.get_parameters())
        ['net/first/affine/W', 'net/first/affine/b']

    Source: `nnabla.parameter_scope` of nnabla 1.39.0.
    """

    def settings() -> Settings:
        inner = _inside(current_scope if scope is None else scope, name)
        return {}, ((_this_module, "current_scope", inner),), inner

    return block(settings)


def get_parameter(key: str) -> Variable | None:
    """The registered Variable at a path, not a copy.

    Args:
        key: the path from the current scope, such as "fc/w".

    Returns:
        The Variable; None if there is none.

    Raises:
        TypeError: `key` is no str.
        ValueError: the path is that of a scope, or leads through a parameter.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("fc/w", (2,))
        >>> nn.parameter.get_parameter("fc/w").shape, nn.parameter.get_parameter("fc/b")
        ((2,), None)

    Source: `nnabla.parameter.get_parameter` of nnabla 1.39.0.
    """
    scope, name = _locate(key)
    param = scope.get(name)
    if param is not None and not isinstance(param, Variable):
        raise ValueError(f"get_parameter: {key!r} is a {type(param).__name__} (a scope), not a parameter")
    return param


def pop_parameter(key: str) -> Variable | None:
    """Removes a parameter from the current scope and returns it.

    Args:
        key: the path from the current scope, such as "fc/w".

    Returns:
        The Variable; None if there is none.

    Raises:
        TypeError: `key` is no str.
        ValueError: the path leads through a parameter.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("fc/w", (2,))
        >>> nn.parameter.pop_parameter("fc/w").shape, len(nn.get_parameters())
        ((2,), 0)

    Source: `nnabla.parameter.pop_parameter` of nnabla 1.39.0.
    """
    scope, name = _locate(key)
    return scope.pop(name, None)


def set_parameter(key: str, param: Variable) -> None:
    """Registers a Variable as a parameter, and replaces an existing one.

    Args:
        key: the path from the current scope, such as "fc/w".
        param: the Variable.

    Raises:
        TypeError: `key` is no str.
        ValueError: the path leads through a parameter.

    Example:
        >>> nn.parameter.set_parameter("fc/w", nn.Variable((2,), need_grad=True))
        >>> list(nn.get_parameters())
        ['fc/w']

    Source: `nnabla.parameter.set_parameter` of nnabla 1.39.0.
    """
    scope, name = _locate(key)
    scope[name] = param


def clear_parameters() -> None:
    """Removes all parameters and scopes from the current scope.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("fc/w", (2,))
        >>> nn.clear_parameters()
        >>> len(nn.get_parameters())
        0

    Source: `nnabla.clear_parameters` of nnabla 1.39.0.
    """
    current_scope.clear()


def _create_parameter_by_initializer(
    initializer: _Initializer, shape: Sequence[int] | None, need_grad: bool, name: str = ""
) -> Variable:
    if isinstance(initializer, np.ndarray):
        if shape is not None and tuple(shape) != initializer.shape:
            raise ValueError(
                f"parameter {name!r} of shape {tuple(shape)} cannot start with an array of shape {initializer.shape}"
            )
        return Variable.from_numpy_array(initializer, need_grad=need_grad)
    if shape is None:
        raise ValueError(f"parameter {name!r}: a shape is needed unless the initializer is a numpy array")
    if initializer is None:
        param = Variable(shape, need_grad=need_grad)
        param.data.zero()
        return param
    if callable(initializer):
        values = initializer(shape=[int(n) for n in shape])
        # A copy of an array that nobody else has would leave a hole in the heap as large as the parameter. Of two
        # references one is `values`, one the argument.
        fresh = type(values) is np.ndarray and values.flags.owndata and sys.getrefcount(values) <= 2
        if fresh and values.flags.c_contiguous and values.flags.writeable and values.dtype.isnative:
            param = Variable(values.shape, need_grad)
            param.data.tensor = torch.from_numpy(values)
            return param
        return Variable.from_numpy_array(values, need_grad=need_grad)
    raise ValueError(
        f"parameter {name!r}: initializer must be a numpy array or an nnabla.initializer.BaseInitializer "
        f"(or another callable of the shape), not {type(initializer).__name__}"
    )


def _existing(name: Any, shape: Any, need_grad: Any, as_need_grad: Any) -> Variable | None:
    """What `get_parameter_or_create` returns if the parameter exists with this shape and this `need_grad`; None where
    it does not, or where the arguments need checks."""
    return _C.take_parameter(current_scope, name, shape, need_grad, as_need_grad and not current_no_grad)


def get_parameter_or_create(
    name: str,
    shape: Sequence[int] | None = None,
    initializer: _Initializer = None,
    need_grad: bool = True,
    as_need_grad: bool | None = None,
) -> Variable:
    """A Variable that shares data and gradient with a parameter, which is made if it is missing.

    Args:
        name: the path from the current scope, such as "fc/w".
        shape: the parameter's shape; None if `initializer` is an array.
        initializer: an array, a function from the shape to an array, or None for zeros; not used where the parameter
            exists.
        need_grad: whether the registered parameter needs a gradient.
        as_need_grad: whether the returned Variable needs a gradient; None: the value of `need_grad`. Inside `no_grad`
            it never does.

    Returns:
        The Variable.

    Raises:
        TypeError: `name` is no str, or `shape` a single number.
        ValueError: the parameter exists with another shape, the path is that of a scope or leads through a parameter,
            neither a shape nor an array is given, or `initializer` has the wrong type.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("w", (2, 2), I.ConstantInitializer(3))
        >>> w.d
        array([[3., 3.],
               [3., 3.]], dtype=float32)

    Source: `nnabla.parameter.get_parameter_or_create` of nnabla 1.39.0.
    """
    if as_need_grad is None:
        as_need_grad = need_grad
    taken = _existing(name, shape, need_grad, as_need_grad)
    if taken is not None:
        return taken
    scope, leaf = _locate(name)
    if shape is not None and not isinstance(shape, Iterable):
        raise TypeError(f"parameter {name!r}: shape must be a tuple of integers, not {shape!r}")
    param = scope.get(leaf)
    if not isinstance(param, Variable):
        with parameter_scope("", scope):
            param = get_parameter(leaf)
            if param is None:
                param = _create_parameter_by_initializer(initializer, shape, need_grad, name)
                # code that writes graphs to files reads this attribute
                param.info = SimpleNamespace(initializer=initializer)
                set_parameter(leaf, param)
    if shape is not None and param.shape != tuple(shape):
        raise ValueError(
            f"parameter {_path(scope, leaf)!r} has shape {param.shape} already, which is not the requested shape "
            f"{tuple(shape)}; nn.clear_parameters() removes all parameters"
        )
    if param.need_grad != need_grad:
        param.need_grad = need_grad
    taken = param.get_unlinked_variable(need_grad=as_need_grad and not current_no_grad)
    taken.name = leaf
    return taken


def get_parameters(
    params: dict[str, Variable] | None = None, path: str = "", grad_only: bool = True
) -> dict[str, Variable]:
    """All parameters below the current scope, in the order in which they were made.

    Args:
        params: a dictionary to which they are added; None: a new one.
        path: a prefix of their paths.
        grad_only: whether to leave out those that need no gradient.

    Returns:
        A dict of the registered Variables by path.

    Raises:
        Nothing.

    Example:
        >>> y = PF.batch_normalization(PF.affine(nn.Variable((2, 3)), 4))
        >>> list(nn.get_parameters())
        ['affine/W', 'affine/b', 'bn/beta', 'bn/gamma']
        >>> len(nn.get_parameters(grad_only=False))
        6

    Source: `nnabla.get_parameters` of nnabla 1.39.0.
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
    """Makes or overwrites parameters from a message.

    Args:
        proto: an NNablaProtoBuf message, such as the result of `load_parameters`.

    Raises:
        ValueError: a parameter exists with another shape, or a scope has the name of a parameter. Nothing is changed
            then.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("w", (2,), np.array([1.0, 2.0]))
        >>> nn.save_parameters("w.protobuf")
        >>> message = nn.load_parameters("w.protobuf")
        >>> w.d = 0
        >>> nn.parameter.set_parameter_from_proto(message)
        >>> w.d
        array([1., 2.], dtype=float32)

    Source: `nnabla.parameter.set_parameter_from_proto` of nnabla 1.39.0.
    """
    from .utils import _parameter_files

    _register(_parameter_files.records_of(proto))


def _register(found: Sequence[Any]) -> None:
    """Makes or overwrites parameters of the current scope from the records of a file (`_parameter_files.Record`).
    Raises ValueError, without changing any parameter, if one has another shape than the existing parameter.
    """
    for record in found:
        _check(record)
    with _all_or_nothing():
        for record in found:
            param = get_parameter_or_create(record.name, record.data.shape, need_grad=record.need_grad)
            param.data.cast(record.data.dtype)[...] = record.data


@contextmanager
def _all_or_nothing() -> Iterator[None]:
    """Context manager of a load: an exception restores the parameters of the current scope."""
    scope: Any = current_scope
    kept: list[tuple[Variable, np.ndarray, bool]] = []

    def copied(level: Any) -> dict[str, Any]:
        for item in level.values():
            if not isinstance(item, dict):
                kept.append((item, item.data.get_data("r").copy(), item.need_grad))
        return {name: copied(item) if isinstance(item, dict) else item for name, item in level.items()}

    def put_back(level: Any, before: dict[str, Any]) -> None:
        now = dict(level)
        level.clear()
        for name, item in before.items():
            if isinstance(item, dict):
                put_back(now[name], item)
            level[name] = now[name] if isinstance(item, dict) else item

    before = copied(scope)
    try:
        yield
    except BaseException:
        put_back(scope, before)
        for param, array, need_grad in kept:
            param.data.cast(array.dtype)[...] = array
            param.need_grad = need_grad
        raise


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
        raise ValueError(f"cannot load parameter {record.name!r}: a scope has this name")
    if at.shape != record.data.shape:
        raise ValueError(
            f"cannot load parameter {record.name!r} of shape {record.data.shape}: it exists with shape {at.shape}"
        )


def load_parameters(
    path: _Path | Sequence[_Path], proto: Any = None, needs_proto: bool = False, extension: str = ".nntxt"
) -> Any:
    """Makes or overwrites parameters of the current scope from a file, or from several.

    Files are read completely first, so that a damaged file changes nothing.

    Args:
        path: the name of a file (.h5, .protobuf, .nntxt, .prototxt or .nnp), an open file, or several of them.
        proto: an NNablaProtoBuf message into which the contents are merged.
        needs_proto: whether the message contains the parameters of an .h5 file, too.
        extension: the format of an open file.

    Returns:
        `proto`, or the message that was read.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is broken, or a parameter exists with another shape.

    Example:
        >>> w = nn.parameter.get_parameter_or_create("w", (2,), np.array([1.0, 2.0]))
        >>> nn.save_parameters("w.h5")
        >>> nn.clear_parameters()
        >>> message = nn.load_parameters("w.h5")
        >>> nn.parameter.get_parameter("w").d
        array([1., 2.])

    Source: `nnabla.load_parameters` of nnabla 1.39.0.
    """
    from .utils import _parameter_files

    message, found = _parameter_files.load(path, needs_proto, extension)
    with naming(path):
        _register(found)
    if proto is None:
        return message
    proto.MergeFrom(message)
    return proto


def save_parameters(path: _Path, params: dict[str, Variable] | None = None, extension: str | None = None) -> None:
    """Writes parameters to a file.

    Args:
        path: the name of a file (.h5 or .protobuf), or an open binary file.
        params: a dict of Variables by name; None: all parameters below the current scope.
        extension: the format of an open file.

    Raises:
        AssertionError: the file has another format.
        OSError: the file cannot be written.

    Example:
        >>> nn.save_parameters("w.h5", {"w": nn.Variable((2,))})
        >>> list(nn.load_parameters("w.h5", needs_proto=True).parameter[0].shape.dim)
        [2]

    Source: `nnabla.save_parameters` of nnabla 1.39.0.
    """
    from .utils import _parameter_files

    _parameter_files.save(path, get_parameters(grad_only=False) if params is None else params, extension)
