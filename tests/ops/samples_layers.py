"""Samples of layers with parameters that forward updates."""

import numpy as np
import torch.nn.functional as F

from tests.ops.harness import Floats, by_torch, sample
from tests.ops.samples_networks import conv, windows

A = Floats


def affine(x, w, b=0.0, base_axis=1):
    axis = base_axis % x.ndim
    y = x.reshape(int(np.prod(x.shape[:axis])), len(w)) @ w.reshape(len(w), -1)
    return y.reshape(*x.shape[:axis], *w.shape[1:]) + b


def window_pooling(x, ksize, stride=None, pad=None, ignore_border=True, divisor="none"):
    lead = x.shape[: x.ndim - len(ksize)]
    x = x.reshape(-1, 1, *x.shape[len(lead) :])
    stride, pad = stride or ksize, pad or [0] * len(ksize)
    out = [
        (n + p - (k - p if ignore_border else 1)) // s + 1
        for n, k, s, p in zip(x.shape[2:], ksize, stride, pad, strict=True)
    ]
    y = windows(x, ksize, stride, pad, out, 0).sum(-1).reshape(*lead, *out)
    if divisor == "none":
        return y
    inside = np.ones((1, 1, *x.shape[2:]))
    if divisor == "padded":
        inside = np.pad(inside, [(0, 0), (0, 0), *((p, p) for p in pad)], constant_values=1)
        pad = [0] * len(pad)
    return y / windows(inside, ksize, stride, pad, out, 0).sum(-1)[0, 0]


def repeat_blocks(x, kernel):
    for k, n in enumerate(kernel):
        x = np.repeat(x, n, x.ndim - len(kernel) + k)
    return x


def embed(ids, w):
    return w[ids]


def binary_weights(w, binary, alpha=None, quantize_zero_to=1.0, axis=()):
    signs = np.where((w < 0) | (w > 0), np.sign(w), quantize_zero_to)
    return signs if alpha is None else signs * np.abs(w).mean(axis=tuple(axis), keepdims=True)


def powers_of_two(w, indicators, *memory, num_bits=4, **params):
    """The nearest powers of two of all weights, whatever the indicators."""
    high = np.floor(np.log2(np.abs(w).max() / 1.5)) + 1
    low = high + 1 - 2.0 ** (num_bits - 2)
    nearest = np.clip(np.floor(np.log2(np.abs(w) / 1.5)) + 1, low, high)
    return np.where(np.abs(w) < 2 ** (low - 1), 0, np.sign(w) * 2**nearest)


def depthwise(x, w, b=None, **params):
    return conv(x, w[:, None], b, groups=x.shape[1], **params)


def transposed(x, w, b=None, stride=1, pad=0, dilate=1, groups=1, output_padding=0):
    f = getattr(F, f"conv_transpose{x.dim() - 2}d")
    return f(x, w, b, stride, pad, output_padding, groups, dilate)


