"""Values and gradients of any order on random graphs, against torch's autograd."""

import pytest
import torch

import compatgrad as cg
from tests.core.dags import leaf_tensors, random_graph


def _torch_gradients(seed, order):
    leaves = [t.clone().requires_grad_() for t in leaf_tensors(seed)]
    outputs = random_graph(seed, leaves, native=False)
    total = sum((y * (k + 1)).sum() for k, y in enumerate(outputs))
    results = [outputs]
    for _ in range(order):
        gs = torch.autograd.grad(total, leaves, create_graph=True, allow_unused=True)
        results.append(gs)
        total = sum((g * g).sum() for g in gs if g is not None and g.requires_grad)
        if not isinstance(total, torch.Tensor):
            break
    return results


def _native_gradients(seed, order):
    leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
    outputs = random_graph(seed, leaves)
    gys = [torch.full_like(y.tensor, k + 1.0) for k, y in enumerate(outputs)]
    results = [outputs]
    for _ in range(order):
        gs = cg.grad(outputs, leaves, gys, enable_double_backprop=True)
        results.append(gs)
        outputs = [(g * g).sum() for g in gs if g is not None and g.creator is not None]
        gys = None
        if not outputs:
            break
    return results


@pytest.mark.parametrize("seed", range(120))
def test_three_orders(seed):
    expected, actual = _torch_gradients(seed, 3), _native_gradients(seed, 3)
    for order, (es, actuals) in enumerate(zip(expected, actual, strict=False)):
        for e, a in zip(es, actuals, strict=True):
            if a is None:
                assert e is None or not e.any(), f"order {order}"
                continue
            e = torch.zeros_like(a.tensor) if e is None else e.detach()
            torch.testing.assert_close(a.tensor, e, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("double", [False, True])
def test_backward_accumulates_into_leaves(seed, double):
    leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
    outputs = random_graph(seed, leaves)
    for _ in range(2):
        cg.backward(outputs, [torch.ones_like(y.tensor) for y in outputs], enable_double_backprop=double)
    tensors = [t.clone().requires_grad_() for t in leaf_tensors(seed)]
    expected = random_graph(seed, tensors, native=False)
    sum(2 * y.sum() for y in expected).backward()
    for v, t in zip(leaves, tensors, strict=True):
        if t.grad is None:
            assert v.grad is None
        else:
            torch.testing.assert_close(v.grad, t.grad, rtol=1e-9, atol=1e-9)
            assert v.grad.shape == v.shape


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtypes(dtype):
    x = cg.Variable(torch.tensor([1.0, 2.0], dtype=dtype))
    y = (x * x * 3 + x).sum()
    y.backward()
    assert x.grad.dtype == dtype
    assert x.grad.tolist() == [7, 13]


def test_lazy_grad_sum_gives_the_same():
    for seed in range(10):
        results = []
        for lazy in (False, True):
            with cg.core.using_mode("lazy_grad_sum", lazy):
                leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
                outputs = random_graph(seed, leaves)
                cg.backward(outputs, [torch.ones_like(y.tensor) for y in outputs])
                results.append([v.grad for v in leaves])
        for a, b in zip(*results, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-12)
