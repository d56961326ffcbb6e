"""What cells of recurrent networks share with the fused network."""

from __future__ import annotations

from .ndarray import NDArray

__all__ = ["LSTM_GATES", "gates_fit"]

LSTM_GATES = "ifao"  # as the op `lstm` names them, in the order in which they lie along the rows of weights


def gates_fit(gates: NDArray, state: NDArray, count: int) -> bool:
    """Whether a cell's op takes `count` gates along the second axis; for all else the composed form has the errors."""
    shape = (state.shape[0], count * state.shape[1], *state.shape[2:]) if len(state.shape) > 1 else None
    return gates.shape == shape and gates.dtype == state.dtype
