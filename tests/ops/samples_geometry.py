"""Samples of reading and resampling images, Fourier transforms and detection."""

import numpy as np
import torch

from tests.ops.harness import Floats, by_torch, sample
from tests.ops.samples_networks import SINGLE, transposed

A = Floats


# ---- geometry -----------------------------------------------------------------------------------------------
def resample(x, axis, index, weight=None):
    w = np.ones(index.shape) if weight is None else weight.numpy().astype("float64")
    rows = np.moveaxis(x, axis, -1)
    return np.moveaxis((rows[..., index.numpy()] * w).sum(-2), -1, axis)


def resample_grad(gy, axis, index, size, weight=None):
    w = np.ones(index.shape) if weight is None else weight.numpy().astype("float64")
    gx = np.zeros((*np.delete(gy.shape, axis), size))
    for k, i in np.ndindex(*index.shape):
        gx[..., int(index[k, i])] += w[k, i] * np.take(gy, i, axis)
    return np.moveaxis(gx, -1, axis)


def resize_bytes(x, row_at, row_weights, column_at, column_weights, rounding="whole", bits=22):
    wide = (x[:, column_at].astype("int64") * column_weights[..., None]).sum(2)
    rows, weights = wide[row_at], row_weights[..., None, None].astype("int64")
    if rounding == "linear":
        return ((((rows >> 4) * weights >> 16).sum(1) + 2) >> 2).astype("uint8")
    whole = ((rows * weights).sum(1) + (1 << bits - 1)) >> bits
    return np.clip(whole, 0, 255).astype("uint8")


def pixels(x, at, offset):
    size = np.array(x.shape[2:])
    y = np.zeros((*x.shape[:2], *at.shape[1:-1]))
    for b, *place in np.ndindex(*at.shape[:-1]):
        p = (at[(b, *place)] + offset)[::-1].astype(int)
        if ((p >= 0) & (p < size)).all():
            y[(b, slice(None), *place)] = x[(b, slice(None), *p)]
    return y


