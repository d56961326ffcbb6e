"""RNN, LSTM and GRU: recurrent layers over whole sequences, which run the operator RNN."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from ... import ndarray
from ..._docs import sharing
from ...ndarray import NDArray
from .._layer_docs import layer
from ..block import HybridBlock
from . import rnn_cell
from ._sequence import made_state, operators_of, zeros_for_each

__all__ = ["RNN", "LSTM", "GRU"]

_GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
_NAME = re.compile(r"([lr])(\d+)_(i2h|h2h|h2r)_(weight|bias)\Z")


class _RNNLayer(HybridBlock):
    """A stack of recurrent layers; its parameters are l0_i2h_weight and so on, r0_… for the reverse direction."""

    def __init__(
        self, hidden_size: int, num_layers: int, layout: str, dropout: float, bidirectional: bool, input_size: int,
        i2h_weight_initializer: Any, h2h_weight_initializer: Any, i2h_bias_initializer: Any, h2h_bias_initializer: Any,
        mode: str, projection_size: int | None, h2r_weight_initializer: Any, lstm_state_clip_min: float | None,
        lstm_state_clip_max: float | None, lstm_state_clip_nan: bool, dtype: Any, use_sequence_length: bool = False,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if layout not in ("TNC", "NTC"):
            raise AssertionError(f"Invalid layout {layout}; must be one of ['TNC' or 'NTC']")
        self._hidden_size = hidden_size
        self._projection_size = projection_size or None
        self._num_layers = num_layers
        self._mode = mode
        self._layout = layout
        self._dropout = dropout
        self._dir = 2 if bidirectional else 1
        self._input_size = input_size
        self._i2h_weight_initializer = i2h_weight_initializer
        self._h2h_weight_initializer = h2h_weight_initializer
        self._i2h_bias_initializer = i2h_bias_initializer
        self._h2h_bias_initializer = h2h_bias_initializer
        self._h2r_weight_initializer = h2r_weight_initializer
        self._lstm_state_clip_min = lstm_state_clip_min
        self._lstm_state_clip_max = lstm_state_clip_max
        self._lstm_state_clip_nan = lstm_state_clip_nan
        self._dtype = dtype
        self._use_sequence_length = use_sequence_length
        self.skip_states: bool | None = None
        self._gates = _GATES[mode]
        self._register_params()
        # in the order in which the operator reads them: all weights, then all biases
        self._packed = [
            f"{side}{i}_{part}_{kind}"
            for kind in ("weight", "bias")
            for i, side in self._stacked()
            for part in ("i2h", "h2h", "h2r")
            if part != "h2r" or (self._projection_size and kind == "weight")
        ]

    def _stacked(self) -> Iterator[tuple[int, str]]:
        return ((i, side) for i in range(self._num_layers) for side in "lr"[: self._dir])

    def _register_params(self) -> None:
        width, out = self._gates * self._hidden_size, self._projection_size or self._hidden_size
        for i, side in self._stacked():
            inputs = self._input_size if i == 0 else out * self._dir
            name = f"{side}{i}_"
            dtype = self._dtype
            self._register_param(f"{name}i2h_weight", (width, inputs), self._i2h_weight_initializer, dtype)
            self._register_param(f"{name}h2h_weight", (width, out), self._h2h_weight_initializer, dtype)
            self._register_param(f"{name}i2h_bias", (width,), self._i2h_bias_initializer, dtype)
            self._register_param(f"{name}h2h_bias", (width,), self._h2h_bias_initializer, dtype)
            if self._projection_size:
                self._register_param(f"{name}h2r_weight", (out, self._hidden_size), self._h2r_weight_initializer, dtype)

    def _register_param(self, name: str, shape: tuple[int, ...], init: Any, dtype: Any) -> Any:
        param = self.params.get(name, shape=shape, init=init, allow_deferred_init=True, dtype=dtype)
        setattr(self, name, param)
        return param

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Sets the width of the lowest layer's weights from inputs of three axes."""
        for side in "lr"[: self._dir]:
            weight = getattr(self, f"{side}0_i2h_weight")
            weight.shape = (weight.shape[0], inputs.shape[2])

    def __repr__(self) -> str:
        width, inputs = self.l0_i2h_weight.shape
        text = f"{type(self).__name__}({inputs or None} -> {width // self._gates}, {self._layout}"
        if self._num_layers != 1:
            text += f", num_layers={self._num_layers}"
        if self._dropout != 0:
            text += f", dropout={self._dropout}"
        return text + (", bidirectional)" if self._dir == 2 else ")")

    def _collect_params_with_prefix(self, prefix: str = "") -> dict[str, Any]:
        """Parameters under the names that files have: those of the stack of cells that `_unfuse` makes."""
        dot = prefix + "." if prefix else ""

        def name(key: str) -> str:
            side, i, part, kind = _NAME.match(key).groups()
            return f"{dot}_unfused.{i}.{side + '_cell.' if self._dir == 2 else ''}{part}_{kind}"

        found = {name(key): param for key, param in self._reg_params.items()}
        for child_name, child in self._children.items():
            found.update(child._collect_params_with_prefix(dot + child_name))
        return found

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        """A dict with `shape`, `__layout__` and `dtype` for each state."""
        shape = (self._num_layers * self._dir, batch_size, self._hidden_size)
        return [{"shape": shape, "__layout__": "LNC", "dtype": self._dtype}]

    def _unfuse(self) -> rnn_cell.HybridSequentialRNNCell:
        """The same network as a stack of cells, which has the same parameters."""
        if self._projection_size or self._lstm_state_clip_min or self._lstm_state_clip_max:
            raise AssertionError("_unfuse: cells have neither projection nor clipping of states")
        kind = {"lstm": rnn_cell.LSTMCell, "gru": rnn_cell.GRUCell}.get(self._mode, rnn_cell.RNNCell)
        options = {
            "i2h_weight_initializer": self._i2h_weight_initializer,
            "h2h_weight_initializer": self._h2h_weight_initializer,
            "i2h_bias_initializer": self._i2h_bias_initializer,
            "h2h_bias_initializer": self._h2h_bias_initializer,
        }
        if kind is rnn_cell.RNNCell:
            options["activation"] = self._mode.removeprefix("rnn_")
        stack = rnn_cell.HybridSequentialRNNCell(prefix=self.prefix, params=self.params)
        with stack.name_scope():
            for i in range(self._num_layers):
                inputs = self._input_size if i == 0 else self._hidden_size * self._dir
                cells = [
                    kind(self._hidden_size, input_size=inputs, prefix=f"{side}{i}_", **options)
                    for side in "lr"[: self._dir]
                ]
                stack.add(cells[0] if self._dir == 1 else rnn_cell.BidirectionalCell(*cells))
                if self._dropout > 0 and i != self._num_layers - 1:
                    stack.add(rnn_cell.DropoutCell(self._dropout))
        return stack

    def cast(self, dtype: Any) -> None:
        """Changes the dtype of parameters and of default states."""
        super().cast(dtype)
        self._dtype = dtype

    def begin_state(self, batch_size: int = 0, func: Callable[..., Any] = ndarray.zeros, **kwargs: Any) -> list[Any]:
        """The states before the first step: `func(name=…, shape=…, dtype=…, **kwargs)` for each state."""
        infos = self.state_info(batch_size)
        return [made_state(func, f"{self.prefix}h0_{i}", info, kwargs) for i, info in enumerate(infos)]

    def __call__(self, inputs: Any, states: Any = None, sequence_length: Any = None, **kwargs: Any) -> Any:
        """Outputs, and also the states after them if states were given.

        inputs: (time, batch, width), or (batch, time, width) in layout 'NTC'. states: a list of arrays (layers times
        directions, batch, hidden size), or one array. sequence_length: (batch,), with `use_sequence_length`.
        """
        inputs, states, sequence_length = self._entered((inputs, states, sequence_length))
        self.skip_states = states is None
        if states is None:
            if isinstance(inputs, NDArray):
                batch_size = inputs.shape[self._layout.find("N")]
                states = self.begin_state(batch_size, ctx=inputs.context, dtype=inputs.dtype)
            else:
                states = self._symbolic_states(inputs)
        if not isinstance(states, (list, tuple)):
            states = [states]
        if self._use_sequence_length:
            return super().__call__(inputs, states, sequence_length, **kwargs)
        return super().__call__(inputs, states, **kwargs)

    def _symbolic_states(self, inputs: Any) -> list[Any]:
        F, axis = operators_of(inputs), self._layout.find("N")
        return [zeros_for_each(F, inputs, axis, info["shape"], 1) for info in self.state_info(0)]

    def hybrid_forward(self, F: Any, inputs: Any, states: Any, sequence_length: Any = None, **params: Any) -> Any:
        if isinstance(inputs, NDArray):
            self._check_states(inputs, states)
        outputs, states = self._forward_kernel(F, inputs, states, sequence_length, **params)
        return outputs if self.skip_states else (outputs, states)

    def _check_states(self, inputs: NDArray, states: Any) -> None:
        expected = self.state_info(inputs.shape[self._layout.find("N")])
        if len(states) != len(expected):
            raise ValueError(f"{self.name}: expected {len(expected)} states, got {len(states)}")
        for state, info in zip(states, expected, strict=True):
            if state.shape != info["shape"]:
                raise ValueError(f"Invalid recurrent state shape. Expecting {info['shape']}, got {state.shape}.")

    def _forward_kernel(self, F: Any, inputs: Any, states: Any, sequence_length: Any, **params: Any) -> Any:
        batch_first = self._layout == "NTC"
        if batch_first:
            inputs = F.swapaxes(inputs, 0, 1)
        packed = F.concat(*[params[name].reshape((-1,)) for name in self._packed], dim=0)
        if self._use_sequence_length:
            states = [*states, sequence_length]
        outputs, *states = F.RNN(
            inputs,
            packed,
            *states,
            use_sequence_length=self._use_sequence_length,
            state_size=self._hidden_size,
            projection_size=self._projection_size,
            num_layers=self._num_layers,
            bidirectional=self._dir == 2,
            p=self._dropout,
            state_outputs=True,
            mode=self._mode,
            lstm_state_clip_min=self._lstm_state_clip_min,
            lstm_state_clip_max=self._lstm_state_clip_max,
            lstm_state_clip_nan=self._lstm_state_clip_nan,
        )
        return F.swapaxes(outputs, 0, 1) if batch_first else outputs, states


