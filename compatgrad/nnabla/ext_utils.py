"""Extensions by name: the modules of `nnabla_ext`."""

import importlib
import pkgutil

from .logger import logger


def import_extension_module(ext_name):
    """The module of the extension `ext_name`: "cpu", "cuda" or "cudnn".

    ModuleNotFoundError, and a line in the log, for an unknown name.
    """
    try:
        return importlib.import_module("compatgrad.nnabla_ext." + ext_name)
    except ImportError:
        logger.error("Extension `%s` does not exist. There are: %s.", ext_name, ", ".join(_names()))
        raise


def _names():
    import compatgrad.nnabla_ext

    return sorted(module.name for module in pkgutil.iter_modules(compatgrad.nnabla_ext.__path__))


def list_extensions():
    """The names of the extensions that have a device here: "cpu", and with a GPU also "cuda" and "cudnn"."""
    return [name for name in _names() if import_extension_module(name).get_device_count()]


def get_extension_context(ext_name, **kw):
    """The context of an extension: `get_extension_context("cudnn", device_id="0", type_config="half")`.

    "cuda" and "cudnn" mean the GPU; where there is none, computations run on the CPU, and a warning says so
    once. kw: device_id (str) and type_config ("float" or "half"; other values: ValueError).
    """
    if ext_name == "cuda.cudnn":
        logger.warning('get_extension_context: the name "cuda.cudnn" is deprecated; use "cudnn".')
        ext_name = "cudnn"
    return import_extension_module(ext_name).context(**kw)
