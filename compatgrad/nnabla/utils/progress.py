"""Reports of progress, to a file and to callbacks."""

import time
from datetime import datetime, timedelta

from ..logger import logger
from . import callback

state_file_name = ""
last_state_datetime = datetime.now()
state_callback = None


def configure_progress(file_name, cb=None):
    """Makes `progress` write to the file `file_name` and call `cb(state, fraction)`; None keeps it."""
    global state_file_name, state_callback
    if file_name is not None:
        state_file_name = file_name
    if cb is not None:
        state_callback = cb
    progress(None)


def progress(state, progress=0.0):
    """Reports `state` (str, or None: nothing is under way) at the fraction `progress`.

    The file is written once a second at most. OSError where that fails for ten seconds.
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
