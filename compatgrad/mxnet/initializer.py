"""Initial values of parameters.

An initializer is a callable `init(desc, array)` that fills the array. What it does depends on the name that `desc`
(an InitDesc) is: subclasses define what happens to weights (`_init_weight`), biases start at 0, gammas at 1.
"""

from __future__ import annotations

import json
import logging
import math
import re
import warnings
from typing import Any

import numpy as np

from . import ndarray, registry
from ._fused_weights import parts_of
from .ndarray import NDArray
from .numpy import random
from .util import is_np_array

__all__ = [
    "Bilinear",
    "Constant",
    "FusedRNN",
    "InitDesc",
    "Initializer",
    "LSTMBias",
    "Load",
    "MSRAPrelu",
    "Mixed",
    "Normal",
    "One",
    "Orthogonal",
    "Uniform",
    "Xavier",
    "Zero",
    "alias",
    "create",
    "register",
]


class InitDesc(str):
    """A parameter's name, with `attrs` (dict; its "__init__" is an initializer that goes before the others) and
    `global_init`, the initializer of the whole model."""

    attrs: dict[str, Any]
    global_init: Any

    def __new__(cls, name, attrs=None, global_init=None):
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
    """Base class. Keyword arguments are kept for `dumps` and for comparison.

    Subclasses override `_init_weight(name, array)`, and `_init_bias`, `_init_gamma`, `_init_beta`, `_init_default`
    where they want other than 0, 1, 0 and a ValueError.
    """

    def __init__(self, **kwargs):
        self._kwargs = kwargs
        self._verbose = False
        self._print_func = None

    def set_verbosity(self, verbose=False, print_func=None):
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

    def __call__(self, desc, arr):
        """Fills `arr` (NDArray) as the name `desc` (InitDesc; a plain str is deprecated) says.

        ValueError for a name with none of the known endings; TypeError where desc is no str or arr no NDArray.
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
        # every filter is the same pyramid, of the size that upsampling by half of it takes
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

    def _init_bias(self, _, arr):
        arr[:] = 0.0

    def _init_quantized_bias(self, _, arr):
        arr[:] = 0

    def _init_gamma(self, _, arr):
        arr[:] = 1.0

    def _init_beta(self, _, arr):
        arr[:] = 0.0

    def _init_weight(self, name, arr):
        raise NotImplementedError(f"{type(self).__name__} must define _init_weight(name, array)")

    def _init_quantized_weight(self, _, arr):
        arr[:] = np.int8(_random().randint(-127, 127, dtype="int32").asnumpy())

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


def _random():
    # the random functions for the kind of array that is in use
    if is_np_array():
        return random
    return ndarray.random


_register = registry.get_register_func(Initializer, "initializer")
alias = registry.get_alias_func(Initializer, "initializer")
create = registry.get_create_func(Initializer, "initializer")


def register(klass):
    """Decorator: makes a subclass of Initializer known by its name in lower case, as in `initialize("myinit")`."""
    return _register(klass)


class Load:
    """Copies arrays from `param`, a dict of name to NDArray or a file's name; "arg:" and "aux:" in front are dropped.

    `default_init(name, array)` initializes what is not there. AssertionError without it, and where shapes differ.
    """

    def __init__(self, param, default_init=None, verbose=False):
        if isinstance(param, str):
            param = ndarray.load(param)
        assert isinstance(param, dict), f"param: expected a dict of arrays, got {type(param).__name__}"
        self.param = {name[4:] if name[:4] in ("arg:", "aux:") else name: arr for name, arr in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name, arr):
        loaded = self.param.get(name)
        if loaded is not None:
            assert arr.shape == loaded.shape, (
                f"Parameter {name} cannot be initialized from loading. "
                f"Shape mismatch, target {arr.shape} vs loaded {loaded.shape}"
            )
            arr[:] = loaded
        else:
            assert self.default_init is not None, (
                f"Cannot Initialize {name}. Not found in loaded param and no default Initializer is provided."
            )
            self.default_init(name, arr)
        if self.verbose:
            logging.info("Initialized %s by %s", name, "default" if loaded is None else "loading")


class Mixed:
    """Several initializers: the first whose regular expression in `patterns` matches the name does it.

    ValueError where none matches.
    """

    def __init__(self, patterns, initializers):
        assert len(patterns) == len(initializers), f"{len(patterns)} patterns for {len(initializers)} initializers"
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=False)]

    def __call__(self, name, arr):
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f"Parameter name {name} did not match any pattern. Consider adding a "
            '".*" pattern at the end with a default Initializer.'
        )


@register
@alias("zeros")
class Zero(Initializer):
    """All weights are 0."""

    def __init__(self):
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 0


@register
@alias("ones")
class One(Initializer):
    """All weights are 1."""

    def __init__(self):
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = 1


@register
class Constant(Initializer):
    """Weights are `value`: a number, or an array (NDArray, NumPy) that broadcasts to their shape."""

    def __init__(self, value):
        array = value.asnumpy() if isinstance(value, NDArray) else value
        super().__init__(value=value if np.isscalar(value) else np.asarray(array).tolist())
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value


@register
class Uniform(Initializer):
    """Weights are uniform in [-scale, scale)."""

    def __init__(self, scale=0.07):
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        _random().uniform(-self.scale, self.scale, arr.shape, out=arr)


@register
class Normal(Initializer):
    """Weights are normal with mean 0 and standard deviation `sigma`."""

    def __init__(self, sigma=0.01):
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        _random().normal(0, self.sigma, arr.shape, out=arr)


@register
class Orthogonal(Initializer):
    """Weights, as a matrix of shape (out, all else), have orthogonal rows or columns of length `scale`.

    rand_type: "uniform" or "normal", the distribution of the matrix that is made orthogonal.
    """

    def __init__(self, scale=1.414, rand_type="uniform"):
        super().__init__(scale=scale, rand_type=rand_type)
        self.scale = scale
        self.rand_type = rand_type

    def _init_weight(self, _, arr):
        shape = arr.shape[0], int(np.prod(arr.shape[1:]))
        if self.rand_type == "uniform":
            start = ndarray.random.uniform(-1.0, 1.0, shape=shape)
        elif self.rand_type == "normal":
            start = ndarray.random.normal(0.0, 1.0, shape=shape)
        else:
            raise ValueError(f"rand_type: expected 'uniform' or 'normal', got {self.rand_type!r}")
        left, _, right = np.linalg.svd(start.asnumpy(), full_matrices=False)
        orthogonal = left if left.shape == shape else right
        arr[:] = self.scale * orthogonal.reshape(arr.shape)


@register
class Xavier(Initializer):
    """Weights have the variance `magnitude` / fan (a third of it with `rnd_type` "uniform"), normal with "gaussian".

    factor_type: "in" takes the number of inputs of a unit as the fan, "out" that of outputs, "avg" their mean. A weight
    has shape (out, in, ...filter); ValueError where it has fewer than two axes.
    """

    def __init__(self, rnd_type="uniform", factor_type="avg", magnitude=3):
        super().__init__(rnd_type=rnd_type, factor_type=factor_type, magnitude=magnitude)
        self.rnd_type = rnd_type
        self.factor_type = factor_type
        self.magnitude = float(magnitude)

    def _init_weight(self, name, arr):
        shape = arr.shape
        if len(shape) < 2:
            raise ValueError(
                f"Xavier initializer cannot be applied to vector {name}. It requires at least 2D, got shape {shape}."
            )
        points = float(np.prod(shape[2:]))
        fan_in, fan_out = shape[1] * points, shape[0] * points
        fans = {"avg": (fan_in + fan_out) / 2.0, "in": fan_in, "out": fan_out}
        if self.factor_type not in fans:
            raise ValueError(f"Incorrect factor type {self.factor_type!r}: expected 'avg', 'in' or 'out'")
        scale = float(np.sqrt(self.magnitude / fans[self.factor_type]))
        if self.rnd_type == "uniform":
            _random().uniform(-scale, scale, shape, out=arr)
        elif self.rnd_type == "gaussian":
            _random().normal(0, scale, shape, out=arr)
        else:
            raise ValueError(f"Unknown random type {self.rnd_type!r}: expected 'uniform' or 'gaussian'")


@register
class MSRAPrelu(Xavier):
    """Normal weights of variance 2 / (1 + slope ** 2) / fan, for layers behind which a PReLU of `slope` stands."""

    def __init__(self, factor_type="avg", slope=0.25):
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Filters of shape (out, in, height, width) that interpolate, for upsampling by transposed convolution."""

    def __init__(self):
        super().__init__()

    def _init_weight(self, name, arr):
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Biases of an LSTM cell, of shape (4 * units,): the forget gate's are `forget_bias`, all others 0."""

    def __init__(self, forget_bias=1.0):
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, _, arr):
        arr[:] = 0.0
        units = arr.shape[0] // 4  # the forget gate is the second of four
        arr[units : 2 * units] = self.forget_bias


