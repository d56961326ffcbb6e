"""Every op of the engine as a function of the native API.

`compatgrad.ops.sin(x)` takes Variables of any frontend, torch tensors and NumPy arrays, and gives a
`compatgrad.Variable`; ops with several outputs give a tuple. Tensor inputs come first (a list of them for
ops such as `concat`), parameters follow, positional or by keyword; `op.__doc__` says what an op computes,
`describe(name)` which parameters it has. Every op is differentiable any number of times.

Raises TypeError for inputs that are no tensors and for unknown parameters, ValueError for shapes and dtypes
that the kernel refuses, with the op and the shapes named, IndexError for indices out of range.
"""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad import core as core  # makes its Variable the class of the results
from compatgrad.core.signatures import signature_of
from compatgrad.ops._parameters import parameters_of

__all__ = ["describe", *sorted(_C.op_names())]
# Names of the module itself: through __getattr__ each use of one would take 0.5 us.
globals().update((name, _C.op(name)) for name in _C.op_names())


def __getattr__(name: str) -> Any:
    raise AttributeError(f"compatgrad.ops has no op '{name}'; dir(compatgrad.ops) lists them")


def __dir__() -> list[str]:
    return __all__


def describe(name: str) -> str:
    """The op's signature, what it computes and what its parameters mean, as text.

    name: str; a name of `compatgrad.ops`. The inputs that are tensors stand before the slash. ValueError where there is
    no such op.

        >>> import compatgrad
        >>> print(compatgrad.ops.describe("sum"))
        sum(x0, /, axis=None, keepdims=False)
            Sum over axis (None: all).
            axis: int, tuple of ints or None
            keepdims: bool; keep the axes that are reduced, with length 1

    Source: `compatgrad/ops/__init__.py`; the ops themselves are in `csrc/ops`.
    """
    op = _C.op(name)
    info = _C.op_info(name)
    return "\n    ".join([f"{name}{signature_of(op)}", info["doc"], *parameters_of(info)])
