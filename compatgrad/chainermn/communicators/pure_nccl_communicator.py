"""The communicator `pure_nccl`: the default, and the only one whose type of communication can be chosen."""

import numpy

from compatgrad.chainermn.communicators.mpi_communicator_base import MpiCommunicatorBase


class PureNcclCommunicator(MpiCommunicatorBase):
    """Gradients as one array, by NCCL, in the dtype `allreduce_grad_dtype`. In one process there is nothing to
    exchange, and arrays may be on the CPU.
    """

    def __init__(self, mpi_comm):
        super().__init__(mpi_comm)
        with self.config_scope():
            self.allreduce_grad_dtype = None

    def set_config(self, name, value=True, **kwargs):
        """Sets `batched_copy` or `allreduce_grad_dtype`. ValueError for another name or another dtype."""
        if name != "allreduce_grad_dtype":
            return super().set_config(name, value, **kwargs)
        dtype = None if value is None else numpy.dtype(value)
        if dtype is not None and dtype.kind != "f":
            raise ValueError(f"allreduce_grad_dtype must be numpy.float16, float32, float64, or None: {value}")
        with self.config_scope():
            self.allreduce_grad_dtype = dtype

    def _multi_node_mean_grad_async(self, model, zero_fill, stream):
        self.multi_node_mean_grad(model, zero_fill)
