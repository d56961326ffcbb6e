"""The docstrings of the elementwise functions of `mx.np`, from tables of summaries and examples."""

from __future__ import annotations

from ..ndarray._elementwise_table import EXAMPLES, PAIRS
from ..ndarray._operator import operators

__all__ = ["of_bits", "of_comparison", "of_logic", "of_one", "of_test", "of_two"]

_OPTIONS = """NotImplementedError: an option of NumPy's ufuncs has another value than its default.
        mxnet.base.MXNetError: """
_SHAPES = "shapes do not broadcast, or `out` has another one than the result."


def _text(summary: str, args: str, returns: str, raises: str, example: str) -> str:
    args = f"    Args:\n{args}\n\n" if args else ""
    return (
        f"{summary}\n\n{args}    Returns:\n        {returns}\n\n"
        f"    Raises:\n        {raises}\n\n    Example:\n        {example}\n    "
    )


def of_one(name: str, returns: str) -> str:
    """The docstring of a function of one array or number, whose summary is that of the operator in `mx.nd`."""
    given, result = EXAMPLES.get(name, ("[-1.0, 2.0]", "[-1.,  2.]"))
    said = operators[name].__doc__ if name in operators else "A copy."
    return _text(
        (said or "").partition("\n")[0], "        x: ndarray of any shape and dtype, or a number.",
        f"{returns}\n        Of a number NumPy's result.",
        f"TypeError: `x` is neither an array nor a number, or a keyword is unknown.\n        {_OPTIONS}`out` has "
        "another shape than `x`.",
        f">>> mx.np.{name}(mx.np.array({given})).round(4)\n        array({result})",
    )  # fmt: skip


_TESTS = {
    "isnan": ("Whether an element is NaN.", "[ True, False, False, False]"),
    "isinf": ("Whether an element is infinite.", "[False,  True,  True, False]"),
    "isfinite": ("Whether an element is neither infinite nor NaN.", "[False, False, False,  True]"),
    "isposinf": ("Whether an element is infinite and positive.", "[False,  True, False, False]"),
    "isneginf": ("Whether an element is infinite and negative.", "[False, False,  True, False]"),
    "logical_not": ("Whether an element is 0.", "[False, False, False,  True]"),
    "signbit": (
        "Whether the sign bit is set, as in negative numbers and -0.0.",
        "[False, False,  True, False]",
    ),
}


def of_test(name: str) -> str:
    """The docstring of a function that gives a boolean for each element."""
    summary, result = _TESTS[name]
    return _text(
        summary, "        x: ndarray of any shape and dtype, or a number.",
        "ndarray of booleans, of the shape of `x`; of a number NumPy's result. The gradient is 0.",
        "TypeError: `x` is neither an array nor a number, `out` holds no booleans, or a keyword is unknown.\n        "
        f"{_OPTIONS}`out` has another shape than `x`.",
        f">>> mx.np.{name}(mx.np.array([np.nan, np.inf, -np.inf, 0.0]))\n        array({result})",
    )  # fmt: skip


_OF_TWO = {  # name -> (summary, the name in the table of examples)
    "add": ("x1 + x2", "add"),
    "subtract": ("x1 - x2", "sub"),
    "multiply": ("x1 * x2", "mul"),
    "true_divide": ("x1 / x2; integers are divided in float32.", "div"),
    "mod": ("The remainder of x1 / x2, with the sign of x2; it has no gradient for integers.", "mod"),
    "power": ("x1 ** x2", "power"),
    "maximum": ("The larger element of the two.", "maximum"),
    "minimum": ("The smaller element of the two.", "minimum"),
    "hypot": ("sqrt(x1 ** 2 + x2 ** 2)", "hypot"),
}
_RAISED = (
    f"TypeError: an argument is neither an array nor a number, or a keyword is unknown.\n        {_OPTIONS}{_SHAPES}"
)


def of_two(name: str) -> str:
    """The docstring of a function of two arrays, or of an array and a number."""
    summary, kind = _OF_TWO[name]
    return _text(
        summary, "", "ndarray of the wider dtype of both arrays; of two numbers NumPy's result.", _RAISED,
        f">>> mx.np.{name}(mx.np.array([5.0, 2.0]), 2)\n        array({PAIRS[kind]})",
    )  # fmt: skip


_COMPARISONS = {
    "equal": ("x1 == x2", "[False,  True, False]"),
    "not_equal": ("x1 != x2", "[ True, False,  True]"),
    "less": ("x1 < x2", "[ True, False, False]"),
    "less_equal": ("x1 <= x2", "[ True,  True, False]"),
    "greater": ("x1 > x2", "[False, False,  True]"),
    "greater_equal": ("x1 >= x2", "[False,  True,  True]"),
}
_BOOLEANS = "ndarray of booleans; of two numbers NumPy's result. The gradient is 0."


def of_comparison(name: str) -> str:
    """The docstring of a comparison."""
    summary, result = _COMPARISONS[name]
    wrong = "an argument is neither an array nor a number"
    if name in ("equal", "not_equal"):
        wrong = "one is a NumPy array; other objects differ from all arrays"
    return _text(
        summary, "", _BOOLEANS, f"TypeError: {wrong}.\n        mxnet.base.MXNetError: {_SHAPES}",
        f">>> mx.np.{name}(mx.np.array([1, 2, 3]), 2)\n        array({result})",
    )  # fmt: skip


_LOGIC = {
    "logical_and": ("Whether both elements differ from 0.", "[ True, False, False, False]"),
    "logical_or": ("Whether an element, or both, differs from 0.", "[ True,  True,  True, False]"),
    "logical_xor": ("Whether exactly one element differs from 0.", "[False,  True,  True, False]"),
}


def of_logic(name: str) -> str:
    """The docstring of a logical function."""
    summary, result = _LOGIC[name]
    return _text(
        summary, "", "ndarray of booleans. The gradient is 0.",
        f"TypeError: an argument is neither an array nor a number.\n        mxnet.base.MXNetError: {_SHAPES}",
        f">>> mx.np.{name}(mx.np.array([1, 1, 0, 0]), mx.np.array([1, 0, 1, 0]))\n        array({result})",
    )  # fmt: skip


_BITS = {
    "bitwise_and": ("The bits that are set in both.", "[1, 2]"),
    "bitwise_or": ("The bits that are set in one, or in both.", "[7, 3]"),
    "bitwise_xor": ("The bits that are set in exactly one.", "[6, 1]"),
}


def of_bits(name: str) -> str:
    """The docstring of a bitwise function."""
    summary, result = _BITS[name]
    given = '[5, 2], dtype="int32"'
    return _text(
        summary, "        x1: ndarray of integers or booleans, or such a number.\n"
        "        x2: like `x1`; two arrays broadcast.",
        "ndarray of the wider dtype of both arrays; of two numbers NumPy's result. The gradient is 0.",
        _RAISED.replace(_SHAPES, f"numbers are floating-point;\n            {_SHAPES}"),
        f">>> mx.np.{name}(mx.np.array({given}), 3)\n        array({result}, dtype=int32)",
    )  # fmt: skip
