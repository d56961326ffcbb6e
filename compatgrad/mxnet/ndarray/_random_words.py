"""The shared parts of the docstrings of functions that draw random numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._docs import composed, parameters_of

__all__ = ["described", "document"]

_F = TypeVar("_F", bound=Callable[..., Any])

# distribution -> (summary, {parameter: (meaning, value in examples)})
_DISTRIBUTIONS: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "uniform": (
        "Numbers of [low, high), evenly distributed.",
        {"low": ("the lower end.", "0.0"), "high": ("the upper end, not below `low`.", "1.0")},
    ),
    "normal": (
        "Numbers of the normal distribution.",
        {"loc": ("the mean.", "0.0"), "scale": ("the standard deviation, positive.", "1.0"),
         "mu": ("the mean.", "0.0"), "sigma": ("the standard deviation, positive.", "1.0")},
    ),
    "exponential": ("Numbers of the exponential distribution.", {"lam": ("the rate, positive: 1 / mean.", "2.0")}),
    "gamma": (
        "Numbers of the gamma distribution.",
        {"alpha": ("the shape, positive.", "2.0"), "beta": ("the scale, positive.", "1.0")},
    ),
    "poisson": ("Numbers of the Poisson distribution.", {"lam": ("the mean, not negative.", "4.0")}),
    "negative_binomial": (
        "The number of failures before `k` trials succeed, from the negative binomial distribution.",
        {"k": ("the number of successes, an integer, not negative.", "3"),
         "p": ("the probability of a success, greater than 0 and at most 1.", "0.4")},
    ),
    "generalized_negative_binomial": (
        "Numbers of the negative binomial distribution, in terms of its mean.",
        {"mu": ("the mean, not negative.", "2.0"),
         "alpha": ("the dispersion, not negative; with 0 the distribution is Poisson's.", "0.3")},
    ),
}  # fmt: skip

_SHARED = {
    "shape": "the shape of the result.",
    "ctx": "the device of the result; None is the current one.",
    "dtype": "floating point; None is that of `out`, else float32.",
    "out": "where the numbers are written, instead of a new array; it determines `shape`, `dtype` and `ctx`.",
    "name": "the name of the node in graphs; without effect on arrays.",
}
_NUMBERS = """TypeError: `out` is no NDArray.
        mxnet.base.MXNetError: a parameter is outside of its range (when the result is read); `shape` is
            missing or not that of `out`; `dtype` is no floating one; an argument is not known."""
_ARRAYS = """AssertionError: a parameter is no NDArray.
        mxnet.base.MXNetError: shapes of parameters or that of `out` do not fit; `dtype` is no floating one; an
            argument is not known."""
_LIKE = """AssertionError: `data` is no NDArray.
        mxnet.base.MXNetError: a parameter is outside of its range (when the result is read); an argument is
            not known."""
_EITHER = """ValueError: a parameter is neither a number nor an NDArray.
        AssertionError: one is a number, another an NDArray.
        mxnet.base.MXNetError: a parameter is outside of its range (when the result is read); shapes do not
            fit; `dtype` is no floating one; an argument is not known."""


def _composed(
    text: str | None, names: Sequence[str], source: str, returns: str, raises: str, meanings: dict[str, str]
) -> str:  # fmt: skip
    words = {name: ("", meaning) for name, meaning in {**_SHARED, **meanings}.items()}
    return composed(text, names, source, returns, raises, {}, words)


def document(function: Any, kind: str, distribution: str, names: Sequence[str]) -> None:
    """Names, types and docstring of an operator of a distribution: of the `kind` "random", "sample" or "like"."""
    names = (*names, "out", "name")
    what, parameters = _DISTRIBUTIONS[distribution]
    own = [name for name in names if name in parameters]
    meanings = {name: meaning for name, (meaning, _) in parameters.items()}
    shown, types = f"{kind}_{distribution}", dict.fromkeys(own, "float")
    if kind == "random":
        given = [*(f"{name}={parameters[name][1]}" for name in own), "shape=(2, 3)"]
        returns, raises = "NDArray of `shape`.", _NUMBERS
    elif kind == "sample":
        what = f"{what[:-1]}, for each element of arrays of parameters."
        given = [*(f"nd.array([{parameters[name][1]}] * 2)" for name in own), "shape=3"]
        meanings = {name: f"for each element {meaning}" for name, meaning in meanings.items()}
        meanings |= {name: f"likewise {parameters[name][0][:-1]}; of the shape of `{own[0]}`." for name in own[1:]}
        meanings["shape"] = "the shape of the numbers drawn for each element; None is one number."
        returns, raises = f"NDArray of shape (*{own[0]}.shape, *shape).", _ARRAYS
        types = dict.fromkeys(own, "NDArray")
    else:
        what = f"{what[:-1]}, as many as `data` has."
        shown = f"random.{distribution}_like"
        meanings["data"] = "floating point, any shape; its numbers do not matter."
        given = ["nd.zeros((2, 3))", *(f"{name}={parameters[name][1]}" for name in own)]
        returns, raises = "NDArray of the shape, dtype and context of `data`.", _LIKE
    example = f">>> nd.{shown}({', '.join(given)}).shape\n        (2, 3)"
    text = f"{what}\n\n    Example:\n        {example}\n"
    function.__doc__ = _composed(text, names, f"mxnet.nd.{shown}", returns, raises, meanings)
    types |= {"shape": "Shape | None", "ctx": "Context | str | None", "dtype": "Dtype | None", "data": "NDArray",
              "out": "NDArray | None", "name": "str | None"}  # fmt: skip
    kinds, position = inspect.Parameter, inspect.Parameter.POSITIONAL_OR_KEYWORD
    function.__signature__ = inspect.Signature(
        [kinds(name, position, default=None, annotation=types[name]) for name in names], return_annotation="NDArray"
    )


_FUNCTION = {
    "shape": "for numbers as parameters, the shape of the result, (1,) by default; for NDArrays, the shape of the\n"
             "            numbers drawn for each of their elements.",
    "ctx": "the device of the result; None is the current one. Arrays of parameters determine it.",
    "kwargs": "`name`, which has no effect on arrays.",
}  # fmt: skip


def described(function: _F) -> _F:
    """Completes the docstring of a function of `mx.nd.random`, named as its distribution."""
    parameters = _DISTRIBUTIONS.get(function.__name__, ("", {}))[1]
    meanings = {name: meaning for name, (meaning, _) in parameters.items()} | _FUNCTION
    returns = "NDArray of `shape`; of arrays as parameters it has their shape, then `shape`."
    source = f"mxnet.nd.random.{function.__name__}"
    function.__doc__ = _composed(function.__doc__, parameters_of(function), source, returns, _EITHER, meanings)
    return function
