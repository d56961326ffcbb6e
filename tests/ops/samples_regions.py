"""Samples of the ops on regions of images."""

import itertools

import numpy as np

from tests.ops.harness import Floats, sample

A = Floats
BOXES = np.array([[0, 0.3, -1.2, 4.4, 3.1], [1, 2, 1, 9, 5], [1, 30, 30, 40, 40], [0, 1, 1, 1.5, 2]])
# image; rows from, to; columns from, to: of 2 x 3 bins. Bins overlap, reach beyond the image, are empty.
BINS = np.array(
    [[1, 0, 2, 2, 4, 0, 1, 3, 2, 4, 5], [0, -1, 1, 3, 9, 2, 4, 1, 3, 3, 7], [1, 0, 0, 4, 4, 0, 0, 0, 5, 5, 5]]
)


def bilinear_weights(at, length):
    """Of the pixels of one axis at a coordinate; none beyond the image."""
    w = np.zeros(length)
    if -1 <= at <= length:
        at = min(max(at, 0), length - 1)
        low = int(at)
        w[low] += 1 - (at - low)
        w[min(low + 1, length - 1)] += at - low
    return w


def box_bins(boxes, x, output_size, scale_y=1.0, scale_x=1.0, sampling_ratio=-1, sampling_ratio_x=None):
    """For each region and bin: the image, and the weights of the samples along both axes."""
    ratios = sampling_ratio, sampling_ratio if sampling_ratio_x is None else sampling_ratio_x
    for image, x1, y1, x2, y2 in boxes:
        bounds = (y1 * scale_y - 0.5, y2 * scale_y - 0.5), (x1 * scale_x - 0.5, x2 * scale_x - 0.5)
        for o in itertools.product(*map(range, output_size)):
            weights = []
            for axis, (low, high) in enumerate(bounds):
                step = (high - low) / output_size[axis]
                n = ratios[axis] if ratios[axis] > 0 else int(np.ceil(step))
                places = [low + (o[axis] + (j + 0.5) / n) * step for j in range(n)]
                weights.append(np.array([bilinear_weights(at, x[2 + axis]) for at in places]))
            yield int(image), o, *weights


def pixel_bins(bins, x, output_size):
    rows, columns = output_size
    for image, *edges in bins:
        top, bottom, left, right = np.split(np.array(edges), np.cumsum([rows, rows, columns]))
        for i, j in itertools.product(range(rows), range(columns)):
            ranges = range(max(top[i], 0), min(bottom[i], x[2])), range(max(left[j], 0), min(right[j], x[3]))
            yield int(image), (i, j), *(np.eye(n)[list(r)] for n, r in zip(x[2:], ranges, strict=True))


