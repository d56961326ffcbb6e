"""Convolution and padding layers; poolings are in `_pooling`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..._docs import sharing
from ...base import MXNetError, numeric_types
from ...ndarray._arguments import whole
from .._layer_docs import layer
from .._shape_probe import conv_weight_shape
from ..block import HybridBlock
from ._pooling import (
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
)
from ._pooling import _Pooling as _Pooling
from ._sizes import LAYOUTS, axes_words, ints
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

_C = TypeVar("_C", bound="type[_Conv]")

for _known in (
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
):
    _known.__module__ = __name__  # the module's name in MXNet, as in pickles


class _Conv(HybridBlock):
    """A convolution over `_axes` axes, or with `_transposed` its transpose, with bias and activation."""

    _axes = 2
    _transposed = False

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints, padding: Ints, dilation: Ints, groups: int, layout: str,
        in_channels: int = 0, activation: str | None = None, use_bias: bool = True,
        weight_initializer: Init | None = None, bias_initializer: Init = "zeros", op_name: str | None = None,
        adj: Any = None, prefix: str | None = None, params: ParameterDict | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        n = self._axes
        channels, groups = whole("Convolution", "num_filter", channels), whole("Convolution", "num_group", groups)
        assert layout in LAYOUTS[n], f"Only supports {' and '.join(map(repr, LAYOUTS[n]))} layout for now"
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name or ("Deconvolution" if self._transposed else "Convolution")
        self._kwargs = {
            "kernel": ints(kernel_size, n, "kernel_size"),
            "stride": ints(strides, n, "strides"),
            "dilate": ints(dilation, n, "dilation"),
            "pad": ints(padding, n, "padding"),
            "num_filter": channels,
            "num_group": groups,
            "no_bias": not use_bias,
            "layout": layout,
        }
        if adj is not None:
            self._kwargs["adj"] = self.outpad = ints(adj, n, "output_padding")
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
        return _conv_repr(self, self._kwargs, self.weight, self.bias)


def _conv_repr(layer: Any, kwargs: dict[str, Any], weight: Any, bias: Any) -> str:
    """The text that describes a convolution whose operator takes `kwargs`."""
    out, inner = weight.shape[:2]
    kernel = kwargs["kernel"]
    parts = [f"{inner if inner else None} -> {out}", f"kernel_size={kernel}", f"stride={kwargs['stride']}"]
    if kwargs["pad"] != (0,) * len(kernel):
        parts.append(f"padding={kwargs['pad']}")
    if kwargs["dilate"] != (1,) * len(kernel):
        parts.append(f"dilation={kwargs['dilate']}")
    if kwargs["num_group"] != 1:
        parts.append(f"groups={kwargs['num_group']}")
    if bias is None:
        parts.append("bias=False")
    if layer.act:
        parts.append(str(layer.act))
    return f"{type(layer).__name__}({', '.join(parts)})"


_TEXT = """
    Call: `layer(x)`, x floating point, shape {shape} in the order of `layout`.

    Args:
        padding: {padding}, likewise.
        layout: the order of the axes of data and result: {layouts}.

    Raises:
        AssertionError: `layout` has another value, or the number of sizes is not {axes}.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: numbers of channels are no multiples of `groups`{errors}.
        ValueError: in the first call, the data has another number of axes.

    Example:
        >>> layer = gluon.nn.{name}(4, kernel_size=3, strides=2{option})
        >>> layer.initialize()
        >>> layer(nd.zeros({given})).shape
        {result}
