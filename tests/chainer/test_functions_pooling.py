"""Pooling against definitions in NumPy; also runs on the original (with `-c /dev/null`)."""

import importlib
import itertools

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, Log, chainer

gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")
conv = importlib.import_module(f"{chainer.__name__}.utils.conv")
InvalidType = chainer.utils.type_check.InvalidType


def rand(*shape):
    """Distinct numbers."""
    size = int(np.prod(shape))
    return (np.random.RandomState(size).permutation(size) / size - 0.4).reshape(shape)


def windows(image, ksize, stride, pad, cover_all):
    """For each output element: its index, and the slices of the image that its window covers."""
    sizes = [
        range(conv.get_conv_outsize(n, k, s, p, cover_all))
        for n, k, s, p in zip(image, ksize, stride, pad, strict=True)
    ]
    for place in itertools.product(*sizes):
        starts = [i * s - p for i, s, p in zip(place, stride, pad, strict=True)]
        yield (
            place,
            tuple(slice(max(a, 0), min(a + k, n)) for a, k, n in zip(starts, ksize, image, strict=True)),
        )


def pooled(x, reduce, ksize, stride, pad, cover_all=False):
    parts = list(windows(x.shape[2:], ksize, stride, pad, cover_all))
    y = np.zeros(x.shape[:2] + tuple(max(i) + 1 for i in zip(*[p for p, _ in parts], strict=True)))
    for place, part in parts:
        y[(..., *place)] = reduce(x[(..., *part)].reshape(*x.shape[:2], -1))
    return y


WINDOWS = [
    ((3, 3), (2, 2), (1, 1)),
    ((2, 3), (2, 1), (0, 1)),
    ((3,), (2,), (1,)),
    ((2, 2, 3), (2, 1, 2), (0, 0, 1)),
]
SIZE = (7, 6, 5)


@pytest.mark.parametrize("cover_all", [True, False])
@pytest.mark.parametrize(("ksize", "stride", "pad"), WINDOWS)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_max_pooling(ksize, stride, pad, cover_all, dtype):
    x = rand(2, 3, *SIZE[: len(ksize)]).astype(dtype)
    y = F.max_pooling_nd(x, ksize, stride, pad, cover_all)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.array, pooled(x, lambda v: v.max(-1), ksize, stride, pad, cover_all).astype(dtype))
    _, at = F.max_pooling_nd(x, ksize, stride, pad, cover_all, return_indices=True)
    assert at.shape == y.shape and at.dtype.kind == "i"


@pytest.mark.parametrize("pad_value", [0, None])
@pytest.mark.parametrize(("ksize", "stride", "pad"), WINDOWS)
def test_average_pooling(ksize, stride, pad, pad_value):
    x = rand(2, 3, *SIZE[: len(ksize)])
    y = F.average_pooling_nd(x, ksize, stride, pad, pad_value)
    volume = np.prod(ksize)
    expected = pooled(
        x, (lambda v: v.sum(-1) / volume) if pad_value == 0 else (lambda v: v.mean(-1)), ksize, stride, pad
    )
    np.testing.assert_allclose(y.array, expected, atol=1e-12)


@pytest.mark.parametrize("cover_all", [True, False])
@pytest.mark.parametrize(("ksize", "stride", "pad"), WINDOWS)
def test_unpooling(ksize, stride, pad, cover_all):
    image = SIZE[: len(ksize)]
    sizes = zip(image, ksize, stride, pad, strict=True)
    x = rand(2, 3, *[conv.get_conv_outsize(*size, cover_all) for size in sizes])
    y = F.unpooling_nd(x, ksize, stride, pad, outsize=image, cover_all=cover_all)
    expected = np.zeros((2, 3, *image))
    for place, part in windows(image, ksize, stride, pad, cover_all):
        expected[(..., *part)] += x[(..., *place)].reshape(2, 3, *[1] * len(image))
    np.testing.assert_allclose(y.array, expected, atol=1e-12)
    natural = F.unpooling_nd(x, ksize, stride, pad, cover_all=cover_all)
    sizes = zip(x.shape[2:], ksize, stride, pad, strict=True)
    assert natural.shape[2:] == tuple(conv.get_deconv_outsize(*size, cover_all) for size in sizes)


