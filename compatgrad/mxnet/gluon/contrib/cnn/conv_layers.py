"""Deformable convolutions: a second convolution computes at which places they read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...._docs import sharing
from ....base import numeric_types
from ..._layer_docs import layer
from ..._shape_probe import conv_weight_shape
from ...block import HybridBlock
from ...nn import Activation
from ...nn.conv_layers import _conv_repr

if TYPE_CHECKING:
    from ....ndarray import NDArray
    from ..._typing import Init, Ints
    from ...parameter import ParameterDict

__all__ = ["DeformableConvolution", "ModulatedDeformableConvolution"]


def _pair(value):
    return (value,) * 2 if isinstance(value, numeric_types) else tuple(value)


class _Deformable(HybridBlock):
    """A convolution that computes `_per_place` numbers for each element of the kernel, and one that these shift."""

    _operator = ""
    _per_place = 2
    _offset_first = True  # whether the offsets' parameters are created before those of the deformable convolution

    def __init__(
        self, channels: int, kernel_size: Ints = (1, 1), strides: Ints = (1, 1), padding: Ints = (0, 0),
        dilation: Ints = (1, 1), groups: int = 1, num_deformable_group: int = 1, layout: str = "NCHW",
        use_bias: bool = True, in_channels: int = 0, activation: str | None = None,
        weight_initializer: Init | None = None, bias_initializer: Init = "zeros",
        offset_weight_initializer: Init = "zeros", offset_bias_initializer: Init = "zeros",
        offset_use_bias: bool = True, op_name: str | None = None, adj: Any = None, prefix: str | None = None,
        params: ParameterDict | None = None,
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        assert layout in ("NCHW", "NHWC"), "Only supports 'NCHW' and 'NHWC' layout for now"
        self._channels = channels
        self._in_channels = in_channels
        self._op_name = op_name or self._operator
        kernel = _pair(kernel_size)
        common = {"kernel": kernel, "stride": _pair(strides), "dilate": _pair(dilation), "pad": _pair(padding),
                  "num_group": groups, "layout": layout}  # fmt: skip
        if adj:
            common["adj"] = adj  # no convolution takes it: the operator raises
        places = kernel[0] * kernel[1] * num_deformable_group
        self._offsets = 2 * places
        self._kwargs_offset = {**common, "num_filter": self._per_place * places, "no_bias": not offset_use_bias}
        self._kwargs_deformable_conv = {
            **common, "num_filter": channels, "num_deformable_group": num_deformable_group, "no_bias": not use_bias,
        }  # fmt: skip
        makers = [
            ("offset", self._kwargs_offset, offset_use_bias, offset_weight_initializer, offset_bias_initializer),
            ("deformable_conv", self._kwargs_deformable_conv, use_bias, weight_initializer, bias_initializer),
        ]
        with self.name_scope():
            for what, kwargs, has_bias, init, bias_init in makers if self._offset_first else makers[::-1]:
                # As in MXNet, the deformable convolution's weight is initialized at the first call; else the
                # initializers would draw random numbers in another order.
                known = in_channels if what == "offset" else 0
                weight = self.params.get(f"{what}_weight", shape=self._weight_shape(kwargs, known), init=init,
                                         allow_deferred_init=True)  # fmt: skip
                setattr(self, f"{what}_weight", weight)
                bias = None
                if has_bias:
                    bias = self.params.get(f"{what}_bias", shape=(kwargs["num_filter"],), init=bias_init,
                                           allow_deferred_init=True)  # fmt: skip
                setattr(self, f"{what}_bias", bias)
            self.act = None if activation is None else Activation(activation, prefix=activation + "_")

    def _weight_shape(self, kwargs, in_channels):
        number = kwargs["num_filter"]
        return conv_weight_shape(number, in_channels, kwargs["kernel"], kwargs["num_group"], kwargs["layout"], False)

    def infer_shape(self, x: NDArray, *args: Any) -> None:
        channels = x.shape[self._kwargs_offset["layout"].find("C")]
        self.offset_weight.shape = self._weight_shape(self._kwargs_offset, channels)
        self.deformable_conv_weight.shape = self._weight_shape(self._kwargs_deformable_conv, channels)

    def _places(self, F, x, weight, bias):
        """The result of the second convolution: the numbers for each element of the kernel, at each place."""
        return F.Convolution(*(v for v in (x, weight, bias) if v is not None), cudnn_off=True, **self._kwargs_offset)

    def _apply(self, F, inputs, bias):
        function = getattr(F.contrib, self._op_name)
        inputs = inputs if bias is None else {**inputs, "bias": bias}
        y = function(**inputs, name="fwd", **self._kwargs_deformable_conv)
        return y if self.act is None else self.act(y)


_TEXT = """
    Args:
        padding: zeros at both ends of each axis, likewise.
        num_deformable_group: the number of groups of channels, each with its own offsets.
        layout: the order of the axes, "NCHW".
        offset_weight_initializer: the initializer of the weight of the second convolution, or its name.
        offset_bias_initializer: the initializer of its bias, or its name.
        offset_use_bias: the second convolution has a bias.
        op_name: the operator of `mx.nd.contrib` that is called; None is that of the class.
        adj: must be None: a convolution has none.

    Raises:
        AssertionError: `layout` is neither "NCHW" nor "NHWC".
        mxnet.base.MXNetError: in a call, shapes do not fit, or `layout` is "NHWC".

    Example:
        >>> layer = gluon.contrib.cnn.{name}(4, kernel_size=(3, 3))
        >>> layer.initialize()
        >>> layer(nd.zeros((1, 3, 7, 7))).shape
        (1, 4, 5, 5)