_TEXT = """
    Call: `layer(x)` gives the outputs, `layer(x, states)` also the states after them. x is floating point, shape (time,
    batch, input_size) in the order of `layout`; each state has the shape (num_layers * directions, batch, hidden_size).

    Args:
        layout: the order of the axes of data and outputs, "TNC" or "NTC".
        dtype: the dtype of the parameters and of the first states.
        **kwargs: `use_sequence_length`: calls have a third argument, an array (batch,) of how many steps count;
            `prefix` and `params`, as in HybridBlock.

    Raises:
        AssertionError: `layout` has another value.
        TypeError: an argument is not known.
        ValueError: {wrong}in a call, the states have another number or shape.
        mxnet.base.MXNetError: in a call, shapes or dtypes do not fit.

    Example:
        >>> layer = gluon.rnn.{name}(6, num_layers=2)
        >>> layer.initialize()
        >>> x = nd.zeros((5, 2, 4))
        >>> outputs, states = layer(x, layer.begin_state(batch_size=2))
        >>> outputs.shape, [s.shape for s in states]
        ((5, 2, 6), {states})
"""


@layer
@sharing(_TEXT, wrong="`activation` has another value; ", states="[(2, 2, 6)]")
class RNN(_RNNLayer):
    """Plain recurrent layers over whole sequences: state = activation(W_i x + b_i + W_h state + b_h).

    Args:
        activation: "relu" or "tanh".
    """

    def __init__(
        self, hidden_size: int, num_layers: int = 1, activation: str = "relu", layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        if activation not in ("relu", "tanh"):
            raise ValueError(f"RNN: activation must be 'relu' or 'tanh', not {activation!r}")
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "rnn_" + activation, None, None, None,
            None, False, dtype, **kwargs,
        )  # fmt: skip