def test_upsampling_puts_maxima_back():
    x = rand(2, 3, 4, 6)
    y, at = F.max_pooling_2d(x, 2, return_indices=True)
    z = F.upsampling_2d(y, at, 2, outsize=(4, 6)).array
    np.testing.assert_array_equal(z, np.where(np.kron(y.array, np.ones((2, 2))) == x, x, 0))
    with pytest.raises(IndexError):
        F.upsampling_2d(y, at + 4, 2, outsize=(4, 6))


def test_spatial_pyramid():
    x = rand(2, 3, 5, 6)
    y = F.spatial_pyramid_pooling_2d(x, 3, "max").array
    assert y.shape == (2, 3 * (1 + 4 + 16), 1, 1)
    np.testing.assert_array_equal(y[:, :3, 0, 0], x.max((2, 3)))
    with pytest.raises(ValueError):
        F.spatial_pyramid_pooling_2d(x, 3, "average")


# ---- regions -----------------------------------------------------------------------------------------------

X = rand(2, 2, 8, 9).astype(np.float32)
ROIS = np.array([[0, 1, 5, 7], [2, 2, 8, 5], [3, 0, 4, 9], [1, 3, 7, 6]], np.float32)
OF = np.array([1, 0, 1, 0], np.int32)
R5 = np.column_stack([OF, ROIS[:, [1, 0, 3, 2]]]).astype(np.float32)


