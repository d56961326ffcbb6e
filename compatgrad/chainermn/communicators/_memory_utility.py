"""Arrays as buffers of mpi4py: a name that tests of ChainerMN import."""

from __future__ import annotations


def array_to_buffer_object(array, mpi_dtype=None):
    """The array, with `mpi_dtype` if it is given: what mpi4py's methods for arrays take."""
    return array if mpi_dtype is None else (array, mpi_dtype)
