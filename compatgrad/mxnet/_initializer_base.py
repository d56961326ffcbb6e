"""The base class of initializers, which decides by the ending of a parameter's name, and the registry."""

from __future__ import annotations

import json
import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from . import ndarray, registry
from .ndarray import NDArray
from .numpy import random
from .util import is_np_array

__all__ = ["InitDesc", "Initializer", "alias", "create", "random_module", "register"]


class InitDesc(str):
    """A parameter's name, a str, with what else decides how it is initialized.

    Args:
        name: the name; its ending says what the parameter is.
        attrs: attributes; "__init__" is an initializer, by name or as `dumps` writes it, that goes before others.
        global_init: the initializer of the whole model.

    Example:
        >>> x = nd.ones(2)
        >>> mx.init.One()(mx.init.InitDesc("fc_weight", attrs={"__init__": "zeros"}), x)
        >>> x.asnumpy()
        array([0., 0.], dtype=float32)

    Source: `mxnet.initializer.InitDesc` of MXNet 1.9.1.
    """

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name: str, attrs: dict[str, Any] | None = None, global_init: Any = None) -> InitDesc:
        desc = super().__new__(cls, name)
        desc.attrs = attrs or {}
        desc.global_init = global_init
        return desc


# ending of a name -> what is initialized; the first that fits counts
_ENDINGS = (
    "weight",
    "bias",
    "gamma",
    "beta",
    "min",
    "max",
    "weight_quantize",
    "bias_quantize",
)
_METHODS = {"min": "zero", "max": "one", "weight_quantize": "quantized_weight", "bias_quantize": "quantized_bias"}
_LEGACY_METHODS = {
    "bias": "bias",
    "gamma": "gamma",
    "beta": "beta",
    "weight": "weight",
    "moving_mean": "zero",
    "moving_var": "one",
    "moving_inv_var": "zero",
    "moving_avg": "zero",
    "min": "zero",
    "max": "one",
}


