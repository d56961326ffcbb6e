"""One communicator for all of a program."""

from ..logger import logger

_current_communicator = None


def current_communicator():
    """The communicator that `create_communicator` made, or None."""
    return _current_communicator


def create_communicator(ignore_error=False, extension_module="cudnn", type_config="float"):
    """Makes the program's communicator where several processes run it, else None.

    A single process, started without a launcher, gets None. With `ignore_error` a failure is logged instead
    of raised.
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


def single_or_rankzero():
    """Whether this is the only process, or the first one."""
    return not _current_communicator or _current_communicator.rank == 0
