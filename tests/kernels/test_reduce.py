"""Norms and the search for numbers that are not finite."""

import pytest
import torch

from compatgrad import _C
from tests.kernels.places import Place

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SIZES = [0, 1, 31, 5000, 16384, 16390]


def reduced(place: Place, kernel: str, xs):
    return _C.run_kernel(kernel, [xs], library=place.library, sums=True).cpu()


@pytest.mark.parametrize("dtype", DTYPES)
def test_sum_of_squares(place: Place, dtype):
    for offset in (0, 1):
        xs = [place.tensor(torch.randn(n).to(dtype), offset) for n in SIZES]
        exact = torch.stack([x.double().square().sum() for x in xs]).cpu()
        precision = 1e-13 if dtype == torch.float64 else 3e-6
        torch.testing.assert_close(reduced(place, "sum_of_squares", xs), exact, rtol=precision, atol=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_count_not_finite(place: Place, dtype):
    xs = [place.tensor(torch.randn(n).to(dtype), 1) for n in SIZES]
    assert reduced(place, "count_not_finite", xs).tolist() == [0] * 6
    xs[1][0] = float("nan")
    xs[2][30] = float("inf")
    xs[3][[0, 7, 4999]] = float("-inf")
    xs[5][-1] = float("nan")
    assert reduced(place, "count_not_finite", xs).tolist() == [0, 1, 1, 3, 0, 1]


def test_the_number_of_threads_changes_nothing():
    x = torch.randn(500_001)
    before = torch.get_num_threads()
    sums = []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            sums.append(_C.run_kernel("sum_of_squares", [x], sums=True))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(sums[0], sums[1]) and torch.equal(sums[0], sums[2])


def test_an_empty_list_has_no_device():
    with pytest.raises(ValueError, match="operands: the first"):
        _C.run_kernel("sum_of_squares", [[]], sums=True)
