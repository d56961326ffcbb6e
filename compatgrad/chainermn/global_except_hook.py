"""A hook that ends the process at an uncaught exception, so that other processes do not wait for it forever."""

from __future__ import annotations

import os
import sys
import warnings

from compatgrad.core.distributed import detect

_previous = None


def _global_except_hook(exctype, value, traceback):
    """Calls the previous hook, prints the rank, and ends the process with exit code 1."""
    try:
        (_previous or sys.__excepthook__)(exctype, value, traceback)
    finally:
        line, rank = "*" * 42, detect().rank
        text = f"\n{line}\nChainerMN:\n   Uncaught exception on rank {rank}.\n   Ending the process...\n{line}\n\n"
        sys.stderr.write(text)
        sys.stderr.flush()
        sys.stdout.flush()
        os._exit(1)


def _add_hook_if_enabled():
    if os.environ.get("CHAINERMN_FORCE_ABORT_ON_EXCEPTION"):
        add_hook()


def add_hook() -> None:
    """Installs the hook: an uncaught exception is reported and then ends the process at once. A second call warns and
    changes nothing. Importing chainermn calls this function where the environment variable
    CHAINERMN_FORCE_ABORT_ON_EXCEPTION is set.

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
