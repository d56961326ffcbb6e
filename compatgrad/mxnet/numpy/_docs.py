"""Composes docstrings of the functions of `mx.np` and `mx.npx` from shared texts.

What is written at a function is a summary, an example, and what differs from the shared texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._docs import composed, parameters_of

__all__ = ["documented"]

Function = TypeVar("Function", bound=Callable[..., Any])
_ANY = "ndarray of any shape and dtype."
_WORDS = {  # arguments that mean the same in many functions
    "a": _ANY,
    "arr": _ANY,
    "array": _ANY,
    "arrays": "a sequence of ndarrays.",
    "ary": _ANY,
    "axis": "the axis; negative ones count from the end.",
    "axis1": "the first axis.",
    "axis2": "the second axis.",
    "ctx": "the device of the result; None is the current one.",
    "data": _ANY,
    "dtype": "the dtype of the result; None is float32.",
    "indices_or_sections": "the number of equal parts, or the ascending positions at which parts begin.",
    "k": "the diagonal, above the main one if positive, below it if negative.",
    "keepdims": "whether reduced axes stay, with length 1.",
    "kwargs": "`where`, `casting`, `order`, `dtype` and `subok` of NumPy's ufuncs, with their defaults only.",
    "m": _ANY,
    "name": "the name of the node in graphs; without effect on arrays.",
    "offset": "the diagonal, above the main one if positive, below it if negative.",
    "order": 'the order of the elements, which must be "C": the last axis varies fastest.',
    "out": "an ndarray of the result's shape that it is written to; None is a new one.",
    "shape": "an integer, or a sequence of them.",
    "size": "the shape of the result; None is the broadcast shape of the parameters.",
    "x": _ANY,
    "x1": "ndarray, or a number.",
    "x2": "ndarray, or a number; two arrays broadcast.",
}
WORDS = {name: ("", meaning) for name, meaning in _WORDS.items()}


def documented(function: Function, names: Sequence[str] | None = None) -> Function:
    """Completes the docstring of a function; `names`: its arguments, where its code object does not have them."""
    names = parameters_of(function) if names is None else names
    first = names[0].lstrip("*") if names else ""
    where = function.__module__.partition("mxnet.")[2].replace("numpy_extension", "npx").replace("numpy", "np")
    where = ".".join(part for part in where.split(".") if not part.startswith("_"))
    function.__doc__ = composed(
        function.__doc__, names, f"mxnet.{where}.{function.__name__}", f"ndarray of the dtype of `{first}`.",
        f"AssertionError: `{first}` is no array.", {}, WORDS,
    )  # fmt: skip
    return function
