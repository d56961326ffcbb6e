"""Recurrent cells: functions of an input and states, all symbols, that share their parameters over the steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import initializer, ndarray, symbol

__all__ = ["BaseRNNCell", "GRUCell", "LSTMCell", "RNNCell", "RNNParams"]

_State = dict[str, Any]


def _normalize_sequence(
    length: int | None, inputs: Any, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Any, int]:
    """(the sequence, the time axis). The sequence becomes one symbol (`merge` is True) or a list of steps (False)."""
    assert inputs is not None, "unroll(inputs=None) has been deprecated. Please create input variables outside unroll."
    axis = layout.find("T")
    in_axis = axis if in_layout is None else in_layout.find("T")
    if isinstance(inputs, symbol.Symbol):
        if merge is False:
            assert len(inputs.list_outputs()) == 1, (
                "unroll doesn't allow grouped symbol as input. Please convert to list with list(inputs) first or let "
                "unroll handle splitting."
            )
            inputs = list(symbol.split(inputs, axis=in_axis, num_outputs=length, squeeze_axis=1))
    else:
        assert length is None or len(inputs) == length, f"length is {length}; there are {len(inputs)} inputs"
        if merge:
            inputs = symbol.Concat(*[symbol.expand_dims(x, axis=axis) for x in inputs], dim=axis)
            in_axis = axis
    if isinstance(inputs, symbol.Symbol) and axis != in_axis:
        inputs = symbol.swapaxes(inputs, dim1=axis, dim2=in_axis)
    return inputs, axis


class RNNParams:
    """Variables by name, each of which is created when it is first used.

    Args:
        prefix: what their names start with.

    Example:
        >>> params = mx.rnn.RNNParams("lstm_")
        >>> params.get("i2h_weight").name, params.get("i2h_weight") is params.get("i2h_weight")
        ('lstm_i2h_weight', True)

    Source: `mxnet.rnn.RNNParams` of MXNet 1.9.1.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Any] = {}

    def get(self, name: str, **kwargs: Any) -> Any:
        """The variable `prefix + name`; the keyword arguments are those of `sym.var`."""
        name = self._prefix + name
        if name not in self._params:
            self._params[name] = symbol.var(name, **kwargs)
        return self._params[name]


class BaseRNNCell:
    """Base class of recurrent cells: functions of an input and states, all symbols, that share their parameters.

    A subclass defines `__call__(inputs, states)`, `state_info`, and, where one array has the weights of several gates,
    `_gate_names`.

    Args:
        prefix: what the names of variables and operators start with.
        params: the RNNParams of another cell, to share variables with it; None for its own.

    Raises:
        NotImplementedError: the subclass does not define what is called.
        AssertionError: in `begin_state`, another cell has taken this one over.

    Example:
        >>> class Sum(mx.rnn.BaseRNNCell):
        ...     @property
        ...     def state_info(self): return [{"shape": (0, 2), "__layout__": "NC"}]
        ...     def __call__(self, inputs, states):
        ...         total = inputs + states[0]
        ...         return total, [total]
        >>> y, states = Sum("sum_").unroll(2, mx.sym.var("x"), merge_outputs=True)
        >>> y.eval(x=nd.ones((1, 2, 2)))[0].asnumpy()
        array([[[1., 1.],
                [2., 2.]]], dtype=float32)

    Source: `mxnet.rnn.BaseRNNCell` of MXNet 1.9.1.
    """

    _cells: list[BaseRNNCell]
    _num_hidden: int
    _is_fused = False  # all layers and steps are one operator

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False  # whether a modifier has taken it over
        self.reset()

    def reset(self) -> None:
        """Counts steps from the beginning, for another graph."""
        self._init_counter = -1
        self._counter = -1
        for cell in getattr(self, "_cells", ()):
            cell.reset()

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step: the output, and the new states."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    @property
    def params(self) -> RNNParams:
        """The variables. Reading them marks them as shared, as another cell may use them."""
        self._own_params = False
        return self._params

    @property
    def state_info(self) -> list[_State]:
        """Shape and layout of each state; a size of 0 is that of the batch."""
        raise NotImplementedError(f"{type(self).__name__} does not define state_info")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state."""
        return [info["shape"] for info in self.state_info]

    @property
    def _gate_names(self) -> Any:
        """The suffixes of the gates' names, in the order of the gates in the weights."""
        return ()

    def _check_unmodified(self) -> None:
        assert not self._modified, (
            "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly. Call the "
            "modifier cell instead."
        )

    def begin_state(self, func: Any = symbol.zeros, **kwargs: Any) -> list[Any]:
        """The first states, each made by `func(name=..., shape=..., **kwargs)`."""
        self._check_unmodified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            kwargs.update(info or {})
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **kwargs))
        return states

    # ---- weights ----

    def _packed(self) -> list[tuple[str, list[str]]]:
        """(name of the array of all gates, names of the arrays of each gate) for weights and biases."""
        return [
            (f"{self._prefix}{group}_{kind}", [f"{self._prefix}{group}{gate}_{kind}" for gate in self._gate_names])
            for group in ("i2h", "h2h") for kind in ("weight", "bias")
        ]  # fmt: skip

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """A copy of a dict of parameters with an array for each gate."""
        args = dict(args)
        for whole, parts in self._packed() if self._gate_names else ():
            x = args.pop(whole)
            for i, part in enumerate(parts):
                args[part] = x[i * self._num_hidden : (i + 1) * self._num_hidden].copy()
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """The reverse of `unpack_weights`."""
        args = dict(args)
        for whole, parts in self._packed() if self._gate_names else ():
            args[whole] = ndarray.concatenate([args.pop(part) for part in parts])
        return args

    # ---- steps ----

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """Runs `length` steps: (outputs, states).

        inputs: a symbol of all steps in `layout` or a list with one for each. merge_outputs: whether the outputs are
        one symbol; None: what is simplest.
        """
        self.reset()
        inputs, _ = _normalize_sequence(length, inputs, layout, False)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for x in inputs[:length]:
            output, states = self(x, states)
            outputs.append(output)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], states

    def _get_activation(self, inputs: Any, activation: str | Callable[..., Any], **kwargs: Any) -> Any:
        if isinstance(activation, str):
            return symbol.Activation(inputs, act_type=activation, **kwargs)
        return activation(inputs, **kwargs)


