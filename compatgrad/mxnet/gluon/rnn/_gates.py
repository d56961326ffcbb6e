"""The gates of LSTM and GRU cells: one fused op where it supports the arrays, else MXNet's operators one by one.

Symbols always get MXNet's operators, with the original's names; `symbol/_gates.py` fuses them when a symbol runs.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

from ... import ndarray
from ...ndarray._gates import LSTM_GATES, gates_fit
from ...ndarray._operator import op
from ._cell import RecurrentCell


def _called() -> tuple[Any, ...]:
    """The operators that cells call between the gates and the states: a program may have replaced some by its own."""
    F = ndarray
    return (
        F.SliceChannel, F.Activation, F.sigmoid, F.tanh, F.elemwise_add, F.elemwise_mul, F.elemwise_sub, F.ones_like
    )  # fmt: skip


_OWN = _called()
_OWN_METHOD = RecurrentCell._get_activation


def fusible(cell: Any, F: Any) -> bool:
    """Whether a step may run the fused op: on arrays, if neither the operators nor the method for activations that it
    would call are a program's own."""
    return F is ndarray and getattr(cell._get_activation, "__func__", None) is _OWN_METHOD and _called() == _OWN


def _activation(cell: Any, operator: bool) -> Callable[..., Any]:
    """The function of a cell's step that applies an activation: the operator `Activation`, or the cell's method, which
    calls `sigmoid` and `tanh`. The original's cells differ in this.
    """

    def apply(F: Any, x: Any, activation: Any, name: str) -> Any:
        if operator and isinstance(activation, str):
            return F.Activation(x, act_type=activation, name=name)
        return cell._get_activation(F, x, activation, name=name)

    return apply


def lstm_gates(
    cell: Any,
    F: Any,
    gates: Any,
    memory: Any,
    activation: Any = "tanh",
    gate: Any = "sigmoid",
    axis: int = 1,
    name: str = "out",
    operators: Container[str] = (),
) -> tuple[Any, Any]:
    """The output, called `name`, and the memory after a step, from i, f, g, o along `axis` of the gates.

    operators: where the operator `Activation` runs instead of the cell's method: "gates", "new" and "shown".
    """
    usual = isinstance(activation, str) and isinstance(gate, str) and (activation, gate, axis) == ("tanh", "sigmoid", 1)
    if usual and fusible(cell, F) and gates_fit(gates, memory, 4):
        memory, output = op.lstm(memory, gates, order=LSTM_GATES)
        return output, memory
    i, f, g, o = F.SliceChannel(gates, num_outputs=4, axis=axis, name="slice")
    of_gate, of_new, of_shown = (_activation(cell, part in operators) for part in ("gates", "new", "shown"))
    i, f, g = of_gate(F, i, gate, name="i"), of_gate(F, f, gate, name="f"), of_new(F, g, activation, name="c")
    o = of_gate(F, o, gate, name="o")
    memory = F.elemwise_add(F.elemwise_mul(f, memory, name="mul0"), F.elemwise_mul(i, g, name="mul1"), name="state")
    return F.elemwise_mul(o, of_shown(F, memory, activation, name="activation0"), name=name), memory


def gru_gates(
    cell: Any,
    F: Any,
    of_input: Any,
    of_state: Any,
    before: Any,
    activation: Any = "tanh",
    axis: int = 1,
    operators: Container[str] = (),
) -> Any:
    """The state after `before`, from r, z, n along `axis` of the gates of the input and of the state.

    operators: "new" if the operator `Activation` runs for n instead of the cell's method.
    """
    usual = isinstance(activation, str) and (activation, axis) == ("tanh", 1)
    if usual and fusible(cell, F) and gates_fit(of_input, before, 3) and gates_fit(of_state, before, 3):
        return op.gru(before, of_input, of_state)
    i_r, i_z, i_n = F.SliceChannel(of_input, num_outputs=3, axis=axis, name="i2h_slice")
    h_r, h_z, h_n = F.SliceChannel(of_state, num_outputs=3, axis=axis, name="h2h_slice")
    r = F.Activation(F.elemwise_add(i_r, h_r, name="plus0"), act_type="sigmoid", name="r_act")
    z = F.Activation(F.elemwise_add(i_z, h_z, name="plus1"), act_type="sigmoid", name="z_act")
    n = F.elemwise_add(i_n, F.elemwise_mul(r, h_n, name="mul0"), name="plus2")
    n = _activation(cell, "new" in operators)(F, n, activation, name="h_act")
    rest = F.elemwise_sub(F.ones_like(z, name="ones_like0"), z, name="minus0")
    return F.elemwise_add(F.elemwise_mul(rest, n, name="mul1"), F.elemwise_mul(z, before, name="mul20"), name="out")