def gather(bins):
    """A function of images that gives for each region, channel and bin the samples (rows, columns)."""

    def samples(x, regions, output_size, group=(), **params):
        gh, gw = group or (1, 1)
        maps = [[] for _ in regions]
        found = list(bins(regions, x.shape, output_size, **params))
        for k, (image, (i, j), rows, columns) in enumerate(found):
            part = x[image].reshape(-1, gh, gw, *x.shape[2:])[:, i * gh // output_size[0], j * gw // output_size[1]]
            maps[k // (output_size[0] * output_size[1])].append(np.einsum("chw,ah,bw->cab", part, rows, columns))
        return maps

    return samples


def stacked(maps, x, output_size, group, f, dtype="float64"):
    channels = x.shape[1] // int(np.prod(group or 1))
    y = [[[f(part) for part in bin] for bin in region] for region in maps]
    return np.array(y, dtype).reshape(len(maps), *output_size, channels).transpose(0, 3, 1, 2)


def mean(bins):
    def f(x, regions, output_size, group=(), **params):
        maps = gather(bins)(x, regions, output_size, group, **params)
        return stacked(maps, x, output_size, group, lambda p: p.mean() if p.size else 0)

    return f


def inside(rows, columns):
    """Which samples lie on the image."""
    return (rows.sum(1) > 0)[:, None] & (columns.sum(1) > 0)


def maxima(bins, pixels):
    def f(x, regions, output_size, group=(), empty=0.0, **params):
        maps = gather(bins)(x, regions, output_size, group, **params)
        flags = gather(bins)(np.ones_like(x), regions, output_size, group, **params)
        origins = list(bins(regions, x.shape, output_size, **params))
        n = output_size[0] * output_size[1]
        values, places = [], []
        for k, (region, there) in enumerate(zip(maps, flags, strict=True)):
            for o, (part, on) in enumerate(zip(region, there, strict=True)):
                rows, columns = origins[k * n + o][2:]
                for p, m in zip(part, on, strict=True):
                    p = np.where(m > 0.5, p, -np.inf)
                    at = int(p.argmax()) if p.size and np.isfinite(p).any() else -1
                    values.append(p.flat[at] if at >= 0 else empty)
                    if at >= 0 and pixels:
                        a, b = divmod(at, p.shape[1])
                        at = rows[a].argmax() * x.shape[3] + columns[b].argmax()
                    places.append(at)
        shape = (len(maps), *output_size, x.shape[1] // int(np.prod(group or 1)))
        return [np.reshape(v, shape).transpose(0, 3, 1, 2) for v in (values, np.array(places, "int32"))]

    return f


def picked(bins, pixels):
    def f(x, regions, places, output_size, group=(), **params):
        if pixels:
            channels = np.arange(x.shape[1]).reshape(-1, *(group or (1, 1)))
            y = np.zeros(places.shape)
            for r, m, i, j in np.ndindex(*places.shape):
                gh, gw = group or (1, 1)
                c = channels[m, i * gh // output_size[0], j * gw // output_size[1]]
                if places[r, m, i, j] >= 0:
                    y[r, m, i, j] = x[regions[r, 0], c].flat[places[r, m, i, j]]
            return y
        maps = gather(bins)(x, regions, output_size, group, **params)
        order = places.transpose(0, 2, 3, 1).ravel()
        parts = [p for region in maps for bin in region for p in bin]
        y = [p.flat[at] if at >= 0 else 0 for p, at in zip(parts, order, strict=True)]
        return np.reshape(y, [places.shape[k] for k in (0, 2, 3, 1)]).transpose(0, 3, 1, 2)

    return f


def transposed(f):
    """As a matrix, one pixel at a time."""

    def grad(gy, *constants, insize, **params):
        gx = np.zeros(insize)
        for at in np.ndindex(*insize):
            e = np.zeros(insize)
            e[at] = 1
            gx[at] = (f(e, *constants, **params) * gy).sum()
        return gx

    return grad


def regions():
    size, x = {"output_size": [2, 3]}, (2, 6, 4, 5)
    boxed = [
        {},
        {"sampling_ratio": 2},
        {"scale_y": 0.5, "scale_x": 1.5},
        {"sampling_ratio": 1, "sampling_ratio_x": 3},
        {"sampling_ratio": 2, "group": [2, 3]},
    ]
    for suffix, bins, given, all_params in (
        ("align", box_bins, BOXES, boxed), ("average", pixel_bins, BINS, [{}, {"group": [1, 2]}]),
    ):  # fmt: skip
        pixels = bins is pixel_bins
        average, maximum = f"roi_{suffix}", "roi_max" if pixels else "roi_max_align"
        for params in all_params:
            p, maps = size | params, 6 // int(np.prod(params.get("group", 1)))
            gy, n = A(len(given), maps, 2, 3), {"insize": list(x)}
            yield sample(average, mean(bins), A(*x), given, **p)
            yield sample(f"{average}_grad", transposed(mean(bins)), gy, given, **p, **n)
            find, pick = maxima(bins, pixels), picked(bins, pixels)
            places = find(np.random.default_rng(3).random(x), given, **p)[1]
            yield sample(maximum, find, A(*x), given, empty=-1.5, **p)
            yield sample(f"{maximum}_at", pick, A(*x), given, places, **p)
            yield sample(f"{maximum}_grad", transposed(pick), gy, given, places, **p, **n)
    for op, given in (("roi_align", BOXES[:0]), ("roi_average", BINS[:0])):
        yield sample(op, lambda x, *_, output_size: np.zeros((0, x.shape[1], *output_size)), A(*x), given, **size)


SAMPLES: list = sum(regions(), [])
