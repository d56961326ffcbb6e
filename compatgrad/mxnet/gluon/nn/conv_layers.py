"""Convolution, pooling and padding layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import MXNetError, numeric_types
from .._shape_probe import conv_weight_shape
from ..block import HybridBlock
from .activations import Activation

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Init, Ints
    from ..parameter import ParameterDict

__all__ = [
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "Conv1DTranspose",
    "Conv2DTranspose",
    "Conv3DTranspose",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "ReflectionPad2D",
]

_LAYOUTS = {1: ("NCW",), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
_POOL_LAYOUTS = {**_LAYOUTS, 1: ("NCW", "NWC")}


def _ints(value, n, name):
    """`value` for each of the n axes: a number stands for all. AssertionError for another length."""
    if isinstance(value, numeric_types):
        return (value,) * n
    assert len(value) == n, f"{name} must be a number or a list of {n} ints"
    return tuple(value)


class _Conv(HybridBlock):
    """A convolution over `_axes` axes, or with `_transposed` its transpose, with bias and activation."""

    _axes = 2
    _transposed = False

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints,
        padding: Ints,
        dilation: Ints,
        groups: int,
        layout: str,
        in_channels: int = 0,
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        op_name: str | None = None,
        adj: Any = None,
        prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        n = self._axes
        assert layout in _LAYOUTS[n], f"Only supports {' and '.join(map(repr, _LAYOUTS[n]))} layout for now"
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name or ("Deconvolution" if self._transposed else "Convolution")
        self._kwargs = {
            "kernel": _ints(kernel_size, n, "kernel_size"),
            "stride": _ints(strides, n, "strides"),
            "dilate": _ints(dilation, n, "dilation"),
            "pad": _ints(padding, n, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = self.outpad = _ints(adj, n, "output_padding")
            for stride, extra in zip(self._kwargs["stride"], self.outpad, strict=True):
                if extra and extra >= max(stride, 1):
                    raise MXNetError(f"Deconvolution: adj {self.outpad} must be smaller than stride, got {stride}")
        with self.name_scope():
            self.weight = self.params.get(
                "weight", shape=self._weight_shape(in_channels), init=weight_initializer, allow_deferred_init=True
            )
            self.bias = None
            if use_bias:
                self.bias = self.params.get("bias", shape=(channels,), init=bias_initializer, allow_deferred_init=True)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _weight_shape(self, in_channels):
        k = self._kwargs
        groups = k["num_group"]
        for name, number in (("num_filter", self._channels), ("the number of input channels", in_channels)):
            if number % groups:
                raise MXNetError(f"{self._op_name}: {name} ({number}) must be a multiple of num_group ({groups})")
        return conv_weight_shape(self._channels, in_channels, k["kernel"], groups, k["layout"], self._transposed)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        axis = self._kwargs["layout"].find("C")
        if len(x.shape) != self._axes + 2:
            raise MXNetError(f"{self._op_name}: expected {self._axes + 2} axes of data, got shape {x.shape}")
        self.weight.shape = self._weight_shape(x.shape[axis])

    def hybrid_forward(self, F: Any, x: NDArray, weight: NDArray, bias: NDArray | None = None) -> Any:
        function = getattr(F, self._op_name)
        inputs = (x, weight) if bias is None else (x, weight, bias)
        y = function(*inputs, name="fwd", **self._kwargs)
        return y if self.act is None else self.act(y)

    def _alias(self):
        return "conv"

    def __repr__(self):
        k = self._kwargs
        n = self._axes
        out, inner = self.weight.shape[:2]
        parts = [f"{inner if inner else None} -> {out}", f"kernel_size={k['kernel']}", f"stride={k['stride']}"]
        if k["pad"] != (0,) * n:
            parts.append(f"padding={k['pad']}")
        if k["dilate"] != (1,) * n:
            parts.append(f"dilation={k['dilate']}")
        if k["num_group"] != 1:
            parts.append(f"groups={k['num_group']}")
        if self.bias is None:
            parts.append("bias=False")
        if self.act:
            parts.append(str(self.act))
        return f"{type(self).__name__}({', '.join(parts)})"


class Conv1D(_Conv):
    """Convolution over one axis with `channels` filters, data in `layout`, and an activation.

    in_channels=0: the first call tells. groups: channels are split into so many independent parts. activation: as in
    Activation, or None. AssertionError for another layout or a wrong number of sizes; MXNetError where the numbers of
    channels are no multiples of groups.
    """

    _axes = 1

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = 1,
        padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class Conv2D(_Conv):
    """Convolution over two axes with `channels` filters, data in `layout`, and an activation.

    Data: (batch, channels, height, width), in the order that `layout` says. Sizes are one int or two.
    The other arguments and the errors are those of Conv1D.
    """

    _axes = 2

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = (1, 1),
        padding: Ints = (0, 0),
        dilation: Ints = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class Conv3D(_Conv):
    """Convolution over three axes with `channels` filters, data in `layout`, and an activation.

    Data: (batch, channels, depth, height, width), in the order that `layout` says. Sizes are one int or three.
    The other arguments and the errors are those of Conv1D.
    """

    _axes = 3

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = (1, 1, 1),
        padding: Ints = (0, 0, 0),
        dilation: Ints = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            **kwargs,
        )


class Conv1DTranspose(_Conv):
    """The transpose of Conv1D: what its gradient computes. `output_padding` is added to one side of the output."""

    _axes = 1
    _transposed = True

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = 1,
        padding: Ints = 0,
        output_padding: Ints = 0,
        dilation: Ints = 1,
        groups: int = 1,
        layout: str = "NCW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            adj=output_padding,
            **kwargs,
        )


class Conv2DTranspose(_Conv):
    """The transpose of Conv2D: what its gradient computes. `output_padding` is added to one side of the output."""

    _axes = 2
    _transposed = True

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = (1, 1),
        padding: Ints = (0, 0),
        output_padding: Ints = (0, 0),
        dilation: Ints = (1, 1),
        groups: int = 1,
        layout: str = "NCHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            adj=output_padding,
            **kwargs,
        )


class Conv3DTranspose(_Conv):
    """The transpose of Conv3D: what its gradient computes. `output_padding` is added to one side of the output."""

    _axes = 3
    _transposed = True

    def __init__(
        self,
        channels: int,
        kernel_size: Ints,
        strides: Ints = (1, 1, 1),
        padding: Ints = (0, 0, 0),
        output_padding: Ints = (0, 0, 0),
        dilation: Ints = (1, 1, 1),
        groups: int = 1,
        layout: str = "NCDHW",
        activation: str | None = None,
        use_bias: bool = True,
        weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros",
        in_channels: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            channels,
            kernel_size,
            strides,
            padding,
            dilation,
            groups,
            layout,
            in_channels,
            activation,
            use_bias,
            weight_initializer,
            bias_initializer,
            adj=output_padding,
            **kwargs,
        )


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
        pool_size = _ints(pool_size, n, "pool_size")
        self._kwargs = {
            "kernel": pool_size,
            "stride": pool_size if strides is None else _ints(strides, n, "strides"),
            "pad": _ints(padding, n, "padding"),
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
    """Pooling over all of each channel."""

    def __init__(self, layout: str, **kwargs: Any) -> None:
        super().__init__((1,) * self._axes, None, 0, True, layout, global_pool=True, **kwargs)


class MaxPool1D(_Pooling):
    """The largest of each window over one axis; ceil_mode: windows may reach over the end.

    pool_size: the window; strides: the steps, None for the size of the window; padding: on both sides. One int, or one
    for each axis.
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


