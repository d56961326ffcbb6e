"""`mxnet.gluon.rnn.rnn_cell`: the names of all cells, which programs import from here."""

from ._cell import HybridRecurrentCell, RecurrentCell
from ._combined import (
    BidirectionalCell,
    DropoutCell,
    HybridSequentialRNNCell,
    ModifierCell,
    ResidualCell,
    SequentialRNNCell,
    ZoneoutCell,
)
from ._gated import GRUCell, LSTMCell, RNNCell

__all__ = ["RecurrentCell", "HybridRecurrentCell", "RNNCell", "LSTMCell", "GRUCell", "SequentialRNNCell",
           "HybridSequentialRNNCell", "DropoutCell", "ModifierCell", "ZoneoutCell", "ResidualCell",
           "BidirectionalCell"]  # fmt: skip
