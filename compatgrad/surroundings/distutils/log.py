"""The log of `distutils`, on `logging`."""

import logging

DEBUG, INFO, WARN, ERROR, FATAL = 1, 2, 3, 4, 5
_logger = logging.getLogger("distutils")

debug = _logger.debug
info = _logger.info
warn = _logger.warning
error = _logger.error
fatal = _logger.critical


def log(level: int, msg: str, *args: object) -> None:
    _logger.log(10 * level, msg, *args)


def set_threshold(level: int) -> int:
    old = _logger.level // 10
    _logger.setLevel(10 * level)
    return old


def set_verbosity(v: int) -> None:
    set_threshold({0: WARN, 1: INFO}.get(v, DEBUG) if v >= 0 else WARN)
