"""The program's communicator, which all modules share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..logger import logger

if TYPE_CHECKING:
    from ..communicators import MultiProcessCommunicator

_current_communicator = None


def current_communicator() -> MultiProcessCommunicator | None:
    """The communicator that `create_communicator` made.

    Returns:
        The communicator, or None in a program of one process.

    Example:
        >>> from compatgrad.nnabla.utils.communicator_util import current_communicator
        >>> current_communicator() is None
        True

    Source: `nnabla.utils.communicator_util.current_communicator` of nnabla 1.39.0.
    """
    return _current_communicator


def create_communicator(
    ignore_error: bool = False,
    extension_module: str = "cudnn",
    type_config: str = "float",
) -> MultiProcessCommunicator | None:
    """Makes the program's communicator where a launcher started several processes.

    Args:
        ignore_error: whether a failure is logged instead of raised.
        extension_module: the extension whose context the communicator gets: "cpu", "cuda" or "cudnn".
        type_config: that context's precision, "float" or "half".

    Returns:
        The communicator; None for a single process, which needs none.

    Raises:
        RuntimeError: the processes cannot connect.

    Example:
        >>> from compatgrad.nnabla.utils.communicator_util import create_communicator
        >>> create_communicator() is None  # no launcher
        True

    Source: `nnabla.utils.communicator_util.create_communicator` of nnabla 1.39.0.
    """
    global _current_communicator
    from .. import communicators
    from ..ext_utils import get_extension_context

    _current_communicator = None
    if not communicators.launched():
        return None
    context = get_extension_context(extension_module, type_config=type_config)
    try:
        made = communicators.MultiProcessCommunicator(context)
        made.init()
    except Exception:
        if not ignore_error:
            raise
        logger.warning("Failed to initialize nnabla.communicators.")
        return None
    context.device_id = str(made.local_rank)
    if made.size > 1:
        _current_communicator = made
    return _current_communicator


def single_or_rankzero() -> bool:
    """Whether this process is the only one or the first one, which logs and writes files for all.

    Returns:
        True in a program of one process.

    Example:
        >>> from compatgrad.nnabla.utils.communicator_util import single_or_rankzero
        >>> single_or_rankzero()
        True

    Source: `nnabla.utils.communicator_util.single_or_rankzero` of nnabla 1.39.0.
    """
    return not _current_communicator or _current_communicator.rank == 0
