"""Containers, Dense, Dropout, Embedding, and functions as layers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ... import ndarray as nd
from .._layer_docs import layer
from ..block import Block, HybridBlock
from ._norm import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm
from .activations import Activation

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Dtype, Init

__all__ = [
    "Sequential",
    "HybridSequential",
    "Dense",
    "Dropout",
    "Embedding",
    "BatchNorm",
    "BatchNormReLU",
    "InstanceNorm",
    "LayerNorm",
    "GroupNorm",
    "Flatten",
    "Lambda",
    "HybridLambda",
]


class _Stack:
    """The base class of Sequential and HybridSequential."""

    _has_a_row = False

    def add(self, *blocks: Block) -> None:
        """Puts `blocks` at the end."""
        for block in blocks:
            self.register_child(block)

    def __repr__(self):
        return self._repr_with(self._children.items())

    def __getitem__(self, key):
        layers = list(self._children.values())[key]
        if not isinstance(layers, list):
            return layers
        part = type(self)(prefix=self._prefix)
        with part.name_scope():
            part.add(*layers)
        return part

    def __len__(self):
        return len(self._children)


@layer
class Sequential(_Stack, Block):
    """Calls its blocks in the order in which they were added, each on the result of the one before.

    `add` puts blocks at the end, `net[i]` is one of them, `net[i:j]` a Sequential of some, `len(net)` their number.

    Args:
        prefix: what all names inside start with; None makes one from a number.

    Example:
        >>> net = gluon.nn.Sequential()
        >>> net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(2))
        >>> net.initialize()
        >>> net(nd.zeros((1, 3))).shape, len(net)
        ((1, 2), 2)
    """

    def forward(self, x: NDArray) -> Any:
        for block in self._children.values():
            x = block(x)
        return x

    def hybridize(self, active: bool = True, **kwargs: Any) -> None:
        """Hybridizes the blocks inside; warns if all are HybridBlocks, which HybridSequential could hold."""
        if self._children and all(isinstance(child, HybridBlock) for child in self._children.values()):
            warnings.warn(
                f"All children of this Sequential layer '{self.prefix}' are HybridBlocks. Consider using "
                "HybridSequential for the best performance.",
                stacklevel=2,
            )
        super().hybridize(active, **kwargs)


@layer
class HybridSequential(_Stack, HybridBlock):
    """Sequential for HybridBlocks, which can be hybridized, exported and run on symbols.

    `add` puts blocks at the end, `net[i]` is one of them, `net[i:j]` a HybridSequential of some, `len(net)` their
    number.

    Args:
        prefix: what all names inside start with; None makes one from a number.

    Raises:
        ValueError: a block that is added is no HybridBlock.
        TypeError: an argument is not known.

    Example:
        >>> net = gluon.nn.HybridSequential()
        >>> net.add(gluon.nn.Dense(4, activation="relu"), gluon.nn.Dense(2))
        >>> net.initialize()
        >>> net(nd.zeros((1, 3))).shape, net[0].weight.shape
        ((1, 2), (4, 3))
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        for block in self._children.values():
            x = block(x)
        return x