def depthwise_transposed(x, w, b=None, divisor=1, **params):
    return transposed(x, w[:, None], b, groups=x.shape[1] // divisor, **params)


def pack(x, lengths, batch_first=False):
    x = x.swapaxes(0, 1) if batch_first else x
    alive = np.arange(len(x))[:, None] < np.asarray(lengths)
    return x[alive], alive.sum(1)


def pad(x, batch_sizes, batch_first=False, padding_value=0.0, total_length=-1):
    time = max(len(batch_sizes), total_length)
    alive = np.arange(batch_sizes[0]) < np.append(batch_sizes, [0] * (time - len(batch_sizes)))[:, None]
    y = np.full((*alive.shape, *x.shape[1:]), padding_value)
    y[alive] = x
    return (y.swapaxes(0, 1) if batch_first else y), alive.sum(0)


def layers():
    for x, w, params in [
        ((4, 3), (3, 5), {}),
        ((2, 3, 4), (12, 2, 3), {}),
        ((2, 3, 4), (4, 2), dict(base_axis=2)),
        ((2, 3, 4), (4, 2), dict(base_axis=-1)),
        ((6,), (6, 2), dict(base_axis=0)),
        ((0, 3), (3, 2), {}),
    ]:
        yield sample("affine", affine, A(*x), A(*w), A(*w[1:]), **params)
        yield sample("affine", affine, A(*x), A(*w), **params)
    for ids in [np.array([3, 0, 1, 3], "int32"), np.array([[1, 2], [4, 1]], "int64")]:
        for w in [(5, 3), (5, 2, 3), (5,)]:
            yield sample("embed", embed, ids, A(*w))
    for x, params in [
        ((1, 2, 7), dict(ksize=[3], stride=[2], pad=[1])),
        ((2, 1, 5, 6), dict(ksize=[2, 3], stride=[2, 2], pad=[0, 1])),
        ((2, 3, 4, 5), dict(ksize=[2, 2, 2])),
        ((5, 4), dict(ksize=[4, 3], stride=[3, 1], pad=[3, 2])),
    ]:
        for divisor in ("padded", "image"):
            for ignore_border in (True, False):
                yield sample(
                    "window_pooling", window_pooling, A(*x), divisor=divisor, ignore_border=ignore_border, **params
                )
        yield sample("window_pooling", window_pooling, A(*x), ignore_border=False, **params)
    for x, kernel in [((2, 3, 4, 5), [2, 3]), ((3, 4), [2, 3]), ((2, 3, 1), [3]), ((2, 2, 1, 3), [2, 1, 2])]:
        yield sample("repeat_blocks", repeat_blocks, A(*x), kernel=kernel)
    for x, w, params in [
        ((2, 3, 7), (3, 3), dict(stride=[2], pad=[1], dilate=[1])),
        ((2, 2, 5, 6), (4, 3, 2), dict(stride=[1, 2], pad=[0, 1], dilate=[2, 1])),
    ]:
        yield sample("depthwise_convolution", by_torch(depthwise), A(*x), A(*w), A(w[0]), **params)
        yield sample("depthwise_convolution", by_torch(depthwise), A(*x), A(*w), **params)
    for x, w, params in [
        ((2, 3, 4), (3, 3), dict(stride=[2], pad=[1], dilate=[1])),
        ((2, 4, 3, 4), (4, 3, 2), dict(stride=[1, 2], pad=[0, 1], dilate=[2, 1], divisor=2)),
    ]:
        divisor = params.get("divisor", 1)
        yield sample(
            "depthwise_deconvolution", by_torch(depthwise_transposed), A(*x), A(*w), A(x[1] // divisor), **params
        )
        yield sample("depthwise_deconvolution", by_torch(depthwise_transposed), A(*x), A(*w), **params)
    for x, w, params in [
        ((2, 3, 4), (3, 2, 3), dict(stride=[2], pad=[1], dilate=[1])),
        ((2, 4, 3, 4), (4, 2, 3, 2), dict(stride=[3, 2], pad=[0, 1], dilate=[2, 1], groups=2, output_padding=[2, 1])),
    ]:
        maps = w[1] * params.get("groups", 1)
        yield sample("transposed_convolution", by_torch(transposed), A(*x), A(*w), A(maps), **params)
        yield sample("transposed_convolution", by_torch(transposed), A(*x), A(*w), **params)
    signs = np.zeros((3, 2, 4))
    yield sample("binary_weights", binary_weights, A(3, 2, 4), signs, quantize_zero_to=0.0, differentiable=())
    yield sample(
        "binary_weights",
        binary_weights,
        A(3, 2, 4),
        signs,
        np.zeros(3),
        axis=[1, 2],
        differentiable=(),
        dtypes=("float64",),
    )
    memory = [np.zeros(6, "float32") for _ in range(3)]
    for params in [{}, dict(num_bits=3), dict(random=True)]:
        yield sample(
            "inq_weights",
            powers_of_two,
            A(6),
            *memory,
            np.array([0, -1]),
            np.empty(0, "uint8"),
            inq_iterations=[0],
            differentiable=(),
            **params,
        )
    yield sample("inference_only", lambda x: x, A(2, 3), differentiable=())
    lengths, batch_sizes = np.array([4, 2, 1]), np.array([3, 2, 1, 1], "int32")
    for batch_first in (False, True):
        shape = (3, 4) if batch_first else (4, 3)
        yield sample("pack_padded_sequence", pack, A(*shape, 2), lengths, batch_first=batch_first)
        yield sample("pack_padded_sequence", pack, A(*shape), lengths, batch_first=batch_first)
        yield sample("pad_packed_sequence", pad, A(7, 2), batch_sizes, batch_first=batch_first)
        yield sample(
            "pad_packed_sequence", pad, A(7), batch_sizes, batch_first=batch_first, padding_value=-1.5, total_length=6
        )


SAMPLES: list = sum(layers(), [])
WRITES = {"binary_weights", "inq_weights"}  # ops that write into their inputs
