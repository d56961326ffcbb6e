"""The classes of communicators, in the module where nnabla has them."""

from .communicators import (
    Communicator,
    DataParallelCommunicator,
    MultiProcessCommunicator,
    MultiProcessDataParalellCommunicator,
    MultiProcessDataParallelCommunicator,
)
from .variable import CommunicatorBackwardCallback

Comm = Dist = MultiProcessDataParallelCommunicator

__all__ = [
    "Comm",
    "Communicator",
    "CommunicatorBackwardCallback",
    "DataParallelCommunicator",
    "Dist",
    "MultiProcessCommunicator",
    "MultiProcessDataParalellCommunicator",
    "MultiProcessDataParallelCommunicator",
]
