"""`mx.npx.random`: the seed, and distributions that NumPy does not have under these names."""

from __future__ import annotations

from typing import Any

import torch

from ..ndarray._distributions import draw
from ..ndarray._random_operators import sample_multinomial
from ..ndarray.ndarray import torch_dtype
from ..numpy import ndarray
from ..numpy import random as _random
from ..numpy._array import constant, finish

__all__ = ["bernoulli", "categorical", "normal_n", "seed", "uniform_n"]


def seed(seed: int, ctx: Any = "all") -> None:
    """Makes what is drawn from now on repeatable; see `mx.random.seed`."""
    _random.seed(seed, ctx)


def bernoulli(
    prob: Any = None, logit: Any = None, size: Any = None, dtype: Any = None, ctx: Any = None, out: Any = None
) -> Any:
    """Ones with probability `prob`, or with that of `logit`, else zeros. ValueError unless one of both is given."""
    if (prob is None) == (logit is None):
        raise ValueError("bernoulli: either prob or logit must be given, and not both")
    p = _random._values(prob if logit is None else logit)
    if logit is None and bool(((torch.as_tensor(p) < 0) | (torch.as_tensor(p) > 1)).any()):
        raise ValueError(f"bernoulli: prob must be between 0 and 1, got {prob}")
    p = p if logit is None else torch.as_tensor(p, dtype=torch.float32).sigmoid()
    shape = _random._shape(size) if size is not None else tuple(p.shape) if isinstance(p, torch.Tensor) else ()
    device = p.device if isinstance(p, torch.Tensor) else _random.uniform(size=(), ctx=ctx).tensor.device
    u = draw("uniform", (0.0, 1.0), shape, torch.float32, device)
    return finish(constant((u < p).to(torch_dtype(dtype))), out)


def categorical(prob: Any, shape: Any = None) -> Any:
    """Classes drawn from probabilities along the last axis; int64."""
    t = sample_multinomial(prob, shape=() if shape is None else shape, dtype="int64").tensor
    return ndarray(t.reshape(prob.shape[:-1] + (() if shape is None else _random._shape(shape))))


def _batched(function: Any, params: tuple[Any, Any], batch_shape: Any, dtype: Any, ctx: Any) -> Any:
    batch = () if batch_shape is None else _random._shape(batch_shape)
    return function(*params, batch + _random._shape(None, *params), dtype, ctx)


def uniform_n(low: Any = 0.0, high: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """`np.random.uniform` of shape `batch_shape` for each element of the parameters."""
    return _batched(_random.uniform, (low, high), batch_shape, dtype, ctx)


def normal_n(loc: Any = 0.0, scale: Any = 1.0, batch_shape: Any = None, dtype: Any = None, ctx: Any = None) -> Any:
    """`np.random.normal` of shape `batch_shape` for each element of the parameters."""
    return _batched(_random.normal, (loc, scale), batch_shape, dtype, ctx)
