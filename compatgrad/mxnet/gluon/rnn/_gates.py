"""The gates of LSTM and GRU cells: one fused op where it supports the arrays, else MXNet's operators one by one.

Symbols always get MXNet's operators, with the original's names; `symbol/_gates.py` fuses them when a symbol runs.
"""

from __future__ import annotations

from typing import Any

from ... import ndarray
from ...ndarray._gates import LSTM_GATES, gates_fit
from ...ndarray._operator import op


def lstm_gates(
    cell: Any,
    F: Any,
    gates: Any,
    memory: Any,
    activation: Any = "tanh",
    gate: Any = "sigmoid",
    axis: int = 1,
    name: str = "out",
) -> tuple[Any, Any]:
    """The output, called `name`, and the memory after a step, from i, f, g, o along `axis` of the gates."""
    usual = isinstance(activation, str) and isinstance(gate, str) and (activation, gate, axis) == ("tanh", "sigmoid", 1)
    if F is ndarray and usual and gates_fit(gates, memory, 4):
        memory, output = op.lstm(memory, gates, order=LSTM_GATES)
        return output, memory
    i, f, g, o = F.SliceChannel(gates, num_outputs=4, axis=axis, name="slice")
    of = cell._get_activation
    i, f, g = of(F, i, gate, name="i"), of(F, f, gate, name="f"), of(F, g, activation, name="c")
    o = of(F, o, gate, name="o")
    memory = F.elemwise_add(F.elemwise_mul(f, memory, name="mul0"), F.elemwise_mul(i, g, name="mul1"), name="state")
    return F.elemwise_mul(o, of(F, memory, activation, name="activation0"), name=name), memory


def gru_gates(
    cell: Any, F: Any, of_input: Any, of_state: Any, before: Any, activation: Any = "tanh", axis: int = 1
) -> Any:
    """The state after `before`, from r, z, n along `axis` of the gates of the input and of the state."""
    usual = isinstance(activation, str) and (activation, axis) == ("tanh", 1)
    if F is ndarray and usual and gates_fit(of_input, before, 3) and gates_fit(of_state, before, 3):
        return op.gru(before, of_input, of_state)
    i_r, i_z, i_n = F.SliceChannel(of_input, num_outputs=3, axis=axis, name="i2h_slice")
    h_r, h_z, h_n = F.SliceChannel(of_state, num_outputs=3, axis=axis, name="h2h_slice")
    r = F.Activation(F.elemwise_add(i_r, h_r, name="plus0"), act_type="sigmoid", name="r_act")
    z = F.Activation(F.elemwise_add(i_z, h_z, name="plus1"), act_type="sigmoid", name="z_act")
    n = F.elemwise_add(i_n, F.elemwise_mul(r, h_n, name="mul0"), name="plus2")
    n = cell._get_activation(F, n, activation, name="h_act")
    rest = F.elemwise_sub(F.ones_like(z, name="ones_like0"), z, name="minus0")
    return F.elemwise_add(F.elemwise_mul(rest, n, name="mul1"), F.elemwise_mul(z, before, name="mul20"), name="out")