"""
_OF_CONVOLUTION = {
    "padding": "zeros at both ends of each axis",
    "errors": "; in a call, shapes or dtypes do not fit",
    "option": ', activation="relu"',
}
_OF_TRANSPOSE = {
    "padding": "how many elements are cut off at both ends of each axis of the result",
    "errors": ", or `output_padding` is not less than\n            `strides`; in a call, shapes or dtypes do not fit",
    "option": "",
}


def _documented(cls: _C) -> _C:
    """Completes the docstring of a convolution, or of the transpose of one."""
    n = cls._axes
    small, large = (3,) * n, (7,) * n
    given, result = (small, large) if cls._transposed else (large, small)
    values = {**axes_words(n), **(_OF_TRANSPOSE if cls._transposed else _OF_CONVOLUTION)}
    return layer(sharing(_TEXT, **values, given=(1, 3, *given), result=(1, 4, *result))(cls))


@_documented
class Conv1D(_Conv):
    """Convolution over one axis, then a bias and an activation."""

    _axes = 1

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = 1, padding: Ints = 0, dilation: Ints = 1,
        groups: int = 1, layout: str = "NCW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Init | None = None, bias_initializer: Init = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(*places, activation, use_bias, weight_initializer, bias_initializer, **kwargs)


@_documented
class Conv2D(_Conv):
    """Convolution over two axes, then a bias and an activation."""

    _axes = 2

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = (1, 1), padding: Ints = (0, 0), dilation: Ints = (1, 1),
        groups: int = 1, layout: str = "NCHW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Init | None = None, bias_initializer: Init = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(*places, activation, use_bias, weight_initializer, bias_initializer, **kwargs)


@_documented
class Conv3D(_Conv):
    """Convolution over three axes, then a bias and an activation."""

    _axes = 3

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = (1, 1, 1), padding: Ints = (0, 0, 0),
        dilation: Ints = (1, 1, 1), groups: int = 1, layout: str = "NCDHW", activation: str | None = None,
        use_bias: bool = True, weight_initializer: Init | None = None, bias_initializer: Init = "zeros",
        in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(*places, activation, use_bias, weight_initializer, bias_initializer, **kwargs)


@_documented
class Conv1DTranspose(_Conv):
    """The transpose of a convolution over one axis: what its gradient computes; then a bias and an activation."""

    _axes = 1
    _transposed = True

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = 1, padding: Ints = 0, output_padding: Ints = 0,
        dilation: Ints = 1, groups: int = 1, layout: str = "NCW", activation: str | None = None, use_bias: bool = True,
        weight_initializer: Init | None = None, bias_initializer: Init = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(
            *places, activation, use_bias, weight_initializer, bias_initializer, adj=output_padding, **kwargs
        )


@_documented
class Conv2DTranspose(_Conv):
    """The transpose of a convolution over two axes: what its gradient computes; then a bias and an activation."""

    _axes = 2
    _transposed = True

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = (1, 1), padding: Ints = (0, 0),
        output_padding: Ints = (0, 0), dilation: Ints = (1, 1), groups: int = 1, layout: str = "NCHW",
        activation: str | None = None, use_bias: bool = True, weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(
            *places, activation, use_bias, weight_initializer, bias_initializer, adj=output_padding, **kwargs
        )


@_documented
class Conv3DTranspose(_Conv):
    """The transpose of a convolution over three axes: what its gradient computes; then a bias and an activation."""

    _axes = 3
    _transposed = True

    def __init__(
        self, channels: int, kernel_size: Ints, strides: Ints = (1, 1, 1), padding: Ints = (0, 0, 0),
        output_padding: Ints = (0, 0, 0), dilation: Ints = (1, 1, 1), groups: int = 1, layout: str = "NCDHW",
        activation: str | None = None, use_bias: bool = True, weight_initializer: Init | None = None,
        bias_initializer: Init = "zeros", in_channels: int = 0, **kwargs: Any,
    ) -> None:  # fmt: skip
        places = channels, kernel_size, strides, padding, dilation, groups, layout, in_channels
        super().__init__(
            *places, activation, use_bias, weight_initializer, bias_initializer, adj=output_padding, **kwargs
        )


@layer
class ReflectionPad2D(HybridBlock):
    """Pads images with their mirror image at each edge.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width).

    Args:
        padding: how many rows and columns are added at each edge: one number for all, or eight, two for each axis, of
            which the first four are 0.

    Raises:
        AssertionError: `padding` is neither.
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, the data has another number of axes, or is not larger than `padding`.

    Example:
        >>> gluon.nn.ReflectionPad2D(1)(nd.array([[[[1, 2], [3, 4]]]])).asnumpy()[0, 0]
        array([[4., 3., 4., 3.],
               [2., 1., 2., 1.],
               [4., 3., 4., 3.],
               [2., 1., 2., 1.]], dtype=float32)
    """

    def __init__(self, padding: Ints = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if isinstance(padding, numeric_types):
            padding = (0, 0, 0, 0, padding, padding, padding, padding)
        assert len(padding) == 8, f"padding must be a number or 8 ints, got {padding}"
        self._padding = padding

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.pad(x, mode="reflect", pad_width=self._padding)
