"""Communication of two processes."""

from compatgrad.chainer.utils import experimental
from compatgrad.chainermn.communicators._one_process import _no_partner


def send(x, communicator, rank, tag=0):
    """Raises: ValueError where `rank` is this process's, else RuntimeError, as there is no other process."""
    experimental("chainermn.functions.send")
    _no_partner("chainermn.functions.send", rank)


def recv(communicator, rank, delegate_variable=None, tag=0, force_tuple=False):
    """Raises: ValueError where `rank` is this process's, else RuntimeError, as there is no other process."""
    experimental("chainermn.functions.recv")
    _no_partner("chainermn.functions.recv", rank)
