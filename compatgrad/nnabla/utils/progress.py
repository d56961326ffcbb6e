"""Reports of progress, to a file and to callbacks."""

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
    """Says where `progress` reports to.

    Args:
        file_name: the file that it writes; None for the one it wrote before.
        cb: called with the state and the fraction that is done; None for the function that was called before.

    Raises:
        OSError: the file cannot be written for ten seconds.

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
    """Reports what is under way, to the file and the function of `configure_progress`.

    The file is written once a second at most.

    Args:
        state: what is under way; None for nothing, which empties the file.
        progress: the fraction that is done, from 0 to 1.

    Raises:
        OSError: the file cannot be written for ten seconds.

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
    for last in [False] * 99 + [True]:  # others may be reading
        try:
            with open(state_file_name, "w") as file:
                file.write(text)
            return
        except OSError:
            if last:
                logger.critical("Failed to write to %s.", state_file_name)
                raise
            time.sleep(0.1)
