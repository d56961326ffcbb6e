"""Helpers of `mx.np.random`: shapes and parameters, and distributions computed from uniformly distributed numbers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._arguments import as_ints
from ..ndarray._distributions import draw
from ..ndarray._late import keep
from ..ndarray._operator import op
from ..ndarray.ndarray import NDArray, _on, is_recording, torch_dtype
from ._array import finish, ndarray
from ._docs import documented

__all__: list[str] = []


def _shape(size: Any, *params: Any) -> tuple[int, ...]:
    """The shape of the result: `size`, or the shape to which the parameters broadcast."""
    if size is None:
        return tuple(torch.broadcast_shapes(*(p.shape for p in params if isinstance(p, (NDArray, onp.ndarray)))))
    shape = tuple(as_ints("random", "size", size))
    if any(n < 0 for n in shape):
        raise MXNetError(f"size {shape} has a negative length")
    for p in params:
        if isinstance(p, (NDArray, onp.ndarray)) and not _fits(tuple(p.shape), shape):
            raise MXNetError(f"size {shape}: a parameter of shape {tuple(p.shape)} does not broadcast to it")
    return shape


def _fits(given: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return len(given) <= len(shape) and all(m in (1, n) for m, n in zip(given[::-1], shape[::-1], strict=False))


def _values(p: Any) -> Any:
    if isinstance(p, NDArray):
        return p.tensor.detach()
    return torch.as_tensor(onp.asarray(p)) if isinstance(p, (onp.ndarray, list, tuple)) else p


def _dtype(who: str, dtype: Any) -> torch.dtype:
    found = torch_dtype(dtype, f"{who}: dtype")
    if not found.is_floating_point:
        raise MXNetError(f"{who}: dtype must be float16, float32 or float64, got {dtype}")
    return found


def _drawn(who: str, kind: str, params: tuple[Any, ...], size: Any, dtype: Any, ctx: Any, out: Any) -> Any:
    context = current_context() if ctx is None else Context(ctx)
    shape = out.shape if out is not None and size is None else _shape(size, *params)
    given = tuple(_values(p) for p in params)
    if kind == "uniform":  # drawn from (0, 1) and scaled below, because `low` may be above `high`
        kind, given = "uniform", (0.0, 1.0)
        ends = [_values(p) for p in params]
    wanted = _dtype(who, dtype)
    t = draw(kind, given, shape, wanted, context.torch_device, who, ValueError)
    if kind == "uniform":
        low, high = (p.to(t) if isinstance(p, torch.Tensor) else p for p in ends)
        t = t * (high - low) + low
    return finish(_on(ndarray(t), context), out)


def _recorded(params: Any) -> bool:
    return is_recording() and any(isinstance(p, NDArray) and _C.in_graph(p) for p in params)


def _moved(body: Callable[..., Any], noise: torch.Tensor, params: Any, dtype: Any = None) -> ndarray:
    """`body(noise, *params)`, which is recorded if a parameter is in the graph, so that gradients reach it."""
    if _recorded(params):
        y = body(ndarray(noise), *params)
        return y if dtype is None or y.tensor.dtype == dtype else op.cast(y, dtype=dtype)
    values = [p.to(noise) if isinstance(p, torch.Tensor) else p for p in map(_values, params)]
    y = body(noise, *values)
    return ndarray(y if dtype is None else y.to(dtype))


_PARAMETERS = {
    "gumbel": ("loc", "scale"), "logistic": ("loc", "scale"), "laplace": ("loc", "scale"), "rayleigh": ("scale",),
    "weibull": ("a",), "pareto": ("a",), "power": ("a",),
}  # fmt: skip
_SAID = {
    "a": "a: the shape of the distribution, a positive number, or an ndarray of them.",
    "loc": "loc: the middle, a number or an ndarray.",
    "scale": "scale: the width, a number that is not negative, or an ndarray of them.",
}
_DRAWN = """{summary}

    Gradients pass to parameters that are ndarrays.

    Args:
{args}

    Returns:
        ndarray, float32.

    Raises:
        ValueError: a parameter is out of range; raised at the next wait for a result.
        mxnet.base.MXNetError: parameters do not broadcast to `size`, or a length is negative.

    Example:
        >>> mx.np.random.{name}({given}size=(2, 3)).shape
        (2, 3)
    """


def _from_uniform(
    name: str, noise: Callable[[torch.Tensor], torch.Tensor], body: Callable[..., Any], doc: str, *defaults: float
) -> Callable[..., Any]:
    """The function of a distribution that is drawn by inversion: `body(noise(u), *params)` with u uniform in (0, 1)."""

    names = _PARAMETERS[name]
    kinds = (*["float | ndarray"] * len(names), "Shape | None", "Context | None", "ndarray | None")
    values = (*defaults, *[inspect.Parameter.empty] * (len(names) - len(defaults)), None, None, None)
    signature = inspect.Signature([
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v, annotation=kind)
        for n, v, kind in zip((*names, "size", "ctx", "out"), values, kinds, strict=True)
    ], return_annotation="ndarray")  # fmt: skip

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{name}: {e}") from None
        bound.apply_defaults()
        *given, size, ctx, out = bound.args
        wrong = None
        for n, p in zip(names, given, strict=True):
            if n != "loc" and bool(torch.as_tensor(_values(p) < 0 if n == "scale" else _values(p) <= 0).any()):
                wrong = f"{name}: {n} must {'not be negative' if n == 'scale' else 'be positive'}"
        context = current_context() if ctx is None else Context(ctx)
        shape = out.shape if out is not None and size is None else _shape(size, *given)
        if wrong is not None:
            keep(ValueError(wrong))
            return finish(_on(ndarray(torch.full(shape, torch.nan, device=context.torch_device)), context), out)
        u = draw("uniform", (0.0, 1.0), shape, torch.float32, context.torch_device)
        return finish(_on(_moved(body, noise(u.clamp(min=torch.finfo(torch.float32).tiny)), given), context), out)

    call.__name__ = call.__qualname__ = name
    call.__module__ = f"{__package__}.random"
    call.__signature__ = signature  # type: ignore[attr-defined]
    told = "\n".join(f"        {_SAID[n]}" for n in names)
    call.__doc__ = _DRAWN.format(summary=doc, args=told, name=name, given="" if defaults else "2.0, ")
    return documented(call, names=list(signature.parameters))
