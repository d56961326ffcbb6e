"""RNNCell, LSTMCell and GRUCell."""

from __future__ import annotations

from typing import Any

from compatgrad import _C

from ... import ndarray
from ..._frontend import fe
from ...ndarray._gates import LSTM_GATES
from .._layer_docs import layer
from ._cell import HybridRecurrentCell, RecurrentCell
from ._gates import fusible, gru_gates, lstm_gates
from ._sequence import named_steps


class GatedCell(HybridRecurrentCell):
    """A cell whose gates are i2h_weight @ input + i2h_bias and h2h_weight @ (first state) + h2h_bias."""

    _gates = 1
    _states = 1

    def __init__(
        self, hidden_size: int, state_size: int, input_size: int, initializers: tuple[Any, Any, Any, Any],
        prefix: str | None, params: Any, more: tuple[tuple[str, tuple[int, ...], Any], ...] = (),
    ) -> None:  # fmt: skip
        super().__init__(prefix=prefix, params=params)
        self._hidden_size = hidden_size
        self._input_size = input_size
        width = self._gates * hidden_size
        shapes = (width, input_size), (width, state_size), (width,), (width,)
        names = "i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias"
        own = list(zip(names, shapes, initializers, strict=True))
        for name, shape, init in (*own[:2], *more, *own[2:]):  # weights, then biases
            setattr(self, name, self.params.get(name, shape=shape, init=init, allow_deferred_init=True))

    def infer_shape(self, inputs: Any, *args: Any) -> None:
        """Sets the width of i2h_weight from an input of shape (batch size, …)."""
        width = 1
        for n in inputs.shape[1:]:
            width *= n
        self.i2h_weight.shape = (self.i2h_weight.shape[0], width)

    def state_info(self, batch_size: int = 0) -> list[dict[str, Any]]:
        return [{"shape": (batch_size, self._hidden_size), "__layout__": "NC"} for _ in range(self._states)]

    def __repr__(self) -> str:
        width, inputs = self.i2h_weight.shape
        return f"{type(self).__name__}({inputs or None} -> {width})"

    def _parts(
        self, F: Any, x: Any, state: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, Any]:
        """The products of the input and of the first state with their weights, plus the biases."""
        rows = self._gates * self._hidden_size
        of_input = F.FullyConnected(x, i2h_weight, i2h_bias, num_hidden=rows, name="i2h")
        return of_input, F.FullyConnected(state, h2h_weight, h2h_bias, num_hidden=rows, name="h2h")

    def _sum(self, F: Any, x: Any, state: Any, *weights: Any) -> Any:
        return F.elemwise_add(*self._parts(F, x, state, *weights), name="plus0")


