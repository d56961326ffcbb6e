"""Random numbers as NDArrays: `mx.nd.random.uniform` and its like.

Parameters are numbers, or NDArrays of one shape: then `shape` numbers are drawn for each of their elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..base import _Null, numeric_types
from ..context import Context
from ._operator import operators
from ._random_operators import context_of_argument, given, likes, sample_multinomial, shuffle
from ._random_words import described
from .ndarray import NDArray

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__ = [
    "exponential",
    "gamma",
    "generalized_negative_binomial",
    "multinomial",
    "negative_binomial",
    "normal",
    "poisson",
    "randint",
    "randn",
    "shuffle",
    "uniform",
]
globals().update(likes)


def _draw(name: str, params: list[Any], shape: Any, dtype: Any, ctx: Any, out: Any, kwargs: dict[str, Any]) -> NDArray:
    """Calls the operator random_* for parameters that are numbers, sample_* for NDArrays; AssertionError for both."""
    first = params[0]
    if not isinstance(first, (NDArray, *numeric_types)):
        raise ValueError(f"{name}: distribution parameters must be either NDArray or numbers, but got {type(first)}")
    kind: Any = NDArray if isinstance(first, NDArray) else numeric_types
    for p in params[1:]:
        assert isinstance(p, kind), (
            f"{name}: distribution parameters must all have the same type, but got both {type(first)} and {type(p)}"
        )
    if kind is NDArray:
        if f"sample_{name}" not in operators:
            raise TypeError(f"{name}: distribution parameters must be numbers, got NDArrays")
        return operators[f"sample_{name}"](*params, shape=shape, dtype=dtype, out=out, **kwargs)
    if given(shape) is None and out is None:
        shape = 1
    return operators[f"random_{name}"](
        *params, shape=shape, dtype=dtype, ctx=context_of_argument(ctx), out=out, **kwargs
    )


@described
def uniform(
    low: float | NDArray = 0, high: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null,
    ctx: Context | None = None, out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of [low, high), evenly distributed; float32 unless `dtype` is another floating type.

    Example:
        >>> nd.random.uniform(nd.array([0.0, 10.0]), nd.array([1.0, 11.0]), shape=3).shape
        (2, 3)
    """
    return _draw("uniform", [low, high], shape, dtype, ctx, out, kwargs)


