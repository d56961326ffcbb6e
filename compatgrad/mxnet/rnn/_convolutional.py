"""Recurrent cells with convolutions instead of linear functions."""

from __future__ import annotations

import functools
from typing import Any

from .. import symbol
from .rnn_cell import BaseRNNCell, RNNParams, gru_step, lstm_step

__all__ = ["BaseConvRNNCell", "ConvGRUCell", "ConvLSTMCell", "ConvRNNCell"]

_Pair = tuple[int, int]
_LEAKY = functools.partial(symbol.LeakyReLU, act_type="leaky", slope=0.2)


class BaseConvRNNCell(BaseRNNCell):
    """Base class of recurrent cells with one convolution of the input and one of the state.

    Args:
        input_shape: shape of a batch of inputs, in `conv_layout`.
        num_hidden: channels of the state and the output.
        h2h_kernel: kernel of the state's convolution, odd numbers.
        h2h_dilate: its dilation; its padding keeps the state's size.
        i2h_kernel, i2h_stride, i2h_pad, i2h_dilate: kernel, stride, padding and dilation of the input's convolution.
        i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer: initializers of the
            variables, by name or themselves; None for the model's.
        activation: a name that `mx.sym.Activation` takes, or a function of a symbol.
        prefix: what the names of variables and operators start with.
        params: variables of another cell; None for its own.
        conv_layout: the layout of inputs and states.

    Raises:
        AssertionError: `h2h_kernel` has an even number.
        NotImplementedError: in a call, the subclass does not define it.

    Example:
        >>> isinstance(mx.rnn.ConvLSTMCell((1, 3, 8, 8), 4), mx.rnn.BaseConvRNNCell)
        True

    Source: `mxnet.rnn.BaseConvRNNCell` of MXNet 1.9.1.
    """

    _states = 1

    def __init__(
        self, input_shape: tuple[int, ...], num_hidden: int, h2h_kernel: _Pair, h2h_dilate: _Pair, i2h_kernel: _Pair,
        i2h_stride: _Pair, i2h_pad: _Pair, i2h_dilate: _Pair, i2h_weight_initializer: Any, h2h_weight_initializer: Any,
        i2h_bias_initializer: Any, h2h_bias_initializer: Any, activation: Any, prefix: str = "",
        params: RNNParams | None = None, conv_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        assert all(k % 2 == 1 for k in h2h_kernel[:2]), f"Only support odd number, get h2h_kernel= {h2h_kernel}"
        self._num_hidden = num_hidden
        self._input_shape = input_shape
        self._conv_layout = conv_layout
        self._activation = activation
        self._i2h = {"kernel": i2h_kernel, "stride": i2h_stride, "pad": i2h_pad, "dilate": i2h_dilate}
        pad = tuple(d * (k - 1) // 2 for k, d in zip(h2h_kernel, h2h_dilate, strict=True))
        self._h2h = {"kernel": h2h_kernel, "stride": (1, 1), "pad": pad, "dilate": h2h_dilate}
        out = symbol.Convolution(data=symbol.var("data"), num_filter=num_hidden, layout=conv_layout, **self._i2h)
        self._state_shape = (0, *out.infer_shape(data=input_shape)[1][0][1:])
        self._iW = self.params.get("i2h_weight", init=i2h_weight_initializer)
        self._hW = self.params.get("h2h_weight", init=h2h_weight_initializer)
        self._iB = self.params.get("i2h_bias", init=i2h_bias_initializer)
        self._hB = self.params.get("h2h_bias", init=h2h_bias_initializer)

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of each state."""
        return [{"shape": self._state_shape, "__layout__": self._conv_layout} for _ in range(self._states)]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """NotImplementedError: a subclass defines the step."""
        raise NotImplementedError("BaseConvRNNCell is abstract class for convolutional RNN")

    def _begin(self, inputs: Any, states: Any) -> tuple[Any, Any, str]:
        """The results of both convolutions, and the prefix of names in this step."""
        self._counter += 1
        name = f"{self._prefix}t{self._counter}_"
        common = {"num_filter": self._num_hidden * self._num_gates, "layout": self._conv_layout}
        i2h = symbol.Convolution(name=f"{name}i2h", data=inputs, weight=self._iW, bias=self._iB, **common, **self._i2h)
        h2h = symbol.Convolution(
            name=f"{name}h2h", data=states[0], weight=self._hW, bias=self._hB, **common, **self._h2h
        )
        return i2h, h2h, name

    def _activate(self, x: Any, **kwargs: Any) -> Any:
        return self._get_activation(x, self._activation, **kwargs)


class _ConvCell(BaseConvRNNCell):
    """Base class of the three kinds of cells: their constructor with its defaults."""

    _default_prefix = ""

    def __init__(
        self, input_shape: tuple[int, ...], num_hidden: int, h2h_kernel: _Pair = (3, 3), h2h_dilate: _Pair = (1, 1),
        i2h_kernel: _Pair = (3, 3), i2h_stride: _Pair = (1, 1), i2h_pad: _Pair = (1, 1), i2h_dilate: _Pair = (1, 1),
        i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros",
        h2h_bias_initializer: Any = "zeros", activation: Any = _LEAKY, prefix: str | None = None,
        params: RNNParams | None = None, conv_layout: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(
            input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            self._default_prefix if prefix is None else prefix, params, conv_layout,
        )  # fmt: skip


class ConvRNNCell(_ConvCell):
    """A simple recurrent cell with convolutions instead of linear functions.

    Args:
        input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            prefix, params, conv_layout: as in BaseConvRNNCell; the activation is leaky ReLU of slope 0.2 unless given,
            the prefix "ConvRNN_".

    Raises:
        AssertionError: `h2h_kernel` has an even number.

    Example:
        >>> cell = mx.rnn.ConvRNNCell((1, 3, 8, 8), 4)
        >>> outputs, states = cell.unroll(2, mx.sym.var("x"), layout="NTCHW", merge_outputs=True)
        >>> outputs.infer_shape(x=(1, 2, 3, 8, 8))[1]
        [(1, 2, 4, 8, 8)]

    Source: `mxnet.rnn.ConvRNNCell` of MXNet 1.9.1.
    """

    _default_prefix = "ConvRNN_"

    @property
    def _gate_names(self) -> Any:
        return ("",)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        i2h, h2h, name = self._begin(inputs, states)
        output = self._activate(i2h + h2h, name=f"{name}out")
        return output, [output]


class ConvLSTMCell(_ConvCell):
    """An LSTM with convolutions instead of linear functions.

    Args:
        input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            prefix, params, conv_layout: as in BaseConvRNNCell; the activation is leaky ReLU of slope 0.2 unless given,
            the prefix "ConvLSTM_".

    Raises:
        AssertionError: `h2h_kernel` has an even number.

    Example:
        >>> cell = mx.rnn.ConvLSTMCell((1, 3, 8, 8), 4)
        >>> outputs, states = cell.unroll(2, mx.sym.var("x"), layout="NTCHW", merge_outputs=True)
        >>> outputs.infer_shape(x=(1, 2, 3, 8, 8))[1], len(states)
        ([(1, 2, 4, 8, 8)], 2)

    Source: `mxnet.rnn.ConvLSTMCell` of MXNet 1.9.1; Shi et al., Convolutional LSTM Network, 2015.
    """

    _default_prefix = "ConvLSTM_"
    _states = 2

    @property
    def _gate_names(self) -> Any:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        i2h, h2h, name = self._begin(inputs, states)
        return lstm_step(i2h + h2h, states[1], name, self._activate, self._conv_layout.find("C"))


class ConvGRUCell(_ConvCell):
    """A GRU with convolutions instead of linear functions.

    Args:
        input_shape, num_hidden, h2h_kernel, h2h_dilate, i2h_kernel, i2h_stride, i2h_pad, i2h_dilate,
            i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, activation,
            prefix, params, conv_layout: as in BaseConvRNNCell; the activation is leaky ReLU of slope 0.2 unless given,
            the prefix "ConvGRU_".

    Raises:
        AssertionError: `h2h_kernel` has an even number.

    Example:
        >>> cell = mx.rnn.ConvGRUCell((1, 3, 8, 8), 4)
        >>> outputs, states = cell.unroll(2, mx.sym.var("x"), layout="NTCHW", merge_outputs=True)
        >>> outputs.infer_shape(x=(1, 2, 3, 8, 8))[1]
        [(1, 2, 4, 8, 8)]

    Source: `mxnet.rnn.ConvGRUCell` of MXNet 1.9.1.
    """

    _default_prefix = "ConvGRU_"

    @property
    def _gate_names(self) -> Any:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        i2h, h2h, name = self._begin(inputs, states)
        return gru_step(i2h, h2h, states[0], name, self._activate, self._conv_layout.find("C"))
