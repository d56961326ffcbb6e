"""The communicator `pure_nccl`: the default, and the only one with `allreduce_grad_dtype`."""

from __future__ import annotations

from typing import Any

import numpy

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class PureNcclCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges gradients as one array, by NCCL, in the dtype `allreduce_grad_dtype`. In one
    process there is nothing to exchange, and arrays may be on the CPU.

    Args:
        mpi_comm: mpi4py's communicator of one process, or an object with its `size` and `Split`.

    Raises:
        RuntimeError: `mpi_comm` has several processes.

    Example:
        >>> comm = chainermn.create_communicator("pure_nccl", allreduce_grad_dtype="float16")
        >>> comm.get_config("allreduce_grad_dtype")
        dtype('float16')

    Source: `chainermn.communicators.pure_nccl_communicator.PureNcclCommunicator` of Chainer 7.8.1.
    """

    def __init__(self, mpi_comm: Any) -> None:
        super().__init__(mpi_comm)
        with self.config_scope():
            self.allreduce_grad_dtype = None

    def set_config(self, name: str, value: Any = True, **kwargs: Any) -> None:
        """Sets `batched_copy` or `allreduce_grad_dtype`. Raises ValueError for another name or another dtype."""
        if name != "allreduce_grad_dtype":
            return super().set_config(name, value, **kwargs)
        dtype = None if value is None else numpy.dtype(value)
        if dtype is not None and dtype.kind != "f":
            raise ValueError(f"allreduce_grad_dtype must be numpy.float16, float32, float64, or None: {value}")
        with self.config_scope():
            self.allreduce_grad_dtype = dtype

    def _multi_node_mean_grad_async(self, model, zero_fill, stream):
        self.multi_node_mean_grad(model, zero_fill)
