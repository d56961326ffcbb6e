"""Samples of the ops of networks: convolution, pooling, normalization, losses."""

import itertools

import numpy as np
import torch
import torch.nn.functional as F

from tests.ops.harness import Floats, by_torch, sample

SINGLE = ("float32", "float64")  # float16 has too little range or precision here
A = Floats


def rng():
    return np.random.default_rng(4)


# ---- convolution -------------------------------------------------------------------------------------------
def conv_size(size, k, s, p, d=1):
    return (size + 2 * p - d * (k - 1) - 1) // s + 1


def conv(x, w, b=None, stride=1, pad=0, dilate=1, groups=1, outsize=None):
    """torch's, the image being extended by zeros as far as outsize wants."""
    n = x.dim() - 2
    s, p, d = (tuple(np.broadcast_to(v, n).tolist()) for v in (stride, pad, dilate))
    out = outsize or [conv_size(x.shape[k + 2], w.shape[k + 2], s[k], p[k], d[k]) for k in range(n)]
    touched = [s[k] * (out[k] - 1) + d[k] * (w.shape[k + 2] - 1) + 1 - 2 * p[k] for k in range(n)]
    more = [max(0, touched[k] - x.shape[k + 2]) for k in reversed(range(n))]
    x = F.pad(x, [v for m in more for v in (0, m)])
    return getattr(F, f"conv{n}d")(x, w, b, s, p, d, groups)


def deconv(x, w, b=None, stride=1, pad=0, dilate=1, groups=1, outsize=None):
    """The gradient of conv by its image, from torch's autograd."""
    n = x.dim() - 2
    s, p, d = (tuple(np.broadcast_to(v, n).tolist()) for v in (stride, pad, dilate))
    out = outsize or [s[k] * (x.shape[k + 2] - 1) + d[k] * (w.shape[k + 2] - 1) + 1 - 2 * p[k] for k in range(n)]
    image = torch.zeros(x.shape[0], w.shape[1] * groups, *out, dtype=x.dtype, requires_grad=True)
    y = conv(image, w, None, stride, pad, dilate, groups, list(x.shape[2:]))
    g = torch.autograd.grad(y, image, x)[0]
    return g if b is None else g + b.reshape(-1, *[1] * n)


def conv_grad_w(x, gy, ksize, stride=1, pad=0, dilate=1, groups=1):
    w = torch.zeros(gy.shape[1], x.shape[1] // groups, *ksize, dtype=x.dtype, requires_grad=True)
    return torch.autograd.grad(conv(x, w, None, stride, pad, dilate, groups, list(gy.shape[2:])), w, gy)[0]


CONVOLUTIONS = [  # x, w, parameters
    ((2, 3, 7), (4, 3, 3), dict(stride=[2], pad=[1])),
    ((2, 3, 5, 6), (4, 3, 3, 2), {}),
    ((2, 3, 6, 5), (4, 3, 3, 3), dict(stride=[2, 3], pad=[1, 2])),
    ((1, 4, 6, 6), (6, 2, 3, 3), dict(pad=[1], groups=2)),
    ((2, 2, 7, 8), (3, 2, 2, 3), dict(dilate=[2, 2], stride=[2, 2], pad=[1, 1])),
    ((1, 2, 7, 6), (3, 2, 3, 2), dict(stride=[3, 4], outsize=[3, 2])),
    ((1, 2, 4, 4, 5), (3, 2, 2, 3, 2), dict(stride=[1, 2, 1], pad=[0, 1, 1])),
]


def convolutions():
    for x, w, params in CONVOLUTIONS:
        yield sample("convolution", by_torch(conv), A(*x), A(*w), A(w[0]), **params)
        yield sample("convolution", by_torch(conv), A(*x), A(*w), **params)
        x_, w_ = torch.zeros(x), torch.zeros(w)
        y = tuple(conv(x_, w_, **params).shape)
        more = {k: v for k, v in params.items() if k != "outsize"}
        groups = params.get("groups", 1)
        yield sample("convolution_grad_w", by_torch(conv_grad_w), A(*x), A(*y), ksize=list(w[2:]), **more)
        yield sample("deconvolution", by_torch(deconv), A(*y), A(*w), A(w[1] * groups), outsize=list(x[2:]), **more)
        yield sample("deconvolution", by_torch(deconv), A(*y), A(*w), **more)


# ---- pooling -----------------------------------------------------------------------------------------------
def windows(x, ksize, stride, pad, out, fill):
    """x's windows: (batch, channels, *out, volume)."""
    n = x.ndim - 2
    pads = [(pad[k], max(0, (out[k] - 1) * stride[k] + ksize[k] - pad[k] - x.shape[k + 2])) for k in range(n)]
    x = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=fill)
    r = np.empty((*x.shape[:2], *out, int(np.prod(ksize))), x.dtype)
    for o in itertools.product(*map(range, out)):
        at = tuple(slice(o[k] * stride[k], o[k] * stride[k] + ksize[k]) for k in range(n))
        r[(slice(None), slice(None), *o)] = x[(slice(None), slice(None), *at)].reshape(*x.shape[:2], -1)
    return r


