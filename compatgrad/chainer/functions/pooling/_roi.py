"""What pooling of regions of interest shares."""

import numbers

from compatgrad.chainer import backend
from compatgrad.chainer.functions import _composed, _spatial
from compatgrad.chainer.functions.array.concat import concat
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.array.transpose import transpose
from compatgrad.chainer.functions.array.where import where
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import type_check
from compatgrad.chainer.variable import as_variable


class ROIFunction(_composed.CallableFunction):
    """A function of images (N, C, H, W), regions (R, 4) as top, left, bottom, right, and each region's image
    (R,).
    """

    def __init__(self, outsize, spatial_scale):
        super().__init__()
        outh, outw = _spatial.pair(outsize)
        for i, n in enumerate((outh, outw)):
            if not (isinstance(n, numbers.Integral) and n > 0):
                raise TypeError(f"outsize[{i}] must be positive integer: {type(n)}, {n}")
        if isinstance(spatial_scale, numbers.Integral):
            spatial_scale = float(spatial_scale)
        if not (isinstance(spatial_scale, numbers.Real) and spatial_scale > 0):
            raise TypeError(
                f"spatial_scale must be a positive float number: {type(spatial_scale)}, {spatial_scale}"
            )
        self.outh, self.outw = int(outh), int(outw)
        self.spatial_scale = spatial_scale

    def check_type_forward(self, in_types):
        type_check.expect(in_types.size() == 3)
        x, rois, indices = in_types
        type_check.expect(
            x.dtype.kind == "f",
            x.ndim == 4,
            x.dtype == rois.dtype,
            rois.ndim == 2,
            rois.shape[1] == 4,
            indices.dtype == "int32",
            indices.ndim == 1,
            rois.shape[0] == indices.shape[0],
        )

    def edges(self, rois):
        """Top, left, bottom, right of the regions on the images' grid, in double precision."""
        return (rois.array.astype("float64") * self.spatial_scale).T

    def bins(self, rois, shape):
        """Bounds of whole pixels, (R, outh) and (R, outw): each first, and each past the last one."""
        top, left, bottom, right = self.edges(rois).round().astype(int)
        return (
            integer_bins(top, bottom - top, self.outh, shape[2]),
            integer_bins(left, right - left, self.outw, shape[3]),
        )


class ROIAlign(ROIFunction):
    """Reads the images between pixels, at `sampling_ratio` places of each bin along each axis; None: by its
    size.
    """

    def __init__(self, outsize, spatial_scale, sampling_ratio=None):
        super().__init__(outsize, spatial_scale)
        sampling_ratio = _spatial.pair(sampling_ratio)
        if not all([s is None or (isinstance(s, numbers.Integral) and s >= 1) for s in sampling_ratio]):
            raise TypeError(f"sampling_ratio must be integer >= 1 or a pair of it: {sampling_ratio}")
        self.sampling_ratio = sampling_ratio

    def check_type_forward(self, in_types):
        super().check_type_forward(in_types)
        type_check.expect(in_types[0].dtype == "float32")

    def samples(self, x, rois):
        """For rows and for columns, what `interpolation` gives."""
        top, left, bottom, right = self.edges(rois)
        sizes = (top, bottom, self.outh, 2), (left, right, self.outw, 3)
        return [
            interpolation(x, start, end, out, x.shape[axis], ratio)
            for (start, end, out, axis), ratio in zip(sizes, self.sampling_ratio, strict=True)
        ]


def integer_bins(start, length, out, size):
    """Bounds (R, out) of `out` bins of regions along an axis of `size` pixels: the first, and past the last
    one.
    """
    xp = backend.get_array_module(start)
    stride = xp.maximum(length, 1)[:, None] / out
    places = xp.arange(out)
    first = xp.floor(places * stride).astype(int) + start[:, None]
    stop = xp.ceil((places + 1) * stride).astype(int) + start[:, None]
    return xp.clip(first, 0, size), xp.clip(stop, 0, size)


