"""Complex numbers: every op has torch's gradient for them, or refuses them; never another number.

torch's gradient of a real L by z = x + iy is dL/dx + i dL/dy.
"""

import numpy as np
import pytest
import torch

from compatgrad import Variable
from tests.ops.all_samples import SAMPLES, writes_inputs
from tests.ops.harness import Floats, gradients

STEP = 1e-6
COMPLEX = [
    s for s in SAMPLES if s.targets and not writes_inputs(s) and all(np.prod(s.inputs[i].shape) for i in s.targets)
]


def draw(sample):
    rng = np.random.default_rng(5)
    return [
        torch.tensor(x.draw(rng) + 1j * rng.permutation(x.draw(rng).ravel()).reshape(x.shape))
        if isinstance(x, Floats)
        else x
        for x in sample.inputs
    ]


@pytest.mark.parametrize("sample", COMPLEX, ids=str)
def test_gradients_by_complex_inputs_are_those_of_torch_or_refused(sample):
    arrays = draw(sample)
    try:
        xs = sample.variables(arrays)
        torch.manual_seed(0)
        ys = sample.run(xs)
        rng = np.random.default_rng(6)
        gys = [torch.tensor(rng.standard_normal(y.shape) + 1j * rng.standard_normal(y.shape)) for y in ys]
        gys = [g if y.tensor.is_complex() else g.real.to(y.tensor.dtype) for g, y in zip(gys, ys, strict=True)]
        targets = [xs[i] for i in sample.targets]
        gxs = gradients(ys, targets, [Variable(g, False) for g in gys])
    except (RuntimeError, TypeError, ValueError, NotImplementedError):
        return

    def loss(arrays):
        torch.manual_seed(0)
        ys = [y.tensor for y in sample.run(sample.variables(arrays))]
        return sum(float((g.conj() * y).real.sum()) for g, y in zip(gys, ys, strict=True))

    for i, gx in zip(sample.targets, gxs, strict=True):
        for unit in (1, 1j):
            direction = torch.tensor(np.random.default_rng(7).standard_normal(tuple(arrays[i].shape))) * unit

            def moved(step, i=i, direction=direction):
                return loss([a + step * direction if k == i else a for k, a in enumerate(arrays)])

            slope = 0.0 if gx is None else float((gx.tensor.conj() * direction).real.sum())
            assert slope == pytest.approx((moved(STEP) - moved(-STEP)) / (2 * STEP), rel=1e-4, abs=1e-5)
