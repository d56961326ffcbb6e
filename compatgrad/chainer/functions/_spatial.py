"""Shared code of the functions over the axes after the first two: convolution and pooling."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from compatgrad.chainer._documented import sections_of
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import conv

_F = TypeVar("_F", bound=Callable[..., Any])


def pair(x):
    """A pair of values, one per axis; a single value stands for both."""
    return tuple(x) if hasattr(x, "__getitem__") else (x, x)


def entries(x, ndim):
    """A tuple of `ndim` values, one per axis; a single value stands for all."""
    return tuple(x) if hasattr(x, "__getitem__") else (x,) * ndim


def check_ndim(x, ndim):
    """Raises ValueError unless x has `ndim` axes after the first two."""
    if x.ndim != ndim + 2:
        raise ValueError(
            "The number of dimensions under channel dimension of the input 'x' should be "
            f"{ndim}. But the actual ndim was {x.ndim - 2}."
        )


_OVER = {1: ("one axis", "length"), 2: ("two axes", "height, width"), 3: ("three axes", "depth, height, width")}
_ENTRY = re.compile(r"^    (?=\w)", re.M)
_OF_ND = ("ValueError: `x` has", "NotImplementedError")  # errors of functions for any number of axes alone


def over(f: _F, ndim: int, example: str, **described: str) -> _F:
    """The form of a function such as `convolution_nd` for images with `ndim` axes, which raises ValueError for others.
    Its docstring is that of `f` with another `example` and, in `described`, other descriptions of arguments.
    """

    @functools.wraps(f)
    def function(x, *args, **kwargs):
        check_ndim(x, ndim)
        return f(x, *args, **kwargs)

    function.__name__ = function.__qualname__ = f.__name__.replace("_nd", f"_{ndim}d")
    return documented_over(f, ndim, example, **described)(function)


def documented_over(f: Callable[..., Any], ndim: int, example: str, **described: str) -> Callable[[_F], _F]:
    """Decorator that gives a function the docstring of a function that `over` makes."""

    def document(function: _F) -> _F:
        if f.__doc__:  # python -OO removes docstrings
            words, axes = _OVER[ndim]
            _, sections = sections_of(inspect.cleandoc(f.__doc__))
            arguments = sections["Args"].rstrip()
            for name, text in {"x": f"floating, (n, c, {axes}).", **described}.items():
                arguments = re.sub(rf"^    {name}: .*", f"    {name}: {text}", arguments, flags=re.M)
            others = [e.rstrip() for e in _ENTRY.split(sections["Raises"])[1:] if not e.startswith(_OF_ND)]
            raised = "\n".join(f"    {e}" for e in ["ValueError: `x` has another number of axes.", *others])
            function.__doc__ = "\n\n".join((
                f"`{f.__name__}` over {words}.",
                f"Args:\n{arguments}",
                f"Returns:\n{sections['Returns'].rstrip()}",
                f"Raises:\n{raised}",
                f"Example:\n{textwrap.indent(inspect.cleandoc(example), '    ')}",
                f"Source: `chainer.functions.{function.__name__}` of Chainer 7.8.1.",
            ))  # fmt: skip
        return function

    return document


def outsize(image, ksize, stride, pad, dilate=None, cover_all=False):
    """Lengths of the axes of a convolution's or pooling's result. As in Chainer, raises AssertionError if one is not
    positive.
    """
    dilate = (1,) * len(ksize) if dilate is None else dilate
    sizes = zip(image, ksize, stride, pad, dilate, strict=True)
    lengths = [conv.get_conv_outsize(n, k, s, p, cover_all, d) for n, k, s, p, d in sizes]
    for name, n in zip(("Height", "Width") if len(lengths) == 2 else ("Size",) * len(lengths), lengths, strict=True):
        if n <= 0:
            raise AssertionError(f"{name} in the output should be positive.")
    return lengths


def by_rank(parameter, two, other):
    """Chooses the class of an op's nodes: `two` where the op works over two axes, otherwise `other`."""
    return lambda params: two if len(params[parameter]) == 2 else other


class Steps2D:
    """Properties for stride and padding of a function over two axes, with the names that Chainer gives them."""

    sy = _native.parameter("stride", 0)
    sx = _native.parameter("stride", 1)
    ph = _native.parameter("pad", 0)
    pw = _native.parameter("pad", 1)


class Windows2D(Steps2D):
    """As Steps2D, with the sizes of a window."""

    kh = _native.parameter("ksize", 0)
    kw = _native.parameter("ksize", 1)


class Dilated2D(Steps2D):
    """As Steps2D, with the distances between the elements of a filter."""

    dy = _native.parameter("dilate", 0)
    dx = _native.parameter("dilate", 1)
