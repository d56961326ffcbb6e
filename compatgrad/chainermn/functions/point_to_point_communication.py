"""Communication of two processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import _no_partner

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def send(x: Any, communicator: CommunicatorBase, rank: int, tag: int = 0) -> NoReturn:
    """Sends Variables to another process. A process alone has no partner, so that this always raises.

    Args:
        x: an array or Variable, or a list of them.
        communicator: the communicator.
        rank: the process that receives.
        tag: number that `recv` must give too.

    Returns:
        Nothing, as it raises. ChainerMN's gives a Variable.

    Raises:
        ValueError: `rank` is this process's own.
        RuntimeError: another rank, as there is no other process.

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
    """Receives what another process sends. A process alone has no partner, so that this always raises.

    Args:
        communicator: the communicator.
        rank: the process that sends.
        delegate_variable: what `send` gave before: backward goes through that communication later.
        tag: number that `send` gave.
        force_tuple: True would give a tuple for one Variable too.

    Returns:
        Nothing, as it raises. ChainerMN's gives a Variable.

    Raises:
        ValueError: `rank` is this process's own.
        RuntimeError: another rank, as there is no other process.

    Example:
        >>> comm = chainermn.create_communicator("naive")
        >>> chainermn.functions.recv(comm, rank=0)
        Traceback (most recent call last):
        ValueError: chainermn.functions.recv: rank must be different from communicator rank, otherwise deadlock occurs

    Source: `chainermn.functions.recv` of Chainer 7.8.1.
    """
    experimental("chainermn.functions.recv")
    _no_partner("chainermn.functions.recv", rank)