class Initializer:
    """Base class: a callable that fills an array, by the ending of its name.

    Subclasses override `_init_weight(name, array)`, and may override `_init_bias`, `_init_gamma` and `_init_beta`,
    which fill with 0, 1 and 0, and `_init_default`, which raises ValueError.

    Args:
        **kwargs: arguments that `dumps` writes and that count where initializers are compared.

    Raises:
        ValueError: in a call, the name has none of the known endings.
        TypeError: in a call, the name is no str, or the array no NDArray.

    Example:
        >>> class Half(mx.init.Initializer):
        ...     def _init_weight(self, name, array): array[:] = 0.5
        >>> x, bias = nd.zeros(2), nd.ones(2)
        >>> Half()(mx.init.InitDesc("fc_weight"), x)
        >>> Half()(mx.init.InitDesc("fc_bias"), bias)
        >>> x.asnumpy(), bias.asnumpy()
        (array([0.5, 0.5], dtype=float32), array([0., 0.], dtype=float32))

    Source: `mxnet.initializer.Initializer` of MXNet 1.9.1.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(self, verbose: bool = False, print_func: Callable[[NDArray], str] | None = None) -> Initializer:
        """Logs what is initialized, with `print_func(array)` (str; by default the root mean square). Returns self."""
        self._verbose = verbose
        self._print_func = print_func or (lambda x: str((ndarray.norm(x) / math.sqrt(x.size)).asscalar()))
        return self

    def _verbose_print(self, desc, init, arr):
        if self._verbose and self._print_func:
            logging.info("Initialized %s as %s: %s", desc, init, self._print_func(arr))

    def dumps(self) -> str:
        """JSON from which `create` makes an equal initializer: [name, arguments]."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, desc: InitDesc | str, arr: NDArray) -> None:
        """Fills `arr` (NDArray) by the rule for the name `desc` (InitDesc; a plain str is deprecated).

        ValueError for a name with none of the known endings; TypeError if desc is no str or arr no NDArray.
        """
        if not isinstance(desc, InitDesc):
            self._legacy_init(desc, arr)
            return
        if desc.global_init is None:
            desc.global_init = self
        own = desc.attrs.get("__init__", "")
        if own:
            create(own)._init_weight(desc, arr)
            self._verbose_print(desc, own, arr)
            return
        ending = next((ending for ending in _ENDINGS if desc.endswith(ending)), None)
        if ending is None:
            self._init_default(desc, arr)
            return
        getattr(self, "_init_" + _METHODS.get(ending, ending))(desc, arr)
        self._verbose_print(desc, ending, arr)

    def _legacy_init(self, name, arr):
        warnings.warn(
            "Calling initializer with init(str, NDArray) has been deprecated. "
            "Please use init(mx.init.InitDesc(...), NDArray) instead.",
            DeprecationWarning,
            stacklevel=3,
        )
        if not isinstance(name, str):
            raise TypeError(f"name must be string, got {type(name).__name__}")
        if not isinstance(arr, NDArray):
            raise TypeError(f"arr must be NDArray, got {type(arr).__name__}")
        if name.startswith("upsampling"):
            method = "bilinear"
        elif name.startswith("stn_loc") and name.endswith(("weight", "bias")):
            method = "zero" if name.endswith("weight") else "loc_bias"
        else:
            method = next((m for ending, m in _LEGACY_METHODS.items() if name.endswith(ending)), "default")
        getattr(self, "_init_" + method)(name, arr)

    def _init_bilinear(self, _, arr):
        # the weights with which a transposed convolution upsamples bilinearly by half the kernel's size
        height, width = arr.shape[2:]
        half = math.ceil(width / 2)
        centre = (2 * half - 1 - half % 2) / (2.0 * half)
        rows = 1 - abs(np.arange(height) / half - centre)
        columns = 1 - abs(np.arange(width) / half - centre)
        arr[:] = np.broadcast_to(np.outer(rows, columns).astype(np.float32), arr.shape)

    def _init_loc_bias(self, name, arr):
        assert arr.shape[0] == 6, f"{name}: the bias of a spatial transformer has shape (6,), got {arr.shape}"
        arr[:] = np.array([1.0, 0, 0, 0, 1.0, 0])

    def _init_zero(self, _, arr):
        arr[:] = 0.0

    def _init_one(self, _, arr):
        arr[:] = 1.0

    def _init_quantized_bias(self, _, arr):
        arr[:] = 0

    _init_bias = _init_beta = _init_zero
    _init_gamma = _init_one

    def _init_weight(self, name, arr):
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, array)")

    def _init_quantized_weight(self, _, arr):
        arr[:] = np.int8(random_module().randint(-127, 127, dtype="int32").asnumpy())

    def _init_default(self, name, _):
        raise ValueError(
            f"Unknown initialization pattern for {name}: by default only names that end with weight, bias, "
            "gamma (1.0) and beta (0.0) are initialized. Give the parameter an initializer of its own "
            "(init=mx.init.*)."
        )

    def __eq__(self, other):
        if not isinstance(other, Initializer):
            return NotImplemented
        return type(self) is type(other) and self._kwargs == other._kwargs

    __hash__ = None  # type: ignore[assignment]


def random_module() -> Any:
    # mx.np's random functions inside `np_array` scopes, else mx.nd's
    if is_np_array():
        return random
    return ndarray.random


for _known in (InitDesc, Initializer):
    _known.__module__ = __name__.replace("_initializer_base", "initializer")  # as in MXNet and its pickles

_register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def register(klass: type[Initializer]) -> type[Initializer]:
    """Makes a subclass of Initializer known by its name in lower case, as in `initialize("myinit")`; a class decorator.

    Args:
        klass: the class.

    Returns:
        `klass`.

    Raises:
        AssertionError: it is no subclass of Initializer.

    Example:
        >>> @mx.init.register
        ... class DocInit(mx.init.Initializer):
        ...     def _init_weight(self, name, array): array[:] = 3
        >>> net = gluon.nn.Dense(1, in_units=2)
        >>> net.initialize("docinit")
        >>> net.weight.data().asnumpy()
        array([[3., 3.]], dtype=float32)

    Source: `mxnet.initializer.register` of MXNet 1.9.1.
    """
    return _register(klass)


register.__module__ = Initializer.__module__
