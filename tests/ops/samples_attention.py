"""Samples of attention."""

import torch

from tests.ops.harness import Floats, by_torch, sample

A = Floats


def attention(q, k, v, mask=None, scale=1.0, causal=False):
    scores = scale * (q @ k.transpose(-1, -2))
    if mask is not None:
        scores = scores + mask
    if causal:
        scores = scores + torch.full_like(scores, -torch.inf).triu(1)
    return scores.softmax(-1) @ v


def attention_grad(gy, q, k, v, mask=None, **params):
    inputs = [t.detach().requires_grad_() for t in (q, k, v)]
    return torch.autograd.grad(attention(*inputs, mask, **params), inputs, gy)


def samples():
    """Heads, masks of each way of broadcasting, and matrices without heads."""
    for heads, n, m, mask, params in [
        ((2, 3), 5, 4, None, dict(scale=0.7)),
        ((2,), 4, 4, (4, 4), dict(scale=0.5, causal=True)),
        ((), 3, 5, (1, 5), {}),
        ((2, 2), 3, 4, (2, 1, 3, 1), {}),
        ((1, 2), 4, 3, (3,), dict(causal=True)),
    ]:
        q, k, v = A(*heads, n, 3), A(*heads, m, 3), A(*heads, m, 2)
        masks = [A(*mask)] if mask else []
        more = dict(tolerance=4, **params)
        yield sample("attention", by_torch(attention), q, k, v, *masks, **more)
        yield sample("attention_grad", by_torch(attention_grad), A(*heads, n, 2), q, k, v, *masks, **more)


SAMPLES = [s for group in samples() for s in group]
