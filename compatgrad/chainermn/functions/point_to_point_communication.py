"""Communication between two processes, differentiable any number of times: backward sends the gradients back. Both
processes must run backward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

import compatgrad.chainer as chainer
from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.functions.pseudo_connect import pseudo_connect

if TYPE_CHECKING:
    from compatgrad.chainer._array_typing import Array
    from compatgrad.chainer.variable import Variable
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _stand_in() -> Variable:
    # it requires a gradient, so that backward gets to the communication
    return chainer.Variable(numpy.empty(0, numpy.float32))


def _check(communicator: CommunicatorBase, rank: int) -> None:
    if rank == communicator.rank:
        raise ValueError("rank must be different from communicator rank, otherwise deadlock occurs")


class Send(chainer.FunctionNode):
    """Sends all inputs but the last to another process; its output is empty. `send` applies it.

    Args:
        comm: the communicator.
        peer_rank: the process that receives.
        peer_tag: number that the receiver must pass to `recv`.

    Example:
        >>> from compatgrad.chainermn.functions.point_to_point_communication import Send
        >>> Send(chainermn.create_communicator("naive"), 1, 5).peer_tag
        5

    Source: `chainermn.functions.point_to_point_communication.Send` of Chainer 7.8.1.
    """

    def __init__(self, comm: CommunicatorBase, peer_rank: int, peer_tag: int) -> None:
        self.comm, self.peer_rank, self.peer_tag = comm, peer_rank, peer_tag

    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sends."""
        xs = inputs[:-1]
        self.comm.send(xs[0] if len(xs) == 1 else xs, self.peer_rank, self.peer_tag)
        return (chainer.backend.get_array_module(*xs).empty(0, numpy.float32),)

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable | None, ...]:
        """Receives the gradients of the inputs."""
        delegate = grad_outputs[0]
        if delegate is None or not delegate.requires_grad:
            delegate = _stand_in()
        grads = Recv(self.comm, self.peer_rank, self.peer_tag).apply((delegate,))
        return tuple(grads[i] if i < len(grads) else None for i in target_input_indexes)


class Recv(chainer.FunctionNode):
    """Receives arrays from another process; its input only fixes the order of backward. `recv` applies it.

    Args:
        comm: the communicator.
        peer_rank: the process that sends.
        peer_tag: number that the sender passes to `send`.

    Example:
        >>> from compatgrad.chainermn.functions.point_to_point_communication import Recv
        >>> Recv(chainermn.create_communicator("naive"), 1, 5).peer_rank
        1

    Source: `chainermn.functions.point_to_point_communication.Recv` of Chainer 7.8.1.
    """

    def __init__(self, comm: CommunicatorBase, peer_rank: int, peer_tag: int) -> None:
        self.comm, self.peer_rank, self.peer_tag = comm, peer_rank, peer_tag

    def forward(self, inputs: tuple[Array, ...]) -> tuple[Array, ...]:
        """Receives."""
        (delegate,) = inputs
        self._delegate = delegate.shape, delegate.dtype, chainer.backend.get_array_module(delegate)
        data = self.comm.recv(self.peer_rank, self.peer_tag)
        outputs = data if isinstance(data, tuple) else (data,)
        self._forms = [(y.shape, y.dtype, chainer.backend.get_array_module(y)) for y in outputs]
        return outputs

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[Variable | None, ...]
    ) -> tuple[Variable | None, ...]:
        """Sends the gradients. That of the input is zeros."""
        grads = [
            chainer.Variable(xp.zeros(shape, dtype)) if g is None else g
            for g, (shape, dtype, xp) in zip(grad_outputs, self._forms, strict=True)
        ]
        (sent,) = Send(self.comm, self.peer_rank, self.peer_tag).apply((*grads, _stand_in()))
        shape, dtype, xp = self._delegate
        return pseudo_connect(sent, chainer.Variable(xp.zeros(shape, dtype)))


def send(x: Any, communicator: CommunicatorBase, rank: int, tag: int = 0) -> Variable:
    """Sends Variables to another process. In backward, that process sends their gradients back.

    Args:
        x: an array or Variable, or a list or tuple of them.
        communicator: the communicator.
        rank: the process that receives.
        tag: number that the receiver must pass to `recv`.

    Returns:
        An empty Variable, the delegate: backward starts from it in a process that has no loss, and `pseudo_connect` and
        `recv` take it to fix the order of backward.

    Raises:
        ValueError: `rank` is the rank of this process.
        RuntimeError: there is no such rank.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.send(np.ones(2), comm, rank=0)
        Traceback (most recent call last):
        ValueError: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.functions.send` of Chainer 7.8.1.
    """
    experimental("chainermn.functions.send")
    _check(communicator, rank)
    xs = tuple(x) if isinstance(x, (list, tuple)) else (x,)
    (delegate,) = Send(communicator, rank, tag).apply((*xs, _stand_in()))
    delegate.name = "delegate_variable"
    return delegate


def recv(
    communicator: CommunicatorBase,
    rank: int,
    delegate_variable: Any = None,
    tag: int = 0,
    force_tuple: bool = False,
) -> Any:
    """Receives what another process sends. In backward, it sends the gradients to that process.

    Args:
        communicator: the communicator.
        rank: the process that sends.
        delegate_variable: result of an earlier `send`: backward runs that communication after this one.
        tag: number that the sender passed to `send`.
        force_tuple: True returns a tuple for a single Variable, too.

    Returns:
        A Variable, or a tuple of Variables if a tuple of several was sent.

    Raises:
        ValueError: `rank` is the rank of this process.
        RuntimeError: there is no such rank.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.recv(comm, rank=0)
        Traceback (most recent call last):
        ValueError: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.functions.recv` of Chainer 7.8.1.
    """
    experimental("chainermn.functions.recv")
    _check(communicator, rank)
    delegate = _stand_in() if delegate_variable is None else delegate_variable
    ys = Recv(communicator, rank, tag).apply((delegate,))
    return ys[0] if len(ys) == 1 and not force_tuple else ys
