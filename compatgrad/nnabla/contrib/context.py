"""The old name of `nnabla.ext_utils.get_extension_context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..context import Context

__all__ = ["extension_context"]


def extension_context(extension_name: str = "cpu", **kw: Any) -> Context:
    """Makes the context of an extension.

    It is the old name of `nnabla.ext_utils.get_extension_context`; a call logs a warning.

    Args:
        extension_name: "cpu", "cuda" or "cudnn".
        **kw: as for `get_extension_context`: device_id, type_config.

    Returns:
        The context.

    Raises:
        ModuleNotFoundError: there is no such extension.

    Example:
        >>> from compatgrad.nnabla.contrib.context import extension_context
        >>> extension_context("cpu").backend
        ['cpu:float']

    Source: `nnabla.contrib.context.extension_context` of nnabla 1.39.0.
    """
    from ..ext_utils import get_extension_context
    from ..logger import logger

    logger.warning("extension_context is deprecated: use nnabla.ext_utils.get_extension_context.")
    return get_extension_context(extension_name, **kw)
