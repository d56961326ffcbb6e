"""FusedRNNCell: all layers and steps of a recurrent network in one operator."""

from __future__ import annotations

import warnings
from typing import Any

from .. import initializer, ndarray, symbol
from .._fused_weights import GATES, parts_of
from ._modifiers import BidirectionalCell, DropoutCell, SequentialRNNCell
from .rnn_cell import BaseRNNCell, GRUCell, LSTMCell, RNNCell, RNNParams, _normalize_sequence

__all__ = ["FusedRNNCell"]


class FusedRNNCell(BaseRNNCell):
    """Layers of a recurrent network in one operator, `mx.sym.RNN`, with all parameters in one array.

    `unfuse` makes cells of it that can be stepped.

    Args:
        num_hidden: size of the states; the output has twice as many numbers where both directions run.
        num_layers: number of layers.
        mode: "rnn_relu", "rnn_tanh", "lstm" or "gru".
        bidirectional: whether each layer runs in both directions.
        dropout: probability of dropout between layers.
        get_next_state: whether `unroll` gives the states.
        forget_bias: initial value of the biases of forget gates, for LSTMs.
        prefix: what the names of variables and operators start with; None for the mode and "_".
        params: variables of another cell; None for its own.

    Raises:
        NotImplementedError: in a call; there are no single steps.

    Example:
        >>> cell = mx.rnn.FusedRNNCell(4, num_layers=2, mode="gru", bidirectional=True)
        >>> outputs, states = cell.unroll(3, mx.sym.var("x"), layout="TNC", merge_outputs=True)
        >>> outputs.infer_shape(x=(3, 2, 5))[1]
        [(3, 2, 8)]

    Source: `mxnet.rnn.FusedRNNCell` of MXNet 1.9.1.
    """

    _is_fused = True

    def __init__(
        self,
        num_hidden: int,
        num_layers: int = 1,
        mode: str = "lstm",
        bidirectional: bool = False,
        dropout: float = 0.0,
        get_next_state: bool = False,
        forget_bias: float = 1.0,
        prefix: str | None = None,
        params: RNNParams | None = None,
    ) -> None:
        super().__init__(prefix=f"{mode}_" if prefix is None else prefix, params=params)
        self._num_hidden = num_hidden
        self._num_layers = num_layers
        self._mode = mode
        self._bidirectional = bidirectional
        self._dropout = dropout
        self._get_next_state = get_next_state
        self._directions = ["l", "r"] if bidirectional else ["l"]
        fill = initializer.FusedRNN(None, num_hidden, num_layers, mode, bidirectional, forget_bias)
        self._parameter = self.params.get("parameters", init=fill)

    @property
    def state_info(self) -> list[dict[str, Any]]:
        """Shape and layout of the hidden state, and for LSTMs of the cell's."""
        shape = (len(self._directions) * self._num_layers, 0, self._num_hidden)
        return [{"shape": shape, "__layout__": "LNC"} for _ in range(2 if self._mode == "lstm" else 1)]

    @property
    def _gate_names(self) -> Any:
        return GATES[self._mode]

    @property
    def _num_gates(self) -> int:
        return len(self._gate_names)

    # ---- weights ----

    def _parts(self, arr: Any) -> dict[str, Any]:
        return parts_of(arr, self._num_hidden, self._num_layers, self._mode, self._directions, self._prefix)

    def unpack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """A copy of a dict of parameters with an array for each gate of each layer, named as by `unfuse`."""
        args = dict(args)
        arr = args.pop(self._parameter.name)
        args.update({name: x.copy() for name, x in self._parts(arr).items()})
        return args

    def pack_weights(self, args: dict[str, Any]) -> dict[str, Any]:
        """The reverse of `unpack_weights`."""
        args = dict(args)
        sides, h = len(self._directions), self._num_hidden
        first = args[f"{self._prefix}l0_i2h{self._gate_names[0]}_weight"]
        num_input = first.shape[1]
        rows = sides * h * self._num_gates
        total = (num_input + h + 2) * rows + (self._num_layers - 1) * (h + sides * h + 2) * rows
        arr = ndarray.zeros((total,), ctx=first.context, dtype=first.dtype)
        for name, x in self._parts(arr).items():
            x[:] = args.pop(name)
        args[self._parameter.name] = arr
        return args

    # ---- steps ----

    def __call__(self, inputs: Any, states: Any) -> tuple[Any, list[Any]]:
        """NotImplementedError: all steps are one operator."""
        raise NotImplementedError("FusedRNNCell cannot be stepped. Please use unroll")

    def unroll(
        self, length: int, inputs: Any, begin_state: Any = None, layout: str = "NTC", merge_outputs: bool | None = None
    ) -> tuple[Any, list[Any]]:
        """See BaseRNNCell.unroll; no states without `get_next_state`. The layout TNC needs no copy."""
        self.reset()
        inputs, axis = _normalize_sequence(length, inputs, layout, True)
        if axis == 1:
            warnings.warn("NTC layout detected. Consider using TNC for FusedRNNCell for faster speed", stacklevel=2)
            inputs = symbol.swapaxes(inputs, dim1=0, dim2=1)
        assert axis in (0, 1), f"Unsupported layout {layout}"
        states = self.begin_state() if begin_state is None else begin_state
        rnn = symbol.RNN(
            data=inputs,
            parameters=self._parameter,
            state_size=self._num_hidden,
            num_layers=self._num_layers,
            bidirectional=self._bidirectional,
            p=self._dropout,
            state_outputs=self._get_next_state,
            mode=self._mode,
            name=self._prefix + "rnn",
            **dict(zip(("state", "state_cell"), states, strict=False)),
        )
        outputs, after = rnn, []
        if self._get_next_state:
            outputs, after = rnn[0], [rnn[i] for i in range(1, 1 + len(self.state_info))]
            for state in after:
                state._set_attr(__layout__="LNC")
        if axis == 1:
            outputs = symbol.swapaxes(outputs, dim1=0, dim2=1)
        return _normalize_sequence(length, outputs, layout, merge_outputs)[0], after

    def unfuse(self) -> SequentialRNNCell:
        """The same network as a stack of cells that can be stepped. Its `pack_weights` takes the parameters that
        `unpack_weights` gives.
        """

        def cell(prefix: str) -> BaseRNNCell:
            if self._mode == "lstm":
                return LSTMCell(self._num_hidden, prefix=prefix)
            if self._mode == "gru":
                return GRUCell(self._num_hidden, prefix=prefix)
            return RNNCell(self._num_hidden, activation=self._mode.removeprefix("rnn_"), prefix=prefix)

        stack = SequentialRNNCell()
        for i in range(self._num_layers):
            sides = [cell(f"{self._prefix}{direction}{i}_") for direction in self._directions]
            stack.add(
                BidirectionalCell(*sides, output_prefix=f"{self._prefix}bi_l{i}_") if len(sides) == 2 else sides[0]
            )
            if self._dropout > 0 and i != self._num_layers - 1:
                stack.add(DropoutCell(self._dropout, prefix=f"{self._prefix}_dropout{i}_"))
        return stack