def pooled(size, k, s, p, cover_all):
    return (size + 2 * p - k + (s - 1 if cover_all else 0)) // s + 1


def window(x, ksize, stride=None, pad=None, cover_all=False, outsize=None):
    n = x.ndim - 2
    stride, pad = stride or ksize, pad or [0] * n
    out = outsize or [pooled(x.shape[k + 2], ksize[k], stride[k], pad[k], cover_all) for k in range(n)]
    return ksize, stride, pad, out


def max_pooling(x, cover_all=True, return_indices=False, **geometry):
    cols = windows(x, *window(x, cover_all=cover_all, **geometry), -np.inf)
    return (cols.max(-1), cols.argmax(-1)) if return_indices else cols.max(-1)


def sum_pooling(x, divisor=1, **geometry):
    return windows(x, *window(x, **geometry), 0).sum(-1) / divisor


def average_pooling(x, pad_value=0, **geometry):
    cols = windows(x, *window(x, **geometry), 0).sum(-1)
    if pad_value == 0:
        return cols / np.prod(geometry["ksize"])
    return cols / windows(np.ones_like(x), *window(x, **geometry), 0).sum(-1)


def max_pooling_at(x, indexes, flat=False, **geometry):
    if flat:  # positions in an image without padding
        rows = [t.reshape(*t.shape[:2], -1) for t in (x, indexes)]
        return np.take_along_axis(*rows, -1).reshape(indexes.shape)
    cols = windows(x, *window(x, outsize=indexes.shape[2:], **geometry), 0)
    return np.take_along_axis(cols, indexes[..., None], -1)[..., 0]


def transposed(f, insize, gy, **geometry):
    """The transpose of the linear function f, whose columns are computed as one large batch."""
    size = int(np.prod(insize))
    units = np.broadcast_to(np.eye(size).reshape(size, 1, 1, *insize), (size, *gy.shape[:2], *insize))
    columns = f(units.reshape(-1, gy.shape[1], *insize), **geometry).reshape(size, *gy.shape)
    gx = (columns * gy).sum(tuple(range(3, columns.ndim)))
    return np.moveaxis(gx, 0, -1).reshape(*gy.shape[:2], *insize)


def unpooling(x, ksize, stride=None, pad=None, outsize=None, cover_all=True, divisor=1):
    n = x.ndim - 2
    s, p = stride or ksize, pad or [0] * n
    outsize = outsize or [
        s[k] * (x.shape[k + 2] - 1) + ksize[k] - 2 * p[k] - (s[k] - 1 if cover_all else 0) for k in range(n)
    ]
    return transposed(sum_pooling, outsize, x, ksize=ksize, stride=s, pad=p, outsize=x.shape[2:], divisor=divisor)


