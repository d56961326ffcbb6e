"""Collective communication: in a group of one process, the Variables of all processes are those of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer.functions import identity
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import check_rank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _own(who, comm, xs, root=0):
    experimental(f"chainermn.functions.{who}")
    check_rank(f"chainermn.functions.{who}", root)
    if len(xs) != comm.size:
        raise ValueError("The length of xs must be same as communicator size.")
    return tuple(identity(x) for x in xs)


def allgather(comm: CommunicatorBase, x: VariableOrArray) -> tuple[Variable, ...]:
    """The `x` of all processes. Backward adds up the gradients from all processes.

    Args:
        comm: the communicator.
        x: an array or Variable, of one shape and dtype in all processes.

    Returns:
        A tuple of Variables, one from each process.

    Raises:
        TypeError: `x` is no array and no Variable.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> [y.array.tolist() for y in chainermn.functions.allgather(comm, np.array([1.0, 2.0]))]
        [[1.0, 2.0]]

    Source: `chainermn.functions.allgather` of Chainer 7.8.1.
    """
    return _own("all_gather", comm, [x])


def alltoall(comm: CommunicatorBase, xs: Sequence[VariableOrArray]) -> tuple[Variable, ...]:
    """Sends the i-th of `xs` to process i and returns the Variables that all processes sent to this one. Backward sends
    the gradients back.

    Args:
        comm: the communicator.
        xs: arrays or Variables of one dtype: the i-th is for process i.

    Returns:
        A tuple of Variables, one from each process.

    Raises:
        ValueError: the length of `xs` is not the number of processes.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> [y.array.tolist() for y in chainermn.functions.alltoall(comm, [np.array([1.0, 2.0])])]
        [[1.0, 2.0]]

    Source: `chainermn.functions.alltoall` of Chainer 7.8.1.
    """
    return _own("all_to_all", comm, xs)


def bcast(comm: CommunicatorBase, x: VariableOrArray, root: int = 0) -> Variable:
    """The `x` of the process `root`. In backward that process gets the sum of the gradients.

    Args:
        comm: the communicator.
        x: an array or Variable.
        root: rank of the process whose `x` all get.

    Returns:
        A Variable of the shape and dtype of `x`.

    Raises:
        RuntimeError: `root` is not 0, and there is no other process.
        TypeError: `x` is no array and no Variable.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.bcast(comm, np.array([1.0, 2.0])).array.tolist()
        [1.0, 2.0]

    Source: `chainermn.functions.bcast` of Chainer 7.8.1.
    """
    return _own("bcast", comm, [x], root)[0]


def gather(comm: CommunicatorBase, x: VariableOrArray, root: int = 0) -> tuple[Variable, ...]:
    """The `x` of all processes, in the process `root`. In backward each process gets its gradient.

    Args:
        comm: the communicator.
        x: an array or Variable.
        root: rank of the process that gets all Variables.

    Returns:
        A tuple of Variables, one from each process.

    Raises:
        RuntimeError: `root` is not 0, and there is no other process.
        TypeError: `x` is no array and no Variable.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> [y.array.tolist() for y in chainermn.functions.gather(comm, np.array([1.0, 2.0]))]
        [[1.0, 2.0]]

    Source: `chainermn.functions.gather` of Chainer 7.8.1.
    """
    return _own("gather", comm, [x], root)


def scatter(comm: CommunicatorBase, xs: Sequence[VariableOrArray], root: int = 0) -> Variable:
    """The element for this process of the `xs` of the process `root`. In backward that process gets the gradients.

    Args:
        comm: the communicator.
        xs: arrays or Variables, one for each process.
        root: rank of the process that shares.

    Returns:
        A Variable.

    Raises:
        RuntimeError: `root` is not 0, and there is no other process.
        ValueError: the length of `xs` is not the number of processes.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.scatter(comm, [np.array([1.0, 2.0])]).array.tolist()
        [1.0, 2.0]

    Source: `chainermn.functions.scatter` of Chainer 7.8.1.
    """
    return _own("scatter", comm, xs, root)[0]
