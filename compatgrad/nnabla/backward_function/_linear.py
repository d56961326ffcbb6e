"""Gradients with respect to an input in which a function is linear, made from the declaration of the function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad import _C
from compatgrad import core as _core
from compatgrad.core.configuration import using_modes
from compatgrad.nnabla._declare import Composite, function, specs
from compatgrad.nnabla._documents import merged, section
from compatgrad.nnabla._frontend import fe

__all__ = ["DataGrad", "FilterGrad", "Gradient"]

# The shared part of the docstrings; the other arguments are described in the docstring of the forward function.
_SHARED = """
Args:
    ctx: has no effect; the current context is used.
    base_axis: the forward function's argument; without effect where that function does not have it.
    including_pad: has no effect.

Raises:
    AttributeError: in a call, the shape was not set.
    RuntimeError: in a call, the shapes do not fit.
    TypeError: an argument is unknown or missing.
"""

_POSITIONAL = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _zeros(shape: Sequence[int], like: Any) -> Any:
    """The input at which the gradient is computed: any will do, as a linear function has the same gradient
    everywhere."""
    if _C.get_mode("plain"):
        t = like.tensor
        return _core.Variable(torch.zeros(tuple(shape), dtype=t.dtype, device=t.device), requires_grad=True)
    from compatgrad.nnabla.variable import Variable

    return Variable(tuple(shape), need_grad=True)


def _declared(type_name: str, of: str, asked: int, remembers: str) -> Callable[..., Any]:
    """Declares the gradient of the function `of` with respect to input number `asked`, or to all inputs where it takes
    any number."""
    spec = specs[of]
    needed = [n for n, optional in zip(spec.inputs, spec.optional, strict=True) if not optional]
    others = [n for i, n in enumerate(needed) if i != asked]

    def body(dy: Any, *rest: Any) -> Any:
        inputs, args, shapes = list(rest[: len(others)]), rest[len(others) : -1], rest[-1]
        plain, again = _C.get_mode("plain"), _C.get_mode("enable_backprop")
        with using_modes(enable_backprop=True):
            at = [_zeros(s, dy) for s in (shapes if spec.variadic else [shapes])]
            inputs[asked:asked] = at
            if not spec.variadic:
                inputs += [None] * (len(spec.inputs) - len(inputs))
            y = spec.run(inputs, (), args, -1)
            found = Composite._gradient(
                _C.native_frontend if plain else fe, at, [y], [dy], [True] * len(at), again or not plain
            )
        return tuple(found) if spec.variadic else found[0]

    names = ["dy", *others, *spec.args, remembers]
    body.__signature__ = inspect.Signature([inspect.Parameter(n, _POSITIONAL) for n in names])  # type: ignore
    body.__name__ = body.__qualname__ = f"_{type_name}"
    integers = [n for i, n in enumerate(spec.inputs) if spec.integers >> i & 1]
    return function(type_name, ", ".join(["dy", *others]), integers=integers)(body)


class Gradient:
    """Base class of the gradients with respect to one input. An instance is made with a context, which is ignored, and
    the forward function's arguments.

    Subclasses name the type (`of`) and the public function (`forward`) of which they are the gradient; `ignored` are
    further arguments that nnabla's class takes; `example` is that of the docstring, see `_described`. Raises TypeError
    for arguments that the forward function does not have. A call raises the forward function's errors for shapes that
    do not fit.
    """

    asked = 0
    remembers = "xshape"  # the attribute with the shape of the result
    _forward: Callable[..., Any]

    def __init_subclass__(
        cls,
        of: str | None = None,
        forward: Callable[..., Any] | None = None,
        ignored: Sequence[str] = (),
        example: tuple[Any, ...] | None = None,
    ) -> None:
        if of is None or forward is None:
            return
        spec = specs[of]
        own = [
            p.replace(kind=_POSITIONAL) for p in inspect.signature(forward).parameters.values() if p.name in spec.args
        ]
        own += [inspect.Parameter(n, _POSITIONAL, default=None, annotation="Any") for n in ignored]
        ctx = inspect.Parameter("ctx", _POSITIONAL, annotation="Any")
        cls.__signature__ = inspect.Signature([ctx, *own])  # type: ignore[attr-defined]
        cls._forward, cls.of, cls.ignored = staticmethod(forward), spec, tuple(ignored)
        cls._gradient = staticmethod(_declared(cls.__name__, of, cls.asked, cls.remembers))
        if cls.__doc__:  # python -OO removes docstrings
            described = section(forward.__doc__, "Args")
            source = f"{cls.__module__.removeprefix('compatgrad.')}.{cls.__name__}"
            more = {} if example is None else cls._described(*example)
            cls.__doc__ = merged(cls.__doc__, (_SHARED, described), ("ctx", *(p.name for p in own)), source, more)

    @classmethod
    def _described(cls, arguments: str, shape: tuple[int, ...], *inputs: tuple[int, ...]) -> dict[str, str]:
        """The sections on attributes and an example: a class made with `arguments` gets `inputs` of these shapes, dy
        first, and its result has the shape `shape`."""
        given = ", ".join(f"nn.Variable({n})" for n in inputs)
        return {
            "Attributes": f"\n    {cls.remembers}: the shape of the result, which must be set before a call.",
            "Example": f"""
    >>> from {cls.__module__} import {cls.__name__}
    >>> f = {cls.__name__}({", ".join(("None", arguments)) if arguments else "None"})
    >>> f.{cls.remembers} = {shape}
    >>> f({given}).shape
    {shape}""",
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        try:
            given = type(self).__signature__.bind(*args, **kwargs)  # type: ignore[attr-defined]
        except TypeError as e:
            raise TypeError(f"{type(self).__name__}: {e}") from None
        given.apply_defaults()
        self.args = {n: v for n, v in given.arguments.items() if n not in self.ignored}
        self.ctx = self.args.pop("ctx")

    def __call__(self, dy: Any, *others: Any) -> Any:
        from compatgrad.nnabla.variable import Variable

        shapes = getattr(self, self.remembers, None)
        if shapes is None:
            raise AttributeError(f"{type(self).__name__}: {self.remembers} must be set before a call")
        inputs = [x.shape for x in others]
        inputs[self.asked : self.asked] = shapes if self.of.variadic else [shapes]
        # The forward function fills in defaults and checks shapes.
        with using_modes(auto_forward=False):
            y = self._forward(*[Variable(tuple(s)) for s in inputs], **self.args)
        if tuple(y.shape) != tuple(dy.shape):
            raise RuntimeError(f"{type(self).__name__}: dy must have shape {tuple(y.shape)}, not {tuple(dy.shape)}")
        return self._gradient(dy, *others, *y.parent.info.args.values(), shapes)


class DataGrad(Gradient):
    """The gradient with respect to the first input, whose shape is `xshape`."""


class FilterGrad(Gradient):
    """The gradient with respect to the second input, whose shape is `wshape`."""

    asked = 1
    remembers = "wshape"
