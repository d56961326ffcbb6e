"""`mx.np.random`: random numbers as arrays; parameters are numbers or arrays that broadcast."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as onp
import torch

from .._docs import sharing
from ..base import MXNetError
from ..context import Context, current_context
from ..ndarray._distributions import draw, draw_integers
from ..ndarray._late import keep
from ..ndarray._operator import not_an_array, op
from ..ndarray._random_state import generator
from ..ndarray.ndarray import NDArray, _on, torch_dtype
from ..random import seed as seed_all
from ._array import finish, ndarray
from ._docs import documented
from ._draws import _drawn, _dtype, _from_uniform, _moved, _recorded, _shape, _values

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = [
    "beta", "chisquare", "choice", "exponential", "gamma", "gumbel", "laplace", "logistic", "lognormal", "multinomial",
    "multivariate_normal", "normal", "pareto", "permutation", "power", "rand", "randint", "randn", "rayleigh", "seed",
    "shuffle", "uniform", "weibull",
]  # fmt: skip


_PARAMETERS = """
    Args:
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray.

    Raises:
        ValueError: {wrong} is not positive; raised at the next wait for a result.
        mxnet.base.MXNetError: `dtype` is no floating-point one, parameters do not broadcast to `size`, or a length is
            negative.

    Example:
        >>> mx.np.random.{name}({given}, size=(2, 3)).shape
        (2, 3)
"""
_LENGTHS = """
    Args:
        *size: the lengths of the result.
        **kwargs: `dtype`, `ctx` and `out`, as in `{other}`.

    Returns:
        ndarray.

    Raises:
        TypeError: a keyword is unknown.
        mxnet.base.MXNetError: a length is negative, or `dtype` no floating-point one.

    Example:
        >>> mx.np.random.{name}(2, 3).shape
        (2, 3)
"""


@documented
def uniform(
    low: float | ndarray = 0.0, high: float | ndarray = 1.0, size: Shape | None = None, dtype: Dtype | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws from all numbers between two ends, each as often.

    Args:
        low: the lower end, which may be drawn, a number or an ndarray.
        high: the upper end, which is not drawn, a number or an ndarray.
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray.

    Raises:
        mxnet.base.MXNetError: `dtype` is no floating-point one, parameters do not broadcast to `size`, or a length is
            negative.

    Example:
        >>> x = mx.np.random.uniform(-1, 1, size=(2, 3))
        >>> x.shape, bool((x < 1).all())
        ((2, 3), True)
    """
    return _drawn("uniform", "uniform", (low, high), size, dtype, ctx, out)


