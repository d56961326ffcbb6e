"""Shared by Gluon's cells and the operator RNN: the order of an LSTM's gates, and a check of their shape."""

from __future__ import annotations

from .ndarray import NDArray

__all__ = ["LSTM_GATES", "gates_fit"]

LSTM_GATES = "ifao"  # the op `lstm`'s names of the gates, in their order along the rows of MXNet's weights


def gates_fit(gates: NDArray, state: NDArray, count: int) -> bool:
    """Whether the fused op can take `count` gates along the second axis; else single operators must run."""
    shape = (state.shape[0], count * state.shape[1], *state.shape[2:]) if len(state.shape) > 1 else None
    return gates.shape == shape and gates.dtype == state.dtype
