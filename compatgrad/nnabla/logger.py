"""nnabla's logger, which writes to the console, and to a file where the section LOG of the configuration names one."""

import logging

from .config import nnabla_config

__all__ = ["logger"]


def _string_to_level(string):
    return getattr(logging, string) if string in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL") else None


log_console_level = _string_to_level(nnabla_config.get("LOG", "log_console_level"))
log_console_format = nnabla_config.get("LOG", "log_console_format")

# nnabla configures the root logger, and programs rely on seeing its messages.
logging.basicConfig(level=log_console_level, format=log_console_format)

if nnabla_config.get("LOG", "log_file_name"):
    _handler = logging.FileHandler(nnabla_config.get("LOG", "log_file_name"))
    _handler.setLevel(_string_to_level(nnabla_config.get("LOG", "log_file_level")) or logging.NOTSET)
    _handler.setFormatter(logging.Formatter(nnabla_config.get("LOG", "log_file_format")))
    logging.getLogger("").addHandler(_handler)

logger = logging.getLogger("nnabla")