class _DenseCell(BaseRNNCell):
    """A cell with one linear function of the input and one of the state."""

    _states = 1

    def __init__(self, num_hidden: int, prefix: str, params: RNNParams | None, bias_init: Any = None) -> None:
        super().__init__(prefix=prefix, params=params)
        self._num_hidden = num_hidden
        bias = {} if bias_init is None else {"init": bias_init}
        self._iW, self._iB = self.params.get("i2h_weight"), self.params.get("i2h_bias", **bias)
        self._hW, self._hB = self.params.get("h2h_weight"), self.params.get("h2h_bias")

    @property
    def state_info(self) -> list[_State]:
        """Shape and layout of each state."""
        return [{"shape": (0, self._num_hidden), "__layout__": "NC"} for _ in range(self._states)]

    def _linear(self, inputs: Any, state: Any, name: str) -> tuple[Any, Any]:
        size = self._num_hidden * len(self._gate_names)
        return (
            symbol.FullyConnected(data=inputs, weight=self._iW, bias=self._iB, num_hidden=size, name=f"{name}i2h"),
            symbol.FullyConnected(data=state, weight=self._hW, bias=self._hB, num_hidden=size, name=f"{name}h2h"),
        )

    def _step_name(self) -> str:
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"


class RNNCell(_DenseCell):
    """A simple recurrent cell: activation(W x + b + R h + c).

    Args:
        num_hidden: size of the state and the output.
        activation: a name that `mx.sym.Activation` takes, or a function of a symbol and a name.
        prefix: what the names of variables and operators start with.
        params: variables of another cell; None for its own.

    Example:
        >>> outputs, states = mx.rnn.RNNCell(4).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 4)]

    Source: `mxnet.rnn.RNNCell` of MXNet 1.9.1.
    """

    def __init__(
        self, num_hidden: int, activation: Any = "tanh", prefix: str = "rnn_", params: RNNParams | None = None
    ) -> None:
        super().__init__(num_hidden, prefix, params)
        self._activation = activation

    @property
    def _gate_names(self) -> Any:
        return ("",)

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        name = self._step_name()
        i2h, h2h = self._linear(inputs, states[0], name)
        output = self._get_activation(i2h + h2h, self._activation, name=f"{name}out")
        return output, [output]


def lstm_step(gates: Any, cell: Any, name: str, activation: Callable[..., Any], axis: int = 1) -> tuple[Any, list[Any]]:
    """One step of an LSTM from its gates: the output and the new states.

    Args:
        gates: one symbol of the four gates before their activations, in the order input, forget, candidate, output.
        cell: the cell's state before.
        name: what the names of operators start with.
        activation: the function of a symbol and a name for candidate and output.
        axis: the axis of the gates.

    Returns:
        The output, and a list of it and the cell's new state.

    Raises:
        Nothing.

    Example:
        >>> gates, cell = mx.sym.var("gates"), mx.sym.var("cell")
        >>> y, states = mx.rnn.rnn_cell.lstm_step(gates, cell, "t0_", mx.sym.tanh)
        >>> y.eval(gates=nd.zeros((1, 8)), cell=nd.zeros((1, 2)))[0].asnumpy()
        array([[0., 0.]], dtype=float32)

    Source: of compatgrad itself, what the LSTM cells of `mxnet.rnn` have in common.
    """
    i, f, c, o = symbol.SliceChannel(gates, num_outputs=4, axis=axis, name=f"{name}slice")
    in_gate = symbol.Activation(i, act_type="sigmoid", name=f"{name}i")
    forget_gate = symbol.Activation(f, act_type="sigmoid", name=f"{name}f")
    candidate = activation(c, name=f"{name}c")
    out_gate = symbol.Activation(o, act_type="sigmoid", name=f"{name}o")
    next_c = symbol._internal._plus(forget_gate * cell, in_gate * candidate, name=f"{name}state")
    next_h = symbol._internal._mul(out_gate, activation(next_c), name=f"{name}out")
    return next_h, [next_h, next_c]