def pixels_grad(gy, at, size, offset):
    def read(x, **_):  # a batch of images of one pixel each, for every image of the batch
        return pixels(x, np.concatenate([at] * (len(x) // len(at))), offset)

    return transposed(read, size, gy)


def sample_grid(x, grid, mode="linear", padding="zero", align_corners=True, channel_last=False, flow=False, axis=-1,
                rim=False, nan=False):  # fmt: skip
    x, grid = x.movedim(-1, 1) if channel_last else x, grid.movedim(axis, -1)
    if flow:
        sizes = torch.tensor(x.shape[:1:-1])
        rows, columns = torch.meshgrid(*[torch.arange(n) for n in x.shape[2:]], indexing="ij")
        grid = (grid + torch.stack([columns, rows], -1)) * 2 / (sizes - 1) - 1
    names = dict(linear="bilinear", zero="zeros", repeat="border", reflect="reflection")
    how = dict(mode=names.get(mode, mode), padding_mode=names[padding], align_corners=align_corners)
    y = torch.nn.functional.grid_sample(x, grid, **how)
    return y.movedim(1, -1) if channel_last else y


def reflect(s, low, high):
    for _ in range(9):
        s = np.where(s < low, 2 * low - s, np.where(s > high, 2 * high - s, s))
    return s


def border(s, size, mode="repeat", align_corners=False):
    if mode == "reflect":
        s = reflect(s, 0, size - 1) if align_corners else reflect(s, -0.5, size - 0.5)
    return np.clip(s, 0, size - 1)


def border_grad(gy, s, **params):
    return gy * (border(s + 1e-7, **params) - border(s - 1e-7, **params)) / 2e-7


def affine_grid(theta, size, align_corners=False):
    return torch.nn.functional.affine_grid(torch.tensor(theta), [len(theta), 1, *size], align_corners).numpy()


def affine_grid_grad(gy, size, align_corners=False):
    theta = torch.zeros(len(gy), len(size), len(size) + 1, dtype=torch.float64, requires_grad=True)
    y = torch.nn.functional.affine_grid(theta, [len(gy), 1, *size], align_corners)
    return torch.autograd.grad(y, theta, torch.tensor(gy))[0].numpy()


def bytes_resized():
    rng = np.random.default_rng(0)
    for channels, taps, params in [(3, 2, dict(rounding="linear")), (1, 4, dict(rounding="cubic")), (4, 8, dict())]:
        at, weights = [], []
        for size, results in ((5, 7), (6, 9)):
            at.append(rng.integers(0, size, (results, taps)).astype("int32"))
            part = rng.random((results, taps))
            weights.append(np.rint(2048 * part / part.sum(1, keepdims=True)).astype("int32"))
        image = rng.integers(0, 256, (5, 6, channels)).astype("uint8")
        yield sample("resize_bytes", resize_bytes, image, at[0], weights[0], at[1], weights[1], **params)
    none = np.zeros((0, 2), "int32")
    yield sample("resize_bytes", resize_bytes, image, none, none, at[1], weights[1], bits=16)


def geometry():
    index = torch.tensor([[0, 0, 2, 1, 2], [1, 2, 2, 0, 1]])
    weight = torch.tensor([[0.5, 1, 0.2, 2, -1], [3, 0, 1, 0.5, 2]])
    for shape, axis in [((3,), 0), ((2, 3, 2), 1), ((3, 2), 0), ((2, 3), 1)]:
        out = [5 if a == axis else n for a, n in enumerate(shape)]
        for params in [dict(index=index, weight=weight), dict(index=index[:1])]:
            yield sample("resample", resample, A(*shape), axis=axis, tolerance=2, **params)
            yield sample("resample_grad", resample_grad, A(*out), axis=axis, size=3, tolerance=2, **params)
    yield from bytes_resized()
    at = np.array([[[1, 0], [2, 1], [-1, 0], [0, 3]], [[3, 2], [0, 0], [0, 0], [4, -2]]], "float32")
    for params in [dict(offset=[0, 0]), dict(offset=[1, -1])]:
        yield sample("pixels", pixels, A(2, 3, 3, 4), at, **params)
        yield sample("pixels_grad", pixels_grad, A(2, 3, 4), at, size=[3, 4], **params)
    at = np.array([[[[1, 0, 2], [0, 1, 0]]]], "float32")
    yield sample("pixels", pixels, A(1, 2, 3, 2, 4), at, offset=[0, 0, 0])
    for params in [
        {},
        dict(axis=1, rim=True),
        dict(padding="repeat"),
        dict(padding="reflect", channel_last=True),
        dict(padding="reflect", align_corners=False),
        dict(align_corners=False),
        dict(mode="nearest", axis=1),
        dict(padding="repeat", axis=1, flow=True),
        dict(nan=True),
    ]:
        reach = 4 if "flow" in params else 1.9
        for image in [(3, 5), (2, 3, 4)][: 1 if "flow" in params or "rim" in params else 2]:
            out = image if "flow" in params else (2, 4, 1)[: len(image)]
            n = len(image)
            x = A(2, *image, 3) if "channel_last" in params else A(2, 3, *image)
            grid = A(2, n, *out, low=-reach, high=reach) if "axis" in params else A(2, *out, n, low=-reach, high=reach)
            yield sample("sample_grid", by_torch(sample_grid), x, grid, dtypes=SINGLE, tolerance=8, **params)
    for params in [dict(size=3), dict(size=3, mode="reflect"), dict(size=4, mode="reflect", align_corners=True)]:
        yield sample("border_coordinate", border, A(40, low=-9.1, high=11.3), dtypes=SINGLE, **params)
        yield sample(
            "border_coordinate_grad",
            border_grad,
            A(40),
            A(40, low=-9.1, high=11.3),
            dtypes=SINGLE[1:],
            tolerance=1e5,
            **params,
        )
    for size, params in [([3, 4], {}), ([2, 5], dict(align_corners=True)), ([2, 3, 2], {})]:
        n = len(size)
        yield sample("affine_grid", affine_grid, A(2, n, n + 1), size=size, dtypes=SINGLE, tolerance=2, **params)
        yield sample(
            "affine_grid_grad", affine_grid_grad, A(2, *size, n), size=size, dtypes=SINGLE, tolerance=4, **params
        )


# ---- Fourier transforms -------------------------------------------------------------------------------------
def fourier(x, ndim, inverse=False, norm="backward"):
    axes = tuple(range(x.ndim - 1 - ndim, x.ndim - 1))
    y = (np.fft.ifftn if inverse else np.fft.fftn)(x[..., 0] + 1j * x[..., 1], axes=axes, norm=norm)
    return np.stack([y.real, y.imag], -1)


def window(window_type, window_size, fft_size):
    f = {"hanning": np.hanning, "hamming": np.hamming, "rectangular": np.ones}[window_type]
    w = f(window_size) if window_type == "rectangular" else f(window_size + 1)[:-1]
    return np.pad(w, ((fft_size - window_size) // 2, (fft_size - window_size + 1) // 2))


def stft(x, window_size, stride, fft_size, window_type="hanning", center=True, pad_mode="reflect", transposed=False):
    params = dict(window_size=window_size, stride=stride, fft_size=fft_size, window_type=window_type, center=center)
    half = fft_size // 2 if center else 0
    if transposed:  # the gradient of istft, a column at a time
        n = (x.shape[1] + 2 * half - fft_size) // stride + 1
        size = (fft_size // 2 + 1, n)
        units = np.eye(2 * size[0] * n).reshape(-1, 2, *size)
        columns = istft(units[:, 0], units[:, 1], **params)
        y = (x @ columns.T).reshape(len(x), 2, *size)
        return y[:, 0], y[:, 1]
    x = np.pad(x, ((0, 0), (half, half)), pad_mode)
    frames = np.stack([x[:, i : i + fft_size] for i in range(0, x.shape[1] - fft_size + 1, stride)], -1)
    y = np.fft.rfft(frames * window(window_type, window_size, fft_size)[:, None], axis=1)
    return y.real, y.imag


def istft(
    re,
    im,
    window_size,
    stride,
    fft_size,
    window_type="hanning",
    center=True,
    pad_mode="reflect",
    transposed=False,
    samples=None,
):
    half, w = fft_size // 2 if center else 0, window(window_type, window_size, fft_size)
    extent = (re.shape[2] - 1) * stride + fft_size
    length = samples or extent - 2 * half
    if transposed:  # the gradient of stft
        columns = stft(np.eye(length), window_size, stride, fft_size, window_type, center, pad_mode)
        return sum(np.einsum("bkn,skn->bs", g, c) for g, c in zip((re, im), columns, strict=True))
    frames = np.fft.irfft(re + 1j * im, fft_size, axis=1) * w[:, None]
    x, total = np.zeros((len(re), extent)), np.zeros(extent)
    for i in range(re.shape[2]):
        x[:, i * stride : i * stride + fft_size] += frames[..., i]
        total[i * stride : i * stride + fft_size] += w**2
    inner = slice(half, extent - half)
    return x[:, inner] / total[inner]


def spectra():
    for shape, ndim in [((2, 5, 2), 1), ((3, 4, 2), 2), ((2, 3, 2, 4, 2), 3)]:
        for params in [{}, dict(inverse=True), dict(norm="ortho"), dict(inverse=True, norm="forward")]:
            yield sample("fourier_transform", fourier, A(*shape), ndim=ndim, dtypes=SINGLE, tolerance=4, **params)
    for params in [
        dict(window_size=8, stride=4, fft_size=8),
        dict(window_size=6, stride=2, fft_size=8, pad_mode="constant"),
        dict(window_size=8, stride=4, fft_size=8, window_type="hamming", center=False),
        dict(window_size=4, stride=2, fft_size=4, window_type="rectangular"),
    ]:
        more = dict(params, dtypes=SINGLE, tolerance=8)
        bins = params["fft_size"] // 2 + 1
        yield sample("stft", stft, A(2, 17), transposed=False, **more)
        yield sample("istft", istft, A(2, bins, 4), A(2, bins, 4), **more)
        yield sample("istft", istft, A(2, bins, 4), A(2, bins, 4), transposed=True, **more)
        length = istft(np.zeros((1, bins, 4)), np.zeros((1, bins, 4)), **params).shape[1]
        yield sample("stft", stft, A(2, length), transposed=True, **more)
        yield sample("istft", istft, A(1, bins, 4), A(1, bins, 4), transposed=True, samples=length + 1, **more)


# ---- detection ----------------------------------------------------------------------------------------------
def overlap(a, b):
    w = min(a[2], b[2]) - max(a[0], b[0])
    h = min(a[3], b[3]) - max(a[1], b[1])
    area = sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b))
    return 0 if min(w, h) <= 0 else w * h / (area - w * h)


def nms(x, thresh=0.5, nms=0.45, per_class=True):
    y = x.copy()
    y[..., 4] *= y[..., 4] >= thresh
    y[..., 5:] *= y[..., 4:5]
    y[..., 5:] *= y[..., 5:] >= thresh
    boxes = np.concatenate([x[..., :2] - x[..., 2:4] / 2, x[..., :2] + x[..., 2:4] / 2], -1)
    for b in range(len(x)):
        for k in range(5, x.shape[2]) if per_class else [4]:
            order = np.argsort(-y[b, :, k], kind="stable")
            for n, j in enumerate(order):
                better = [i for i in order[:n] if not per_class or y[b, i, k] > 0]
                if any(overlap(boxes[b, i], boxes[b, j]) > nms for i in better):
                    y[b, j, k : None if k == 4 else k + 1] = 0
    return y


def chosen(boxes, scores, max_output_boxes=0, iou_threshold=0.0, score_threshold=0.0, center_point_box=False):
    if center_point_box:
        boxes = np.concatenate([boxes[..., :2] - boxes[..., 2:] / 2, boxes[..., :2] + boxes[..., 2:] / 2], -1)
    else:
        boxes = np.concatenate(
            [np.minimum(boxes[..., :2], boxes[..., 2:]), np.maximum(boxes[..., :2], boxes[..., 2:])], -1
        )
    found = []
    for b, k in np.ndindex(*scores.shape[:2]):
        mine = []
        for i in np.argsort(-scores[b, k], kind="stable"):
            if (
                len(mine) < max_output_boxes
                and scores[b, k, i] >= score_threshold
                and all(overlap(boxes[b, j], boxes[b, i]) <= iou_threshold for j in mine)
            ):
                mine.append(i)
        found += [(b, k, i) for i in mine]
    return np.array(found, "int64").reshape(-1, 3)


def detection():
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.random((2, 12, 2)) * 3, rng.random((2, 12, 5)) + 0.4], -1)
    x = np.float32(x).astype("float64")
    for params in [{}, dict(thresh=0.7, nms=0.2), dict(thresh=0.6, nms=0.1, per_class=False)]:
        yield sample("nms_detection2d", nms, x, tolerance=1e6, **params)
    scores = np.float32(rng.standard_normal((2, 3, 12))).astype("float64")
    for params in [
        {},
        dict(max_output_boxes=3, iou_threshold=0.1, score_threshold=-0.5),
        dict(max_output_boxes=5, iou_threshold=0.3, center_point_box=True),
    ]:
        yield sample("onnx_non_max_suppression", chosen, x[..., :4], scores, **params)


FAMILIES = geometry, spectra, detection
SAMPLES: list = [s for family in FAMILIES for group in family() for s in group]
