"""Regions of images: weights, sums, maxima and their gradients against float64."""

import numpy as np
import pytest
import torch

import compatgrad
from tests.kernels.places import Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EPS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5, torch.float64: 1e-12}
SIZES = [((2, 3, 7, 9), (2, 3), (1, 1), 6), ((1, 8, 5, 70), (4, 2), (2, 2), 4), ((3, 2, 1, 1), (1, 1), (1, 1), 3),
         ((2, 6, 4, 130), (2, 3), (2, 3), 5), ((1, 2, 3, 3), (2, 2), (1, 1), 0)]  # fmt: skip
SAMPLING = [(-1, -1), (2, 3)]


def integers(x, bins, group, regions, whole):
    return [regions, *x, *bins, *group, int(whole)]


def draw_boxes(images, size, regions):
    """Also beside the images, tiny, turned round, and of images that do not exist."""
    corners = torch.rand(regions, 4, dtype=torch.float64) * 1.6 * max(size) - 0.3 * max(size)
    return torch.cat([torch.randint(-1, images + 1, (regions, 1)).double(), corners], 1)


def axis_readings(low, high, scale, bins, length, ratio):
    """For each bin its samples: the pixel below and the weight of the next one, or None."""
    start = low * scale - 0.5
    step = (high * scale - 0.5 - start) / bins
    count = ratio if ratio > 0 else max(int(np.ceil(step)), 0)
    found = []
    for i in range(bins):
        places = [start + i * step + (j + 0.5) * (step / count) for j in range(count)]
        clamped = [min(max(p, 0.0), length - 1.0) if -1 <= p <= length else None for p in places]
        found.append([None if p is None else (int(p), p - int(p)) for p in clamped])
    return found


def dense(bin_readings, length):
    """Samples as rows of weights; those beside the image as NaN."""
    w = np.zeros((len(bin_readings), length))
    for row, r in zip(w, bin_readings, strict=True):
        if r is None:
            row[:] = np.nan
            continue
        row[r[0]] += 1 - r[1]
        row[min(r[0] + 1, length - 1)] += r[1]
    return w


def box_weights(boxes, column, scale, bins, length, ratio):
    """(regions, bins) lists of weights of samples."""
    return [[dense(b, length) for b in axis_readings(r[column], r[column + 2], scale, bins, length, ratio)]
            for r in boxes.tolist()]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("ratio", [-1, 3])
def test_weights(place: Place, dtype, ratio):
    for bins, length, regions in ((3, 7, 5), (1, 1, 2), (4, 33, 9), (2, 3, 0)):
        boxes = draw_boxes(2, (length,), regions)
        expected = box_weights(boxes, 2, 0.7, bins, length, ratio)
        weights = place.poisoned((regions, bins, length), dtype)
        ranges = place.tensor(torch.full((regions, bins, 2), -9, dtype=torch.int32))
        place(
            "region_weights",
            [weights, ranges, place.tensor(boxes.to(dtype))],
            (0.7,),
            (regions, bins, length, ratio, 2),
        )
        for r, i in np.ndindex(regions, bins):
            samples = expected[r][i]
            w = np.nan_to_num(samples).sum(0) / max(len(samples), 1)
            np.testing.assert_allclose(weights[r, i].cpu(), w, atol=1e-4 if dtype == torch.float32 else 1e-12)
            low, high = ranges[r, i].tolist()
            assert not w[:low].any() and not w[high:].any() and 0 <= low <= high <= length
        assert unharmed(weights) and unharmed(ranges)


def reference(images, rows, columns, x, bins, group, f):
    """f(the samples) for each region, map and bin; None where there is no such image."""
    n = len(images), x.shape[1] // (group[0] * group[1]), *bins
    y = np.zeros(n)
    for r, m, i, j in np.ndindex(*n):
        if 0 <= images[r] < len(x):
            c = (m * group[0] + i * group[0] // n[2]) * group[1] + j * group[1] // n[3]
            y[r, m, i, j] = f(x[images[r], c], rows[r][i], columns[r][j])
    return y


def whole_ways(dtype, grad=False):
    return (0,) if grad and dtype in DTYPES[:2] else (0, 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "bins", "group", "regions"), SIZES)
