"""Communicators under the name of nnabla's compiled module."""

from .communicators import (
    Communicator,
    DataParallelCommunicator,
    MultiProcessCommunicator,
    MultiProcessDataParalellCommunicator,
    MultiProcessDataParallelCommunicator,
)
from .variable import CommunicatorBackwardCallback

__all__ = [
    "Communicator",
    "CommunicatorBackwardCallback",
    "DataParallelCommunicator",
    "MultiProcessCommunicator",
    "MultiProcessDataParalellCommunicator",
    "MultiProcessDataParallelCommunicator",
]
