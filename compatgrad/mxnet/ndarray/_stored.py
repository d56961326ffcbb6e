"""Rules for the storage types of results: which of MXNet's operators give sparse arrays for sparse inputs.

As all memory is dense (`_sparse_arrays`), a rule only sets the class of the new result of an operator. Rules are called
as `rule(y, *arguments)`, and only where an input is sparse.
"""

from __future__ import annotations

from typing import Any

from compatgrad.core import notes

from .ndarray import NDArray

__all__ = ["CLASSES", "KEEP_ZEROS", "as_stored", "clipped", "elementwise", "joined", "kept_rows", "of_pair",
           "pair_type", "same", "summed"]  # fmt: skip

CLASSES: dict[str, type[NDArray]] = {"default": NDArray}  # by storage type; `_sparse_arrays` adds its own
# functions with f(0) = 0: names of operators, or of the engine's ops under them
KEEP_ZEROS = frozenset(
    "abs arcsin arcsinh arctan arctanh cbrt ceil degrees expm1 fix floor log1p negative neg radians relu rint round "
    "sign sin sinh sqrt square tan tanh trunc zeros_like mul_scalar div_scalar".split()
)


def as_stored(y: Any, stype: str) -> Any:
    """Changes the class of `y`, the new result of an op, to that of a storage type."""
    if stype != "default" and type(y) is NDArray:
        notes.note_difference("sparse")
        y.__class__ = CLASSES[stype]
    return y


def same(y: Any, x: Any, *_: Any) -> Any:
    """The storage type of the first input."""
    return as_stored(y, getattr(x, "stype", "default"))


def pair_type(name: str, a: Any, b: Any) -> str:
    """The storage type of arithmetic of two arrays, or of an array and a number: sparse where zeros stay zeros."""
    kinds = {x.stype for x in (a, b) if isinstance(x, NDArray)}
    numbers = not (isinstance(a, NDArray) and isinstance(b, NDArray))
    if numbers:
        keeps = name == "mul" or (name == "div" and isinstance(a, NDArray))
        return kinds.pop() if keeps else "default"
    if name in ("add", "sub", "mul", "maximum", "minimum", "hypot") and len(kinds) == 1 and a.shape == b.shape:
        return kinds.pop()
    if name == "mul" or (name == "div" and b.stype == "default"):
        return (kinds - {"default"}).pop() if len(kinds - {"default"}) == 1 and a.shape == b.shape else "default"
    return "default"


def of_pair(name: str, y: Any, a: Any, b: Any) -> Any:
    """The rule of add, sub, mul, div, maximum, minimum and hypot."""
    return as_stored(y, pair_type(name, a, b))


def elementwise(name: str, y: Any, a: Any, b: Any) -> Any:
    """The rule of elemwise_add, elemwise_sub, elemwise_mul and elemwise_div; a quotient is dense."""
    return y if name == "div" else of_pair(name, y, a, b)


def clipped(y: Any, x: Any, a_min: Any, a_max: Any) -> Any:
    """The rule of `clip`: the result is sparse where 0 lies between the limits."""
    return same(y, x) if float(a_min) <= 0 <= float(a_max) else y


def kept_rows(y: Any, x: Any, *_: Any) -> Any:
    """The rule of operators that pick rows or ranges of a matrix: csr stays csr."""
    return same(y, x) if x.stype == "csr" and y.ndim == 2 else y


def summed(y: Any, x: Any, axis: Any = None, keepdims: Any = False, *_: Any) -> Any:
    """The rule of sums of squares along the second axis with `keepdims`: row_sparse stays row_sparse."""
    return same(y, x) if x.stype == "row_sparse" and axis in (1, (1,)) and keepdims else y


def joined(y: Any, arrays: Any, dim: int = 1) -> Any:
    """The rule of `concat`: csr matrices joined along axis 0 give a csr matrix."""
    return as_stored(y, "csr") if dim == 0 and all(x.stype == "csr" for x in arrays) else y