@layer
class RNNCell(GatedCell):
    """A plain recurrent cell: state = activation(W_i x + b_i + W_h state + b_h), which is also the output.

    Call: `cell(x, states)`, x floating point, shape (batch, input_size).

    Args:
        activation: the name of a function, a LeakyReLU, or a function of arrays.

    Example:
        >>> cell = gluon.rnn.RNNCell(3)
        >>> cell.initialize()
        >>> output, states = cell(nd.zeros((2, 4)), cell.begin_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 3), 1)
    """

    def __init__(
        self, hidden_size: int, activation: Any = "tanh", i2h_weight_initializer: Any = None,
        h2h_weight_initializer: Any = None, i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros",
        input_size: int = 0, prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation

    def _alias(self) -> str:
        return "rnn"

    def __repr__(self) -> str:
        return f"{super().__repr__()[:-1]}, {self._activation})"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        both = self._sum(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        output = self._get_activation(F, both, self._activation, name="out")
        return output, [output]


@layer
class LSTMCell(GatedCell):
    """A cell with input, forget and output gates (Hochreiter, Schmidhuber, 1997). States: the output and the memory.

    memory = f * memory + i * g and output = o * activation(memory), with i, f, g, o in this order along the rows of the
    weights; i, f and o go through `recurrent_activation`, g through `activation`. Call: `cell(x, states)`, x floating
    point, shape (batch, input_size).

    Args:
        activation: the name of a function, a LeakyReLU, or a function of arrays.
        recurrent_activation: the function of the gates, likewise.

    Example:
        >>> cell = gluon.rnn.LSTMCell(3)
        >>> cell.initialize()
        >>> output, states = cell(nd.zeros((2, 4)), cell.begin_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 3), 2)
    """

    _gates = 4
    _states = 2

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        prefix: str | None = None, params: Any = None, activation: Any = "tanh", recurrent_activation: Any = "sigmoid",
    ) -> None:  # fmt: skip
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)
        self._activation = activation
        self._recurrent_activation = recurrent_activation

    def _alias(self) -> str:
        return "lstm"

    def forward(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        self.__dict__["_counter"] += 1  # as RecurrentCell.forward, which is not called
        if self._is_usual():
            step = _C.lstm_cell(fe, inputs, states, self._reg_params, LSTM_GATES)
            if step is not None:
                memory, output = step
                return output, [output, memory]
        return super(RecurrentCell, self).forward(inputs, states)

    def _is_usual(self) -> bool:
        """Whether a step on arrays consists of the functions that the compiled module calls."""
        return (
            type(self) is LSTMCell
            and self._active is False
            and self._activation == "tanh"
            and self._recurrent_activation == "sigmoid"
            and fusible(self, ndarray)  # and the program has replaced nothing else that a step calls
            and ndarray.FullyConnected is _OWN_DENSE
            and getattr(self.hybrid_forward, "__func__", None) is _OWN_STEP
        )

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        if F is ndarray:  # the same operators without names: only symbols have names
            rows = 4 * self._hidden_size
            of_input = F.FullyConnected(inputs, i2h_weight, i2h_bias, rows)
            gates = F.elemwise_add(of_input, F.FullyConnected(states[0], h2h_weight, h2h_bias, rows))
        else:
            gates = self._sum(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        acts = self._activation, self._recurrent_activation
        output, memory = lstm_gates(self, F, gates, states[1], *acts, operators=("shown",))
        return output, [output, memory]


_OWN_DENSE, _OWN_STEP = ndarray.FullyConnected, LSTMCell.hybrid_forward


@layer
class GRUCell(GatedCell):
    """A cell with reset and update gates (Cho and others, 2014), the reset gate behind the matrix product.

    n = tanh(W_in x + b_in + r * (W_hn state + b_hn)) and state = (1 - z) * n + z * state, which is also the output; r,
    z, n in this order along the rows of the weights. Call: `cell(x, states)`, x floating point, shape (batch,
    input_size).

    Example:
        >>> cell = gluon.rnn.GRUCell(3)
        >>> cell.initialize()
        >>> output, states = cell(nd.zeros((2, 4)), cell.begin_state(batch_size=2))
        >>> output.shape, len(states)
        ((2, 3), 1)
    """

    _gates = 3

    def __init__(
        self, hidden_size: int, i2h_weight_initializer: Any = None, h2h_weight_initializer: Any = None,
        i2h_bias_initializer: Any = "zeros", h2h_bias_initializer: Any = "zeros", input_size: int = 0,
        prefix: str | None = None, params: Any = None,
    ) -> None:  # fmt: skip
        inits = i2h_weight_initializer, h2h_weight_initializer, i2h_bias_initializer, h2h_bias_initializer
        super().__init__(hidden_size, hidden_size, input_size, inits, prefix, params)

    def _alias(self) -> str:
        return "gru"

    @named_steps
    def hybrid_forward(
        self, F: Any, inputs: Any, states: Any, i2h_weight: Any, h2h_weight: Any, i2h_bias: Any, h2h_bias: Any
    ) -> tuple[Any, list[Any]]:
        parts = self._parts(F, inputs, states[0], i2h_weight, h2h_weight, i2h_bias, h2h_bias)
        output = gru_gates(self, F, *parts, states[0], operators=("new",))
        return output, [output]