"""


@layer
@sharing(_TEXT)
class DeformableConvolution(_Deformable):
    """A convolution that reads at shifted places; a second convolution of the same data computes the shifts.

    The weight of the second convolution is 0 at first, so that nothing is shifted. Call: `layer(x)`, x floating point,
    shape (batch, channels, height, width). Dai and others, 2017.
    """

    _operator = "DeformableConvolution"

    def hybrid_forward(
        self, F: Any, x: NDArray, offset_weight: NDArray, deformable_conv_weight: NDArray,
        offset_bias: NDArray | None = None, deformable_conv_bias: NDArray | None = None,
    ) -> Any:  # fmt: skip
        offset = self._places(F, x, offset_weight, offset_bias)
        return self._apply(F, {"data": x, "offset": offset, "weight": deformable_conv_weight}, deformable_conv_bias)

    def _alias(self):
        return "deformable_conv"

    def __repr__(self):
        return _conv_repr(self, self._kwargs_deformable_conv, self.deformable_conv_weight, self.deformable_conv_bias)


@layer
@sharing(_TEXT)
class ModulatedDeformableConvolution(_Deformable):
    """DeformableConvolution in which the second convolution also computes a factor, from 0 to 2, for each element read.

    Call: `layer(x)`, x floating point, shape (batch, channels, height, width). Zhu and others, 2018.
    """

    _operator = "ModulatedDeformableConvolution"
    _per_place = 3
    _offset_first = False

    def hybrid_forward(
        self, F: Any, x: NDArray, offset_weight: NDArray, deformable_conv_weight: NDArray,
        offset_bias: NDArray | None = None, deformable_conv_bias: NDArray | None = None,
    ) -> Any:  # fmt: skip
        found = self._places(F, x, offset_weight, offset_bias)
        offset = F.slice_axis(found, axis=1, begin=0, end=self._offsets)
        mask = F.sigmoid(F.slice_axis(found, axis=1, begin=self._offsets, end=None)) * 2
        inputs = {"data": x, "offset": offset, "mask": mask, "weight": deformable_conv_weight}
        return self._apply(F, inputs, deformable_conv_bias)

    def _alias(self):
        return "modulated_deformable_conv"
