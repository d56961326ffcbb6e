"""`mx.np.random`: random numbers as arrays; parameters are numbers or arrays that broadcast."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as onp
import torch

from compatgrad import _C

from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._distributions import draw, draw_integers
from ..ndarray._late import keep
from ..ndarray._operator import op
from ..ndarray._random_state import generator
from ..ndarray.ndarray import NDArray, _on, is_recording, torch_dtype
from ..random import seed as seed_all
from ._array import finish, ndarray

__all__ = [
    "beta", "chisquare", "choice", "exponential", "gamma", "gumbel", "laplace", "logistic", "lognormal", "multinomial",
    "multivariate_normal", "normal", "pareto", "permutation", "power", "rand", "randint", "randn", "rayleigh", "seed",
    "shuffle", "uniform", "weibull",
]  # fmt: skip


def _shape(size: Any, *params: Any) -> tuple[int, ...]:
    """The shape of what is drawn: `size`, or what the parameters broadcast to."""
    if size is None:
        return tuple(torch.broadcast_shapes(*(p.shape for p in params if isinstance(p, (NDArray, onp.ndarray)))))
    return (int(size),) if isinstance(size, (int, onp.integer)) else tuple(int(n) for n in size)


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
    if kind == "uniform":  # from one end to the other, whichever is the larger one
        kind, given = "uniform", (0.0, 1.0)
        ends = [_values(p) for p in params]
    wanted = _dtype(who, dtype)
    t = draw(kind, given, shape, wanted, context.torch_device, who, ValueError)
    if kind == "uniform":
        low, high = (p.to(t) if isinstance(p, torch.Tensor) else p for p in ends)
        t = t * (high - low) + low
    return finish(_on(ndarray(t), context), out)


def uniform(
    low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Numbers of [low, high), evenly distributed."""
    return _drawn("uniform", "uniform", (low, high), size, dtype, ctx, out)


