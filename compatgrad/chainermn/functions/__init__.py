"""Communication between processes as functions with gradients."""

from compatgrad.chainermn.functions.collective_communication import (  # noqa: F401
    allgather,
    alltoall,
    bcast,
    gather,
    scatter,
)
from compatgrad.chainermn.functions.point_to_point_communication import recv, send  # noqa: F401
from compatgrad.chainermn.functions.pseudo_connect import pseudo_connect  # noqa: F401