def test_sums(place: Place, dtype, shape, bins, group, regions):
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    images = torch.randint(-1, shape[0] + 1, (regions,), dtype=torch.int32)
    weights, ranges = [], []
    for n, length in zip(bins, shape[2:], strict=True):
        low = torch.randint(0, length + 1, (regions, n, 1))
        high = torch.minimum(low + torch.randint(0, length + 1, low.shape), torch.tensor(length))
        pixels = torch.arange(length)
        inside = (pixels >= low) & (pixels < high)
        weights.append((torch.randn(regions, n, length) * inside).to(wide))
        ranges.append(torch.cat([low, high], 2).to(torch.int32))
    x, gy = torch.randn(shape).to(dtype), torch.randn(regions, shape[1] // (group[0] * group[1]), *bins).to(dtype)
    tables = [place.tensor(t) for t in (images, weights[0], ranges[0], weights[1], ranges[1])]
    exact = x.double().numpy()
    rows, columns = (w.double().numpy() for w in weights)
    expected = reference(images.tolist(), list(rows), list(columns), exact, bins, group,
                         lambda p, a, b: a @ p @ b)  # fmt: skip
    # the gradient is the transpose: <gy, f(e)> for each pixel e
    gx = np.zeros(shape)
    for r, m, i, j in np.ndindex(*gy.shape):
        if 0 <= images[r] < shape[0]:
            c = (m * group[0] + i * group[0] // bins[0]) * group[1] + j * group[1] // bins[1]
            gx[images[r], c] += float(gy[r, m, i, j]) * np.outer(rows[r, i], columns[r, j])
    for whole in (0, 1):
        for offset in (0, 1):
            y = place.poisoned(gy.shape, dtype, offset)
            place(
                "region_sums", [y, place.tensor(x, offset), *tables], (), integers(shape, bins, group, regions, whole)
            )
            np.testing.assert_allclose(y.double().cpu(), expected, atol=EPS[dtype] * 20, rtol=EPS[dtype])
            assert unharmed(y)
    for whole in whole_ways(dtype, True):
        g = place.poisoned(shape, dtype, 1)
        place("region_sums_grad", [place.tensor(gy), g, *tables], (), integers(shape, bins, group, regions, whole))
        np.testing.assert_allclose(g.double().cpu(), gx, atol=EPS[dtype] * 20, rtol=EPS[dtype])
        assert unharmed(g)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ratio", [None, *SAMPLING])
@pytest.mark.parametrize(("shape", "bins", "group", "regions"), SIZES)
def test_maxima(place: Place, dtype, ratio, shape, bins, group, regions):
    boxes = draw_boxes(shape[0], shape[2:], regions)
    images = boxes[:, 0].to(torch.int32)
    scales, name = (0.5, 0.6), "region" if ratio is None else "sample"
    if ratio is None:
        ranges, axes = [], []
        for n, length in zip(bins, shape[2:], strict=True):
            low = torch.randint(0, length + 1, (regions, n, 1))
            high = torch.minimum(low + torch.randint(0, 4, low.shape), torch.tensor(length))
            ranges.append(torch.cat([low, high], 2).to(torch.int32))
            eye = np.eye(length)
            axes.append([[eye[a:b] for a, b in region] for region in ranges[-1].tolist()])
        given, more, numbers = [place.tensor(t) for t in ranges], [], ()
    else:
        axes = [box_weights(boxes, 2 - k, scales[k], bins[k], shape[2 + k], ratio[k]) for k in (0, 1)]
        given, more, numbers = [place.tensor(boxes)], list(ratio), scales
    x = torch.randn(shape).to(dtype)

    def largest(p, a, b):
        v = a @ np.asarray(p, "float64") @ b.T
        return np.nanmax(v) if np.isfinite(v).any() else -9.0

    exact = x.double().numpy()
    expected = reference(images.tolist(), *axes, exact, bins, group, largest)
    there = np.array([0 <= i < shape[0] for i in images.tolist()], bool)
    expected[~there] = -9.0
    gy = torch.randn(expected.shape).to(dtype)
    tables = [place.tensor(images), *given]
    for whole in (0, 1):
        y, places = (
            place.poisoned(expected.shape, dtype),
            place.tensor(torch.full(expected.shape, -7, dtype=torch.int32)),
        )
        sizes = integers(shape, bins, group, regions, whole) + more
        place(f"{name}_maxima", [y, places, place.tensor(x), *tables], (*numbers, -9.0), sizes)
        np.testing.assert_allclose(y.double().cpu(), expected, atol=EPS[dtype], rtol=EPS[dtype])
        assert unharmed(y) and unharmed(places) and bool((places != -7).all())
        z = place.poisoned(expected.shape, dtype)
        place(f"{name}_picks", [z, places, place.tensor(x), *tables], numbers, sizes)
        assert torch.equal(z, torch.where(places >= 0, y, torch.zeros_like(y)))
    # <gy, picks(v)> = <gradient, v>
    for whole in whole_ways(dtype, True):
        sizes = integers(shape, bins, group, regions, whole) + more
        gx = place.poisoned(shape, dtype, 1)
        place(f"{name}_picks_grad", [place.tensor(gy), places, gx, *tables], numbers, sizes)
        v = torch.randint(-8, 9, shape).to(torch.float64)
        z = place.poisoned(expected.shape, torch.float64)
        place(f"{name}_picks", [z, places, place.tensor(v), *tables], numbers, sizes)
        a, b = (gy.double().cpu() * z.cpu()).sum(), (gx.double().cpu() * v).sum()
        assert abs(float(a - b)) <= EPS[dtype] * 40 * (1 + gx.double().abs().sum().item())
        assert unharmed(gx)


def test_what_the_kernels_do_not_take(place: Place):
    x, y = place.tensor(torch.randn(1, 2, 3, 3)), place.poisoned((1, 2, 1, 1), torch.float32)
    one = place.tensor(torch.ones(1, 1, 3))
    whole = place.tensor(torch.tensor([[[0, 3]]], dtype=torch.int32))
    images = place.tensor(torch.zeros(1, dtype=torch.int32))
    tables = [images, one, whole, one, whole]
    for sizes in ([1, 1, 2, 3, 3, 1, 1, 1, 1], [1, 1, 2, 3, 4, 1, 1, 1, 1, 0], [1, 1, 2, 3, 3, 0, 1, 1, 1, 0],
                  [1, 1, 2, 3, 3, 1, 1, 3, 1, 0]):  # fmt: skip
        with pytest.raises(ValueError, match="region_sums: the kernel does not take"):
            place("region_sums", [y, x, *tables], (), sizes)
    half = [y.half(), x.half(), *tables]
    with pytest.raises(ValueError, match="region_sums_grad: the kernel does not take"):
        place("region_sums_grad", half, (), [1, 1, 2, 3, 3, 1, 1, 1, 1, 1])


def test_nan_and_infinity():
    """NaN is the maximum of pixels, as NumPy's; a pixel without weight is not read."""
    op = compatgrad.ops
    x = torch.ones(1, 1, 2, 2)
    x[0, 0, 0, 1] = float("nan")
    y, places = op.roi_max(compatgrad.Variable(x), torch.tensor([[0, 0, 2, 0, 2]]), output_size=(1, 1))
    assert bool(y.tensor.isnan().all()) and places.tensor.item() == 1
    x[0, 0, 0, 1] = float("inf")
    box = torch.tensor([[0, 0.0, 0.5, 1.0, 2.5]])  # samples in the middle of the left column's pixels
    y = op.roi_align(compatgrad.Variable(x), box, output_size=(2, 1), sampling_ratio=1)
    assert y.tensor.flatten().tolist() == [1.0, 1.0]
