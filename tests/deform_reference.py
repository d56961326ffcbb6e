"""Deformable convolution's columns and their gradients from dense weights of pixels, in float64."""

import numpy as np


def axis_weights(at, length, clamp):
    """Of the pixels of one axis at a place, in its value and in its derivative."""
    value, slope = np.zeros(length), np.zeros(length)
    if not ((0 <= at if clamp else -1 < at) and at < length):
        return value, slope
    low = int(np.floor(at))
    if clamp and low >= length - 1:
        value[length - 1] = 1
        return value, slope
    for pixel, weight, step in ((low, low + 1 - at, -1), (low + 1, at - low, 1)):
        if 0 <= pixel < length:
            value[pixel], slope[pixel] = weight, step
    return value, slope


def filled(numbers, default):
    numbers = list(numbers) or [default]
    return numbers * (2 // len(numbers))


def readings(offset, size, ksize, stride=(), pad=(), dilate=(), groups=1, clamp=False, nan=False, orders=(0,)):
    """(images, groups, taps, orders, *out) weights of pixels (height, width). `nan` has no effect on finite offsets."""
    stride, pad, dilate = filled(stride, 1), filled(pad, 0), filled(dilate, 1)
    n, _, *out = offset.shape
    moved = offset.reshape(n, groups, *ksize, 2, *out)
    w = np.zeros((n, groups, *ksize, len(orders), *out, *size))
    for at in np.ndindex(n, groups, *ksize, *out):
        i, g, *tap, y, x = at
        axes = [
            axis_weights(p * stride[k] - pad[k] + tap[k] * dilate[k] + moved[(i, g, *tap, k, y, x)], size[k], clamp)
            for k, p in enumerate((y, x))
        ]
        for j, order in enumerate(orders):
            w[(i, g, *tap, j, y, x)] = np.outer(axes[0][order & 1], axes[1][order >> 1])
    return w.reshape(n, groups, ksize[0] * ksize[1], len(orders), *out, *size)


def weighted(offset, factors, size, **params):
    w = readings(offset, size, **params)
    return w if factors is None else w * factors.reshape(w.shape[:-2])[..., None, None]


def grouped(x, groups):
    return x.reshape(len(x), groups, x.shape[1] // groups, *x.shape[2:])


def columns(x, offset, factors=None, **params):
    w = weighted(offset, factors, x.shape[2:], **params)
    found = np.einsum("ngtjpqhw,ngchw->ngctpq", w, grouped(x, w.shape[1]))
    return found.reshape(len(x), x.shape[1] * w.shape[2], *offset.shape[2:])


def by_tap(gy, w):
    return gy.reshape(len(gy), w.shape[1], gy.shape[1] // (w.shape[1] * w.shape[2]), w.shape[2], *gy.shape[2:])


def columns_grad(gy, offset, factors=None, *, insize, **params):
    w = weighted(offset, factors, insize[2:], **params)
    return np.einsum("ngtjpqhw,ngctpq->ngchw", w, by_tap(gy, w)).reshape(insize)


def factors_grad(gy, x, offset, **params):
    w = readings(offset, x.shape[2:], **params)
    found = np.einsum("ngtjpqhw,ngchw,ngctpq->ngtjpq", w, grouped(x, w.shape[1]), by_tap(gy, w))
    return found.reshape(len(x), w.shape[1] * w.shape[2] * w.shape[3], *offset.shape[2:])
