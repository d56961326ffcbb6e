"""Initial values of parameters.

An initializer is a callable `init(desc, array)` that fills the array. What it does depends on the name that `desc`
(an InitDesc) is: subclasses define what happens to weights (`_init_weight`), biases start at 0, gammas at 1.
"""

from __future__ import annotations

import json  # noqa: F401  programs find it here, as in MXNet
import logging
import re
import warnings  # noqa: F401  programs find it here, as in MXNet
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import (
    ndarray,
    random,  # noqa: F401  programs find it here, as in MXNet
    registry,  # noqa: F401  programs find it here, as in MXNet
)
from ._fused_weights import parts_of
from ._initializer_base import (
    InitDesc,
    Initializer,
    _register,  # noqa: F401  programs find it here, as in MXNet
    alias,
    create,
    random_module,
    register,
)
from .ndarray import NDArray
from .util import is_np_array  # noqa: F401  programs find it here, as in MXNet

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


class Load:
    """Copies parameters from arrays that were saved.

    Args:
        param: a dict from names to arrays, or the file that has it; "arg:" and "aux:" in front of names are dropped.
        default_init: the initializer of parameters that the arrays lack; None for none.
        verbose: logs what is initialized.

    Raises:
        AssertionError: `param` is no dict; in a call, the shape differs, or a parameter is not there and there is no
            `default_init`.
        MXNetError: the file cannot be read.

    Example:
        >>> x = nd.zeros(2)
        >>> mx.init.Load({"arg:fc_weight": nd.array([1, 2])})("fc_weight", x)
        >>> x.asnumpy()
        array([1., 2.], dtype=float32)

    Source: `mxnet.initializer.Load` of MXNet 1.9.1.
    """

    def __init__(self, param: dict[str, NDArray] | str, default_init: Any = None, verbose: bool = False) -> None:
        if isinstance(param, str):
            param = ndarray.load(param)
        assert isinstance(param, dict), f"param: expected a dict of arrays, got {type(param).__name__}"
        self.param = {name[4:] if name[:4] in ("arg:", "aux:") else name: arr for name, arr in param.items()}
        self.default_init = default_init
        self.verbose = verbose

    def __call__(self, name: str, arr: NDArray) -> None:
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
    """Several initializers: the first one whose regular expression matches the beginning of a name is used.

    Args:
        patterns: the regular expressions.
        initializers: the initializer of each.

    Raises:
        AssertionError: there are not as many of one as of the other.
        ValueError: in a call, no expression matches.

    Example:
        >>> x, y = nd.zeros(1), nd.zeros(1)
        >>> mixed = mx.init.Mixed(["last", ".*"], [mx.init.Constant(5), mx.init.One()])
        >>> mixed(mx.init.InitDesc("last_weight"), x); mixed(mx.init.InitDesc("fc_weight"), y)
        >>> x.asnumpy(), y.asnumpy()
        (array([5.], dtype=float32), array([1.], dtype=float32))

    Source: `mxnet.initializer.Mixed` of MXNet 1.9.1.
    """

    def __init__(self, patterns: Sequence[str], initializers: Sequence[Any]) -> None:
        assert len(patterns) == len(initializers), f"{len(patterns)} patterns for {len(initializers)} initializers"
        self.map = [(re.compile(pattern), init) for pattern, init in zip(patterns, initializers, strict=False)]

    def __call__(self, name: str, arr: NDArray) -> None:
        for pattern, init in self.map:
            if pattern.match(name):
                init(name, arr)
                return
        raise ValueError(
            f"Parameter name {name} did not match any pattern. Consider adding a "
            '".*" pattern at the end with a default Initializer.'
        )


class _Filling(Initializer):
    """Fills weights with one number."""

    _number: int

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, _, arr):
        arr[:] = self._number


@register
@alias("zeros")
class Zero(_Filling):
    """Weights are 0.

    Example:
        >>> x = nd.ones(2)
        >>> mx.init.Zero()(mx.init.InitDesc("fc_weight"), x)
        >>> x.asnumpy()
        array([0., 0.], dtype=float32)

    Source: `mxnet.initializer.Zero` of MXNet 1.9.1.
    """

    _number = 0


