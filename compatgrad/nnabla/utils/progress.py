"""Reports progress to a file and to callbacks."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ..logger import logger
from . import callback

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

state_file_name = ""
last_state_datetime = datetime.now()
state_callback = None


def configure_progress(file_name: str | None, cb: Callable[[str | None, float], Any] | None = None) -> None:
    """Sets the file and the function that `progress` reports to.

    Args:
        file_name: the file to write; None keeps the current one.
        cb: called with the state and the completed fraction; None keeps the current function.

    Raises:
        OSError: writing the file fails for ten seconds.

    Example:
        >>> from compatgrad.nnabla.utils import progress
        >>> progress.configure_progress("", print)
        None 0.0
        >>> progress.progress("Training", 0.5)
        Training 0.5
        >>> progress.state_callback = None

    Source: `nnabla.utils.progress.configure_progress` of nnabla 1.39.0.
    """
    global state_file_name, state_callback
    if file_name is not None:
        state_file_name = file_name
    if cb is not None:
        state_callback = cb
    progress(None)


def progress(state: str | None, progress: float = 0.0) -> None:
    """Reports the state of the program to the file and the function set by `configure_progress`.

    The file is written at most once per second.

    Args:
        state: the current activity; None for no activity, which empties the file.
        progress: the completed fraction, from 0 to 1.

    Raises:
        OSError: writing the file fails for ten seconds.

    Example:
        >>> from compatgrad.nnabla.utils.progress import configure_progress, progress
        >>> configure_progress("progress.txt")
        >>> progress(None)
        >>> open("progress.txt").read()
        ''
        >>> configure_progress("")

    Source: `nnabla.utils.progress.progress` of nnabla 1.39.0.
    """
    global last_state_datetime
    if state_file_name and (state is None or datetime.now() - last_state_datetime > timedelta(seconds=1)):
        last_state_datetime = datetime.now()
        _write("" if state is None else f"{state} ({progress * 100:3.2f}%)")
    callback.update_progress(f"{state} ({progress * 100:3.2f}%)")
    callback.update_status()
    if state_callback is not None:
        state_callback(state, progress)


def _write(text):
    for last in [False] * 99 + [True]:  # the file may be locked by a process that reads it
        try:
            with open(state_file_name, "w") as file:
                file.write(text)
            return
        except OSError:
            if last:
                logger.critical("Failed to write to %s.", state_file_name)
                raise
            time.sleep(0.1)
