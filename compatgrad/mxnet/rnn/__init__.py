"""Recurrent cells of symbols, and an iterator over batches of sentences."""

from .. import initializer as initializer
from .. import ndarray as ndarray
from .. import symbol as symbol
from .._checkpoint import load_checkpoint as load_checkpoint
from .._checkpoint import save_checkpoint as save_checkpoint
from .._home import lend as _lend
from ..io import DataBatch as DataBatch
from ..io import DataDesc as DataDesc
from ..io import DataIter as DataIter
from . import rnn_cell
from ._convolutional import BaseConvRNNCell as BaseConvRNNCell
from ._convolutional import ConvGRUCell as ConvGRUCell
from ._convolutional import ConvLSTMCell as ConvLSTMCell
from ._convolutional import ConvRNNCell as ConvRNNCell
from ._fused import FusedRNNCell as FusedRNNCell
from ._modifiers import BidirectionalCell as BidirectionalCell
from ._modifiers import DropoutCell as DropoutCell
from ._modifiers import ModifierCell as ModifierCell
from ._modifiers import ResidualCell as ResidualCell
from ._modifiers import SequentialRNNCell as SequentialRNNCell
from ._modifiers import ZoneoutCell as ZoneoutCell
from .io import BucketSentenceIter as BucketSentenceIter
from .io import encode_sentences as encode_sentences
from .rnn import do_rnn_checkpoint as do_rnn_checkpoint
from .rnn import load_rnn_checkpoint as load_rnn_checkpoint
from .rnn import rnn_unroll as rnn_unroll
from .rnn import save_rnn_checkpoint as save_rnn_checkpoint
from .rnn_cell import BaseRNNCell as BaseRNNCell
from .rnn_cell import GRUCell as GRUCell
from .rnn_cell import LSTMCell as LSTMCell
from .rnn_cell import RNNCell as RNNCell
from .rnn_cell import RNNParams as RNNParams

init = initializer
_lend(globals(), rnn_cell)
