"""The old home of `nnabla.ext_utils.get_extension_context`."""

from __future__ import annotations

from typing import Any

__all__ = ["extension_context"]


def extension_context(extension_name: str = "cpu", **kw: Any) -> Any:
    """The context of an extension; `nnabla.ext_utils.get_extension_context` is its present name."""
    from ..ext_utils import get_extension_context
    from ..logger import logger

    logger.warning("extension_context is deprecated: use nnabla.ext_utils.get_extension_context.")
    return get_extension_context(extension_name, **kw)