@register
@alias("ones")
class One(_Filling):
    """Weights are 1.

    Example:
        >>> x = nd.zeros(2)
        >>> mx.init.One()(mx.init.InitDesc("fc_weight"), x)
        >>> x.asnumpy()
        array([1., 1.], dtype=float32)

    Source: `mxnet.initializer.One` of MXNet 1.9.1.
    """

    _number = 1


@register
class Constant(Initializer):
    """Weights are a number, or an array.

    Args:
        value: a number, or an array (NDArray, NumPy or a list) that broadcasts to the weights' shape.

    Raises:
        ValueError: in a call, an array does not broadcast to the shape.

    Example:
        >>> x = nd.zeros((2, 2))
        >>> mx.init.Constant([3, 4])(mx.init.InitDesc("fc_weight"), x)
        >>> x.asnumpy()
        array([[3., 4.],
               [3., 4.]], dtype=float32)

    Source: `mxnet.initializer.Constant` of MXNet 1.9.1.
    """

    def __init__(self, value: Any) -> None:
        array = value.asnumpy() if isinstance(value, NDArray) else value
        super().__init__(value=value if np.isscalar(value) else np.asarray(array).tolist())
        self.value = value

    def _init_weight(self, _, arr):
        arr[:] = self.value


@register
class Uniform(Initializer):
    """Weights are uniformly distributed.

    Args:
        scale: the range is from -scale to scale.

    Example:
        >>> x = nd.zeros(100)
        >>> mx.init.Uniform(0.1)(mx.init.InitDesc("fc_weight"), x)
        >>> bool(abs(x).max().asscalar() <= 0.1)
        True

    Source: `mxnet.initializer.Uniform` of MXNet 1.9.1.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, _, arr):
        random_module().uniform(-self.scale, self.scale, arr.shape, out=arr)


@register
class Normal(Initializer):
    """Weights are normally distributed with mean 0.

    Args:
        sigma: the standard deviation.

    Example:
        >>> x = nd.zeros(10000)
        >>> mx.init.Normal(0.1)(mx.init.InitDesc("fc_weight"), x)
        >>> round(float(x.asnumpy().std()), 1)
        0.1

    Source: `mxnet.initializer.Normal` of MXNet 1.9.1.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, _, arr):
        random_module().normal(0, self.sigma, arr.shape, out=arr)


@register
class Orthogonal(Initializer):
    """Weights, as a matrix of shape (out, all else), have orthogonal rows or columns.

    Args:
        scale: the length of rows or columns.
        rand_type: "uniform" or "normal", the distribution of the matrix that is made orthogonal.

    Raises:
        ValueError: in a call, `rand_type` has another value.

    Example:
        >>> x = nd.zeros((2, 3))
        >>> mx.init.Orthogonal(scale=2)(mx.init.InitDesc("fc_weight"), x)
        >>> np.allclose(nd.dot(x, x.T).asnumpy(), 4 * np.eye(2), atol=1e-5)
        True

    Source: `mxnet.initializer.Orthogonal` of MXNet 1.9.1; Saxe, McClelland and Ganguli, Exact Solutions to the
        Nonlinear Dynamics of Learning in Deep Linear Neural Networks, 2013.
    """

    def __init__(self, scale: float = 1.414, rand_type: str = "uniform") -> None:
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
    """Weights whose variance fits the number of a unit's inputs and outputs.

    A weight has the shape (out, in, ...filter), of two axes or more.

    Args:
        rnd_type: "uniform", in ± sqrt(magnitude / fan), or "gaussian", of standard deviation sqrt(magnitude / fan).
        factor_type: what the fan is: "in", the number of inputs of a unit, "out", that of outputs, or "avg", their
            mean.
        magnitude: the numerator.

    Raises:
        ValueError: in a call, the weight has fewer than two axes, or an argument has another value.

    Example:
        >>> x = nd.zeros((2, 6))
        >>> mx.init.Xavier(magnitude=4)(mx.init.InitDesc("fc_weight"), x)
        >>> bool(abs(x).max().asscalar() <= 1)
        True

    Source: `mxnet.initializer.Xavier` of MXNet 1.9.1; Glorot and Bengio, Understanding the Difficulty of Training Deep
        Feedforward Neural Networks, 2010.
    """

    def __init__(self, rnd_type: str = "uniform", factor_type: str = "avg", magnitude: float = 3) -> None:
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
            random_module().uniform(-scale, scale, shape, out=arr)
        elif self.rnd_type == "gaussian":
            random_module().normal(0, scale, shape, out=arr)
        else:
            raise ValueError(f"Unknown random type {self.rnd_type!r}: expected 'uniform' or 'gaussian'")