@layer
@sharing(_TEXT, wrong="", states="[(2, 2, 6), (2, 2, 6)]")
class LSTM(_RNNLayer):
    """LSTM layers over whole sequences; see LSTMCell for a step. States: the outputs, and the memories.

    Args:
        projection_size: the width to which a linear layer projects outputs and the first state; None for no projection.
        state_clip_min: the lower bound of the memories; None for none.
        state_clip_max: the upper bound of the memories; None for none.
        state_clip_nan: without effect here.
    """

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        projection_size: int | None = None, h2r_weight_initializer: Any = None, state_clip_min: float | None = None,
        state_clip_max: float | None = None, state_clip_nan: bool = False, dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "lstm", projection_size,
            h2r_weight_initializer, state_clip_min, state_clip_max, state_clip_nan, dtype, **kwargs,
        )  # fmt: skip

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        memory = super().state_info(batch_size)[0]
        output = {**memory, "shape": (*memory["shape"][:2], self._projection_size or self._hidden_size)}
        return [output, memory]


@layer
@sharing(_TEXT, wrong="", states="[(2, 2, 6)]")
class GRU(_RNNLayer):
    """GRU layers over whole sequences; see GRUCell for a step."""

    def __init__(
        self, hidden_size: int, num_layers: int = 1, layout: str = "TNC", dropout: float = 0,
        bidirectional: bool = False, input_size: int = 0, i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        dtype: Any = "float32", **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(
            hidden_size, num_layers, layout, dropout, bidirectional, input_size, i2h_weight_initializer,
            h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer, "gru", None, None, None, None, False,
            dtype, **kwargs,
        )  # fmt: skip
