"""Windows: sums, their transpose, and the same with one place of each window, against float64."""

import itertools

import numpy as np
import pytest
import torch

from tests.kernels.places import Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EPS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-6, torch.float64: 1e-14}
# planes, image, windows along each axis, window, stride, padding
CASES = [
    (3, (1, 6, 10), (1, 3, 5), (1, 2, 2), (1, 2, 2), (0, 0, 0)),
    (2, (2, 6, 9), (1, 2, 3), (2, 3, 3), (2, 3, 3), (0, 0, 0)),
    (1, (1, 3, 8), (1, 3, 2), (1, 1, 4), (1, 1, 4), (0, 0, 0)),
    (2, (1, 2, 700), (1, 1, 350), (1, 2, 3), (1, 2, 2), (0, 1, 1)),
    (1, (1, 1, 600), (1, 1, 599), (1, 1, 5), (1, 1, 1), (0, 0, 2)),
    (2, (3, 5, 4), (3, 4, 3), (2, 3, 2), (1, 2, 3), (1, 2, 1)),
    (1, (1, 7, 1300), (1, 1, 9), (1, 3, 5), (1, 4, 150), (0, 2, 0)),  # gaps, and windows beyond the image
    (2, (1, 3, 900), (1, 1, 3), (1, 2, 300), (1, 2, 299), (0, 0, 0)),  # windows longer than a line of a call
    (1, (1, 3, 3), (1, 4, 4), (1, 2, 2), (1, 2, 2), (0, 1, 1)),
    (0, (1, 3, 3), (1, 2, 2), (1, 2, 2), (1, 2, 2), (0, 0, 0)),
    (2, (1, 0, 3), (1, 0, 2), (1, 1, 2), (1, 1, 1), (0, 0, 0)),
]


def integers(case, whole):
    planes, *sizes = case
    return [planes, *itertools.chain(*sizes), int(whole)]


def incidence(case):
    """(windows, places of a window): the pixel there, -1 beyond the image."""
    _, image, windows, ksize, stride, pad = case
    at = np.zeros((*windows, *ksize), int)
    for m in np.ndindex(*at.shape):
        p = [m[k] * stride[k] - pad[k] + m[3 + k] for k in range(3)]
        inside = all(0 <= p[k] < image[k] for k in range(3))
        at[m] = (p[0] * image[1] + p[1]) * image[2] + p[2] if inside else -1
    return at.reshape(int(np.prod(windows)), int(np.prod(ksize)))


def check(found, expected, dtype):
    np.testing.assert_allclose(found.double().cpu(), expected, atol=EPS[dtype] * 20, rtol=EPS[dtype])
    assert unharmed(found)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_sums_and_their_transpose(place: Place, dtype, case):
    pixels = incidence(case)
    matrix = np.zeros((len(pixels), int(np.prod(case[1])) + 1))
    np.add.at(matrix, (np.arange(len(pixels))[:, None], pixels), 1)
    matrix = matrix[:, :-1]
    x, gy = (torch.randn(case[0], n).to(dtype) for n in matrix.T.shape)
    for whole, offset in itertools.product((0, 1), (0, 1)):
        y, gx = place.poisoned(gy.shape, dtype, offset), place.poisoned(x.shape, dtype, offset)
        place("window_sums", [y, place.tensor(x, offset)], (3.0,), integers(case, whole))
        check(y, x.double().numpy() @ matrix.T / 3, dtype)
        place("window_spread", [gx, place.tensor(gy, offset)], (3.0,), integers(case, whole))
        check(gx, gy.double().numpy() @ matrix / 3, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", CASES)
def test_places(place: Place, dtype, case):
    pixels = incidence(case)
    x = torch.randn(case[0], int(np.prod(case[1]))).to(dtype)
    gy = torch.randn(case[0], len(pixels)).to(dtype)
    places = torch.randint(0, pixels.shape[1], gy.shape, dtype=torch.int32)
    at = np.take_along_axis(np.broadcast_to(pixels, (case[0], *pixels.shape)), places.numpy()[..., None], 2)[..., 0]
    padded = np.pad(x.double().numpy(), ((0, 0), (0, 1)))
    y = place.poisoned(gy.shape, dtype, 1)
    place("window_picks", [y, place.tensor(x), place.tensor(places)], (), integers(case, 0))
    assert np.array_equal(y.double().cpu(), np.take_along_axis(padded, at, 1)) and unharmed(y)
    expected = np.zeros(padded.shape)
    np.add.at(expected, (np.arange(case[0])[:, None], at), gy.double().numpy())
    for whole in (0, 1):
        gx = place.poisoned(x.shape, dtype, 1)
        place("window_scatter", [gx, place.tensor(gy), place.tensor(places)], (), integers(case, whole))
        check(gx, expected[:, :-1], dtype)


def test_what_the_kernels_do_not_take(place: Place):
    case = CASES[0]
    x, y = place.tensor(torch.randn(3, 60)), place.poisoned((3, 15), torch.float32)
    places = place.tensor(torch.zeros(3, 15, dtype=torch.int32))
    good = integers(case, 1)
    zero_stride = [*good[:12], 0, *good[13:]]
    for kernel, operands, numbers in (("window_sums", [y, x], (1.0,)), ("window_spread", [x, y], (1.0,)),
                                      ("window_picks", [y, x, places], ()),
                                      ("window_scatter", [x, y, places], ())):  # fmt: skip
        swapped = [*operands[1::-1], *operands[2:]]
        for given, sizes in ((swapped, good), (operands, good[:-1]), (operands, zero_stride), (operands[:1], good)):
            with pytest.raises(ValueError, match=f"{kernel}: the kernel does not take"):
                place(kernel, given, numbers, sizes)
    with pytest.raises(ValueError, match="window_sums: the kernel does not take"):
        place("window_sums", [y, x], (), good)