def region_bins(roi, out, past=0):
    lengths = [max(roi[2] - roi[0] + past, 1), max(roi[3] - roi[1] + past, 1)]
    for i, j in itertools.product(*map(range, out)):
        yield (
            i,
            j,
            tuple(
                slice(int(start) + int(k * n // m), int(start) + int(-(-(k + 1) * n // m)))
                for k, m, n, start in zip((i, j), out, lengths, roi, strict=False)
            ),
        )


def regions(reduce, past=0):
    y = np.zeros((4, 2, 3, 2))
    for r, roi in enumerate(ROIS):
        for i, j, part in region_bins(roi, (3, 2), past):
            y[r, :, i, j] = reduce(X[OF[r]][:, part[0], part[1]].reshape(2, -1))
    return y


def bilinear(image, y, x):
    """Interpolates between pixels; up to one pixel outside the image, uses the border's values."""
    size = image.shape[1:]
    if not (-1 <= y <= size[0] and -1 <= x <= size[1]):
        return None
    y, x = np.clip(y, 0, size[0] - 1), np.clip(x, 0, size[1] - 1)
    (a, c), (b, d) = ((int(v), min(int(v) + 1, n - 1)) for v, n in zip((y, x), size, strict=True))
    return (image[:, a, b] * (a + 1 - y) * (b + 1 - x) + image[:, c, b] * (y - a) * (b + 1 - x)
            + image[:, a, d] * (a + 1 - y) * (x - b) + image[:, c, d] * (y - a) * (x - b))  # fmt: skip


def aligned(reduce, scale, ratio, rois):
    y = np.zeros((len(rois), 2, 3, 2))
    for r, roi in enumerate(rois * np.float64(scale)):
        lengths = np.maximum(roi[2:] - roi[:2], 1) / (3, 2)
        counts = [ratio or int(np.ceil(n)) for n in lengths]
        for i, j in itertools.product(range(3), range(2)):
            samples = [
                bilinear(X[OF[r]], *(roi[:2] + lengths * ((i, j) + (np.array(at) + 0.5) / counts)))
                for at in itertools.product(*map(range, counts))
            ]
            y[r, :, i, j] = reduce(samples)
    return y


def mean_of(samples):
    return sum(s for s in samples if s is not None) / len(samples)


def max_of(samples):
    return np.max([s for s in samples if s is not None], 0, initial=-np.inf)


@pytest.mark.parametrize("scale", [1, 0.6])
@pytest.mark.parametrize("ratio", [None, 1, 3])
@pytest.mark.parametrize(("f", "reduce"), [(F.roi_average_align_2d, mean_of), (F.roi_max_align_2d, max_of)])
def test_roi_align(f, reduce, scale, ratio):
    rois = ROIS + np.array([0.3, -2.6, 1.9, 0.2], np.float32)
    y = f(X, rois, OF, (3, 2), scale, ratio)
    np.testing.assert_allclose(y.array, aligned(reduce, scale, ratio, rois), rtol=1e-4, atol=1e-6)


def test_roi_pooling():
    largest, mean = (lambda v: v.max(-1)), (lambda v: v.mean(-1))
    for y, expected in (
        (F.roi_max_pooling_2d(X, ROIS, OF, (3, 2), 1), regions(largest)),
        (F.roi_max_pooling_2d(X, ROIS * 2, OF, (3, 2), 0.5), regions(largest)),
        (F.roi_average_pooling_2d(X, ROIS, OF, (3, 2), 1), regions(mean)),
        (F.roi_pooling_2d(X, R5, 3, 2, 1.0), regions(largest, past=1)),
    ):
        np.testing.assert_allclose(y.array, expected, rtol=1e-6)


def test_empty_bins():
    outside = np.array([[20, 20, 25, 25]], np.float32)
    for f, expected in (
        (F.roi_max_pooling_2d, -np.inf), (F.roi_average_pooling_2d, 0),
        (F.roi_max_align_2d, -np.inf), (F.roi_average_align_2d, 0),
    ):  # fmt: skip
        x = chainer.Variable(X)
        y = f(x, outside, OF[:1], 2, 1.0)
        np.testing.assert_array_equal(y.array, np.full((1, 2, 2, 2), expected, np.float32))
        y.grad = np.ones_like(y.array)
        y.backward()
        np.testing.assert_array_equal(x.grad, np.zeros_like(X))


# ---- gradients ---------------------------------------------------------------------------------------------

Y, AT = (
    v if isinstance(v, np.ndarray) else v.array for v in F.max_pooling_2d(rand(1, 2, 4, 6), 2, return_indices=True)
)
DIFFERENTIABLE = {
    "max": (lambda x: F.max_pooling_2d(x, 3, 2, 1), (1, 2, 5, 6)),
    "max 1d": (lambda x: F.max_pooling_1d(x, 3, 2), (1, 2, 8)),
    "max 3d": (lambda x: F.max_pooling_3d(x, 2), (1, 2, 4, 3, 4)),
    "average": (lambda x: F.average_pooling_2d(x, 3, 2, 1), (1, 2, 5, 6)),
    "average without padding": (lambda x: F.average_pooling_nd(x, 3, 2, 1, None), (1, 2, 5, 6)),
    "average 3d": (lambda x: F.average_pooling_3d(x, 2), (1, 2, 4, 2, 4)),
    "unpooling": (lambda x: F.unpooling_2d(x, 3, 2, 1), (1, 2, 3, 4)),
    "upsampling": (lambda x: F.upsampling_2d(x, AT, 2), AT.shape),
}
REGIONS = {
    "roi max align": lambda x: F.roi_max_align_2d(x, ROIS, OF, 2, 1.0, 2),
    "roi average align": lambda x: F.roi_average_align_2d(x, ROIS, OF, 2, 1.0),
    "roi max": lambda x: F.roi_max_pooling_2d(x, ROIS, OF, 2, 1.0),
    "roi average": lambda x: F.roi_average_pooling_2d(x, ROIS, OF, 2, 1.0),
    "roi": lambda x: F.roi_pooling_2d(x, R5, 2, 2, 1.0),
}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_gradients(name):
    # the original's average without padding divides its gradient in place, and its second derivative fails
    f, shape = DIFFERENTIABLE[name]
    x = rand(*shape)
    y = f(x)
    gradient_check.check_backward(f, x, rand(*y.shape), eps=1e-5, dtype=np.float64)
    if not (ORIGINAL and name == "average without padding"):
        gradient_check.check_double_backward(
            lambda x: f(x) ** 2, x, rand(*y.shape), rand(*shape), eps=1e-5, dtype=np.float64
        )


@pytest.mark.parametrize("name", REGIONS)
def test_region_gradients(name):
    f = REGIONS[name]
    y = f(X)
    gradient_check.check_backward(f, X, np.float32(rand(*y.shape)), eps=1e-3, rtol=1e-2, atol=1e-3)
    if not ORIGINAL:  # the original has no second derivative
        x = chainer.Variable(X)
        (g,) = chainer.grad([F.sum(f(x) ** 2)], [x], enable_double_backprop=True)
        (gg,) = chainer.grad([F.sum(g * X)], [x])
        np.testing.assert_allclose(gg.array, g.array, rtol=1e-4, atol=1e-5)  # the loss is a quadratic form


# ---- invalid arguments and function nodes ------------------------------------------------------------------

IMAGE = rand(1, 1, 4, 4).astype(np.float32)
WRONG = {
    "max 2d axes": (F.max_pooling_2d, (IMAGE[0], 2), ValueError),
    "max 1d axes": (F.max_pooling_1d, (IMAGE, 2), ValueError),
    "average 3d axes": (F.average_pooling_3d, (IMAGE, 2), ValueError),
    "average 2d axes": (F.average_pooling_2d, (IMAGE[0], 2), InvalidType),
    "unpooling 1d axes": (F.unpooling_1d, (IMAGE, 2), ValueError),
    "max integers": (F.max_pooling_2d, (IMAGE.astype(int), 2), InvalidType),
    "average integers": (F.average_pooling_2d, (IMAGE.astype(int), 2), InvalidType),
    "max too small": (lambda: F.max_pooling_2d(IMAGE, 5, cover_all=False), (), AssertionError),
    "average too small": (F.average_pooling_2d, (IMAGE, 5), AssertionError),
    "average nd too small": (F.average_pooling_nd, (IMAGE, 5), AssertionError),
    "pad_value": (F.average_pooling_nd, (IMAGE, 2, 2, 0, 1), ValueError),
    "unpooling outsize": (F.unpooling_2d, (IMAGE, 2, 2, 0, (20, 20)), InvalidType),
    "upsampling indexes": (F.upsampling_2d, (IMAGE, np.zeros((1, 1, 2, 2), int), 2), InvalidType),
    "outsize": (F.roi_max_pooling_2d, (X, ROIS, OF, 0, 1.0), TypeError),
    "scale": (F.roi_average_pooling_2d, (X, ROIS, OF, 2, -1.0), TypeError),
    "ratio": (F.roi_max_align_2d, (X, ROIS, OF, 2, 1.0, 0), TypeError),
    "regions": (F.roi_average_align_2d, (X, ROIS[:, :3], OF, 2, 1.0), InvalidType),
    "region indices": (F.roi_max_pooling_2d, (X, ROIS, OF.astype(np.int64), 2, 1.0), InvalidType),
    "region dtype": (F.roi_pooling_2d, (X, R5.astype(np.float64), 2, 2, 1.0), InvalidType),
}


@pytest.mark.parametrize(("f", "args", "error"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(f, args, error):
    with pytest.raises(error):
        f(*args)


@pytest.mark.parametrize(
    ("f", "shape", "name", "attributes"),
    [
        (F.max_pooling_2d, (1, 1, 4, 4), "MaxPoolingND", {"ndim": 2, "ksize": (3, 3), "stride": (2, 2)}),
        (F.max_pooling_1d, (1, 1, 4), "MaxPoolingND", {"ndim": 1, "cover_all": True}),
        (F.average_pooling_2d, (1, 1, 4, 4), "AveragePooling2D", {"kh": 3, "kw": 3, "sy": 2, "ph": 1}),
        (F.average_pooling_1d, (1, 1, 4), "AveragePoolingND", {"ksize": (3,), "pad_value": 0}),
        (F.unpooling_2d, (1, 1, 4, 4), "Unpooling2D", {"kh": 3, "sx": 2, "pw": 1}),
        (F.unpooling_3d, (1, 1, 4, 4, 4), "UnpoolingND", {"ndim": 3}),
    ],
)  # fmt: skip
def test_function_nodes(f, shape, name, attributes):
    log = Log()
    with log:
        y = f(chainer.Variable(rand(*shape)), 3, 2, 1)
    assert y.creator.label == type(y.creator).__name__ == name
    assert {k: getattr(y.creator, k) for k in attributes} == attributes
    assert [function.label for _, function, *_ in log.events] == [name, name]
