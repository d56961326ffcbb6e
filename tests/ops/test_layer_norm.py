"""Layer normalization by its kernel, against torch in double precision."""

import pytest
import torch
import torch.nn.functional as F

from compatgrad import ops

SIZES = [(1, 1), (3, 1), (5, 15), (7, 16), (9, 63), (4, 64), (6, 129), (512, 128), (100, 768), (2, 5000)]


def tensors(rows, columns, dtype=torch.float32):
    torch.manual_seed(0)
    return torch.randn(rows, columns, dtype=dtype), torch.randn(columns, dtype=dtype), torch.randn(columns, dtype=dtype)


def exact(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x.double(), gamma.shape, gamma.double(), beta.double(), eps)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 3e-6), (torch.float64, 1e-13)])
@pytest.mark.parametrize("rows, columns", SIZES)
def test_values(rows, columns, dtype, tolerance):
    x, gamma, beta = tensors(rows, columns, dtype)
    y = ops.layer_normalization(x, gamma, beta, eps=1e-3).tensor
    assert y.dtype == dtype
    torch.testing.assert_close(y.double(), exact(x, gamma, beta, 1e-3), rtol=tolerance, atol=5 * tolerance)


@pytest.mark.parametrize("layout", ["turned", "sliced", "one row"])
def test_layouts(layout):
    x, gamma, beta = tensors(48, 48)
    x = {"turned": x.t(), "sliced": x[:, ::2], "one row": x[:1].expand(5, 48)}[layout]
    gamma, beta = gamma[: x.shape[1]], beta[: x.shape[1]]
    y = ops.layer_normalization(x, gamma, beta).tensor
    torch.testing.assert_close(y.double(), exact(x, gamma, beta), rtol=1e-5, atol=1e-5)
    y = ops.layer_normalization(x, gamma.flip(0).flip(0), torch.stack([beta, beta], 1)[:, 0]).tensor
    torch.testing.assert_close(y.double(), exact(x, gamma, beta), rtol=1e-5, atol=1e-5)


def test_a_mean_that_is_large():
    x, gamma, beta = tensors(50, 300)
    x += 1000
    y = ops.layer_normalization(x, gamma, beta).tensor
    torch.testing.assert_close(y.double(), exact(x, gamma, beta), rtol=1e-4, atol=1e-4)


def test_numbers_that_are_not_finite_or_whose_sum_is_not():
    x, gamma, beta = tensors(6, 200)
    x[0, 3], x[1, 7], x[2, 9] = float("nan"), float("inf"), -float("inf")
    x[3] = 3e38
    y = ops.layer_normalization(x, gamma, beta).tensor
    assert y[:3].isnan().all()
    torch.testing.assert_close(y[3], beta)
    torch.testing.assert_close(y[4:].double(), exact(x, gamma, beta)[4:], rtol=1e-5, atol=1e-5)


def test_empty_arrays():
    for shape in ((0, 5), (3, 0)):
        x = torch.zeros(shape)
        assert ops.layer_normalization(x, torch.ones(shape[1]), torch.ones(shape[1])).tensor.shape == shape


def test_shapes_are_checked():
    x, gamma, beta = tensors(4, 8)
    for bad in ((x, gamma[:7], beta), (x, gamma, beta[:7]), (x[0], gamma, beta)):
        with pytest.raises((ValueError, RuntimeError)):
            ops.layer_normalization(*bad)


def test_threads_change_no_bit():
    given = tensors(1000, 300)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(ops.layer_normalization(*given).tensor)
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(results[0], r) for r in results)