@documented
@sharing(_PARAMETERS, wrong="`scale`", given="0, 2")
def normal(
    loc: float | ndarray = 0.0, scale: float | ndarray = 1.0, size: Shape | None = None, dtype: Dtype | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws from a normal distribution. Gradients pass to parameters that are ndarrays.

    Args:
        loc: the mean, a number or an ndarray.
        scale: the standard deviation, a positive number or an ndarray of them.
    """
    if _recorded((loc, scale)):
        context = current_context() if ctx is None else Context(ctx)
        shape = out.shape if out is not None and size is None else _shape(size, loc, scale)
        noise = draw("normal", (0.0, 1.0), shape, torch.float32, context.torch_device)
        y = _moved(lambda c, m, s: c * s + m, noise, (loc, scale), _dtype("normal", dtype))
        return finish(_on(y, context), out)
    return _drawn("normal", "normal", (loc, scale), size, dtype, ctx, out)


@documented
def exponential(
    scale: float | ndarray = 1.0, size: Shape | None = None, ctx: Context | None = None, out: ndarray | None = None
) -> ndarray:
    """Draws from an exponential distribution. Gradients pass to `scale`, if it is an ndarray.

    Args:
        scale: the mean, a number that is not negative, or an ndarray of them.

    Returns:
        ndarray, float32.

    Raises:
        ValueError: `scale` is negative; raised at the next wait for a result.
        mxnet.base.MXNetError: `scale` does not broadcast to `size`, or a length is negative.

    Example:
        >>> mx.np.random.exponential(2.0, size=(2, 3)).shape
        (2, 3)
    """
    if bool(torch.as_tensor(_values(scale) < 0).any()):
        keep(ValueError("exponential: scale must not be negative"))
    context = current_context() if ctx is None else Context(ctx)
    shape = out.shape if out is not None and size is None else _shape(size, scale)
    noise = draw("exponential", (1.0,), shape, torch.float32, context.torch_device)
    return finish(_on(_moved(lambda c, s: c * s, noise, (scale,)), context), out)


@documented
@sharing(_PARAMETERS, wrong="a parameter", given="2.0, 1.0")
def gamma(
    shape: float | ndarray, scale: float | ndarray = 1.0, size: Shape | None = None, dtype: Dtype | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws from a gamma distribution.

    Args:
        shape: the shape of the distribution, a positive number or an ndarray of them.
        scale: the width, a positive number or an ndarray of them.
    """
    return _drawn("gamma", "gamma", (shape, scale), size, dtype, ctx, out)


@documented
@sharing(_LENGTHS, other="normal")
def randn(*size: int, **kwargs: Any) -> ndarray:
    """Draws from the normal distribution with mean 0 and standard deviation 1."""
    return normal(0.0, 1.0, size, **kwargs)


@documented
@sharing(_LENGTHS, other="uniform")
def rand(*size: int, **kwargs: Any) -> ndarray:
    """Draws from all numbers of [0, 1), each as often."""
    return uniform(0.0, 1.0, size, **kwargs)


@documented
def randint(
    low: int, high: int | None = None, size: Shape | None = None, dtype: Dtype | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws integers, each as often.

    Args:
        low: the smallest integer; without `high`, it is `high`, and 0 the smallest one.
        high: the integer after the largest one.
        size: the shape of the result; None is a number without axes.
        dtype: the dtype of the result; None is int64.

    Returns:
        ndarray.

    Raises:
        mxnet.base.MXNetError: there is no integer from `low` to below `high`, or a length is negative.

    Example:
        >>> x = mx.np.random.randint(1, 7, size=10)
        >>> x.shape, bool(((x >= 1) & (x <= 6)).all())
        ((10,), True)
    """
    low, high = (0, low) if high is None else (low, high)
    context = current_context() if ctx is None else Context(ctx)
    wanted = torch_dtype(onp.int64 if dtype is None or dtype == "int" else dtype, "randint: dtype")
    shape = out.shape if out is not None and size is None else _shape(size)
    return finish(_on(ndarray(draw_integers(low, high, shape, wanted, context.torch_device)), context), out)


gumbel = _from_uniform(
    "gumbel",
    lambda u: -(-u.log()).log(),
    lambda c, m, s: c * s + m,
    "Draws from Gumbel's distribution, that of the largest of many numbers.",
    0.0,
    1.0,
)
logistic = _from_uniform(
    "logistic",
    lambda u: torch.logit(u, 1e-7),
    lambda c, m, s: c * s + m,
    "Draws from the logistic distribution.",
    0.0,
    1.0,
)
laplace = _from_uniform(
    "laplace", lambda u: -(u - 0.5).sign() * (1 - 2 * (u - 0.5).abs()).clamp(min=1e-38).log(),
    lambda c, m, s: c * s + m, "Draws from Laplace's distribution, which falls exponentially on both sides.", 0.0, 1.0,
)  # fmt: skip
rayleigh = _from_uniform(
    "rayleigh",
    lambda u: (-2 * u.log()).sqrt(),
    lambda c, s: c * s,
    "Draws from Rayleigh's distribution, that of the length of a vector of two normal numbers.",
    1.0,
)
weibull = _from_uniform(
    "weibull", lambda u: -u.log(), lambda c, a: c ** (1 / a), "Draws from Weibull's distribution, with the scale 1."
)
pareto = _from_uniform(
    "pareto",
    lambda u: 1 / u,
    lambda c, a: c ** (1 / a) - 1,
    "Draws from Lomax's distribution: from Pareto's, which begins at 1, minus 1.",
)
power = _from_uniform(
    "power", lambda u: u, lambda c, a: c ** (1 / a), "Draws from [0, 1] with the density a x ** (a - 1)."
)


@documented
@sharing(_PARAMETERS, wrong="`sigma`", given="0, 1")
def lognormal(
    mean: float | ndarray = 0.0, sigma: float | ndarray = 1.0, size: Shape | None = None, dtype: Dtype | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws numbers whose logarithms are from a normal distribution. Gradients pass to parameters that are ndarrays.

    Args:
        mean: the mean of the logarithms, a number or an ndarray.
        sigma: their standard deviation, a positive number or an ndarray of them.
    """
    y = normal(mean, sigma, size, dtype, ctx)
    return finish(op.exp(y), out)


@documented
def chisquare(
    df: float | ndarray, size: Shape | None = None, dtype: Dtype | None = None, ctx: Context | None = None
) -> ndarray:
    """Draws from a chi-square distribution.

    Args:
        df: the degrees of freedom, a positive number or an ndarray of them.
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray.

    Raises:
        ValueError: `df` is not positive; raised at the next wait for a result.
        mxnet.base.MXNetError: `dtype` is no floating-point one, `df` does not broadcast to `size`, or a length
            is negative.

    Example:
        >>> mx.np.random.chisquare(3, size=(2, 3)).shape
        (2, 3)
    """
    return gamma(df / 2.0, 2.0, size, dtype, ctx)


@documented
def beta(
    a: float | ndarray,
    b: float | ndarray,
    size: Shape | None = None,
    dtype: Dtype | None = None,
    ctx: Context | None = None,
) -> ndarray:
    """Draws from a beta distribution.

    Args:
        a: the first parameter, a positive number or an ndarray of them.
        b: the second one, likewise.
        dtype: float16, float32 or float64; None is float32.

    Returns:
        ndarray.

    Raises:
        ValueError: a parameter is not positive; raised at the next wait for a result.
        mxnet.base.MXNetError: `dtype` is no floating-point one, parameters do not broadcast to `size`, or a length is
            negative.

    Example:
        >>> mx.np.random.beta(1.0, 2.0, size=(2, 3)).shape
        (2, 3)
    """
    size = _shape(size, a, b)
    x, y = (gamma(p, 1.0, size, dtype or onp.float64, ctx).tensor for p in (a, b))
    return ndarray((x / (x + y)).to(torch_dtype(dtype)))


@documented
def multinomial(n: int, pvals: Sequence[float] | ndarray, size: Shape | None = None) -> ndarray:
    """Counts the occurrences of each class in a number of draws.

    Args:
        n: the number of draws, 0 or more.
        pvals: the probabilities of the classes, a vector; the last class gets what they lack to 1.
        size: how often this is done, a shape; None is once.

    Returns:
        ndarray, int64, of shape (*size, len(pvals)).

    Raises:
        mxnet.base.MXNetError: probabilities are negative, or more than 1 together, `n` is negative, or a length is.

    Example:
        >>> mx.np.random.multinomial(10, [0.5, 0.5]).sum()
        array(10, dtype=int64)
    """
    p = torch.as_tensor(_values(pvals)).to(torch.float64).cpu()
    if n < 0:
        raise MXNetError(f"multinomial: n must not be negative, got {n}")
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


@documented
def multivariate_normal(
    mean: ndarray, cov: ndarray, size: Shape | None = None, check_valid: str | None = None, tol: float | None = None
) -> ndarray:
    """Draws vectors from a normal distribution of several dimensions.

    Args:
        mean: the means, ndarray of shape (..., n).
        cov: the covariances, symmetric and positive definite, ndarray of shape (..., n, n).
        size: how many, a shape; None is one for each mean.
        check_valid: without effect.
        tol: without effect.

    Returns:
        ndarray, float32, of shape (*size, ..., n).

    Raises:
        mxnet.base.MXNetError: `mean` and `cov` do not fit, or `cov` is not positive definite.

    Example:
        >>> mx.np.random.multivariate_normal(mx.np.zeros(2), mx.np.eye(2), size=3).shape
        (3, 2)
    """
    m, c = (torch.as_tensor(_values(v)).to(torch.float32) for v in (mean, cov))
    if c.dim() < 2 or c.shape[-1] != c.shape[-2] or not m.dim() or m.shape[-1] != c.shape[-1]:
        shapes = f"a mean of shape {tuple(m.shape)}, a covariance of shape {tuple(c.shape)}"
        raise MXNetError(f"multivariate_normal: expected a vector and a square matrix of its length, got {shapes}")
    shape = (*_shape(() if size is None else size), *torch.broadcast_shapes(m.shape, c.shape[:-1]))
    root, failed = torch.linalg.cholesky_ex(c)
    if bool(failed.any()):
        raise MXNetError("multivariate_normal: cov is not symmetric and positive definite")
    z = draw("normal", (0.0, 1.0), shape, torch.float32, m.device)
    return ndarray(m + (root @ z.unsqueeze(-1)).squeeze(-1))


def _drawable(who: str, x: Any, name: str = "x") -> Any:
    """An array with an axis, whose parts are drawn."""
    if not isinstance(x, (NDArray, onp.ndarray)):
        raise not_an_array(who, name, x)
    if not x.ndim:
        raise MXNetError(f"{who}: {name} must have an axis")
    return x


@documented
def choice(
    a: int | ndarray, size: Shape | None = None, replace: bool = True, p: Sequence[float] | ndarray | None = None,
    ctx: Context | None = None, out: ndarray | None = None,
) -> ndarray:  # fmt: skip
    """Draws elements of a vector, or parts of an array along its first axis.

    Args:
        a: ndarray, or an integer n, which stands for 0, 1, …, n - 1.
        size: the shape of the draws; None is one.
        replace: whether an element may come several times.
        p: the probability of each element, a vector; None is the same for all.

    Returns:
        ndarray of the dtype of `a`, int64 for an integer.

    Raises:
        AssertionError: `a` is neither an array nor an integer.
        ValueError: without `replace`, there are fewer elements than draws, or there is none at all.
        mxnet.base.MXNetError: `a` has no axis, or a length is negative.

    Example:
        >>> mx.np.random.choice(mx.np.array([3, 5]), size=(2, 3)).shape
        (2, 3)
    """
    context = current_context() if ctx is None else Context(ctx)
    device = context.torch_device
    n = int(a) if isinstance(a, (int, onp.integer)) else _drawable("choice", a, "a").shape[0]
    shape = _shape(size)
    k = math.prod(shape)
    if n < 1 and k:
        raise ValueError("choice: a has no elements")
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


@documented
def shuffle(x: ndarray) -> None:
    """Shuffles the parts of an array along its first axis, in place.

    Raises:
        AssertionError: `x` is no array.
        mxnet.base.MXNetError: `x` has no axis.

    Example:
        >>> x = mx.np.array([1, 2, 3])
        >>> mx.np.random.shuffle(x)
        >>> mx.np.sort(x)
        array([1., 2., 3.])
    """
    t = _drawable("shuffle", x).tensor
    order = torch.randperm(t.shape[0], device=t.device, generator=generator(t.device))
    x._check_writable()
    t.copy_(t[order])


@documented
def permutation(x: int | ndarray) -> ndarray:
    """The parts of an array along its first axis in random order.

    Args:
        x: ndarray, or an integer n, which stands for 0, 1, …, n - 1.

    Returns:
        ndarray of the dtype of `x`, int64 for an integer.

    Raises:
        AssertionError: `x` is neither an array nor an integer.
        mxnet.base.MXNetError: `x` has no axis.

    Example:
        >>> mx.np.sort(mx.np.random.permutation(3))
        array([0, 1, 2], dtype=int64)
    """
    if isinstance(x, (int, onp.integer)):
        return choice(int(x), int(x), replace=False)
    y = ndarray(_drawable("permutation", x).tensor.detach().clone())
    shuffle(y)
    return y


@documented
def seed(seed: int | None = None, ctx: Any = "all") -> None:
    """Seeds the random generators, of `mx.random` too, so that the numbers drawn after it are repeatable.

    Args:
        seed: an integer; None for a random one.
        ctx: the device whose generator is seeded; "all" for all devices.

    Raises:
        ValueError: `seed` is no integer.

    Example:
        >>> mx.np.random.seed(7)
        >>> x = mx.np.random.rand(3)
        >>> mx.np.random.seed(7)
        >>> bool((mx.np.random.rand(3) == x).all())
        True
    """
    seed_all(onp.random.SeedSequence().entropy % 2**31 if seed is None else seed, ctx)
