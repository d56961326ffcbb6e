"""Loggers that print level, time and place in front of each message, with colours on a terminal's stream."""

from __future__ import annotations

import logging
import warnings
from logging import CRITICAL, DEBUG, ERROR, INFO, NOTSET, WARNING

__all__ = ["CRITICAL", "DEBUG", "ERROR", "INFO", "NOTSET", "WARNING", "getLogger", "get_logger"]

_LETTERS = {CRITICAL: "C", ERROR: "E", WARNING: "W", INFO: "I", DEBUG: "D"}


class _Formatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__(datefmt="%m%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        colour = 31 if record.levelno >= WARNING else 32 if record.levelno >= INFO else 34
        letter = _LETTERS.get(record.levelno, "U")
        self._style._fmt = (
            f"\x1b[{colour}m{letter}%(asctime)s %(process)d %(pathname)s:%(funcName)s:%(lineno)d]\x1b[0m %(message)s"
        )
        return super().format(record)


def get_logger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """A logger, which gets its handler and level at the first call for its name.

    Args:
        name: its name; None is the root logger, which is returned as it is.
        filename: the file that it writes to; None is stderr, where messages have time, place and, by level, a colour.
        filemode: mode in which the file is opened; None is "a".
        level: messages below this level are left out.

    Returns:
        The `logging.Logger`.

    Raises:
        OSError: the file cannot be opened.

    Example:
        >>> logger = mx.log.get_logger("training", level=mx.log.INFO)
        >>> logger.level == mx.log.INFO, logger is mx.log.get_logger("training")
        (True, True)

    Source: `mxnet.log.get_logger` of MXNet 1.9.1.
    """
    logger = logging.getLogger(name)
    if name is not None and not getattr(logger, "_init_done", False):
        logger._init_done = True  # type: ignore[attr-defined]
        handler: logging.Handler
        if filename:
            handler = logging.FileHandler(filename, filemode or "a")
        else:
            handler = logging.StreamHandler()
            handler.setFormatter(_Formatter())
        logger.addHandler(handler)
        logger.setLevel(level)
    return logger


def getLogger(
    name: str | None = None, filename: str | None = None, filemode: str | None = None, level: int = WARNING
) -> logging.Logger:
    """The old name of `get_logger`, which warns of it.

    Args:
        name, filename, filemode, level: as in `get_logger`.

    Returns:
        The `logging.Logger`.

    Raises:
        OSError: the file cannot be opened.

    Example:
        >>> mx.log.getLogger("evaluation") is mx.log.get_logger("evaluation")
        True

    Source: `mxnet.log.getLogger` of MXNet 1.9.1.
    """
    warnings.warn("getLogger is deprecated, use get_logger instead.", DeprecationWarning, stacklevel=2)
    return get_logger(name, filename, filemode, level)
