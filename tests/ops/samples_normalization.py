"""Samples of normalization and of ops that change gradients."""

import numpy as np

from tests.ops.harness import Floats, sample
from tests.ops.samples_networks import SINGLE

A = Floats


# ---- normalization ------------------------------------------------------------------------------------------
def batch_norm(
    x,
    beta=None,
    gamma=None,
    mean=None,
    var=None,
    z=None,
    axes=(1,),
    eps=1e-5,
    batch_stat=True,
    stats=False,
    rectify=False,
    decay=0.9,
    update=True,
):
    over = tuple(a for a in range(x.ndim) if a not in {b % x.ndim for b in axes})
    m, v = (x.mean(over, keepdims=True), x.var(over, keepdims=True)) if batch_stat else (mean, var)
    y = (x - m) / np.sqrt(v + eps) * (1 if gamma is None else gamma) + (0 if beta is None else beta)
    y = y if z is None else y + z
    y = np.maximum(y, 0) if rectify else y
    return [y, m, v] if stats else y


def spectral_norm(w, u, dim=0, iterations=1, eps=1e-12, test=False, output_u=False, update=True):
    m, new = np.moveaxis(w, dim, 0).reshape(w.shape[dim], -1), u
    for _ in range(iterations):
        v = new @ m / np.sqrt(np.sum((new @ m) ** 2) + eps)
        new = m @ v / np.sqrt(np.sum((m @ v) ** 2) + eps)
    y = w / (new @ m @ v)
    return [y, u] if output_u else y


def mean_subtraction(x, mean, t=None, base_axis=1, update=True):
    now = x.mean(tuple(range(base_axis % x.ndim)))
    return x - (mean + (now - mean) / (t + 1) if update else mean)


def vat_noise(x, w, base_axis=1, eps=1.0, update=True):
    return eps * x / np.sqrt((x * x).sum(tuple(range(base_axis % x.ndim, x.ndim)), keepdims=True) + 1e-8)


def normalizations():
    for shape, axes in [((3, 2, 4), [1]), ((4, 3), [-1]), ((2, 3, 2, 2), [1, 3]), ((2, 3, 5), [0, 1])]:
        p = [n if a in {b % len(shape) for b in axes} else 1 for a, n in enumerate(shape)]
        x = A(*shape, low=-2, high=3)
        full = [x, A(*p), A(*p, low=0.5, high=2), A(*p), A(*p, low=0.5, high=2)]
        more = dict(axes=axes, eps=1e-2, tolerance=4)
        yield sample("batch_normalization_statistics", batch_norm, *full, differentiable=(0, 1, 2), decay=0.8, **more)
        yield sample(
            "batch_normalization_statistics", batch_norm, *full, batch_stat=False, differentiable=(0, 1, 2), **more
        )
        yield sample("batch_normalization_statistics", batch_norm, x, stats=True, **more)
        yield sample(
            "batch_normalization_statistics",
            batch_norm,
            *full[:2],
            None,
            *full[3:],
            A(*shape),
            rectify=True,
            stats=True,
            update=False,
            differentiable=(0, 1, 5),
            **more,
        )
    for shape, params in [
        ((4, 3), {}),
        ((2, 3, 2), dict(dim=1, iterations=2, output_u=True)),
        ((2, 2, 3), dict(dim=-1, eps=1e-3, test=True, update=False)),
    ]:
        yield sample(
            "spectral_norm",
            spectral_norm,
            A(*shape),
            A(shape[params.get("dim", 0)]),
            dtypes=SINGLE,
            differentiable=(),
            tolerance=4,
            **params,
        )
    yield sample("mean_subtraction", mean_subtraction, A(2, 3, 4), A(3, 4), np.array([3.0]), differentiable=(0,))
    yield sample("mean_subtraction", mean_subtraction, A(2, 3, 4), A(4), np.array(0), base_axis=-1, differentiable=(0,))
    yield sample("mean_subtraction", mean_subtraction, A(2, 3), A(3), base_axis=1, update=False)
    yield sample("vat_noise", vat_noise, A(2, 3, 4), A(2, 3, 4), base_axis=-2, eps=3.0, update=True, differentiable=())
    yield sample("clip_between", np.clip, A(3, 4, low=-2, high=2), A(3, 4, low=-1, high=0), A(3, 4, low=0.1, high=1))
    yield sample("clip_grad_by_value", lambda x, low, high: x, A(3), A(3), A(3), differentiable=())
    yield sample("clip_grad_by_norm", lambda x, axes, norm: x, A(3), axes=[0], norm=2.0, differentiable=())


SAMPLES: list = [s for group in normalizations() for s in group]
