"""Communication between two processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import _no_partner

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def send(x: Any, communicator: CommunicatorBase, rank: int, tag: int = 0) -> NoReturn:
    """Sends Variables to another process. With one process there is no partner, so this function always raises an
    error.

    Args:
        x: an array or Variable, or a list of them.
        communicator: the communicator.
        rank: the process that receives.
        tag: number that the receiver must pass to `recv`.

    Returns:
        Nothing, as it raises an error; in ChainerMN it returns a Variable.

    Raises:
        ValueError: `rank` is the rank of this process.
        RuntimeError: `rank` differs from this process's, and there is no other process.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.send(np.ones(2), comm, rank=0)
        Traceback (most recent call last):
        ValueError: chainermn.functions.send: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.functions.send` of Chainer 7.8.1.
    """
    experimental("chainermn.functions.send")
    _no_partner("chainermn.functions.send", rank)


def recv(
    communicator: CommunicatorBase,
    rank: int,
    delegate_variable: Any = None,
    tag: int = 0,
    force_tuple: bool = False,
) -> NoReturn:
    """Receives what another process sends. With one process there is no partner, so this function always raises an
    error.

    Args:
        communicator: the communicator.
        rank: the process that sends.
        delegate_variable: result of an earlier `send`: backward runs that communication after this one.
        tag: number that the sender passed to `send`.
        force_tuple: True would return a tuple for a single Variable, too.

    Returns:
        Nothing, as it raises an error; in ChainerMN it returns a Variable.

    Raises:
        ValueError: `rank` is the rank of this process.
        RuntimeError: `rank` differs from this process's, and there is no other process.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.recv(comm, rank=0)
        Traceback (most recent call last):
        ValueError: chainermn.functions.recv: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.functions.recv` of Chainer 7.8.1.
    """
    experimental("chainermn.functions.recv")
    _no_partner("chainermn.functions.recv", rank)