def max_pooling_grad(gy, indexes, insize, **geometry):
    def f(x, **geometry):
        return max_pooling_at(x, np.concatenate([indexes] * (len(x) // len(indexes))), **geometry)

    return transposed(f, insize, gy, **geometry)


POOLINGS = [  # image, geometry; some with windows that ATen's rules would drop or refuse
    ((2, 3, 7), dict(ksize=[3], stride=[2], pad=[1])),
    ((2, 3, 6, 8), dict(ksize=[2, 2])),
    ((1, 2, 5, 7), dict(ksize=[2, 2])),
    ((2, 2, 37, 40), dict(ksize=[2, 2])),
    ((1, 2, 9, 8), dict(ksize=[3, 3], stride=[2, 2], pad=[1, 1])),
    ((1, 2, 9, 8), dict(ksize=[3, 3], stride=[1, 1], pad=[1, 1])),
    ((1, 2, 7, 9), dict(ksize=[3, 2], stride=[2, 3], pad=[2, 1])),
    ((1, 2, 4, 5, 4), dict(ksize=[2, 3, 2], stride=[2, 1, 3], pad=[1, 1, 0])),
]


def poolings():
    for shape, geometry in POOLINGS:
        image = np.zeros(shape)
        for cover_all in (True, False):
            out = window(image, cover_all=cover_all, **geometry)[3]
            yield sample("max_pooling", max_pooling, A(*shape), cover_all=cover_all, **geometry)
            yield sample("sum_pooling", sum_pooling, A(*shape), cover_all=cover_all, divisor=2, **geometry)
            yield sample("unpooling", unpooling, A(*shape[:2], *out), outsize=list(shape[2:]), **geometry)
            indexes = max_pooling(rng().random(shape), cover_all, True, **geometry)[1]
            yield sample("max_pooling_at", max_pooling_at, A(*shape), indexes, **geometry)
            yield sample(
                "max_pooling_grad", max_pooling_grad, A(*indexes.shape), indexes, insize=list(shape[2:]), **geometry
            )
        yield sample("max_pooling", max_pooling, A(*shape), return_indices=True, **geometry)
        yield sample("average_pooling", average_pooling, A(*shape), **geometry)
        yield sample("average_pooling", average_pooling, A(*shape), pad_value=None, **geometry)
    geometry = dict(ksize=[2, 2], stride=[1, 2], flat=True)
    indexes = np.array([[[[0, 6], [4, 2]]]])
    yield sample("max_pooling_at", max_pooling_at, A(1, 1, 3, 4), indexes, **geometry)
    yield sample("max_pooling_grad", max_pooling_grad, A(1, 1, 2, 2), indexes, insize=[3, 4], **geometry)
    yield sample("sum_pooling", sum_pooling, A(1, 1, 5, 4), ksize=[3, 2], stride=[3, 2], outsize=[2, 2])
    # the last windows lie in the padding: -inf
    yield sample("max_pooling", max_pooling, A(1, 1, 4, 4), ksize=[2, 2], stride=[3, 3], pad=[1, 1], differentiable=[])
    yield sample("unpooling", unpooling, A(1, 2, 3, 4), ksize=[2, 3])
    yield sample(
        "unpooling", unpooling, A(1, 2, 3, 4), ksize=[3, 3], stride=[2, 2], pad=[1, 1], cover_all=False, divisor=9
    )


# ---- normalization -----------------------------------------------------------------------------------------
def moments(x, over):
    m = x.mean(over, keepdim=True)
    return m, ((x - m) ** 2).mean(over, keepdim=True)


def channel_axes(x, gamma, axis):
    over = tuple(axis) if axis is not None else (0, *range(gamma.dim() + 1, x.dim()))
    shape = [1 if k in over else n for k, n in enumerate(x.shape)]
    return over, shape


def batch_norm(x, gamma, beta, eps=2e-5, axis=None, **running):
    over, shape = channel_axes(x, gamma, axis)
    m, v = moments(x, over)
    return (x - m) / (v + eps).sqrt() * gamma.reshape(shape) + beta.reshape(shape)


def fixed_batch_norm(x, gamma, beta, mean, var, eps=2e-5, axis=None):
    shape = channel_axes(x, gamma, axis)[1]
    gamma, beta, mean, var = (p.reshape(shape) for p in (gamma, beta, mean, var))
    return (x - mean) / (var + eps).sqrt() * gamma + beta


def gradients_of(f):
    """(x, gamma, gy) -> the gradients of x, gamma and beta, by torch's autograd."""

    def g(x, gamma, gy, mean=None, inv_std=None, **params):
        inputs = [t.detach().requires_grad_() for t in (x, gamma, torch.zeros_like(gamma))]
        return torch.autograd.grad(f(*inputs, **params), inputs, gy)

    return by_torch(g)


def sample_norm(x, beta=None, gamma=None, lead=1, eps=1e-5):
    shape = x.shape[lead:]
    gamma, beta = (None if t is None else t.reshape(shape) for t in (gamma, beta))
    return F.layer_norm(x, shape, gamma, beta, eps)


def layer_norm(x, gamma, beta, eps=1e-5):
    return F.layer_norm(x, gamma.shape, gamma, beta, eps)


def group_norm(x, gamma, beta, groups, eps=1e-5):
    return F.group_norm(x, groups, gamma, beta, eps)


def normalize(x, eps=1e-5, axis=(1,)):
    return x / (np.sqrt((x * x).sum(tuple(axis), keepdims=True)) + eps)


def local_response(x, n=5, k=2, alpha=1e-4, beta=0.75):
    half, squares = n // 2, np.zeros_like(x)
    for c in range(x.shape[1]):
        squares[:, c] = (x[:, max(0, c - half) : c + half + 1] ** 2).sum(1)
    return x / (k + alpha * squares) ** beta


def normalizations():
    for x, gamma, axis in [
        ((6, 3), (3,), None),
        ((4, 3, 5), (3,), None),
        ((3, 2, 4, 4), (2,), None),
        ((5, 2, 3), (2, 3), None),
        ((3, 4, 2), (4,), [0, 2]),
        ((3, 4, 2), (2,), [0, 1]),
        ((4, 3, 2, 3), (4, 2), [1, 3]),
        ((2, 17, 20), (17,), None),
    ]:
        params = {"eps": 1e-2} if axis is None else {"eps": 1e-3, "axis": axis}
        wide = [A(*x, low=-2, high=3), A(*gamma, low=0.5, high=2), A(*gamma)]
        yield sample("batch_normalization", by_torch(batch_norm), *wide, tolerance=4, **params)
        yield sample("batch_normalization_grad", gradients_of(batch_norm), *wide[:2], A(*x), tolerance=4, **params)
        yield sample(
            "fixed_batch_normalization",
            by_torch(fixed_batch_norm),
            *wide,
            A(*gamma),
            A(*gamma, low=0.5, high=2),
            tolerance=4,
            **params,
        )
    running = dict(running_mean=torch.zeros(3), running_var=torch.ones(3), decay=0.8)
    yield sample("batch_normalization", by_torch(batch_norm), A(4, 3), A(3), A(3), eps=1e-2, tolerance=4, **running)
    for x in [(3, 5), (4, 1), (2, 40)]:
        more = dict(eps=1e-2, tolerance=4)
        yield sample("layer_normalization", by_torch(layer_norm), A(*x), A(x[1]), A(x[1]), **more)
        yield sample("layer_normalization_grad", gradients_of(layer_norm), A(*x), A(x[1]), A(*x), **more)
    for x, lead in [((3, 5), 1), ((2, 3, 4), 2), ((2, 3, 4), 1), ((2, 3), 0)]:
        more = dict(lead=lead, eps=1e-2, tolerance=4)
        for parameters in [(A(*x[lead:]), A(*x[lead:])), (A(1, *x[lead:]),), ()]:
            yield sample("sample_normalization", by_torch(sample_norm), A(*x), *parameters, **more)
    for x, groups in [((2, 4, 3), 2), ((3, 6, 2, 3), 3), ((2, 4), 1), ((1, 3, 2, 2, 2), 1)]:
        more = dict(groups=groups, eps=1e-2, tolerance=4)
        yield sample("group_normalization", by_torch(group_norm), A(*x), A(x[1]), A(x[1]), **more)
        yield sample("group_normalization_grad", gradients_of(group_norm), A(*x), A(x[1]), A(*x), **more)
    for x, params in [((3, 4), {}), ((2, 3, 4), dict(axis=[1, 2], eps=1e-2)), ((2, 3, 4), dict(axis=[0]))]:
        yield sample("normalize", normalize, A(*x), **params)
    for x, params in [
        ((2, 7), {}),
        ((2, 4, 3, 2), dict(n=3, k=1.0, alpha=0.5, beta=0.6)),
        ((1, 2, 3), dict(n=5, alpha=1.0)),
    ]:
        yield sample("local_response_normalization", local_response, A(*x), **params)


# ---- softmax and losses ------------------------------------------------------------------------------------
def softmax(x, axis=1):
    return torch.softmax(x, axis)


def log_softmax(x, axis=1):
    return torch.log_softmax(x, axis)


def softmax_grad(gy, y, axis=1):
    return y * (gy - (gy * y).sum(axis, keepdims=True))


def log_softmax_grad(gy, y, axis=1):
    return gy - np.exp(y) * gy.sum(axis, keepdims=True)


def cross_entropy(x, t, weight=None, ignore_label=-1, normalize=True, reduce="mean"):
    t = t.long()
    valid = t != ignore_label
    t = torch.where(valid, t % x.shape[1], 0)
    y = -torch.log_softmax(x, 1).gather(1, t[:, None])[:, 0] * valid
    if weight is not None:
        y = y * weight[t]
    if reduce == "no":
        return y
    return y.sum() / max(1, int(valid.sum()) if normalize else len(x))


def sigmoid_cross_entropy(x, t, normalize=True, reduce="mean"):
    valid = t != -1
    y = F.binary_cross_entropy_with_logits(x, t.to(x.dtype), reduction="none") * valid
    return y if reduce == "no" else y.sum() / max(1, int(valid.sum()) if normalize else len(x))


def labels(*shape, classes, dtype="int32", low=-1):
    return rng().integers(low, classes, shape).astype(dtype)


def losses():
    for shape, axis in [((3, 4), 1), ((2, 3, 4), 1), ((5,), 0), ((2, 3), -1), ((2, 35), 1)]:
        for op, f, g in [("softmax", softmax, softmax_grad), ("log_softmax", log_softmax, log_softmax_grad)]:
            yield sample(op, by_torch(f), A(*shape, low=-3, high=3), axis=axis)
            yield sample(op + "_grad", g, A(*shape), A(*shape, low=0.1), axis=axis)
    for x in [(5, 4), (3, 37), (2, 3, 4), (2, 3, 5, 7), (0, 3), (2, 1)]:
        t = labels(x[0], *x[2:], classes=x[1])
        wide = A(*x, low=-3, high=3)
        yield sample("softmax_cross_entropy", by_torch(cross_entropy), wide, t)
        yield sample("softmax_cross_entropy", by_torch(cross_entropy), wide, t, reduce="no")
        yield sample(
            "softmax_cross_entropy",
            by_torch(cross_entropy),
            wide,
            t.astype("int64"),
            A(x[1], low=0.5, high=2),
            normalize=False,
            ignore_label=0,
            differentiable=[0],
        )
        yield sample(
            "softmax_cross_entropy",
            by_torch(cross_entropy),
            wide,
            t.astype("int16"),
            A(x[1], low=0.5, high=2),
            reduce="no",
            ignore_label=-100,
            differentiable=[0],
        )
        yield sample("softmax_cross_entropy", by_torch(cross_entropy), wide, np.full_like(t, -1))
    for x in [(4, 3), (5,), (2, 3, 4)]:
        for dtype, params in [("int32", {}), ("int8", dict(normalize=False)), ("int64", dict(reduce="no"))]:
            yield sample(
                "sigmoid_cross_entropy",
                by_torch(sigmoid_cross_entropy),
                A(*x, low=-4, high=4),
                labels(*x, classes=2, dtype=dtype),
                **params,
            )
    for x in [(3, 4), (2, 3, 2), (1,)]:
        yield sample("mean_squared_error", lambda a, b: ((a - b) ** 2).mean(), A(*x), A(*x))
        yield sample("squared_error", lambda a, b: (a - b) ** 2, A(*x), A(*x))
        yield sample("absolute_error", lambda a, b: abs(a - b), A(*x), A(*x))
        yield sample("mean_absolute_error", lambda a, b: abs(a - b).mean(), A(*x), A(*x))
        huber = by_torch(lambda a, b, delta: F.huber_loss(a, b, reduction="none", delta=delta))
        yield sample("huber_loss", huber, A(*x, low=-2, high=2), A(*x), delta=0.7)


# ---- tables, dropout, images -------------------------------------------------------------------------------
def embedding(w, ids, ignore_index=None):
    y = w[np.where(ids == ignore_index, 0, ids)]
    return np.where((ids == ignore_index)[..., None], 0, y)


def embedding_grad(gy, ids, rows, ignore_index=None):
    gw = np.zeros((rows, gy.shape[-1]))
    kept = ids != ignore_index
    np.add.at(gw, ids[kept], gy[kept])
    return gw


def dropout_mask(x, mask, scale=1):
    return x * mask.numpy() * scale


def resize(x, size, align_corners=True, mode="bilinear"):
    return F.interpolate(x, size, mode=mode, align_corners=align_corners if mode == "bilinear" else None)


def resize_grad(gy, size, insize, align_corners=True, mode="bilinear"):
    x = torch.zeros(insize, dtype=gy.dtype, requires_grad=True)
    return torch.autograd.grad(resize(x, size, align_corners, mode), x, gy)[0]


def im2col(x, ksize, stride=(1, 1), pad=(0, 0), dilate=(1, 1), cover_all=False, outsize=None):
    """Through a convolution with filters of a single 1."""
    n = outsize or [
        (x.shape[k + 2] + 2 * pad[k] - dilate[k] * (ksize[k] - 1) - 1 + (stride[k] - 1 if cover_all else 0))
        // stride[k]
        + 1
        for k in (0, 1)
    ]
    w = torch.eye(ksize[0] * ksize[1], dtype=x.dtype).reshape(-1, 1, *ksize).repeat(x.shape[1], 1, 1, 1)
    return conv(x, w, None, stride, pad, dilate, x.shape[1], list(n))


def col2im(gy, ksize, insize, **geometry):
    channels = gy.shape[1] // (ksize[0] * ksize[1])
    x = torch.zeros(gy.shape[0], channels, *insize, dtype=gy.dtype, requires_grad=True)
    return torch.autograd.grad(im2col(x, ksize, outsize=list(gy.shape[2:]), **geometry), x, gy)[0]


def tables_and_images():
    for ids in [np.array([3, 0, -1, 3], "int32"), np.array([[1, 2], [4, 1]], "int64"), np.array([[-1], [1]], "int8")]:
        for params in [{}, dict(ignore_index=-1), dict(ignore_index=1)]:
            yield sample("embedding", embedding, A(5, 3), ids, **params)
            yield sample("embedding_grad", embedding_grad, A(*ids.shape, 3), ids, rows=5, **params)
    kept = torch.as_tensor(rng().random((3, 4)) > 0.4)
    yield sample("dropout_mask", dropout_mask, A(3, 4), mask=kept, scale=2.5)
    yield sample("dropout_mask", dropout_mask, A(3, 4), mask=kept * 1.5)
    yield sample("dropout_mask", dropout_mask, A(3, 4), mask=kept * 1.5, scale=2.0)
    yield sample("dropout_apply", lambda x, mask, scale=1: x * mask * scale, A(3, 4), kept.numpy(), scale=2.5)
    for ratio in (0.0, 1.0):  # the others are drawn
        yield sample("dropout", lambda x, ratio: x * (1 - ratio), A(3, 4), ratio=ratio)
    for shape, params in [
        ((1, 2, 3, 4), dict(size=[5, 3])),
        ((1, 1, 4, 4), dict(size=[2, 7], align_corners=False)),
        ((2, 1, 3, 4), dict(size=[5, 9], mode="nearest")),
        ((1, 1, 3, 3), dict(size=[1, 1])),
    ]:
        yield sample("resize", by_torch(resize), A(*shape), dtypes=SINGLE, **params)
        yield sample(
            "resize_grad",
            by_torch(resize_grad),
            A(*shape[:2], *params["size"]),
            insize=list(shape),
            dtypes=SINGLE,
            **params,
        )
    for shape, params in [
        ((2, 3, 5, 6), dict(ksize=[3, 2], stride=[2, 3], pad=[1, 1])),
        ((1, 2, 6, 5), dict(ksize=[2, 2], dilate=[2, 3])),
        ((1, 1, 5, 6), dict(ksize=[2, 3], stride=[2, 2], outsize=[3, 2])),
    ]:
        yield sample("im2col", by_torch(im2col), A(*shape), **params)
        out = im2col(torch.zeros(shape), **params).shape
        more = {k: v for k, v in params.items() if k != "outsize"}
        yield sample("col2im", by_torch(col2im), A(*out), insize=list(shape[2:]), **more)
    yield sample("im2col", by_torch(im2col), A(1, 2, 6, 7), ksize=[3, 2], stride=[2, 3], cover_all=True)


FAMILIES = convolutions, poolings, normalizations, losses, tables_and_images
SAMPLES: list = sum(itertools.chain(*(family() for family in FAMILIES)), [])
