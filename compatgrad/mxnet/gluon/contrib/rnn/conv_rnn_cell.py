"""Recurrent cells whose states are images: convolutions take the place of matrix products."""

from __future__ import annotations

from typing import Any

from ..._layer_docs import layer
from ...rnn._cell import HybridRecurrentCell
from ...rnn._gates import gru_gates, lstm_gates
from ...rnn._sequence import named_steps

__all__ = ["Conv1DRNNCell", "Conv2DRNNCell", "Conv3DRNNCell", "Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell",
           "Conv1DGRUCell", "Conv2DGRUCell", "Conv3DGRUCell"]  # fmt: skip


class _ConvCell(HybridRecurrentCell):
    """A cell whose gates are convolutions of the input and of the first state, with a bias each.

    Args:
        input_shape: shape of a sample's input, (channels, *size) or (*size, channels) as `conv_layout` says; 0 channels
            are taken from the first input.
        hidden_channels: channels of states.
        i2h_kernel, h2h_kernel: sizes of kernels; the second are odd, so that states keep their size.
        i2h_pad, i2h_dilate, h2h_dilate: of the convolutions, a number or one for each axis.
        conv_layout: 'NCW', 'NCHW', 'NCDHW' or with the channels last.
        activation: name of an activation, a LeakyReLU, or a function.
    """

    _dims = 2
    _gates = 1
    _states = 1

    def __init__(
        self,
        input_shape: tuple[int, ...],
        hidden_channels: int,
        i2h_kernel: Any,
        h2h_kernel: Any,
        i2h_pad: Any = 0,
        i2h_dilate: Any = 1,
        h2h_dilate: Any = 1,
        i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros",
        conv_layout: str | None = None,
        activation: Any = "tanh",
        prefix: str | None = None,
        params: Any = None,
    ) -> None:
        super().__init__(prefix=prefix, params=params)
        self._hidden_channels = hidden_channels
        self._input_shape = tuple(input_shape)
        self._conv_layout = conv_layout or ("NCW", "NCHW", "NCDHW")[self._dims - 1]
        self._activation = activation
        self._channel_axis = self._conv_layout.find("C")
        kernel, self._h2h_kernel = self._each("i2h_kernel", i2h_kernel), self._each("h2h_kernel", h2h_kernel)
        dilate, h2h_dilate = self._each("i2h_dilate", i2h_dilate), self._each("h2h_dilate", h2h_dilate)
        pad = self._each("i2h_pad", i2h_pad)
        if any(k % 2 == 0 for k in self._h2h_kernel):
            raise AssertionError(f"{type(self).__name__}: Only support odd number, get h2h_kernel= {h2h_kernel}")
        h2h_pad = tuple(d * (k - 1) // 2 for d, k in zip(h2h_dilate, self._h2h_kernel, strict=True))
        self._i2h = {"kernel": kernel, "pad": pad, "dilate": dilate}
        self._h2h = {"kernel": self._h2h_kernel, "pad": h2h_pad, "dilate": h2h_dilate}
        size = self._input_shape[1:] if self._channel_axis == 1 else self._input_shape[:-1]
        if len(self._input_shape) != self._dims + 1:
            raise AssertionError(
                f"{type(self).__name__}: input_shape must have {self._dims + 1} axes, without the batch's, got "
                f"{input_shape}"
            )
        out = [n + 2 * p - d * (k - 1) if n else 0 for n, k, p, d in zip(size, kernel, pad, dilate, strict=True)]
        self._state_shape = self._with_channels(hidden_channels, out)
        rows, in_channels = hidden_channels * self._gates, self._input_shape[self._channel_axis - 1]
        for name, shape, init in (
            ("i2h_weight", (rows, *self._with_channels(in_channels, kernel)), i2h_weight_initializer),
            ("h2h_weight", (rows, *self._with_channels(hidden_channels, self._h2h_kernel)), h2h_weight_initializer),
            ("i2h_bias", (rows,), i2h_bias_initializer),
            ("h2h_bias", (rows,), h2h_bias_initializer),
        ):
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def _each(self, name: str, value: Any) -> tuple[int, ...]:
        values = (value,) * self._dims if isinstance(value, int) else tuple(value)
        if len(values) != self._dims:
            raise AssertionError(f"{type(self).__name__}: {name} must be a number or {self._dims} of them, got {value}")
        return values

    def _with_channels(self, channels: int, size: Any) -> tuple[int, ...]:
        return (channels, *size) if self._channel_axis == 1 else (*size, channels)

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Sets the input channels of i2h_weight from an input."""
        channels = inputs.shape[self._channel_axis]
        self.i2h_weight.shape = (self.i2h_weight.shape[0], *self._with_channels(channels, self._i2h["kernel"]))

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        shape = (batch_size, *self._state_shape)
        return [{"shape": shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    def __repr__(self) -> str:
        shape = self.i2h_weight.shape
        inputs = shape[1 if self._channel_axis == 1 else -1] or None
        return f"{type(self).__name__}({inputs} -> {shape[0]}, {self._activation}, {self._conv_layout})"

    def _gate_parts(self, F: Any, inputs: Any, state: Any, weights: dict[str, Any]) -> tuple[Any, Any]:
        common = {"num_filter": self._hidden_channels * self._gates, "layout": self._conv_layout}
        i2h = F.Convolution(inputs, weights["i2h_weight"], weights["i2h_bias"], **self._i2h, **common, name="i2h")
        h2h = F.Convolution(state, weights["h2h_weight"], weights["h2h_bias"], **self._h2h, **common, name="h2h")
        return i2h, h2h

    def _sum(self, F: Any, inputs: Any, state: Any, weights: dict[str, Any]) -> Any:
        return F.elemwise_add(*self._gate_parts(F, inputs, state, weights), name="plus0")


class _ConvRNNCell(_ConvCell):
    def _alias(self) -> str:
        return "conv_rnn"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **weights: Any) -> tuple[Any, list[Any]]:
        output = self._get_activation(F, self._sum(F, inputs, states[0], weights), self._activation, name="out")
        return output, [output]


class _ConvLSTMCell(_ConvCell):
    _gates = 4
    _states = 2

    def _alias(self) -> str:
        return "conv_lstm"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **weights: Any) -> tuple[Any, list[Any]]:
        gates = self._sum(F, inputs, states[0], weights)
        options = {"axis": self._channel_axis, "operators": ("gates",)}
        output, memory = lstm_gates(self, F, gates, states[1], self._activation, **options)
        return output, [output, memory]


class _ConvGRUCell(_ConvCell):
    _gates = 3

    def _alias(self) -> str:
        return "conv_gru"

    @named_steps
    def hybrid_forward(self, F: Any, inputs: Any, states: Any, **weights: Any) -> tuple[Any, list[Any]]:
        parts = self._gate_parts(F, inputs, states[0], weights)
        output = gru_gates(self, F, *parts, states[0], self._activation, self._channel_axis)
        return output, [output]


def _documented(cls: type) -> type:
    """Completes the docstring of a cell: its arguments and an example."""
    size = ", 8" * cls._dims
    states = 2 if "LSTM" in cls.__name__ else 1
    cls.__doc__ = f"""{cls.__doc__}

    Call: `cell(x, states)`, x floating point, shape (batch, *input_shape); the states are of `hidden_channels`.

    Args:
        activation: the name of a function, a LeakyReLU, or a function of arrays.

    Raises:
        AssertionError: `input_shape` has another number of axes, `h2h_kernel` is even, or there is another number of
            sizes.
        mxnet.base.MXNetError: in a call, shapes or dtypes do not fit.

    Example:
        >>> cell = gluon.contrib.rnn.{cls.__name__}((3{size}), 4, i2h_kernel=3, h2h_kernel=3, i2h_pad=1)
        >>> cell.initialize()
        >>> output, states = cell(nd.zeros((2, 3{size})), cell.begin_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 4{size}), {states})
    """
    return layer(cls)


@_documented
class Conv1DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions along one axis."""

    _dims = 1


@_documented
class Conv2DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions of images."""

    _dims = 2


@_documented
class Conv3DRNNCell(_ConvRNNCell):
    """RNNCell with convolutions of volumes."""

    _dims = 3


@_documented
class Conv1DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions along one axis."""

    _dims = 1


@_documented
class Conv2DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions of images."""

    _dims = 2


@_documented
class Conv3DLSTMCell(_ConvLSTMCell):
    """LSTMCell with convolutions of volumes."""

    _dims = 3


@_documented
class Conv1DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions along one axis."""

    _dims = 1


@_documented
class Conv2DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions of images."""

    _dims = 2


@_documented
class Conv3DGRUCell(_ConvGRUCell):
    """GRUCell with convolutions of volumes."""

    _dims = 3
