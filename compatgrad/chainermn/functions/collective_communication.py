"""Collective communication, differentiable any number of times: backward is such a communication, too. Each process of
the communicator must run backward.
"""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer.utils import experimental

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._array_typing import Array
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.variable import Variable
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _stand_in() -> Variable:
    """The input of a function in a process that gives nothing. It requires a gradient, so that backward gets there."""
    return chainer.Variable(numpy.empty(0, numpy.float32))


class _Communication(chainer.FunctionNode):
    """Base class: it knows the form of the outputs, because zeros are sent for a gradient that is None."""

    def __init__(self, comm: CommunicatorBase, root: int) -> None:
        self.comm, self.root = comm, root

    @property
    def _is_root(self) -> bool:
        return self.comm.rank == self.root

    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """Communicates."""
        outputs = self._communicate(inputs)
        self._forms = [(y.shape, y.dtype, chainer.backend.get_array_module(y)) for y in outputs]
        return outputs

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        raise NotImplementedError

    def _complete(self, grads: Sequence[Variable | None]) -> tuple[Variable, ...]:
        return tuple(
            chainer.Variable(xp.zeros(shape, dtype)) if g is None else g
            for g, (shape, dtype, xp) in zip(grads, self._forms, strict=True)
        )


class AllGather(_Communication):
    """Gives all processes the arrays of all. `allgather` applies it.

    Args:
        comm: the communicator.

    Example:
        >>> from compatgrad.chainermn.functions.collective_communication import AllGather
        >>> (y,) = AllGather(chainermn.create_communicator("naive")).apply((np.array([1.0]),))
        >>> y.array.tolist()
        [1.0]

    Source: `chainermn.functions.collective_communication.AllGather` of Chainer 7.8.1.
    """

    def __init__(self, comm: CommunicatorBase) -> None:
        super().__init__(comm, 0)

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return self.comm.allgather(inputs[0])

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        """The sum of the gradients from all processes."""
        received = AllToAll(self.comm).apply(self._complete(grad_outputs))
        return (functools.reduce(operator.add, received),)


class AllToAll(_Communication):
    """Gives each process one of the arrays of all. `alltoall` applies it.

    Args:
        comm: the communicator.

    Example:
        >>> from compatgrad.chainermn.functions.collective_communication import AllToAll
        >>> (y,) = AllToAll(chainermn.create_communicator("naive")).apply((np.array([1.0]),))
        >>> y.array.tolist()
        [1.0]

    Source: `chainermn.functions.collective_communication.AllToAll` of Chainer 7.8.1.
    """

    def __init__(self, comm: CommunicatorBase) -> None:
        super().__init__(comm, 0)

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return self.comm.alltoall(inputs)

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        """The gradients, sent back."""
        received = AllToAll(self.comm).apply(self._complete(grad_outputs))
        return tuple(received[i] for i in target_input_indexes)


class Bcast(_Communication):
    """Gives all processes the array of the process `root`. `bcast` applies it.

    Args:
        comm: the communicator.
        root: rank of the process whose array all get.

    Example:
        >>> from compatgrad.chainermn.functions.collective_communication import Bcast
        >>> (y,) = Bcast(chainermn.create_communicator("naive"), 0).apply((np.array([1.0]),))
        >>> y.array.tolist()
        [1.0]

    Source: `chainermn.functions.collective_communication.Bcast` of Chainer 7.8.1.
    """

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        y = self.comm.bcast(inputs[0] if self._is_root else None, self.root)
        return (y.copy() if self._is_root else y,)

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        """In the process `root`, the sum of the gradients of all processes."""
        return _Sum(self.comm, self.root).apply(self._complete(grad_outputs))


class _Sum(_Communication):
    """The sum of the arrays of all processes, in the process `root`: what `Bcast` needs in backward."""

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        arrays = self.comm.gather(inputs[0], self.root)
        if not self._is_root:
            return (numpy.empty(0, numpy.float32),)
        return (functools.reduce(operator.iadd, arrays),)  # `+` of arrays without axes is no array

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        return Bcast(self.comm, self.root).apply(self._complete(grad_outputs))


class Gather(_Communication):
    """Gives the process `root` the arrays of all. `gather` applies it.

    Args:
        comm: the communicator.
        root: rank of the process that gets all arrays. The others get an empty one.

    Example:
        >>> from compatgrad.chainermn.functions.collective_communication import Gather
        >>> (y,) = Gather(chainermn.create_communicator("naive"), 0).apply((np.array([1.0]),))
        >>> y.array.tolist()
        [1.0]

    Source: `chainermn.functions.collective_communication.Gather` of Chainer 7.8.1.
    """

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        arrays = self.comm.gather(inputs[0], self.root)
        if self._is_root:
            return arrays
        xp = chainer.backend.get_array_module(inputs[0])
        return (xp.empty(0, inputs[0].dtype),)

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        """The gradient that the process `root` has for this process."""
        return Scatter(self.comm, self.root).apply(self._complete(grad_outputs))


