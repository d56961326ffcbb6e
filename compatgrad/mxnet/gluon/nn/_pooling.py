"""Pooling layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..._docs import sharing
from .._layer_docs import layer
from ..block import HybridBlock
from ._sizes import LAYOUTS, axes_words, ints

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Ints

_P = TypeVar("_P", bound="type[_Pooling]")
_POOL_LAYOUTS = {**LAYOUTS, 1: ("NCW", "NWC")}
_WINDOWS = """
    Call: `layer(x)`, x floating point, shape {shape} in the order of `layout`.

    Args:
        strides: the distance of windows, likewise; None is `pool_size`.
        padding: how many {padding} added at both ends of each axis, likewise.
        layout: the order of the axes of data and result: {layouts}.

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not {axes}.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is smaller than a window.
"""
_CHANNELS = """
    Call: `layer(x)`, x floating point, shape {shape} in the order of `layout`.

    Args:
        layout: the order of the axes of data and result: {layouts}.

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes.

    Example:
        >>> gluon.nn.{name}()(nd.arange({count}).reshape({given})).shape
        {result}
"""


class _Pooling(HybridBlock):
    """Pooling over `_axes` axes. strides=None: the size of the window."""

    _axes = 2
    _pool_type = "max"

    def __init__(
        self, pool_size: Ints, strides: Ints | None, padding: Ints, ceil_mode: bool, layout: str,
        global_pool: bool = False, count_include_pad: bool | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
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


def _documented(text: str) -> Callable[[_P], _P]:
    """A decorator that completes the docstring of a pooling layer by one of the texts above."""

    def complete(cls: _P) -> _P:
        n = cls._axes
        padding = "zeros are" if cls._pool_type == "avg" else "elements, which are never the largest, are"
        values = {"padding": padding, "count": 2**n, "given": (1, 1, *(2,) * n), "result": (1,) * (n + 2)}
        return layer(sharing(text, **axes_words(n, _POOL_LAYOUTS), **values)(cls))

    return complete


@_documented(_WINDOWS)
class MaxPool1D(_Pooling):
    """The largest element of each window over one axis.

    Example:
        >>> gluon.nn.MaxPool1D()(nd.arange(4).reshape((1, 1, 4))).asnumpy().ravel()
        array([1., 3.], dtype=float32)
    """

    _axes = 1

    def __init__(
        self, pool_size: Ints = 2, strides: Ints | None = None, padding: Ints = 0, layout: str = "NCW",
        ceil_mode: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@_documented(_WINDOWS)
class MaxPool2D(_Pooling):
    """The largest element of each window over two axes.

    Example:
        >>> gluon.nn.MaxPool2D()(nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().ravel()
        array([ 5.,  7., 13., 15.], dtype=float32)
    """

    _axes = 2

    def __init__(
        self, pool_size: Ints = (2, 2), strides: Ints | None = None, padding: Ints = 0, layout: str = "NCHW",
        ceil_mode: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@_documented(_WINDOWS)
class MaxPool3D(_Pooling):
    """The largest element of each window over three axes.

    Example:
        >>> gluon.nn.MaxPool3D()(nd.arange(64).reshape((1, 1, 4, 4, 4))).asnumpy().ravel()
        array([21., 23., 29., 31., 53., 55., 61., 63.], dtype=float32)
    """

    _axes = 3

    def __init__(
        self, pool_size: Ints = (2, 2, 2), strides: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
        layout: str = "NCDHW", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, **kwargs)


@_documented(_WINDOWS)
class AvgPool1D(_Pooling):
    """The mean of each window over one axis.

    Example:
        >>> gluon.nn.AvgPool1D()(nd.arange(4).reshape((1, 1, 4))).asnumpy().ravel()
        array([0.5, 2.5], dtype=float32)
    """

    _axes = 1
    _pool_type = "avg"

    def __init__(
        self, pool_size: Ints = 2, strides: Ints | None = None, padding: Ints = 0, layout: str = "NCW",
        ceil_mode: bool = False, count_include_pad: bool | None = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@_documented(_WINDOWS)
class AvgPool2D(_Pooling):
    """The mean of each window over two axes.

    Example:
        >>> gluon.nn.AvgPool2D()(nd.arange(16).reshape((1, 1, 4, 4))).asnumpy().ravel()
        array([ 2.5,  4.5, 10.5, 12.5], dtype=float32)
    """

    _axes = 2
    _pool_type = "avg"

    def __init__(
        self, pool_size: Ints = (2, 2), strides: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
        layout: str = "NCHW", count_include_pad: bool | None = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@_documented(_WINDOWS)
class AvgPool3D(_Pooling):
    """The mean of each window over three axes.

    Example:
        >>> gluon.nn.AvgPool3D()(nd.arange(64).reshape((1, 1, 4, 4, 4))).asnumpy().ravel()
        array([10.5, 12.5, 18.5, 20.5, 42.5, 44.5, 50.5, 52.5], dtype=float32)
    """

    _axes = 3
    _pool_type = "avg"

    def __init__(
        self, pool_size: Ints = (2, 2, 2), strides: Ints | None = None, padding: Ints = 0, ceil_mode: bool = False,
        layout: str = "NCDHW", count_include_pad: bool | None = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(pool_size, strides, padding, ceil_mode, layout, count_include_pad=count_include_pad, **kwargs)


@_documented(_CHANNELS)
class GlobalMaxPool1D(_GlobalPooling):
    """The largest element of each channel over one axis, which stay as axes of length 1."""

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_documented(_CHANNELS)
class GlobalMaxPool2D(_GlobalPooling):
    """The largest element of each channel over two axes, which stay as axes of length 1."""

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_documented(_CHANNELS)
class GlobalMaxPool3D(_GlobalPooling):
    """The largest element of each channel over three axes, which stay as axes of length 1."""

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_documented(_CHANNELS)
class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel over one axis, which stay as axes of length 1."""

    _axes = 1
    _pool_type = "avg"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_documented(_CHANNELS)
class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel over two axes, which stay as axes of length 1."""

    _axes = 2
    _pool_type = "avg"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


@_documented(_CHANNELS)
class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel over three axes, which stay as axes of length 1."""

    _axes = 3
    _pool_type = "avg"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)
