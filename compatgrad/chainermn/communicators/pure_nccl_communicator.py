"""The communicator `pure_nccl`: the default, and the only one with `allreduce_grad_dtype`."""

from __future__ import annotations

from typing import Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainermn.communicators import _gradients
from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class PureNcclCommunicator(MpiCommunicatorBase):
    """A communicator that exchanges gradients in the dtype `allreduce_grad_dtype`, or else `chainer.config.dtype`,
    where mixed16 counts as float16. Gradients on GPUs are exchanged by NCCL, others by Gloo.

    Args:
        mpi_comm: mpi4py's communicator, or the one that stands in for it.

    Raises:
        RuntimeError: `mpi_comm` has several processes, and no launcher has started this one.

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

    def _grad_dtype(self, dtype):
        return chainer.get_dtype() if self.allreduce_grad_dtype is None else self.allreduce_grad_dtype

    def _multi_node_mean_grad_async(self, model, zero_fill, stream):
        """Starts `multi_node_mean_grad`, and returns an object whose `finish` waits for the means."""
        return _gradients.Means(self, model, zero_fill).complete()
