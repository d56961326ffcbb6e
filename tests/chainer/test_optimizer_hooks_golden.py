"""Optimizers with randomly chosen hooks, compared with the original.

`COMPATGRAD_SUBJECT=original PYTHON -m tests.chainer.test_optimizer_hooks_golden` records the original's results; PYTHON
is an interpreter that has Chainer 7.8.1.
"""

import random

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, chainer
from tests.golden import files

O, H = chainer.optimizers, chainer.optimizer_hooks  # noqa: E741
GOLDEN = files.GOLDEN / "optimizer_hooks.npz"
CASES = 72
SHAPES = ((3, 4), (5,), (), (0, 3), (2, 1, 3), (9, 7))
STEPS = 3
OPTIMIZERS = (
    (O.SGD, {"lr": 0.1}),
    (O.MomentumSGD, {"lr": 0.1}),
    (O.NesterovAG, {"lr": 0.1}),
    (O.AdaGrad, {"lr": 0.1, "eps": 1e-3}),
    (O.AdaDelta, {"eps": 1e-3}),
    (O.RMSprop, {"lr": 0.02, "eps": 1e-3}),
    (O.RMSpropGraves, {"lr": 0.01, "eps": 1e-2}),
    (O.SMORMS3, {"lr": 0.05, "eps": 1e-3}),
    (O.Adam, {"alpha": 0.01, "eps": 1e-2}),
    (O.Adam, {"alpha": 0.01, "eps": 1e-2, "amsgrad": True, "weight_decay_rate": 0.1}),
    (O.AdaBound, {"alpha": 0.01, "eps": 1e-2}),
    (O.MSVAG, {"lr": 0.1}),
)
# These compute differences, which magnify rounding errors in float16: the original rounds after each operation.
CANCELLING = O.AdaDelta, O.RMSpropGraves, O.SMORMS3, O.MSVAG
# numbers that float16 represents exactly
HOOKS = (
    lambda r: H.WeightDecay(r.choice((0.125, 0.03125, -0.25))),
    lambda r: H.Lasso(r.choice((0.125, 0.0625))),
    lambda r: H.GradientClipping(r.choice((0.5, 2.0, 1e4))),
    lambda r: H.GradientHardClipping(-r.choice((0.5, 1.0)), r.choice((0.25, 2.0))),
)


def no_noise(xp, shape, dtype, hook, opt):
    return xp.full(shape, 0.25, dtype)


def run(case):
    """The names of the chosen optimizer and hooks, and the arrays and gradients after some steps."""
    r, values = random.Random(case), np.random.RandomState(case)
    optimizer_class, arguments = OPTIMIZERS[case % len(OPTIMIZERS)]
    dtype = r.choice(("float32", "float32", "float64", "float16"))
    if dtype == "float16" and optimizer_class in CANCELLING:
        dtype = "float32"
    link = chainer.Link()
    with link.init_scope():
        for k, shape in enumerate(SHAPES):
            setattr(link, f"p{k}", chainer.Parameter(np.asarray(values.randn(*shape)).astype(dtype)))
    if r.random() < 0.3:
        link.p0.array = np.asarray(np.asfortranarray(link.p0.array))
    optimizer = optimizer_class(**arguments).setup(link)
    drawn = r.sample(HOOKS, r.randint(1, len(HOOKS)))
    for make in drawn:
        optimizer.add_hook(make(r))
    if r.random() < 0.2:  # a hook that excludes the batched update
        optimizer.add_hook(H.GradientNoise(0.1, noise_func=no_noise))
    if r.random() < 0.2:
        optimizer.add_hook(H.WeightDecay(0.25), name="after", timing="post")
    if r.random() < 0.2:
        link.p1.update_rule.add_hook(H.WeightDecay(0.5))
    if r.random() < 0.2:
        link.p4.update_rule.enabled = False
    scale = r.choice((None, None, 8, 2.0))
    for _ in range(STEPS):
        for p in link.params():
            p.grad = np.asarray(values.randn(*p.shape)).astype(dtype)
            p._loss_scale = scale
            layout = r.randint(0, 9)
            if layout == 0:
                p.cleargrad()
            elif layout == 1 and p.ndim:
                p.grad = np.repeat(p.grad, 2, axis=-1)[..., ::2]
            elif layout == 2 and p.ndim:
                p.grad = np.asarray(np.asfortranarray(p.grad))
        optimizer.update()
    arrays = [a for p in link.params() for a in (p.array, p.grad)]
    return dtype, arrays


@pytest.mark.parametrize("case", range(CASES))
def test_the_same_as_the_original(case):
    dtype, arrays = run(case)
    tolerance = {"float16": 2e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    with np.load(GOLDEN) as golden:
        expected = [golden[f"{case}_{k}"] for k in range(len(arrays))]
    for found, exact in zip(arrays, expected, strict=True):
        assert found.dtype == exact.dtype and found.shape == exact.shape
        np.testing.assert_allclose(found, exact, rtol=tolerance, atol=tolerance)


if __name__ == "__main__":
    assert ORIGINAL
    found = {f"{case}_{k}": a for case in range(CASES) for k, a in enumerate(run(case)[1])}
    files.write(GOLDEN, found, files.versions("chainer"))