class MaxPool2D(_Pooling):
    """The largest of each window over two axes; ceil_mode: windows may reach over the end. See MaxPool1D."""

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


class MaxPool3D(_Pooling):
    """The largest of each window over three axes; ceil_mode: windows may reach over the end. See MaxPool1D."""

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


class AvgPool1D(_Pooling):
    """The mean of each window over one axis; count_include_pad: padding counts as zeros.

    pool_size: the window; strides: the steps, None for the size of the window; padding: on both sides. One int, or one
    for each axis.
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


class AvgPool2D(_Pooling):
    """The mean of each window over two axes; count_include_pad: padding counts as zeros. See AvgPool1D."""

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


class AvgPool3D(_Pooling):
    """The mean of each window over three axes; count_include_pad: padding counts as zeros. See AvgPool1D."""

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


class GlobalMaxPool1D(_GlobalPooling):
    """The largest of each channel over one axis, which stay as axes of size 1."""

    _axes = 1

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class GlobalMaxPool2D(_GlobalPooling):
    """The largest of each channel over two axes, which stay as axes of size 1."""

    _axes = 2

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class GlobalMaxPool3D(_GlobalPooling):
    """The largest of each channel over three axes, which stay as axes of size 1."""

    _axes = 3

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class GlobalAvgPool1D(_GlobalPooling):
    """The mean of each channel over one axis, which stay as axes of size 1."""

    _axes = 1
    _pool_type = "avg"

    def __init__(self, layout: str = "NCW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class GlobalAvgPool2D(_GlobalPooling):
    """The mean of each channel over two axes, which stay as axes of size 1."""

    _axes = 2
    _pool_type = "avg"

    def __init__(self, layout: str = "NCHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class GlobalAvgPool3D(_GlobalPooling):
    """The mean of each channel over three axes, which stay as axes of size 1."""

    _axes = 3
    _pool_type = "avg"

    def __init__(self, layout: str = "NCDHW", **kwargs: Any) -> None:
        super().__init__(layout, **kwargs)


class ReflectionPad2D(HybridBlock):
    """Mirrors the last two axes of 4-d data at their ends.

    padding: a number for all sides, or eight, two for each axis.
    """

    def __init__(self, padding: Ints = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, numeric_types):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        assert len(padding) == 8, f"padding must be a number or 8 ints, got {padding}"
        self._padding = padding

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