@described
def normal(
    loc: float | NDArray = 0, scale: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null,
    ctx: Context | None = None, out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the normal distribution with mean `loc` and standard deviation `scale` > 0.

    Example:
        >>> nd.random.normal(loc=5, scale=2, shape=(2, 3)).shape
        (2, 3)
    """
    return _draw("normal", [loc, scale], shape, dtype, ctx, out, kwargs)


def randn(*shape: int, **kwargs: Any) -> NDArray:
    """Normal numbers of a shape given by the arguments.

    Args:
        *shape: the lengths of the result's axes; none at all is (1,).
        **kwargs: `loc` (0), `scale` (1), `dtype`, `ctx` and `out`, as in `normal`.

    Returns:
        NDArray of `shape`.

    Raises:
        AssertionError: `loc` or `scale` is neither a number nor an NDArray.
        mxnet.base.MXNetError: a length is no integer; `scale` is not positive (when the result is read); `dtype` is no
            floating one; an argument is not known.

    Example:
        >>> nd.random.randn(2, 3, loc=5, scale=0.5).shape
        (2, 3)

    Source: `mxnet.nd.random.randn` of MXNet 1.9.1.
    """
    loc, scale = kwargs.pop("loc", 0), kwargs.pop("scale", 1)
    for n, value in (("loc", loc), ("scale", scale)):
        assert isinstance(value, (int, float, NDArray)), f"randn: {n} must be a number or an NDArray, got {type(value)}"
    dtype, ctx, out = kwargs.pop("dtype", _Null), kwargs.pop("ctx", None), kwargs.pop("out", None)
    return _draw("normal", [loc, scale], shape, dtype, ctx, out, kwargs)


@described
def poisson(
    lam: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null, ctx: Context | None = None,
    out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the Poisson distribution with mean `lam` >= 0, of a floating type.

    Example:
        >>> nd.random.poisson(4, shape=(2, 3)).shape
        (2, 3)
    """
    return _draw("poisson", [lam], shape, dtype, ctx, out, kwargs)


@described
def exponential(
    scale: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null, ctx: Context | None = None,
    out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the exponential distribution with mean `scale` > 0.

    Args:
        scale: the mean, positive.

    Raises:
        ZeroDivisionError: `scale` is 0.
        ValueError: it is neither a number nor an NDArray.
        mxnet.base.MXNetError: it is negative (when the result is read); shapes do not fit; `dtype` is no floating one;
            an argument is not known.

    Example:
        >>> nd.random.exponential(scale=2, shape=(2, 3)).shape
        (2, 3)
    """
    if isinstance(scale, numeric_types) and scale == 0:
        raise ZeroDivisionError("exponential: scale must be positive, got 0")
    return _draw("exponential", [1.0 / scale], shape, dtype, ctx, out, kwargs)


@described
def gamma(
    alpha: float | NDArray = 1, beta: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null,
    ctx: Context | None = None, out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the gamma distribution with shape `alpha` > 0 and scale `beta` > 0.

    Example:
        >>> nd.random.gamma(alpha=2, beta=3, shape=(2, 3)).shape
        (2, 3)
    """
    return _draw("gamma", [alpha, beta], shape, dtype, ctx, out, kwargs)


@described
def negative_binomial(
    k: float | NDArray = 1, p: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null,
    ctx: Context | None = None, out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the negative binomial distribution: failures before success `k`, of probability `p`.

    Example:
        >>> nd.random.negative_binomial(k=3, p=0.4, shape=(2, 3)).shape
        (2, 3)
    """
    return _draw("negative_binomial", [k, p], shape, dtype, ctx, out, kwargs)


@described
def generalized_negative_binomial(
    mu: float | NDArray = 1, alpha: float | NDArray = 1, shape: Shape = _Null, dtype: Dtype = _Null,
    ctx: Context | None = None, out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Numbers of the negative binomial distribution with mean `mu` and dispersion `alpha`, which may be 0.

    Example:
        >>> nd.random.generalized_negative_binomial(mu=2, alpha=0.3, shape=(2, 3)).shape
        (2, 3)
    """
    return _draw("generalized_negative_binomial", [mu, alpha], shape, dtype, ctx, out, kwargs)


def multinomial(
    data: NDArray, shape: Shape = _Null, get_prob: bool = False, out: NDArray | Sequence[NDArray] | None = None,
    dtype: Dtype = "int32", **kwargs: Any,
) -> NDArray | list[NDArray]:  # fmt: skip
    """Classes drawn from probabilities along the last axis of `data`; see the operator `sample_multinomial`.

    Args:
        data: probabilities, floating point, the classes along the last axis; rows are divided by their sums.
        shape: the shape of what is drawn for each row; left out it is one number.
        get_prob: also the logarithms of the drawn classes' probabilities, which can be differentiated by `data`.
        out: where the result is written, instead of a new array; a list of two with `get_prob`.
        dtype: the dtype of the numbers of classes.
        **kwargs: `name`, which has no effect on arrays.

    Returns:
        NDArray of `dtype` with the shape of `data` without its last axis, then `shape`; with `get_prob` a list of it
        and of the logarithms, in the dtype of `data`.

    Raises:
        AssertionError: `data` is no NDArray.
        mxnet.base.MXNetError: probabilities are negative, not finite or all 0 in a row; the shape of `out` is another
            one.
        TypeError: `dtype` is no dtype, or an argument is not known.

    Example:
        >>> classes, logarithms = nd.random.multinomial(nd.array([[0.0, 1.0], [1.0, 0.0]]), get_prob=True)
        >>> classes.asnumpy(), logarithms.asnumpy()
        (array([1, 0], dtype=int32), array([0., 0.], dtype=float32))

    Source: `mxnet.nd.random.multinomial` of MXNet 1.9.1.
    """
    return sample_multinomial(data, shape, get_prob, dtype=dtype, out=out, **kwargs)


def randint(
    low: int, high: int, shape: Shape = _Null, dtype: Dtype = _Null, ctx: Context | None = None,
    out: NDArray | None = None, **kwargs: Any,
) -> NDArray:  # fmt: skip
    """Integers of [low, high), evenly distributed.

    Args:
        low: the lower end, an integer.
        high: the upper end, an integer greater than `low`.
        shape: the shape of the result; left out it is that of `out`, else (1,).
        dtype: "int32" or "int64"; left out it is that of `out`, else int32.
        ctx: the device of the result; None is the current one.
        out: where the numbers are written, instead of a new array.
        **kwargs: `name`, which has no effect on arrays.

    Returns:
        NDArray of `shape`.

    Raises:
        ValueError, TypeError, AssertionError: `low` or `high` is no number.
        mxnet.base.MXNetError: `low` or `high` is no integer; `high` is not greater (when the result is read); `shape`
            is not that of `out`; `dtype` has another value.

    Example:
        >>> x = nd.random.randint(0, 5, shape=(2, 3), dtype="int64")
        >>> x.shape, x.dtype
        ((2, 3), <class 'numpy.int64'>)

    Source: `mxnet.nd.random.randint` of MXNet 1.9.1.
    """
    return _draw("randint", [low, high], shape, dtype, ctx, out, kwargs)