@register
class FusedRNN(Initializer):
    """The parameters of a `rnn.FusedRNNCell`, part by part with `init` (an Initializer, its `dumps()`, or None: the
    one that is used otherwise). The other arguments are the cell's; the forget gates' biases are `forget_bias`.
    """

    def __init__(self, init, num_hidden, num_layers, mode, bidirectional=False, forget_bias=1.0):
        if isinstance(init, str):
            init = create(init)
        super().__init__(
            init=None if init is None else init.dumps(),
            num_hidden=num_hidden,
            num_layers=num_layers,
            mode=mode,
            bidirectional=bidirectional,
            forget_bias=forget_bias,
        )
        self._init = init
        self._cell = (num_hidden, num_layers, mode, bidirectional)
        self._forget_bias = forget_bias

    def _init_weight(self, desc, arr):
        num_hidden, num_layers, mode, bidirectional = self._cell
        directions = ["l", "r"] if bidirectional else ["l"]
        end = 0
        for name, part in parts_of(arr, num_hidden, num_layers, mode, directions, "").items():
            if mode == "lstm" and name.endswith("_f_bias"):
                part[:] = self._forget_bias
            else:
                (desc.global_init if self._init is None else self._init)(
                    InitDesc(name, global_init=desc.global_init), part
                )
            begin, end = end, end + part.size
            arr[begin:end] = part.reshape(-1)
