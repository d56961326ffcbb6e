"""compatgrad: programs written for Chainer, nnabla or MXNet run on PyTorch, with their own graph and backprop loop.

Everything below is imported at first use: `import compatgrad` is cheap and needs no compiled module.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    import compatgrad.ops as ops
    from compatgrad._install import install, uninstall
    from compatgrad.core import (
        Function,
        FunctionHook,
        FunctionNode,
        Variable,
        backward,
        force_backprop_mode,
        grad,
        no_backprop_mode,
        register,
        release_memory,
        show_registry,
    )

__version__ = "0.1.0"

__all__ = [
    "Function",
    "FunctionHook",
    "FunctionNode",
    "Variable",
    "__version__",
    "backward",
    "force_backprop_mode",
    "grad",
    "install",
    "no_backprop_mode",
    "ops",
    "register",
    "release_memory",
    "show_registry",
    "uninstall",
]

_HOMES = {
    "install": "compatgrad._install",
    "interop": None,
    "load_ipython_extension": "compatgrad.tools.notebook",
    "ops": None,
    "report": "compatgrad.tools.report",
    "surroundings": None,
    "uninstall": "compatgrad._install",
    "unload_ipython_extension": "compatgrad.tools.notebook",
}


def __getattr__(name: str) -> _Any:
    if name not in __all__ and name not in _HOMES:
        raise AttributeError(f"module 'compatgrad' has no attribute {name!r}")
    home = _HOMES.get(name, "compatgrad.core")
    value = _import_module(f"compatgrad.{name}") if home is None else getattr(_import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
