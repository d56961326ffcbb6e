"""A hook that ends the process at an exception that nobody caught, so that other processes do not wait for it."""

from __future__ import annotations

import os
import sys
import warnings

_previous = None


def _global_except_hook(exctype, value, traceback):
    """Reports the exception as before, says which rank it was, and ends the process with code 1."""
    try:
        (_previous or sys.__excepthook__)(exctype, value, traceback)
    finally:
        line = "*" * 42
        text = f"\n{line}\nChainerMN:\n   Uncaught exception on rank 0.\n   Ending the process...\n{line}\n\n"
        sys.stderr.write(text)
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(1)


def _add_hook_if_enabled():
    if os.environ.get("CHAINERMN_FORCE_ABORT_ON_EXCEPTION"):
        add_hook()


def add_hook() -> None:
    """From now on an exception that nobody catches ends the process at once, after its report. A second call warns and
    changes nothing. Importing chainermn calls it where the environment has CHAINERMN_FORCE_ABORT_ON_EXCEPTION.

    Example:
        >>> import sys
        >>> chainermn.global_except_hook.add_hook()
        >>> sys.excepthook.__name__
        '_global_except_hook'

    Source: `chainermn.global_except_hook.add_hook` of Chainer 7.8.1.
    """
    global _previous
    if _previous is not None:
        warnings.warn(
            "chainermn.global_except_hook.add_hook() seems to be called multiple times. Ignoring.", stacklevel=2
        )
        return
    _previous = sys.excepthook
    sys.excepthook = _global_except_hook
