"""`mxnet._numpy_op_doc`: its functions `_np_...`, which in MXNet only carry docstrings, are those of `mx.np` here."""

from __future__ import annotations

import inspect
from typing import Any

from .numpy_op_signature import _get_builtin_op


def __getattr__(name: str) -> Any:
    try:
        found = _get_builtin_op(name)
    except ValueError:
        found = None
    if found is None:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    if not hasattr(found, "__signature__"):
        found.__signature__ = inspect.signature(found)
    return found
