"""Where the processes of a communicator are, and objects in pieces: names that tests of ChainerMN import."""

from __future__ import annotations

INT_MAX = 2147483647


def init_ranks(mpi_comm):
    """(rank, rank on the host, processes of the host, number of the host, number of hosts) of this process."""
    group = mpi_comm.group
    return group.rank, group.local_rank, group.local_size, group.node_rank, group.nodes


def chunked_bcast_obj(obj, mpi_comm, max_buf_len=256 * 1024 * 1024, root=0):
    """The object of the process `root`, in all processes. `max_buf_len` is checked; the message has the parts that its
    transport needs."""
    if not 0 < max_buf_len < INT_MAX:
        raise AssertionError(f"chunked_bcast_obj: max_buf_len must be between 0 and {INT_MAX}, got {max_buf_len}")
    if (obj is None) == (mpi_comm.rank == root):
        raise AssertionError("chunked_bcast_obj: the root, and no other process, gives an object")
    got = mpi_comm.bcast(obj, root=root)
    return obj if mpi_comm.rank == root else got


def _get_nccl_type_id(dtype):
    """The number of a dtype in NCCL."""
    import numpy

    numbers = {"float16": 6, "float32": 7, "float64": 8}
    name = numpy.dtype(dtype).name
    if name not in numbers:
        raise ValueError("dtype must be float16, float32, or float64.")
    return numbers[name]
