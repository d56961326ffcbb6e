"""Parameters of blocks, and an ordered dict of them whose names start with one prefix."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import ItemsView, KeysView, Mapping, ValuesView
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.core.files import naming

from .. import initializer
from .. import ndarray as nd
from ._constant import Constant
from ._loading import all_or_nothing
from ._parameter import DeferredInitializationError, Parameter, _fill_zero
from .utils import _brief_print_list, _indent, _load, _save

if TYPE_CHECKING:
    from ..context import Context
    from ..ndarray import NDArray
    from ._typing import Contexts, Init

__all__ = ["DeferredInitializationError", "Parameter", "Constant", "ParameterDict", "tensor_types"]

tensor_types = (nd.NDArray,)
_NAMING = (
    "For more info on naming, please see https://mxnet.io/api/python/docs/tutorials/packages/gluon/blocks/naming.html"
)


for _known in (DeferredInitializationError, Parameter, Constant):
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles


class ParameterDict:
    """Parameters by their full names, in the order in which they were made.

    Args:
        prefix: what `get` puts before names.
        shared: another ParameterDict, in which `get` looks for names that this one lacks.

    Raises:
        KeyError: `[]` finds no such name.
        AssertionError: `get` or `update` finds a parameter of the name with other attributes.

    Example:
        >>> params = gluon.ParameterDict("net_")
        >>> w = params.get("w", shape=(2,), init="ones")
        >>> params.initialize()
        >>> params["net_w"].data().asnumpy()
        array([1., 1.], dtype=float32)

    Source: `mxnet.gluon.ParameterDict` of MXNet 1.9.1.
    """

    def __init__(self, prefix: str = "", shared: ParameterDict | None = None) -> None:
        self._prefix = prefix
        self._params = OrderedDict()
        self._shared = shared

    def __repr__(self):
        name = self._prefix + " " if self._prefix else ""
        content = "\n".join("  " + _indent(str(param), 2) for param in self.values())
        return f"{name}(\n{content}\n)"

    def __getitem__(self, key):
        return self._params[key]

    def __iter__(self):
        return iter(self._params)

    def __contains__(self, key):
        return key in self._params

    def items(self) -> ItemsView[str, Parameter]:
        """(name, Parameter) pairs."""
        return self._params.items()

    def keys(self) -> KeysView[str]:
        """The full names."""
        return self._params.keys()

    def values(self) -> ValuesView[Parameter]:
        """The Parameters."""
        return self._params.values()

    @property
    def prefix(self) -> str:
        """The prefix that `get` adds to names."""
        return self._prefix

    def _find(self, name):
        param = self._params.get(name)
        if param is None and self._shared is not None:
            param = self._shared._params.get(name)
            if param is not None:
                self._params[name] = param
        return param

    _get_impl = _find  # MXNet's name, which extensions call

    def get(self, name: str, **kwargs: Any) -> Parameter:
        """The parameter `prefix + name`, found here or in the shared dict, or made with the arguments `kwargs`.

        Unknown dimensions of a found parameter's shape, and attributes that are None, are set from `kwargs`; other
        attributes must be equal (AssertionError).
        """
        name = self._prefix + name
        param = self._find(name)
        if param is None:
            param = self._params[name] = Parameter(name, **kwargs)
            return param
        for key, value in kwargs.items():
            stored = getattr(param, key, None)
            if stored is None:
                setattr(param, key, value)
            elif not (value is None or _agree(param, key, value, stored)):
                raise AssertionError(
                    f"Cannot retrieve Parameter '{name}' because desired attribute does not match with stored "
                    f"for attribute '{key}': desired '{value}' vs stored '{stored}'."
                )
        return param

    def get_constant(self, name: str, value: Any = None) -> Constant:
        """The Constant `prefix + name`, created from `value` (an array) if it does not exist.

        KeyError if there is neither a Constant nor a value; AssertionError if the stored parameter has another
        value or is no Constant.
        """
        name = self._prefix + name
        param = self._find(name)
        if param is None:
            if value is None:
                raise KeyError(
                    f"No constant named '{name}'. Please specify value if you want to create a new constant."
                )
            param = self._params[name] = Constant(name, value)
        elif value is not None:
            assert isinstance(param, Constant), f"Parameter '{name}' already exists but it is not a constant."
            wanted = value.asnumpy() if isinstance(value, nd.NDArray) else np.asarray(value)
            assert param.shape == wanted.shape and (param.value.asnumpy() == wanted).all(), (
                f"Constant '{name}' already exists but it's value doesn't match new value"
            )
        return param

    def update(self, other: ParameterDict | Mapping[str, Parameter]) -> None:
        """Adds the parameters of `other`, a ParameterDict or dict.

        AssertionError if another parameter has the same name; nothing is added then.
        """
        for name, param in other.items() if self._params else ():
            assert self._params.get(name, param) is param, (
                f"Cannot update self with other because they have different Parameters with the same name '{name}'"
            )
        self._params.update(other.items())

    def initialize(
        self, init: Init | None = None, ctx: Contexts | None = None, verbose: bool = False, force_reinit: bool = False
    ) -> None:
        """Initializes all parameters on `ctx`; `init` (default: Uniform) is for parameters without an initializer."""
        if init is None:
            init = initializer.Uniform()
        if verbose:
            init.set_verbosity(verbose=verbose)
        for param in self.values():
            param.initialize(None, ctx, init, force_reinit=force_reinit)

    def zero_grad(self) -> None:
        """Fills all gradients with zeros."""
        for param in self.values():
            for grad in param._grad or ():
                _fill_zero(grad)

    def reset_ctx(self, ctx: Contexts | None) -> None:
        """Moves all parameters to `ctx`, a Context or a list of them."""
        for param in self.values():
            param.reset_ctx(ctx)

    def list_ctx(self) -> list[Context]:
        """The contexts on which parameters are, each once."""
        return list(dict.fromkeys(ctx for param in self.values() for ctx in param.list_ctx()))

    def setattr(self, name: str, value: Any) -> None:
        """Sets the attribute `name` of all parameters, such as grad_req or lr_mult."""
        for param in self.values():
            setattr(param, name, value)

    # ---- files ----

    def save(self, filename: str, strip_prefix: str = "") -> None:
        """Writes all values to the file `filename`, under their names without `strip_prefix`.

        ValueError for a name that does not start with it.
        """
        values = {}
        for param in self.values():
            if not param.name.startswith(strip_prefix):
                raise ValueError(
                    f"Prefix '{strip_prefix}' is to be striped before saving, but Parameter's name '{param.name}' does "
                    f"not start with '{strip_prefix}'. this may be due to your Block shares parameters from other "
                    f"Blocks or you forgot to use 'with name_scope()' when creating child blocks. {_NAMING}"
                )
            values[param.name[len(strip_prefix) :]] = param._reduce()
        _save(filename, values)

    def load(
        self,
        filename: str,
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Reads the file `filename` that `save` wrote; names in it lack `restore_prefix`.

        AssertionError for parameters that the file lacks, without `allow_missing`, and for those that only the
        file has, without `ignore_extra`. ctx, cast_dtype, dtype_source: as in Block.load_parameters.
        """
        for name in self.keys() if restore_prefix else ():
            assert name.startswith(restore_prefix), (
                f"restore_prefix is '{restore_prefix}' but Parameters name '{name}' does not start with "
                f"'{restore_prefix}'. {_NAMING}"
            )
        found = _load(filename)
        self.load_dict(found, ctx, allow_missing, ignore_extra, restore_prefix, filename, cast_dtype, dtype_source)

    def load_dict(
        self,
        param_dict: Mapping[str, NDArray],
        ctx: Contexts | None = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
        restore_prefix: str = "",
        filename: str | None = None,
        cast_dtype: bool = False,
        dtype_source: str = "current",
    ) -> None:
        """Like `load`, from a dict of str to NDArray; the prefixes "arg:" and "aux:" are dropped."""
        if not isinstance(param_dict, dict):
            param_dict = dict(param_dict)
        values = {restore_prefix + name.removeprefix("arg:").removeprefix("aux:"): v for name, v in param_dict.items()}
        where = f"file: {filename}" if filename else "param_dict"
        skip = len(restore_prefix)
        for name in () if allow_missing else self.keys():
            assert name in values, (
                f"Parameter '{name[skip:]}' is missing in {where}, which contains parameters: "
                f"{_brief_print_list(values)}. Please make sure source and target networks have the same prefix. "
                f"{_NAMING}"
            )
        for name in () if ignore_extra else values:
            assert name in self._params, (
                f"Parameter '{name[skip:]}' loaded from {where} is not present in ParameterDict, choices are: "
                f"{_brief_print_list(self.keys())}. Set ignore_extra to True to ignore. Please make sure source "
                f"and target networks have the same prefix. {_NAMING}"
            )
        source = naming(filename, to=AssertionError) if filename else contextlib.nullcontext()
        with source, all_or_nothing(self._params.values()):
            for name, value in values.items():
                if name in self._params:
                    self._params[name]._load_init(value, ctx, cast_dtype=cast_dtype, dtype_source=dtype_source)


def _agree(param, key, value, stored):
    """Whether `value`, wanted for the attribute `key`, agrees with `stored`; merges shapes into the parameter."""
    if key == "dtype":
        return np.dtype(value) == np.dtype(stored)
    if key != "shape":
        return value == stored
    if isinstance(value, int):
        value = (value,)
    if len(value) != len(stored):
        return False
    if any(a != b and a > 0 and b > 0 for a, b in zip(value, stored, strict=True)):
        return False
    param._shape = tuple([b if a in (0, -1) else a for a, b in zip(value, stored, strict=True)])
    return True
