"""Products of up to 16 rows with a large matrix go a way of their own: against double precision."""

import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import _C

ROWS = (1, 2, 3, 4, 5, 6, 7, 15, 16, 17)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("many, length", [(512, 520), (3, 90001), (1025, 257), (90001, 3)])
@pytest.mark.parametrize("bias", [False, True])
def test_linear(rows, many, length, bias):
    torch.manual_seed(0)
    x, w, b = torch.randn(rows, length), torch.randn(many, length), torch.randn(many)
    inputs = [compatgrad.Variable(t, requires_grad=True) for t in ((x, w, b) if bias else (x, w))]
    y = _C.op("linear")(*inputs)
    exact = [t.double().requires_grad_() for t in ((x, w, b) if bias else (x, w))]
    expected = torch.nn.functional.linear(*exact)
    gy = torch.randn(rows, many)
    expected.backward(gy.double())
    grads = compatgrad.grad([y], inputs, grad_outputs=[compatgrad.Variable(gy)])
    for found, e in zip([y, *grads], [expected.detach(), *(t.grad for t in exact)], strict=True):
        np.testing.assert_allclose(found.tensor.numpy(), e.numpy(), rtol=1e-4, atol=1e-5 * float(e.abs().max()))


@pytest.mark.parametrize("rows", (2, 4, 9))
def test_numbers_that_are_not_finite_stay_in_their_row_and_column(rows):
    x, w = torch.ones(rows, 513), torch.ones(600, 513)
    x[1, 512], w[599, 512], w[7, 0] = float("nan"), float("inf"), -float("inf")
    y = _C.op("linear")(compatgrad.Variable(x), compatgrad.Variable(w)).tensor
    np.testing.assert_array_equal(y.numpy(), torch.nn.functional.linear(x.double(), w.double()).numpy())


@pytest.mark.parametrize("rows", (3, 16))
def test_matrices_in_other_orders_and_dtypes(rows):
    x, w = torch.randn(rows, 1100), torch.randn(520, 2200)[:, ::2]
    for a, b in ((x, w), (x, w.contiguous()), (x.t().contiguous().t(), w.contiguous()), (x.double(), w.double())):
        for transposed in (b, b.t().contiguous().t()):
            y = _C.op("linear")(compatgrad.Variable(a), compatgrad.Variable(transposed)).tensor
            assert y.dtype == a.dtype
            expected = a.double() @ b.double().t()
            np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("rows", (2, 5, 12))
def test_threads_give_the_same_numbers(rows):
    x, w = compatgrad.Variable(torch.randn(rows, 1000)), compatgrad.Variable(torch.randn(1001, 1000))
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            results.append(_C.op("linear")(x, w).tensor.numpy())
    finally:
        torch.set_num_threads(before)
    np.testing.assert_allclose(*results, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("rows", (7, 12, 13, 16))
@pytest.mark.parametrize("many, length", [(256, 64), (200, 64), (33, 31), (15, 70), (16, 257), (1024, 1), (1025, 15)])
def test_small_matrices(rows, many, length):
    torch.manual_seed(0)
    x, w, b = torch.randn(rows, length), torch.randn(many, length), torch.randn(many)
    y = _C.op("linear")(compatgrad.Variable(x), compatgrad.Variable(w), compatgrad.Variable(b)).tensor
    expected = torch.nn.functional.linear(x.double(), w.double(), b.double())
    np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5 * max(1, length) ** 0.5)


@pytest.mark.parametrize("rows, length, columns", [(16, 64, 200), (1, 7, 49), (9, 256, 17), (30, 40, 50), (3, 1, 1)])
@pytest.mark.parametrize("layout", ["rows", "part of rows", "columns", "expanded"])
def test_small_matrices_in_rows(rows, length, columns, layout):
    torch.manual_seed(0)
    x, w, b = torch.randn(rows, length), torch.randn(length, columns), torch.randn(columns)
    if layout == "part of rows":
        x, w = torch.randn(rows, length + 3)[:, 2:-1], torch.randn(length, columns + 5)[:, 1:-4]
    if layout == "columns":
        x = x.t().contiguous().t()
    if layout == "expanded":
        x, w = x[:1].expand(rows, length), w[:1].expand(length, columns)
    x = x.clone(memory_format=torch.preserve_format)
    x[0, 0] = float("inf")
    for bias in (None, b):
        expected = x.double() @ w.double() + (0 if bias is None else bias.double())
        given = [compatgrad.Variable(t) for t in ((x, w) if bias is None else (x, w, bias))]
        for name in ("affine", "linear"):
            if name == "linear":
                given[1] = compatgrad.Variable(w.t())
            y = _C.op(name)(*given).tensor
            assert y.is_contiguous()
            np.testing.assert_allclose(y.numpy(), expected.numpy(), rtol=1e-5, atol=1e-5 * length**0.5)
    if layout != "expanded" and torch.backends.cpu.get_cpu_capability() == "AVX512":
        x, w = compatgrad.Variable(x), compatgrad.Variable(w)
        alone, among = _C.op("matmul")(x[-1:], w).tensor, _C.op("matmul")(x, w).tensor[-1:]
        np.testing.assert_array_equal(alone.numpy(), among.numpy())


WITHOUT_MEMORY = """
import resource, torch
from compatgrad import Variable, ops
x, w = torch.ones(8, 1 << 19), torch.ones(32, 1 << 19)
few = torch.ones(8, 64), torch.ones(32, 64)
ops.linear(*[Variable(t, False) for t in few])  # starts what the first call starts
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), -1))
try:
    ops.linear(Variable(x, False), Variable(w, False))
except Exception as error:
    print(error)
"""


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="the loop needs AVX-512")
def test_an_error_names_the_bytes_that_a_loop_lacks():
    done = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True)
    assert "can't allocate memory: you tried to allocate" in done.stdout, done.stdout + done.stderr
