"""Arguments of the functions of `nnabla.functions`: what nnabla accepts, and how it reads them.

`spec`: the declaration of a function (`_declare.Spec`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from compatgrad import _C
from compatgrad.nnabla._nd_array import NdArray

__all__ = ["check_written", "cut", "explain", "is_optional", "number_of_outputs", "whole_arguments"]


@functools.cache
def whole_arguments(several: bool = False) -> dict[str, list[str]]:
    """The names of the arguments that are an integer or a tuple of integers, by function type; with `several`, only of
    those that are a tuple."""
    from compatgrad.nnabla.utils._function_messages import ARGUMENTS

    found = {}
    for line in ARGUMENTS.replace("\n  ", " ").strip().splitlines():
        type_name, _, _, *fields = line.split()
        kinds = (field.split(":") for field in fields)
        wanted = ("int64*", "Shape") if several else ("int64", "int64*", "Shape")
        found[type_name] = [name for name, kind in kinds if kind in wanted]
    return found


def cut(value: Any) -> Any:
    """Cuts floats to integers, as nnabla does for arguments that are integers."""
    if isinstance(value, float):
        return int(value)
    if isinstance(value, (tuple, list)) and any(isinstance(n, (float, np.floating)) for n in value):
        return [int(n) if isinstance(n, (float, np.floating)) else n for n in value]
    return value


# Names of the inputs into which functions with effects write.
_WRITTEN = frozenset((
    "alpha", "binary_weight", "dst", "indicator_fixedweights", "mean", "out", "output", "qr_max", "qr_min", "rmean",
    "t", "u", "variance",
))  # fmt: skip


def check_written(spec: Any, inputs: Sequence[Any]) -> None:
    """Raises TypeError if a function would write into a copy of its input."""
    for name, x in zip(spec.inputs, inputs, strict=False):
        if name in _WRITTEN and getattr(x, "copied", False):
            raise TypeError(
                f"{spec.name.lstrip('_')}: {name}: the function writes into its inputs, but nnabla has a float32 copy "
                "of this float64 Variable of another framework: pass nn.Variable.from_numpy_array(array)"
            )


def number_of_outputs(spec: Any, value: Any) -> int:
    """`n_outputs` as an integer. In a call with an argument too many, such as `F.exp(x, y)`, that argument is taken for
    `n_outputs`, and is refused here."""
    if isinstance(value, (str, bytes, NdArray, _C.Variable)) or not hasattr(value, "__int__"):
        raise TypeError(f"{spec.name.strip('_')}: n_outputs: an integer is required, got {type(value).__name__}")
    return int(value)


def is_optional(spec: Any, i: int) -> bool:
    return not spec.variadic and spec.optional[i]


def explain(spec: Any, args: Sequence[Any]) -> None:
    """Raises a TypeError that names an argument which must be a tuple of integers and is not iterable."""
    several = whole_arguments(several=True).get(spec.type_name, ())
    for name, value in zip(spec.args, args, strict=True):
        if name in several and value is not None and not isinstance(value, Iterable):
            raise TypeError(f"{spec.name.strip('_')}: {name} must be a tuple of integers, not {value!r}") from None
