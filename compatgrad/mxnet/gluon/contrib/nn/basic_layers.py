"""Containers of parallel branches, pixel shuffling, and normalization over devices."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .... import context
from .... import ndarray as nd
from ...._docs import sharing
from ..._layer_docs import layer
from ...block import Block, HybridBlock
from ...nn import BatchNorm, Embedding, HybridSequential, Sequential

if TYPE_CHECKING:
    from ....ndarray import NDArray
    from ..._typing import Dtype, Init, Ints
    from ...parameter import ParameterDict

__all__ = [
    "Concurrent",
    "HybridConcurrent",
    "Identity",
    "SparseEmbedding",
    "SyncBatchNorm",
    "PixelShuffle1D",
    "PixelShuffle2D",
    "PixelShuffle3D",
]


_SIDE_BY_SIDE = """
    `add` puts blocks at the end.

    Args:
        axis: the axis along which results are joined.
        prefix: what all names inside start with; None makes one from a number.
        params: the ParameterDict of another block, whose parameters this one shares.
    """


@layer
@sharing(_SIDE_BY_SIDE)
class Concurrent(Sequential):
    """Blocks side by side: all are called on the same input, and their results are joined.

    Example:
        >>> net = gluon.contrib.nn.Concurrent(axis=1)
        >>> net.add(gluon.nn.Dense(4), gluon.nn.Dense(2))
        >>> net.initialize()
        >>> net(nd.zeros((1, 3))).shape
        (1, 6)
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def forward(self, x: NDArray) -> Any:
        return nd.concat(*[block(x) for block in self._children.values()], dim=self.axis)


