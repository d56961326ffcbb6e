"""Shared by Gluon's cells and the operator RNN: the order of an LSTM's gates, and a check of their shape."""

from __future__ import annotations

from compatgrad import _C

__all__ = ["LSTM_GATES", "gates_fit"]

LSTM_GATES = "ifao"  # the op `lstm`'s names of the gates, in their order along the rows of MXNet's weights

# Whether the fused op can take `count` gates along the second axis; otherwise single operators must run.
gates_fit = _C.gates_fit
