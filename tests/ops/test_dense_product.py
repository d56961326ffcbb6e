"""Large products of matrices, which go to another library where MKL is slower, against double precision."""

from pathlib import Path

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops

CPU = Path("/proc/cpuinfo")
AMD = CPU.exists() and "AuthenticAMD" in CPU.read_text() and torch.backends.cpu.get_cpu_capability() == "AVX512"
SIZES = [(512, 128, 64), (511, 129, 65), (16, 1024, 256), (2048, 16, 128), (130, 400, 90), (40, 50, 60), (0, 512, 512)]
# more columns than stay in a cache, and blocks that are not full
SIZES += [(64, 2051, 33), (17, 1025, 100), (21, 40, 1300)]


def variables(*tensors, dtype=torch.float32):
    return [compatgrad.Variable(t.to(dtype), requires_grad=True) for t in tensors]


def all_orders(f, *inputs):
    """The result, its gradients, and the gradients of these."""
    y = f(*inputs)
    first = compatgrad.grad([ops.sum(y * y * y)], list(inputs), enable_double_backprop=True)
    second = compatgrad.grad([sum((ops.sum(g * g) for g in first[1:]), ops.sum(first[0]))], list(inputs[:2]))
    return [y, *first, *second]


def check(f, *tensors):
    found, exact = (all_orders(f, *variables(*tensors, dtype=dtype)) for dtype in (torch.float32, torch.float64))
    for k, (x, e) in enumerate(zip(found, exact, strict=True)):
        e = e.tensor.numpy()
        limit = 2e-5 * np.abs(e).max() if e.size else 0
        np.testing.assert_allclose(x.tensor.numpy(), e, rtol=1e-4, atol=limit, err_msg=str(k))


def laid_out(rows, columns, layout):
    t = torch.randn(rows, columns)
    return {"rows": t, "columns": t.t().contiguous().t(), "sliced": torch.randn(rows, columns + 7)[:, 3:-4]}[layout]


@pytest.mark.parametrize("layout", ["rows", "columns", "sliced"])
@pytest.mark.parametrize("m, k, n", SIZES)
def test_products(m, k, n, layout):
    torch.manual_seed(0)
    a, b, bias = laid_out(m, k, layout), laid_out(k, n, layout) / k**0.5, torch.randn(n)
    check(ops.matmul, a, b)
    check(lambda a, b: ops.matmul(a, b, transa=True, transb=True), a.t(), b.t())
    check(lambda x, w, b: ops.linear(x, w, b), a, b.t(), bias)
    check(lambda x, w: ops.linear(x, w), a, b.t())
    check(lambda x, w, b: ops.affine(x, w, b), a, b, bias)


def test_numbers_that_are_not_finite():
    x, w = torch.randn(100, 200), torch.randn(120, 200)
    x[3, 5], x[7], w[11, 2] = float("nan"), 0, float("inf")
    found, exact = ops.linear(x, w).tensor, x.double() @ w.double().t()
    torch.testing.assert_close(found.double(), exact, rtol=1e-4, atol=1e-4, equal_nan=True)
    assert found[7, 11].isnan() and found[3].isnan().all() and not found[7, :11].isnan().any()


def by_rows(x, w, bias=None):
    """A layer in nnabla's layout, whose weight has the other order in memory."""
    w = w.t().contiguous()
    return ops.affine(x, w) if bias is None else ops.affine(x, w, bias)


@pytest.mark.parametrize("layer", [ops.linear, by_rows])
@pytest.mark.parametrize("m, n", [(300, 100), (100, 300), (301, 310)])
def test_threads_change_no_bit(m, n, layer):
    x, w, bias = torch.randn(m, 1200), torch.randn(n, 1200), torch.randn(n)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(layer(x, w, bias).tensor)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(results[0], r) for r in results)


@pytest.mark.skipif(not AMD, reason="MKL is fast on this processor")
@pytest.mark.parametrize("dtype, calls", [(torch.float32, 4), (torch.float64, 0)])
def test_library(dtype, calls):
    """The forward products and the gradients of the rows go to oneDNN, those of the matrix to MKL."""
    x, w, b = variables(torch.randn(300, 200), torch.randn(100, 200), torch.randn(100), dtype=dtype)
    gy = torch.randn(300, 200, dtype=dtype)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        y = ops.linear(x, w, b)
        compatgrad.grad([ops.matmul(y, w)], [x, w, b], [compatgrad.Variable(gy)])
    found = {event.key: event.count for event in profile.key_averages()}
    assert found.get("mkldnn::_linear_pointwise", 0) == calls


def test_wrong_shapes():
    x, w = torch.randn(300, 200), torch.randn(100, 201)
    with pytest.raises(ValueError, match="shapes cannot be multiplied"):
        ops.linear(compatgrad.Variable(x), compatgrad.Variable(w))
    with pytest.raises(ValueError, match="shapes cannot be multiplied"):
        ops.matmul(compatgrad.Variable(x), compatgrad.Variable(w))


@pytest.mark.parametrize("strides", [(1, 1), (7, 3), (300, 2), (2, 300), (299, 1), (0, 1), (1, 0)])
def test_overlapping_rows(strides):
    # sliding windows and the like, which oneDNN cannot describe
    w, x = torch.as_strided(torch.randn(400_000), (257, 300), strides), torch.randn(256, 300)
    for y in (ops.linear(x, w), ops.matmul(x, w.t()), ops.affine(x, w.t())):
        torch.testing.assert_close(y.tensor, (x.double() @ w.double().t()).float(), rtol=1e-4, atol=1e-3)


@pytest.mark.skipif(
    AMD or torch.backends.cpu.get_cpu_capability() != "AVX512", reason="another library computes the products"
)
@pytest.mark.parametrize("layer", [ops.linear, by_rows])
@pytest.mark.parametrize("n, depth, biased", [(200, 300, True), (96, 600, False), (130, 2100, True)])
def test_rows_do_not_depend_on_how_many_there_are(n, depth, biased, layer):
    """Blocks at the ends of the result, which are not full, add the numbers in the order of the others."""
    x, w, bias = torch.randn(75, depth), torch.randn(n, depth), torch.randn(n)
    if layer is by_rows and not biased:
        pytest.skip("another library computes it")
    whole = layer(x, w, *[bias] * biased).tensor
    torch.testing.assert_close(whole, ops.linear(x, w, *[bias] * biased).tensor, rtol=0, atol=1e-4)
    for rows in (57, 63, 71, 74):
        assert torch.equal(layer(x[:rows], w, *[bias] * biased).tensor, whole[:rows])


@pytest.mark.skipif(AMD, reason="another library computes the products")
def test_numbers_beside_a_layer_are_not_read():
    """Rows and columns that fill no block, at the edge of memory that holds NaNs."""
    x, w, bias = torch.randn(75, 70), torch.full((71, 301), float("nan")), torch.randn(300)
    w[:-1, :-1] = torch.randn(70, 300) / 8
    y = ops.affine(x, w[:-1, :-1], bias).tensor
    torch.testing.assert_close(y.double(), x.double() @ w[:-1, :-1].double() + bias, rtol=1e-4, atol=1e-4)