@register
class MSRAPrelu(Xavier):
    """Normal weights of variance 2 / (1 + slope ** 2) / fan, for layers that a PReLU follows.

    A weight has the shape (out, in, ...filter), of two axes or more.

    Args:
        factor_type: what the fan is, as in Xavier.
        slope: the PReLU's first slope.

    Raises:
        ValueError: in a call, the weight has fewer than two axes, or `factor_type` has another value.

    Example:
        >>> x = nd.zeros((100, 200))
        >>> mx.init.MSRAPrelu("in", slope=0)(mx.init.InitDesc("fc_weight"), x)
        >>> round(float(x.asnumpy().std()), 1)
        0.1

    Source: `mxnet.initializer.MSRAPrelu` of MXNet 1.9.1; He et al., Delving Deep into Rectifiers, 2015.
    """

    def __init__(self, factor_type: str = "avg", slope: float = 0.25) -> None:
        super().__init__("gaussian", factor_type, 2.0 / (1 + slope**2))
        self._kwargs = {"factor_type": factor_type, "slope": slope}


@register
class Bilinear(Initializer):
    """Filters of shape (out, in, height, width) with which a transposed convolution upsamples bilinearly.

    Raises:
        ValueError: in a call, the weight has another number of axes.

    Example:
        >>> x = nd.zeros((1, 1, 4, 4))
        >>> mx.init.Bilinear()(mx.init.InitDesc("up_weight"), x)
        >>> x.asnumpy()[0, 0, 1]
        array([0.1875, 0.5625, 0.5625, 0.1875], dtype=float32)

    Source: `mxnet.initializer.Bilinear` of MXNet 1.9.1.
    """

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name, arr):
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Biases of an LSTM cell, of shape (4 * units,): those of the forget gate are given, all others 0.

    Args:
        forget_bias: the value of the forget gate's.

    Example:
        >>> x = nd.zeros(8)
        >>> mx.init.LSTMBias(1.0)(mx.init.InitDesc("lstm_weight"), x)
        >>> x.asnumpy()
        array([0., 0., 1., 1., 0., 0., 0., 0.], dtype=float32)

    Source: `mxnet.initializer.LSTMBias` of MXNet 1.9.1.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, _, arr):
        arr[:] = 0.0
        units = arr.shape[0] // 4  # the forget gate is the second of four
        arr[units : 2 * units] = self.forget_bias


@register
class FusedRNN(Initializer):
    """The parameters of a `mx.rnn.FusedRNNCell`, one vector, part by part.

    Args:
        init: the initializer of the parts, itself or as `dumps` writes it; None for that of the whole model.
        num_hidden, num_layers: units of a layer, and layers.
        mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".
        bidirectional: whether each layer has both directions.
        forget_bias: value of the biases of forget gates, in the mode "lstm".

    Raises:
        AssertionError: `init` is the name of no initializer.

    Example:
        >>> cell = mx.rnn.FusedRNNCell(2, mode="lstm", prefix="")
        >>> x = nd.zeros(4 * 2 * (3 + 2 + 2))  # for inputs of 3 numbers
        >>> mx.init.FusedRNN(mx.init.One(), 2, 1, "lstm")(mx.init.InitDesc("parameters_weight"), x)
        >>> sorted(set(x.asnumpy().tolist()))
        [0.0, 1.0]

    Source: `mxnet.initializer.FusedRNN` of MXNet 1.9.1.
    """

    def __init__(
        self,
        init: Any,
        num_hidden: int,
        num_layers: int,
        mode: str,
        bidirectional: bool = False,
        forget_bias: float = 1.0,
    ) -> None:
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