@layer
class Dense(HybridBlock):
    """A fully connected layer: activation(x @ weight.T + bias), `weight` (units, in_units), `bias` (units,).

    Call: `layer(x)`, x floating point, shape (batch, ...); the result is (batch, units), without `flatten` (...,
    units).

    Args:
        units: the number of outputs.
        flatten: all axes of x but the first are one; else only the last axis is multiplied.
        in_units: the number of inputs; 0 for the number in the first call.

    Example:
        >>> layer = gluon.nn.Dense(2, in_units=3, weight_initializer="ones")
        >>> layer.initialize()
        >>> layer(nd.array([[1.0, 2.0, 3.0]])).asnumpy()
        array([[6., 6.]], dtype=float32)
    """

    def __init__(
        self,
        units: int,
        activation: str | None = None,
        use_bias: bool = True,
        flatten: bool = True,
        dtype: Dtype = "float32",
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_units: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._flatten = flatten
        self._units = units
        self._in_units = in_units
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=(units, in_units), init=weight_initializer, dtype=dtype, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get(
                    "bias", shape=(units,), init=bias_initializer, dtype=dtype, allow_deferred_init=True
                )
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        shape = x.shape
        width = shape[-1]
        if self._flatten:
            width = 1
            for size in shape[1:]:
                width *= size
        self.weight.shape = (self._units, width)

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> Any:
        y = F.FullyConnected(
            x, weight, bias, no_bias=bias is None, num_hidden=self._units, flatten=self._flatten, name="fwd"
        )
        return y if self.act is None else self.act(y)

    def __repr__(self):
        units, in_units = self.weight.shape
        act = self.act if self.act else "linear"
        return f"{type(self).__name__}({in_units if in_units else None} -> {units}, {act})"


@layer
class Dropout(HybridBlock):
    """In training, elements become 0 with probability `rate`, and the others are divided by 1 - rate; else x.

    Call: `layer(x)`, x floating point, any shape.

    Args:
        rate: the probability, from 0 to 1.
        axes: axes along which all elements are kept or dropped together.

    Raises:
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call in training, `rate` is outside of its range.

    Example:
        >>> layer, x = gluon.nn.Dropout(0.5), nd.ones((1000,))
        >>> with autograd.record():
        ...     y = layer(x)
        >>> sorted(set(y.asnumpy().tolist())), float(layer(x).sum().asscalar())
        ([0.0, 2.0], 1000.0)
    """

    def __init__(self, rate: float, axes: Sequence[int] = (), **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._rate = rate
        self._axes = axes

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        if self._rate > 0:
            return F.Dropout(x, p=self._rate, axes=self._axes, name="fwd", cudnn_off=False)
        return F.identity(x)

    def __repr__(self):
        return f"{type(self).__name__}(p = {self._rate}, axes={self._axes})"


@layer
class Embedding(HybridBlock):
    """Looks up rows of a matrix `weight`, (input_dim, output_dim), by their indices.

    Call: `layer(x)`, x integers of any dtype and shape; the result has the shape (*x.shape, output_dim).

    Args:
        sparse_grad: the gradient is row-sparse, so that only the rows that were read are updated.

    Example:
        >>> layer = gluon.nn.Embedding(3, 2, weight_initializer="ones")
        >>> layer.initialize()
        >>> layer(nd.array([2, 0])).asnumpy()
        array([[1., 1.],
               [1., 1.]], dtype=float32)
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        dtype: Dtype = "float32",
        weight_initializer: Init | None = None,
        sparse_grad: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {
            "input_dim": input_dim,
            "output_dim": output_dim,
            "dtype": dtype,
            "sparse_grad": sparse_grad,
        }
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            allow_deferred_init=True,
            grad_stype="row_sparse" if sparse_grad else "default",
        )

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray) -> Any:
        return F.Embedding(x, weight, name="fwd", **self._kwargs)

    def __repr__(self):
        k = self._kwargs
        return f"{type(self).__name__}({k['input_dim']} -> {k['output_dim']}, {k['dtype']})"


@layer
class Flatten(HybridBlock):
    """Merges all axes after the first into one.

    Call: `layer(x)`, x of any dtype, shape (batch, ...).

    Args:
        prefix: what the name starts with; None makes one from a number.

    Example:
        >>> gluon.nn.Flatten()(nd.zeros((2, 3, 4))).shape
        (2, 12)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.flatten(x)

    def __repr__(self):
        return type(self).__name__


@layer
class Lambda(Block):
    """A function of arrays as a block.

    Args:
        function: called as `function(*args)`, or the name of a function of `mx.nd`.
        prefix: what the name starts with; None makes one from a number.

    Raises:
        AssertionError: there is no function of the name.
        ValueError: `function` is neither.

    Example:
        >>> gluon.nn.Lambda("square")(nd.array([2.0])).asnumpy()
        array([4.], dtype=float32)
    """

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            assert hasattr(nd, function), f"Function name {function} is not found in ndarray."
            function = getattr(nd, function)
        elif not callable(function):
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")
        self._func_impl = function

    def forward(self, *args: Any) -> Any:
        return self._func_impl(*args)

    def __repr__(self):
        return f"{type(self).__name__}({self._func_impl.__name__})"


@layer
class HybridLambda(HybridBlock):
    """A function of arrays or symbols as a block.

    Args:
        function: called as `function(F, x, *args)`, F being `mx.nd` or `mx.sym`; or the name of a function of both.
        prefix: what the name starts with; None makes one from a number.

    Raises:
        AssertionError: there is no function of the name.
        ValueError: `function` is neither.

    Example:
        >>> gluon.nn.HybridLambda(lambda F, x: F.square(x) + 1)(nd.array([2.0])).asnumpy()
        array([5.], dtype=float32)
    """

    def __init__(self, function: Callable[..., Any] | str, prefix: str | None = None) -> None:
        super().__init__(prefix=prefix)
        if isinstance(function, str):
            assert hasattr(nd, function), f"Function name {function} is not found in symbol/ndarray."
            self._func_name = function
            self._func = lambda F, *args: getattr(F, function)(*args)
        elif callable(function):
            self._func_name = function.__name__
            self._func = function
        else:
            raise ValueError(f"Unrecognized function in lambda: {function} of type {type(function)}")

    def hybrid_forward(self, F: Any, x: NDArray, *args: Any) -> Any:
        return self._func(F, x, *args)

    def __repr__(self):
        return f"{type(self).__name__}({self._func_name})"