def interpolation(x, start, end, out, size, ratio):
    """Linear interpolation along an axis: weights (R, out, samples, size), which samples count (R, out,
    samples), and how many there are (R,).

    A sample that lies more than a pixel outside does not count; its weights are 0.
    """
    xp = x.xp
    length = xp.maximum(end - start, 1)
    count = xp.ceil(length / out).astype(int) if ratio is None else xp.full(len(start), int(ratio))
    sample = xp.arange(max(int(count.max()), 1) if len(count) else 1)
    bins = xp.arange(out)[:, None] + (sample + 0.5) / count[:, None, None]
    place = start[:, None, None] + bins * (length / out)[:, None, None]
    inside = (place >= -1) & (place <= size) & (sample < count[:, None, None])
    place = xp.clip(place, 0, size - 1)[..., None]
    weights = xp.maximum(1 - abs(place - xp.arange(size)), 0) * inside[..., None]
    return weights.astype(x.dtype), inside, count


def box(x, first, stop, size):
    """Weights (R, out, size) that average the pixels of each bin."""
    xp = x.xp
    pixels = xp.arange(size)
    inside = (pixels >= first[..., None]) & (pixels < stop[..., None])
    return inside.astype(x.dtype) / xp.maximum(stop - first, 1)[..., None].astype(x.dtype)


def weighted(x, indices, rows, columns):
    """rows[r] x[indices[r], c] columns[r]^T for weights (R, a, H) and (R, b, W): (R, C, a, b)."""
    xp = x.xp
    indices = indices.array
    channels, height, width = x.shape[1:]
    parts, order = [], []
    for image in xp.unique(indices).tolist():
        (regions,) = xp.nonzero(indices == image)
        n, a, b = len(regions), rows.shape[1], columns.shape[1]
        # The image is not repeated for each region.
        flat = reshape(transpose(x[image], (1, 0, 2)), (height, channels * width))
        y = reshape(matmul(rows[regions].reshape(n * a, height), flat), (n, a * channels, width))
        y = reshape(matmul(y, columns[regions].transpose(0, 2, 1)), (n, a, channels, b))
        parts.append(transpose(y, (0, 2, 1, 3)))
        order.append(regions)
    if not parts:
        return as_variable(xp.empty((0, channels, rows.shape[1], columns.shape[1]), dtype=x.dtype))
    y = concat(parts, axis=0)
    return y if len(parts) == 1 else y[xp.argsort(xp.concatenate(order))]


def first_maxima(x, indices, rows, columns):
    """For each region, channel and bin, where in the image (row * width + column) the first maximum is; -1:
    no pixel.
    """
    xp = backend.get_array_module(x)
    (tops, bottoms), (lefts, rights) = rows, columns
    channels, _, width = x.shape[1:]
    places = xp.full((len(tops), channels, tops.shape[1], lefts.shape[1]), -1)
    every = xp.arange(channels)
    for r, image in enumerate(indices.tolist()):
        # Along the rows first, then along the column of their maxima.
        for j, (left, right) in enumerate(zip(lefts[r].tolist(), rights[r].tolist(), strict=True)):
            if left >= right:
                continue
            part = x[image, :, :, left:right]
            at = part.argmax(axis=2)
            maxima = xp.take_along_axis(part, at[:, :, None], axis=2)[:, :, 0]
            for i, (top, bottom) in enumerate(zip(tops[r].tolist(), bottoms[r].tolist(), strict=True)):
                if top < bottom:
                    row = maxima[:, top:bottom].argmax(axis=1) + top
                    places[r, :, i, j] = row * width + at[every, row] + left
    return places


def picked(x, indices, places, empty):
    """The pixels of `first_maxima`, and `empty` where there is none."""
    xp = x.xp
    flat = reshape(x, (*x.shape[:2], -1))
    y = flat[indices[:, None, None, None], xp.arange(x.shape[1])[:, None, None], places]
    return where(places >= 0, y, xp.full(places.shape, empty, dtype=x.dtype))