@layer
@sharing(_SIDE_BY_SIDE)
class HybridConcurrent(HybridSequential):
    """HybridBlocks side by side: all are called on the same input, and their results are joined.

    Example:
        >>> net = gluon.contrib.nn.HybridConcurrent(axis=1)
        >>> net.add(gluon.nn.Dense(4), gluon.nn.Dense(2))
        >>> net.initialize()
        >>> net(nd.zeros((1, 3))).shape
        (1, 6)
    """

    def __init__(self, axis: int = -1, prefix: str | None = None, params: ParameterDict | None = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self.axis = axis

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.concat(*[block(x) for block in self._children.values()], dim=self.axis)


@layer
class Identity(HybridBlock):
    """Gives its input back.

    Call: `layer(x)`, x of any shape and dtype.

    Args:
        prefix: what all names inside start with; None makes one from a number.
        params: the ParameterDict of another block, whose parameters this one shares.

    Example:
        >>> gluon.contrib.nn.Identity()(nd.array([1.0, 2.0])).asnumpy()
        array([1., 2.], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return x


@layer
class SparseEmbedding(Block):
    """Embedding whose weight and gradient are row-sparse.

    Call: `layer(x)`, x integers of any dtype and shape; the result has the shape (*x.shape, output_dim).

    Raises:
        TypeError: an argument is not known.
        RuntimeError: in a call, no Trainer holds the weight yet.

    Example:
        >>> layer = gluon.contrib.nn.SparseEmbedding(3, 2, weight_initializer="ones")
        >>> layer.initialize()
        >>> trainer = gluon.Trainer(layer.collect_params(), "sgd")
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
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._kwargs = {"input_dim": input_dim, "output_dim": output_dim, "dtype": dtype, "sparse_grad": True}
        self.weight = self.params.get(
            "weight",
            shape=(input_dim, output_dim),
            init=weight_initializer,
            dtype=dtype,
            grad_stype="row_sparse",
            stype="row_sparse",
        )

    def forward(self, x: NDArray) -> Any:
        return nd.Embedding(x, self.weight.row_sparse_data(x), name="fwd", **self._kwargs)

    __repr__ = Embedding.__repr__


@layer
class SyncBatchNorm(BatchNorm):
    """BatchNorm for several devices. In MXNet, the devices share the statistics of a batch; here they do not.

    Contexts run one after the other here, so that each normalizes its own part of the batch.

    Args:
        num_devices: the number of devices; None is that of the GPUs, with a warning.

    Example:
        >>> layer = gluon.contrib.nn.SyncBatchNorm(num_devices=1)
        >>> layer.initialize()
        >>> layer(nd.array([[1.0, 2.0]])).asnumpy().round(3)
        array([[1., 2.]], dtype=float32)
    """

    def __init__(
        self,
        in_channels: int = 0,
        num_devices: int | None = None,
        momentum: float = 0.9,
        epsilon: float = 1e-05,
        center: bool = True,
        scale: bool = True,
        use_global_stats: bool = False,
        beta_initializer: Init = "zeros",
        gamma_initializer: Init = "ones",
        running_mean_initializer: Init = "zeros",
        running_variance_initializer: Init = "ones",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            1,
            momentum,
            epsilon,
            center,
            scale,
            use_global_stats,
            beta_initializer,
            gamma_initializer,
            running_mean_initializer,
            running_variance_initializer,
            in_channels,
            **kwargs,
        )
        self._num_devices = self._get_num_devices() if num_devices is None else num_devices

    def _get_num_devices(self):
        warnings.warn(
            "Caution using SyncBatchNorm: if not using all the GPUs, please mannually set num_devices",
            UserWarning,
            stacklevel=3,
        )
        return max(context.num_gpus(), 1)


class _PixelShuffle(HybridBlock):
    """Moves blocks of channels into the last `_axes` axes, each of which grows by its factor."""

    _axes = 2

    def __init__(self, factor: Ints) -> None:
        super().__init__()
        n = self._axes
        try:
            self._factors = (int(factor),) * n
        except TypeError:
            self._factors = tuple(int(f) for f in factor)
            assert len(self._factors) == n, f"wrong length {len(self._factors)}"

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        # (N, C*f1*f2…, W1, W2…) -> (N, C, f1, f2…, W1, W2…) -> (N, C, W1, f1, W2, f2…) -> (N, C, W1*f1, W2*f2…)
        n = self._axes
        product = 1
        for factor in self._factors:
            product *= factor
        x = F.reshape(x, (0, -4, -1, product) + (0,) * n)
        for i, factor in enumerate(self._factors[:-1]):
            product //= factor
            x = F.reshape(x, (0,) * (2 + i) + (-4, factor, product) + (0,) * n)
        order = [0, 1]
        for i in range(n):
            order += [2 + n + i, 2 + i]
        x = F.transpose(x, tuple(order))
        return F.reshape(x, (0, 0) + (-3,) * n)

    def __repr__(self):
        return f"{type(self).__name__}({self._factors})"


@layer
class PixelShuffle1D(_PixelShuffle):
    """Moves blocks of channels into the last axis, which grows by a factor.

    Call: `layer(x)`, x of any dtype, shape (batch, f * C, W); the result has the shape (batch, C, f * W).

    Args:
        factor: by how much the axis grows: an int.

    Raises:
        AssertionError: there is another number of factors.
        ValueError, TypeError: `factor` has no integers.
        mxnet.base.MXNetError: in a call, the number of channels is no multiple of the factors, or there are other axes.

    Example:
        >>> gluon.contrib.nn.PixelShuffle1D(2)(nd.zeros((1, 2, 3))).shape
        (1, 1, 6)
    """

    _axes = 1

    def __init__(self, factor: int) -> None:
        super().__init__(int(factor))

    def __repr__(self):
        return f"{type(self).__name__}({self._factors[0]})"


@layer
class PixelShuffle2D(_PixelShuffle):
    """Moves blocks of channels into the last axes, which grow by factors.

    Call: `layer(x)`, x of any dtype, shape (batch, f1 * f2 * C, H, W); the result has the shape (batch, C, f1 * H, f2 *
    W).

    Args:
        factor: by how much each axis grows: an int or two.

    Raises:
        AssertionError: there is another number of factors.
        ValueError, TypeError: `factor` has no integers.
        mxnet.base.MXNetError: in a call, the number of channels is no multiple of the factors, or there are other axes.

    Example:
        >>> gluon.contrib.nn.PixelShuffle2D(2)(nd.zeros((1, 4, 3, 3))).shape
        (1, 1, 6, 6)
    """

    _axes = 2


@layer
class PixelShuffle3D(_PixelShuffle):
    """Moves blocks of channels into the last axes, which grow by factors.

    Call: `layer(x)`, x of any dtype, shape (batch, f1 * f2 * f3 * C, D, H, W); the result has the shape (batch, C, f1 *
    D, f2 * H, f3 * W).

    Args:
        factor: by how much each axis grows: an int or three.

    Raises:
        AssertionError: there is another number of factors.
        ValueError, TypeError: `factor` has no integers.
        mxnet.base.MXNetError: in a call, the number of channels is no multiple of the factors, or there are other axes.

    Example:
        >>> gluon.contrib.nn.PixelShuffle3D(2)(nd.zeros((1, 8, 3, 3, 3))).shape
        (1, 1, 6, 6, 6)
    """

    _axes = 3
