"""Every op of the engine as a function of the native API.

`compatgrad.ops.sin(x)` takes Variables of any frontend, torch tensors and NumPy arrays, and returns a
`compatgrad.Variable`; ops with several outputs return a tuple. Tensor inputs come first (a list of them for ops such as
`concat`), parameters follow, positional or by keyword; `op.__doc__` says what an op computes, `describe(name)`
describes its parameters. Every op is differentiable any number of times.

Raises TypeError for inputs that are not tensors and for unknown parameters, ValueError, with the op and the shapes, for
shapes and dtypes that the kernel refuses, IndexError for indices out of range.

`__init__.pyi` in this folder has the types of all ops; `make stubs` writes it.
"""

from __future__ import annotations

import sys
from typing import Any

from compatgrad import _C
from compatgrad import core as core  # makes its Variable the class of results
from compatgrad.ops._parameters import describe as describe

__all__ = ["describe", *sorted(_C.op_names())]
# Defined as names of the module, because __getattr__ would take 0.5 us per use.
globals().update((name, _C.op(name)) for name in _C.op_names())


def __getattr__(name: str) -> Any:
    text = f"compatgrad.ops has no op '{name}'; dir(compatgrad.ops) lists them"
    raise AttributeError(text, name=name, obj=sys.modules[__name__])  # Python's traceback adds similar names


def __dir__() -> list[str]:
    return __all__
