"""Every op of the engine as a function of the native API.

`compatgrad.ops.sin(x)` takes Variables of any frontend, torch tensors and NumPy arrays, and gives a
`compatgrad.Variable`; ops with several outputs give a tuple. Tensor inputs come first (a list of them for
ops such as `concat`), parameters follow, positional or by keyword; `op.__doc__` says what an op computes,
`describe(name)` which parameters it has. Every op is differentiable any number of times.

Raises TypeError for inputs that are no tensors and for unknown parameters, ValueError for shapes and dtypes
that the kernel refuses, with the op and the shapes named, IndexError for indices out of range.

`__init__.pyi` beside this file has their types; `make stubs` writes it.
"""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad import core as core  # makes its Variable the class of the results
from compatgrad.ops._parameters import describe as describe

__all__ = ["describe", *sorted(_C.op_names())]
# Names of the module itself: through __getattr__ each use of one would take 0.5 us.
globals().update((name, _C.op(name)) for name in _C.op_names())


def __getattr__(name: str) -> Any:
    raise AttributeError(f"compatgrad.ops has no op '{name}'; dir(compatgrad.ops) lists them")


def __dir__() -> list[str]:
    return __all__
