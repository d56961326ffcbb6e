"""Batch normalization of planes of any size, among them the few pixels whose loops treat each pixel as a channel."""

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F

PLANES = [(1, 1), (1, 2), (2, 2), (3, 3), (3, 5), (4, 4), (7, 7), (8, 8), (9, 7)]


@pytest.mark.parametrize("batch", [3, 4, 7])
@pytest.mark.parametrize("plane", PLANES)
@pytest.mark.parametrize("dtype, digits", [(np.float32, 2e-5), (np.float64, 1e-11)])
def test_values_and_gradients(plane, batch, dtype, digits):
    random = np.random.RandomState(0)
    channels = 37
    x = (random.randn(batch, channels, *plane) * 3 + random.randn(1, channels, 1, 1) * 50).astype(dtype)
    gamma, beta = random.rand(channels).astype(dtype) + 0.5, random.randn(channels).astype(dtype)
    gy = random.randn(*x.shape).astype(dtype)
    mean, var = np.zeros(channels, dtype), np.ones(channels, dtype)
    inputs = [chainer.Variable(a) for a in (x, gamma, beta)]
    y = F.batch_normalization(*inputs, running_mean=mean, running_var=var, decay=0.9)
    found = [y, *chainer.grad([y], inputs, [chainer.Variable(gy)])]

    t = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in (x, gamma, beta)]
    rm, rv = torch.zeros(channels, dtype=torch.float64), torch.ones(channels, dtype=torch.float64)
    ty = torch.nn.functional.batch_norm(t[0], rm, rv, t[1], t[2], True, 0.1, 2e-5)
    exact = [ty, *torch.autograd.grad(ty, t, torch.tensor(gy, dtype=torch.float64))]
    for f, e in zip(found, exact, strict=True):
        e = e.detach().numpy()
        np.testing.assert_allclose(f.array, e, rtol=digits, atol=digits * np.abs(e).max())
    np.testing.assert_allclose(mean, rm, rtol=digits, atol=digits)
    np.testing.assert_allclose(var, rv, rtol=digits * 5)
