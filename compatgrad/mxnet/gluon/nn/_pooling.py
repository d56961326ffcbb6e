"""Pooling layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._layer_docs import layer
from ..block import HybridBlock
from ._sizes import LAYOUTS, ints

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Ints

_POOL_LAYOUTS = {**LAYOUTS, 1: ("NCW", "NWC")}


class _Pooling(HybridBlock):
    """Pooling over `_axes` axes. strides=None: the size of the window."""

    _axes = 2
    _pool_type = "max"

    def __init__(
        self,
        pool_size: Ints,
        strides: Ints | None,
        padding: Ints,
        ceil_mode: bool,
        layout: str,
        global_pool: bool = False,
        count_include_pad: bool | None = None,
        **kwargs: Any,
    ) -> None:
        n = self._axes
        assert layout in _POOL_LAYOUTS[n], f"Only {' and '.join(_POOL_LAYOUTS[n])} layouts are valid for {n}D Pooling"
        super().__init__(**kwargs)
        pool_size = ints(pool_size, n, "pool_size")
        self._kwargs = {
            "kernel": pool_size,
            "stride": pool_size if strides is None else ints(strides, n, "strides"),
            "pad": ints(padding, n, "padding"),
            "global_pool": global_pool,
            "pool_type": self._pool_type,
            "layout": layout,
            "pooling_convention": "full" if ceil_mode else "valid",
        }
        if count_include_pad is not None:
            self._kwargs["count_include_pad"] = count_include_pad

    def _alias(self):
        return "pool"

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.Pooling(x, name="fwd", **self._kwargs)

    def __repr__(self):
        k = self._kwargs
        return (
            f"{type(self).__name__}(size={k['kernel']}, stride={k['stride']}, padding={k['pad']}, "
            f"ceil_mode={k['pooling_convention'] == 'full'}, global_pool={k['global_pool']}, "
            f"pool_type={k['pool_type']}, layout={k['layout']})"
        )


class _GlobalPooling(_Pooling):
    """Pooling of whole channels to one element each."""

    def __init__(self, layout: str, **kwargs: Any) -> None:
        super().__init__((1,) * self._axes, None, 0, True, layout, global_pool=True, **kwargs)


@layer
class MaxPool1D(_Pooling):
    """The largest element of each window over one axis.

    Call: `layer(x)`, x floating point, shape (batch, channels, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many elements, which are never the largest, are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCW" or "NWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 1.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.MaxPool1D()(nd.arange(4).reshape((1, 1, 4))).asnumpy().ravel()
        array([1., 3.], dtype=float32)
    """

    _axes = 1

    def __init__(
        self,
        pool_size: Ints = 2,
        strides: Ints | None = None,
        padding: Ints = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@layer
class MaxPool2D(_Pooling):
    """The largest element of each window over two axes.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many elements, which are never the largest, are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCHW" or "NHWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 2.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.MaxPool2D()(nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().ravel()
        array([ 5.,  7., 13., 15.], dtype=float32)
    """

    _axes = 2

    def __init__(
        self,
        pool_size: Ints = (2, 2),
        strides: Ints | None = None,
        padding: Ints = 0,
        layout: str = "NCHW",
        ceil_mode: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@layer
class MaxPool3D(_Pooling):
    """The largest element of each window over three axes.

    Call: `layer(x)`, x floating point, shape (batch, channels, depth, height, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many elements, which are never the largest, are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCDHW" or "NDHWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 3.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.MaxPool3D()(nd.arange(64).reshape((1, 1, 4, 4, 4))).asnumpy().ravel()
        array([21., 23., 29., 31., 53., 55., 61., 63.], dtype=float32)
    """

    _axes = 3

    def __init__(
        self,
        pool_size: Ints = (2, 2, 2),
        strides: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@layer
class AvgPool1D(_Pooling):
    """The mean of each window over one axis.

    Call: `layer(x)`, x floating point, shape (batch, channels, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many zeros are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCW" or "NWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 1.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.AvgPool1D()(nd.arange(4).reshape((1, 1, 4))).asnumpy().ravel()
        array([0.5, 2.5], dtype=float32)
    """

    _axes = 1
    _pool_type = "avg"

    def __init__(
        self,
        pool_size: Ints = 2,
        strides: Ints | None = None,
        padding: Ints = 0,
        layout: str = "NCW",
        ceil_mode: bool = False,
        count_include_pad: bool | None = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@layer
class AvgPool2D(_Pooling):
    """The mean of each window over two axes.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many zeros are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCHW" or "NHWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 2.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.AvgPool2D()(nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().ravel()
        array([ 2.5,  4.5, 10.5, 12.5], dtype=float32)
    """

    _axes = 2
    _pool_type = "avg"

    def __init__(
        self,
        pool_size: Ints = (2, 2),
        strides: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        layout: str = "NCHW",
        count_include_pad: bool | None = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@layer
class AvgPool3D(_Pooling):
    """The mean of each window over three axes.

    Call: `layer(x)`, x floating point, shape (batch, channels, depth, height, width) in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many zeros are added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: "NCDHW" or "NDHWC".

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not 3.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.

    Example:
        >>> gluon.nn.AvgPool3D()(nd.arange(64).reshape((1, 1, 4, 4, 4))).asnumpy().ravel()
        array([10.5, 12.5, 18.5, 20.5, 42.5, 44.5, 50.5, 52.5], dtype=float32)
    """

    _axes = 3
    _pool_type = "avg"

    def __init__(
        self,
        pool_size: Ints = (2, 2, 2),
        strides: Ints | None = None,
        padding: Ints = 0,
        ceil_mode: bool = False,
        layout: str = "NCDHW",
        count_include_pad: bool | None = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@layer
class GlobalMaxPool1D(_GlobalPooling):
    """The largest element of each channel over one axis, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCW" or "NWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalMaxPool1D()(nd.arange(2).reshape((1, 1, 2))).shape
        (1, 1, 1)
    """

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@layer
class GlobalMaxPool2D(_GlobalPooling):
    """The largest element of each channel over two axes, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCHW" or "NHWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalMaxPool2D()(nd.arange(4).reshape((1, 1, 2, 2))).shape
        (1, 1, 1, 1)
    """

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@layer
class GlobalMaxPool3D(_GlobalPooling):
    """The largest element of each channel over three axes, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, depth, height, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCDHW" or "NDHWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalMaxPool3D()(nd.arange(8).reshape((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@layer
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel over one axis, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCW" or "NWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalAvgPool1D()(nd.arange(2).reshape((1, 1, 2))).shape
        (1, 1, 1)
    """

    _axes = 1
    _pool_type = "avg"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@layer
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel over two axes, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCHW" or "NHWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalAvgPool2D()(nd.arange(4).reshape((1, 1, 2, 2))).shape
        (1, 1, 1, 1)
    """

    _axes = 2
    _pool_type = "avg"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@layer
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel over three axes, which stay as axes of length 1.

    Call: `layer(x)`, x floating point, shape (batch, channels, depth, height, width) in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: "NCDHW" or "NDHWC".

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.GlobalAvgPool3D()(nd.arange(8).reshape((1, 1, 2, 2, 2))).shape
        (1, 1, 1, 1, 1)
    """

    _axes = 3
    _pool_type = "avg"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)