class Scatter(_Communication):
    """Gives each process one of the arrays of the process `root`. `scatter` applies it.

    Args:
        comm: the communicator.
        root: rank of the process that shares.

    Example:
        >>> from compatgrad.chainermn.functions.collective_communication import Scatter
        >>> (y,) = Scatter(chainermn.create_communicator("naive"), 0).apply((np.array([1.0]),))
        >>> y.array.tolist()
        [1.0]

    Source: `chainermn.functions.collective_communication.Scatter` of Chainer 7.8.1.
    """

    def _communicate(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        return (self.comm.scatter(inputs if self._is_root else None, self.root),)

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable, ...]:
        """In the process `root`, the gradients of all processes."""
        grads = Gather(self.comm, self.root).apply(self._complete(grad_outputs))
        if not self._is_root:  # the gradient of the stand-in for inputs
            grads = (chainer.functions.cast(grads[0], numpy.float32),)
        return tuple(grads[i] for i in target_input_indexes)


def _check_root(who: str, comm: CommunicatorBase, root: int) -> bool:
    """Whether this process is the root. Raises RuntimeError if there is no such rank."""
    experimental(f"chainermn.functions.{who}")
    if not 0 <= root < comm.size:
        raise RuntimeError(
            f"chainermn.functions.{who}: there is no rank {root} in this communicator of size {comm.size}"
        )
    return comm.rank == root


def _check_length(comm: CommunicatorBase, xs: Sequence[Any]) -> None:
    if len(xs) != comm.size:
        raise ValueError("The length of xs must be same as communicator size.")


def allgather(comm: CommunicatorBase, x: VariableOrArray) -> tuple[Variable, ...]:
    """The `x` of all processes. Backward adds up the gradients from all processes.

    Args:
        comm: the communicator.
        x: an array or Variable, of one dtype in all processes.

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
    experimental("chainermn.functions.all_gather")
    return AllGather(comm).apply((x,))


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
    experimental("chainermn.functions.all_to_all")
    _check_length(comm, xs)
    return AllToAll(comm).apply(xs)


def bcast(comm: CommunicatorBase, x: VariableOrArray | None, root: int = 0) -> Variable:
    """The `x` of the process `root`. In backward that process gets the sum of the gradients.

    Args:
        comm: the communicator.
        x: an array or Variable.
        root: rank of the process whose `x` all get.

    Returns:
        A Variable of the shape and dtype of `x`.

    Raises:
        RuntimeError: there is no process `root`.
        TypeError: `x` is no array and no Variable.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.bcast(comm, np.array([1.0, 2.0])).array.tolist()
        [1.0, 2.0]

    Source: `chainermn.functions.bcast` of Chainer 7.8.1.
    """
    is_root = _check_root("bcast", comm, root)
    return Bcast(comm, root).apply((x if is_root else _stand_in(),))[0]


def gather(comm: CommunicatorBase, x: VariableOrArray, root: int = 0) -> Any:
    """The `x` of all processes, in the process `root`. In backward each process gets its gradient.

    Args:
        comm: the communicator.
        x: an array or Variable.
        root: rank of the process that gets all Variables.

    Returns:
        In the process `root` a tuple of Variables, one from each process; in the others an empty Variable, from which
        they start backward.

    Raises:
        RuntimeError: there is no process `root`.
        TypeError: `x` is no array and no Variable.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> [y.array.tolist() for y in chainermn.functions.gather(comm, np.array([1.0, 2.0]))]
        [[1.0, 2.0]]

    Source: `chainermn.functions.gather` of Chainer 7.8.1.
    """
    is_root = _check_root("gather", comm, root)
    ys = Gather(comm, root).apply((x,))
    return ys if is_root else ys[0]


def scatter(comm: CommunicatorBase, xs: Sequence[VariableOrArray] | None, root: int = 0) -> Variable:
    """The element for this process of the `xs` of the process `root`. In backward that process gets the gradients.

    Args:
        comm: the communicator.
        xs: arrays or Variables, one for each process.
        root: rank of the process that shares.

    Returns:
        A Variable.

    Raises:
        RuntimeError: there is no process `root`.
        ValueError: the length of `xs` is not the number of processes.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.scatter(comm, [np.array([1.0, 2.0])]).array.tolist()
        [1.0, 2.0]

    Source: `chainermn.functions.scatter` of Chainer 7.8.1.
    """
    is_root = _check_root("scatter", comm, root)
    if is_root:
        _check_length(comm, xs)
    return Scatter(comm, root).apply(xs if is_root else (_stand_in(),))[0]
