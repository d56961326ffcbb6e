"""Extensions, the modules of `nnabla_ext`, by name."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from .logger import logger

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from .context import Context


def import_extension_module(ext_name: str) -> ModuleType:
    """The module of an extension.

    Args:
        ext_name: "cpu", "cuda" or "cudnn".

    Returns:
        The module, `nnabla_ext.<ext_name>`.

    Raises:
        ModuleNotFoundError: there is no such extension; the existing ones are logged.

    Example:
        >>> from compatgrad.nnabla.ext_utils import import_extension_module
        >>> import_extension_module("cpu").get_device_count()
        1

    Source: `nnabla.ext_utils.import_extension_module` of nnabla 1.39.0.
    """
    try:
        return importlib.import_module("compatgrad.nnabla_ext." + ext_name)
    except ImportError:
        logger.error("Extension `%s` does not exist. There are: %s.", ext_name, ", ".join(_names()))
        raise


def _names():
    import compatgrad.nnabla_ext

    return sorted(module.name for module in pkgutil.iter_modules(compatgrad.nnabla_ext.__path__))


def list_extensions() -> list[str]:
    """The names of the extensions for which this machine has a device.

    Returns:
        "cpu", and with a GPU also "cuda" and "cudnn".

    Example:
        >>> from compatgrad.nnabla.ext_utils import list_extensions
        >>> "cpu" in list_extensions()
        True

    Source: `nnabla.ext_utils.list_extensions` of nnabla 1.39.0.
    """
    return [name for name in _names() if import_extension_module(name).get_device_count()]


def get_extension_context(ext_name: str, **kw: Any) -> Context:
    """The context of an extension.

    "cuda" and "cudnn" select the GPU. Where there is none, computations run on the CPU, and a message is logged once.

    Args:
        ext_name: "cpu", "cuda" or "cudnn".
        **kw: `device_id`, the GPU's number, and `type_config`, "float" or "half".

    Returns:
        The context, for `set_default_context` or `context_scope`.

    Raises:
        ModuleNotFoundError: there is no such extension.
        ValueError: `type_config` is neither "float" nor "half".

    Example:
        >>> from compatgrad.nnabla.ext_utils import get_extension_context
        >>> get_extension_context("cpu", type_config="half").backend
        ['cpu:half', 'cpu:float']

    Source: `nnabla.ext_utils.get_extension_context` of nnabla 1.39.0.
    """
    if ext_name == "cuda.cudnn":
        logger.warning('get_extension_context: the name "cuda.cudnn" is deprecated; use "cudnn".')
        ext_name = "cudnn"
    return import_extension_module(ext_name).context(**kw)