def gru_step(
    i2h: Any, h2h: Any, state: Any, name: str, activation: Callable[..., Any], axis: int = 1
) -> tuple[Any, list[Any]]:
    """One step of a GRU from the linear functions of input and state: the output and the new state.

    Args:
        i2h, h2h: the functions of input and of state, each one symbol in the order reset, update, candidate.
        state: the state before.
        name: what the names of operators start with.
        activation: the function of a symbol and a name for the candidate.
        axis: the axis of the gates.

    Returns:
        The output, and a list of it alone, the new state.

    Raises:
        Nothing.

    Example:
        >>> i2h, h2h, h = mx.sym.var("i2h"), mx.sym.var("h2h"), mx.sym.var("h")
        >>> y, states = mx.rnn.rnn_cell.gru_step(i2h, h2h, h, "t0_", mx.sym.tanh)
        >>> y.eval(i2h=nd.zeros((1, 6)), h2h=nd.zeros((1, 6)), h=nd.ones((1, 2)))[0].asnumpy()
        array([[0.5, 0.5]], dtype=float32)

    Source: of compatgrad itself, what the GRU cells of `mxnet.rnn` have in common.
    """
    i_r, i_z, i_o = symbol.SliceChannel(i2h, num_outputs=3, axis=axis, name=f"{name}_i2h_slice")
    h_r, h_z, h_o = symbol.SliceChannel(h2h, num_outputs=3, axis=axis, name=f"{name}_h2h_slice")
    reset = symbol.Activation(i_r + h_r, act_type="sigmoid", name=f"{name}_r_act")
    update = symbol.Activation(i_z + h_z, act_type="sigmoid", name=f"{name}_z_act")
    candidate = activation(i_o + reset * h_o, name=f"{name}_h_act")
    output = symbol._internal._plus((1.0 - update) * candidate, update * state, name=f"{name}out")
    return output, [output]


def _tanh(x: Any, **kwargs: Any) -> Any:
    return symbol.Activation(x, act_type="tanh", **kwargs)


class LSTMCell(_DenseCell):
    """An LSTM, whose gates are input, forget, candidate and output.

    Args:
        num_hidden: size of the states and the output.
        prefix: what the names of variables and operators start with.
        params: variables of another cell; None for its own.
        forget_bias: first value of the forget gate's bias.

    Example:
        >>> outputs, states = mx.rnn.LSTMCell(4).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1], len(states)
        ([(2, 3, 4)], 2)

    Source: `mxnet.rnn.LSTMCell` of MXNet 1.9.1; Hochreiter and Schmidhuber, Long Short-Term Memory, 1997.
    """

    _states = 2

    def __init__(
        self, num_hidden: int, prefix: str = "lstm_", params: RNNParams | None = None, forget_bias: float = 1.0
    ) -> None:
        super().__init__(num_hidden, prefix, params, initializer.LSTMBias(forget_bias=forget_bias))

    @property
    def _gate_names(self) -> Any:
        return ["_i", "_f", "_c", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        name = self._step_name()
        i2h, h2h = self._linear(inputs, states[0], name)
        return lstm_step(i2h + h2h, states[1], name, _tanh)


class GRUCell(_DenseCell):
    """A GRU, whose gates are reset, update and candidate; the reset gate is applied after the linear function.

    Args:
        num_hidden: size of the state and the output.
        prefix: what the names of variables and operators start with.
        params: variables of another cell; None for its own.

    Example:
        >>> outputs, states = mx.rnn.GRUCell(4).unroll(3, mx.sym.var("x"), merge_outputs=True)
        >>> outputs.infer_shape(x=(2, 3, 5))[1]
        [(2, 3, 4)]

    Source: `mxnet.rnn.GRUCell` of MXNet 1.9.1; Cho et al., Learning Phrase Representations using RNN Encoder-Decoder
        for Statistical Machine Translation, 2014.
    """

    def __init__(self, num_hidden: int, prefix: str = "gru_", params: RNNParams | None = None) -> None:
        super().__init__(num_hidden, prefix, params)

    @property
    def _gate_names(self) -> Any:
        return ["_r", "_z", "_o"]

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """One step."""
        name = self._step_name()
        i2h, h2h = self._linear(inputs, states[0], name + "_")
        return gru_step(i2h, h2h, states[0], name, _tanh)