def normal(
    loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Normal numbers with mean `loc` and standard deviation `scale`."""
    if _recorded((loc, scale)):
        context = current_context() if ctx is None else Context(ctx)
        shape = out.shape if out is not None and size is None else _shape(size, loc, scale)
        noise = draw("normal", (0.0, 1.0), shape, torch.float32, context.torch_device)
        y = _moved(lambda c, m, s: c * s + m, noise, (loc, scale), _dtype("normal", dtype))
        return finish(_on(y, context), out)
    return _drawn("normal", "normal", (loc, scale), size, dtype, ctx, out)


def exponential(scale: Any = 1.0, size: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of the exponential distribution with mean `scale`."""
    if bool(torch.as_tensor(_values(scale) < 0).any()):
        keep(ValueError("exponential: scale must not be negative"))
    context = current_context() if ctx is None else Context(ctx)
    shape = out.shape if out is not None and size is None else _shape(size, scale)
    noise = draw("exponential", (1.0,), shape, torch.float32, context.torch_device)
    return finish(_on(_moved(lambda c, s: c * s, noise, (scale,)), context), out)


def gamma(shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Numbers of the gamma distribution."""
    return _drawn("gamma", "gamma", (shape, scale), size, dtype, ctx, out)


def randn(*size: int, **kwargs: Any) -> Any:
    """Normal numbers of a shape."""
    return normal(0.0, 1.0, size, **kwargs)


def rand(*size: int, **kwargs: Any) -> Any:
    """Numbers of [0, 1) of a shape."""
    return uniform(0.0, 1.0, size, **kwargs)


def randint(
    low: int, high: int | None = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Integers of [low, high), or of [0, low); int64 unless `dtype` is another integer type."""
    low, high = (0, low) if high is None else (low, high)
    context = current_context() if ctx is None else Context(ctx)
    wanted = torch_dtype(onp.int64 if dtype is None or dtype == "int" else dtype, "randint: dtype")
    shape = out.shape if out is not None and size is None else _shape(size)
    return finish(_on(ndarray(draw_integers(low, high, shape, wanted, context.torch_device)), context), out)


def _recorded(params: Any) -> bool:
    return is_recording() and any(isinstance(p, NDArray) and _C.in_graph(p) for p in params)


def _moved(body: Callable[..., Any], noise: torch.Tensor, params: Any, dtype: Any = None) -> ndarray:
    """`body` of what was drawn and the parameters, differentiable by them where they are recorded."""
    if _recorded(params):
        y = body(ndarray(noise), *params)
        return y if dtype is None or y.tensor.dtype == dtype else op.cast(y, dtype=dtype)
    values = [p.to(noise) if isinstance(p, torch.Tensor) else p for p in map(_values, params)]
    y = body(noise, *values)
    return ndarray(y if dtype is None else y.to(dtype))


def _from_uniform(
    name: str, noise: Callable[[torch.Tensor], torch.Tensor], body: Callable[..., Any], doc: str, *defaults: float
) -> Callable[..., Any]:
    """A distribution by the inverse of its distribution function: `body` of `noise` of numbers of (0, 1)."""

    names = _PARAMETERS[name]
    values = (*defaults, *[inspect.Parameter.empty] * (len(names) - len(defaults)), None, None, None)
    signature = inspect.Signature([
        inspect.Parameter(n, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=v)
        for n, v in zip((*names, "size", "ctx", "out"), values, strict=True)
    ])  # fmt: skip

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
                wrong = ValueError(f"{name}: {n} must {'not be negative' if n == 'scale' else 'be positive'}")
        context = current_context() if ctx is None else Context(ctx)
        shape = out.shape if out is not None and size is None else _shape(size, *given)
        if wrong is not None:
            keep(wrong)
            return finish(_on(ndarray(torch.full(shape, torch.nan, device=context.torch_device)), context), out)
        u = draw("uniform", (0.0, 1.0), shape, torch.float32, context.torch_device)
        return finish(_on(_moved(body, noise(u.clamp(min=torch.finfo(torch.float32).tiny)), given), context), out)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{doc} Parameters: {', '.join(names)}; `size`, `ctx`, `out`."
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


_PARAMETERS = {
    "gumbel": ("loc", "scale"), "logistic": ("loc", "scale"), "laplace": ("loc", "scale"), "rayleigh": ("scale",),
    "weibull": ("a",), "pareto": ("a",), "power": ("a",),
}  # fmt: skip
gumbel = _from_uniform(
    "gumbel", lambda u: -(-u.log()).log(), lambda c, m, s: c * s + m, "Numbers of Gumbel's distribution.", 0.0, 1.0
)
logistic = _from_uniform(
    "logistic", lambda u: torch.logit(u, 1e-7), lambda c, m, s: c * s + m, "Logistic numbers.", 0.0, 1.0
)
laplace = _from_uniform(
    "laplace", lambda u: -(u - 0.5).sign() * (1 - 2 * (u - 0.5).abs()).clamp(min=1e-38).log(),
    lambda c, m, s: c * s + m, "Numbers of Laplace's distribution.", 0.0, 1.0,
)  # fmt: skip
rayleigh = _from_uniform(
    "rayleigh", lambda u: (-2 * u.log()).sqrt(), lambda c, s: c * s, "Numbers of Rayleigh's distribution.", 1.0
)
weibull = _from_uniform("weibull", lambda u: -u.log(), lambda c, a: c ** (1 / a), "Numbers of Weibull's distribution.")
pareto = _from_uniform("pareto", lambda u: 1 / u, lambda c, a: c ** (1 / a) - 1, "Numbers of Pareto's distribution.")
power = _from_uniform("power", lambda u: u, lambda c, a: c ** (1 / a), "Numbers of the power distribution.")


def lognormal(
    mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Exponentials of normal numbers."""
    y = normal(mean, sigma, size, dtype, ctx)
    return finish(op.exp(y), out)


def chisquare(df: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers of the chi-square distribution."""
    return gamma(df / 2.0, 2.0, size, dtype, ctx)


def beta(a: Any, b: Any, size: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """Numbers of the beta distribution."""
    size = _shape(size, a, b)
    x, y = (gamma(p, 1.0, size, dtype or onp.float64, ctx).tensor for p in (a, b))
    return ndarray((x / (x + y)).to(torch_dtype(dtype)))


def multinomial(n: int, pvals: Any, size: Any = None) -> Any:
    """How often each class came in n draws with probabilities `pvals`; int64."""
    p = torch.as_tensor(_values(pvals)).to(torch.float64).cpu()
    if bool((p < 0).any()) or float(p.sum()) > 1 + 1e-6:
        raise MXNetError(f"multinomial: pvals must be probabilities that sum up to at most 1, got {p.tolist()}")
    shape = _shape(size)
    rows = math.prod(shape)
    if not len(p):
        return ndarray(torch.zeros((*shape, 0), dtype=torch.int64))
    rest = torch.cat([p[:-1], (1 - p[:-1].sum()).clamp(min=0).reshape(1)])
    ends = rest.cumsum(0)
    u = torch.rand(rows, int(n), dtype=torch.float64, generator=generator(torch.device("cpu"))) * ends[-1]
    drawn = torch.searchsorted(ends, u, right=True).clamp_(max=len(p) - 1)
    counts = torch.zeros(rows, len(p), dtype=torch.int64)
    counts.scatter_add_(1, drawn, torch.ones_like(drawn))
    return ndarray(counts.reshape(*shape, len(p)))


def multivariate_normal(mean: Any, cov: Any, size: Any = None, check_valid: Any = None, tol: Any = None) -> Any:
    """Normal vectors with a mean and a covariance matrix."""
    m, c = (torch.as_tensor(_values(v)).to(torch.float32) for v in (mean, cov))
    shape = (*_shape(() if size is None else size), *torch.broadcast_shapes(m.shape, c.shape[:-1]))
    z = draw("normal", (0.0, 1.0), shape, torch.float32, m.device)
    return ndarray(m + (torch.linalg.cholesky(c) @ z.unsqueeze(-1)).squeeze(-1))


def choice(a: Any, size: Any = None, replace: bool = True, p: Any = None, ctx: Any = None, out: Any = None) -> Any:
    """Elements of an array, or integers of [0, a), drawn with or without putting them back, with probabilities `p`."""
    context = current_context() if ctx is None else Context(ctx)
    device = context.torch_device
    n = int(a) if isinstance(a, (int, onp.integer)) else a.shape[0]
    shape = _shape(size)
    k = math.prod(shape)
    if not replace and k > n:
        raise ValueError(f"choice: cannot take {k} of {n} elements without putting them back")
    g = generator(device)
    if p is not None:
        at = torch.multinomial(torch.as_tensor(_values(p)).to(device, torch.float32), k, replace, generator=g)
    elif replace:
        at = torch.randint(n, (k,), device=device, generator=g)
    else:
        at = torch.randperm(n, device=device, generator=g)[:k]
    at = at.reshape(shape)
    y = at if isinstance(a, (int, onp.integer)) else _values(a)[at]
    return finish(_on(ndarray(y), context), out)


def shuffle(x: ndarray) -> None:
    """Puts the elements along the first axis into random order, in place."""
    t = x.tensor
    order = torch.randperm(t.shape[0], device=t.device, generator=generator(t.device))
    x._check_writable()
    t.copy_(t[order])


def permutation(x: Any) -> ndarray:
    """The elements of an array along its first axis, or the integers below x, in random order."""
    if isinstance(x, (int, onp.integer)):
        return choice(int(x), int(x), replace=False)
    y = ndarray(x.tensor.detach().clone())
    shuffle(y)
    return y


def seed(seed: int | None = None, ctx: Any = "all") -> None:
    """Makes what is drawn from now on repeatable; see `mx.random.seed`."""
    seed_all(onp.random.SeedSequence().entropy % 2**31 if seed is None else seed, ctx)
