"""The operators that draw random numbers: `random_uniform` takes numbers as parameters, `sample_uniform` NDArrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from ..base import MXNetError, _Null
from ..context import Context, current_context
from ._arguments import as_ints
from ._declaration import Declaration, describe
from ._distributions import DISTRIBUTIONS, draw, draw_integers
from ._operator import not_an_array, op, parse, register, write
from ._random_state import generator
from ._random_words import document
from .ndarray import NDArray, _on, torch_dtype

if TYPE_CHECKING:
    from .._typing import Dtype, Shape

__all__: list[str] = []
likes: dict[str, Callable[..., NDArray]] = {}  # "uniform_like" and so on, which only `nd.random` has


def given(value: Any) -> Any:
    """The argument, None if it was left out."""
    return None if value is _Null else value


_FLOATS = (torch.float32, torch.float16, torch.float64)


def _shape(shape: Any, who: str) -> tuple[int, ...]:
    if isinstance(shape, str):
        shape = parse(shape)
    return tuple(as_ints(who, "shape", shape))


def _dtype(dtype: Any, who: str, allowed: tuple[torch.dtype, ...] = _FLOATS) -> torch.dtype:
    """The dtype of the results; the first allowed one for None."""
    dtype = given(dtype)
    if dtype is None or dtype == "None":
        return allowed[0]
    found = torch_dtype(dtype, f"{who}: dtype")
    if found not in allowed:
        names = ", ".join(str(t)[6:] for t in allowed)
        raise MXNetError(f"{who}: invalid dtype {dtype!r}, valid values are {names}")
    return found


def context_of_argument(ctx: Any) -> Context:
    """A context, also one that is written as an attribute: "cpu(0)"."""
    ctx = given(ctx)
    if isinstance(ctx, str):  # from an attribute of a symbol
        kind, _, number = ctx.rstrip(")").partition("(")
        return Context(kind, int(number or 0))
    return current_context() if ctx is None else ctx


def _finish(t: torch.Tensor, context: Context, out: NDArray | None) -> NDArray:
    y = _on(NDArray(t), context)
    if out is None:
        return y
    return write(out, y)


def _place(who: str, shape: Any, dtype: Any, ctx: Any, out: NDArray | None, allowed: Any = _FLOATS) -> tuple[Any, ...]:
    """Shape, dtype and context of what is drawn: those of `out` if they are not given."""
    shape, dtype = given(shape), given(dtype)
    if out is not None:
        if not isinstance(out, NDArray):
            raise TypeError(f"{who}: out must be an NDArray, got {type(out)}")
        if shape is not None and _shape(shape, who) != out.shape:
            raise MXNetError(f"{who}: out has shape {out.shape}, expected {_shape(shape, who)}")
        return out.shape, _dtype(out.dtype if dtype is None else dtype, who, allowed), out.context
    if shape is None:
        raise MXNetError(f"{who}: shape is needed if there is no out")
    shape = _shape(shape, who) or (1,)  # there are no arrays without axes
    return shape, _dtype(dtype, who, allowed), context_of_argument(ctx)


def _number(value: Any, who: str, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MXNetError(f"{who}: {name} must be a number, got {value!r}") from None


def _make_random(distribution: str) -> Callable[..., NDArray]:
    d = DISTRIBUTIONS[distribution]
    who = f"random_{distribution}"

    def random(*args: Any, out: NDArray | None = None, name: str | None = None, **kwargs: Any) -> NDArray:
        named = _arguments(who, (*d.params, "shape", "ctx", "dtype"), args, kwargs)
        shape, dtype, context = _place(who, named.get("shape"), named.get("dtype"), named.get("ctx"), out)
        params = tuple(_number(named.get(n, default), who, n) for n, default in d.params.items())
        return _finish(draw(distribution, params, shape, dtype, context.torch_device, who), context, out)

    document(random, "random", distribution, (*d.params, "shape", "ctx", "dtype"))
    return _named(random, who)


def _of_sample(distribution: str) -> tuple[str, ...]:
    """Names of the parameters of `sample_<name>`; those of `sample_normal` differ from those of `random_normal`."""
    return ("mu", "sigma") if distribution == "normal" else tuple(DISTRIBUTIONS[distribution].params)


def _make_sample(distribution: str) -> Callable[..., NDArray]:
    who = f"sample_{distribution}"
    names = _of_sample(distribution)

    def sample(*args: Any, out: NDArray | None = None, name: str | None = None, **kwargs: Any) -> NDArray:
        named = _arguments(who, (*names, "shape", "dtype"), args, kwargs)
        arrays = [named.get(n) for n in names]
        for n, a in zip(names, arrays, strict=True):
            if not isinstance(a, NDArray):
                raise not_an_array(who, n, a)
        first = arrays[0]
        for n, a in zip(names[1:], arrays[1:], strict=True):
            if a.shape != first.shape:
                raise MXNetError(f"{who}: {n} has shape {a.shape}, expected {first.shape}, that of {names[0]}")
        extra = named.get("shape")
        extra = () if extra is None else _shape(extra, who)
        shape = first.shape + extra
        if out is not None and out.shape != shape:
            raise MXNetError(f"{who}: out has shape {out.shape}, expected {shape}")
        default = out.dtype if out is not None else None
        dtype = _dtype(named.get("dtype", default), who)
        params = tuple(a.tensor.reshape(a.shape + (1,) * len(extra)) for a in arrays)
        # as in the original, parameters in arrays are not checked
        t = draw(distribution, params, shape, dtype, first.tensor.device, who, error=None)
        return _finish(t, first.context, out)

    document(sample, "sample", distribution, (*names, "shape", "dtype"))
    return _named(sample, who)


def _make_like(distribution: str) -> Callable[..., NDArray]:
    d = DISTRIBUTIONS[distribution]
    who = f"{distribution}_like"

    def like(*args: Any, out: NDArray | None = None, name: str | None = None, **kwargs: Any) -> NDArray:
        named = _arguments(who, ("data", *d.params), args, kwargs)
        data = named.get("data")
        if not isinstance(data, NDArray):
            raise not_an_array(who, "data", data)
        params = tuple(_number(named.get(n, default), who, n) for n, default in d.params.items())
        t = draw(distribution, params, data.shape, data.tensor.dtype, data.tensor.device, who)
        return _finish(t, data.context, out)

    document(like, "like", distribution, ("data", *d.params))
    return _named(like, who)


def _arguments(who: str, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    if len(args) > len(names):
        raise TypeError(f"{who}: expected at most {len(names)} arguments, got {len(args)}")
    named = dict(zip(names, args, strict=False))
    for key, value in kwargs.items():
        if key not in names:
            raise MXNetError(f"{who}: unknown argument '{key}', expected one of {', '.join(names)}")
        if key in named:
            raise TypeError(f"{who}: argument '{key}' came twice")
        named[key] = value
    return {key: value for key, value in named.items() if given(value) is not None}


def _named(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    return function


def _add(function: Callable[..., Any], *aliases: str, inputs: str | None = None) -> None:
    register(function, aliases, inputs=inputs)
    for name in (function.__name__, *aliases):
        globals()[name] = function
        __all__.append(name)


for _name in DISTRIBUTIONS:
    # `nd.uniform` and `nd.normal` are the operators, `nd.random.uniform` is the function of the module
    _add(_make_random(_name), f"_random_{_name}", *((_name,) if _name in ("uniform", "normal") else ()), inputs="")
    _add(_make_sample(_name), f"_sample_{_name}", inputs=", ".join(_of_sample(_name)))
    likes[f"{_name}_like"] = register(_make_like(_name), (f"_random_{_name}_like",))


def random_randint(
    low: int,
    high: int,
    shape: Shape = _Null,
    ctx: Context | str = _Null,
    dtype: Dtype = _Null,
    out: NDArray | None = None,
    name: str | None = None,
) -> NDArray:
    """Integers of [low, high), evenly distributed.

    Args:
        low: the lower end, an integer.
        high: the upper end, an integer greater than `low`.
        shape: the shape of the result.
        ctx: the device of the result; left out it is the current one.
        dtype: "int32" or "int64"; left out it is that of `out`, else int32.
        out: where the numbers are written, instead of a new array; it determines `shape`, `dtype` and `ctx`.
        name: the name of the node in graphs; without effect on arrays.

    Returns:
        NDArray of `shape`.

    Raises:
        TypeError: `out` is no NDArray, or an argument is not known.
        mxnet.base.MXNetError: `low` or `high` is no integer; `high` is not greater (when the result is read); `shape`
            is missing or not that of `out`; `dtype` has another value.

    Example:
        >>> x = nd.random_randint(low=0, high=5, shape=(2, 3))
        >>> x.shape, x.dtype
        ((2, 3), <class 'numpy.int32'>)

    Source: `mxnet.nd.random_randint` of MXNet 1.9.1.
    """
    who = "random_randint"
    for n, value in (("low", low), ("high", high)):
        if not isinstance(value, (int, np.integer)):
            raise MXNetError(f"{who}: {n} must be an integer, got {value!r}")
    shape, dtype, context = _place(who, shape, dtype, ctx, out, (torch.int32, torch.int64))
    return _finish(draw_integers(low, high, shape, dtype, context.torch_device, who), context, out)


_add(random_randint, "_random_randint", inputs="")


def sample_multinomial(
    data: NDArray,
    shape: Shape = _Null,
    get_prob: bool = False,
    dtype: Dtype = "int32",
    out: NDArray | Sequence[NDArray] | None = None,
    name: str | None = None,
) -> NDArray | list[NDArray]:
    """Draws numbers of classes, with probabilities along the last axis of `data`.

    Args:
        data: probabilities, floating point, the classes along the last axis; rows are divided by their sums.
        shape: the shape of what is drawn for each row; left out it is one number.
        get_prob: also the logarithms of the drawn classes' probabilities, which can be differentiated by `data`.
        dtype: the dtype of the numbers of classes.
        out: where the result is written, instead of a new array; a list of two with `get_prob`.
        name: the name of the node in graphs; without effect on arrays.

    Returns:
        NDArray of `dtype` with the shape of `data` without its last axis, then `shape`; with `get_prob` a list of it
        and of the logarithms, in the dtype of `data`.

    Raises:
        AssertionError: `data` is no NDArray.
        mxnet.base.MXNetError: `data` has no classes; probabilities are negative, not finite or all 0 in a row; the
            shape of `out` has another value.
        TypeError: `dtype` is no dtype, or an argument is not known.

    Example:
        >>> nd.sample_multinomial(nd.array([[0.0, 1.0], [1.0, 0.0]]), shape=3).asnumpy()
        array([[1, 1, 1],
               [0, 0, 0]], dtype=int32)

    Source: `mxnet.nd.sample_multinomial` of MXNet 1.9.1.
    """
    who = "sample_multinomial"
    if not isinstance(data, NDArray):
        raise not_an_array(who, "data", data)
    if not data.ndim or not data.shape[-1]:
        raise MXNetError(f"{who}: data needs classes along its last axis, got shape {data.shape}")
    t = data.tensor.detach()
    extra = () if given(shape) is None else _shape(shape, who)
    n = int(np.prod(extra))
    rows = t.reshape(-1, t.shape[-1]).to(torch.float64 if t.dtype == torch.float64 else torch.float32)
    total = rows.sum(-1)
    if bool((rows < 0).any()) or not bool(((total > 0) & total.isfinite()).all()):
        raise MXNetError(f"{who}: data must be probabilities: not negative, and not all zero in a row")
    # search in cumulated probabilities, in float64, because torch.multinomial allows at most 2^24 classes
    ends = (rows.double() / total.double().unsqueeze(-1)).cumsum(-1)
    points = torch.rand((len(rows), n), dtype=torch.float64, device=t.device, generator=generator(t.device))
    drawn = torch.searchsorted(ends, points * ends[:, -1:], right=True).clamp_(max=t.shape[-1] - 1)
    lead = t.shape[:-1]
    result_shape = (tuple(lead) + extra) or (1,)
    wanted = torch_dtype(given(dtype) or "int32", f"{who}: dtype")
    y = _on(NDArray(drawn.reshape(result_shape).to(wanted)), data.context)
    if get_prob in (True, 1, "True"):
        index = NDArray(drawn.reshape(*lead, n))
        chosen = op.log(op.gather_along(data, index, axis=len(lead)))
        ys: Any = [y, op.reshape(chosen, shape=result_shape)]
        return ys if out is None else write(out, ys)
    return y if out is None else write(out, y)


_add(sample_multinomial, "_sample_multinomial")
describe(sample_multinomial, Declaration(outputs=lambda p: 2 if p.get("get_prob") else 1))


def shuffle(data: NDArray, out: NDArray | None = None, name: str | None = None, **kwargs: Any) -> NDArray:
    """A copy of `data` with the elements along its first axis in random order.

    Args:
        data: any shape, any dtype.
        out: where the result is written, instead of a new array.
        name: the name of the node in graphs; without effect on arrays.
        **kwargs: ignored.

    Returns:
        NDArray of the shape and dtype of `data`; gradients go back to the places from which elements came.

    Raises:
        AssertionError: `data` is no NDArray.
        mxnet.base.MXNetError: `out` has another shape.

    Example:
        >>> sorted(nd.random.shuffle(nd.array([3, 1, 2])).asnumpy().tolist())
        [1.0, 2.0, 3.0]

    Source: `mxnet.nd.random.shuffle` of MXNet 1.9.1.
    """
    if not isinstance(data, NDArray):
        raise not_an_array("shuffle", "data", data)
    device = data.tensor.device
    order = torch.randperm(data.shape[0] if data.ndim else 1, device=device, generator=generator(device))
    y = op.get_item(data, index=(order,)) if data.ndim else op.copy(data)
    y = data._with_context(y)
    return y if out is None else write(out, y)


_add(shuffle, "_shuffle")


def _sample_unique_zipfian(
    range_max: Any, shape: Any = _Null, ctx: Any = _Null, out: Any = None, name: str | None = None
) -> list[NDArray]:
    """Draws shape[1] distinct classes below `range_max` for each of shape[0] rows; smaller classes are more likely.
    Also gives the number of draws that each row took. Both are int64.

    MXNetError if there are fewer classes than are asked for.
    """
    who = "_sample_unique_zipfian"
    size = _shape(given(shape) if given(shape) is not None or out is None else out[0].shape, who)
    limit = int(_number(range_max, who, "range_max"))
    if len(size) != 2 or size[1] > limit:
        raise MXNetError(f"{who}: shape must be (rows, samples) with at most {limit} samples, got {size}")
    context = context_of_argument(ctx)
    random = generator(context.torch_device)
    rows, tries = [], []
    for _ in range(size[0]):
        seen: dict[int, None] = {}
        count = 0
        while len(seen) < size[1]:
            u = torch.rand(2 * size[1], dtype=torch.float64, device=context.torch_device, generator=random)
            for value in (torch.exp(u * math.log(limit)).round().long() - 1).tolist():
                count += 1
                seen.setdefault(value)
                if len(seen) == size[1]:
                    break
        rows.append(list(seen))
        tries.append(count)
    ys = [_on(NDArray(torch.tensor(v, dtype=torch.int64, device=context.torch_device).reshape(s)), context)
          for v, s in ((rows, size), (tries, size[:1]))]  # fmt: skip
    return ys if out is None else write(out, ys)


register(_sample_unique_zipfian)
describe(_sample_unique_zipfian, Declaration("", outputs=2))
