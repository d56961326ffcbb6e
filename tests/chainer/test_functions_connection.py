"""Connections against definitions in NumPy and torch; also runs on the original (`-c /dev/null`), without torch."""

import importlib

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, F, Log, chainer

gradient_check = importlib.import_module(f"{chainer.__name__}.gradient_check")
conv = importlib.import_module(f"{chainer.__name__}.utils.conv")
InvalidType = chainer.utils.type_check.InvalidType


def rand(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape)


def outsizes(x, W, stride, pad, dilate, cover_all=False):
    sizes = zip(x.shape[2:], W.shape[2:], stride, pad, strict=True)
    return [conv.get_conv_outsize(*size, cover_all, d) for size, d in zip(sizes, dilate, strict=True)]


def places(W, stride, pad, dilate, out):
    """For each element of the filter: its index, and the slices of the padded image that it is multiplied by."""
    for index in np.ndindex(W.shape[2:]):
        yield (
            index,
            tuple(slice(i * d, i * d + s * n, s) for i, d, s, n in zip(index, dilate, stride, out, strict=True)),
        )


def convolved(x, W, b, stride, pad, dilate, groups, cover_all):
    out = outsizes(x, W, stride, pad, dilate, cover_all)
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p + s) for p, s in zip(pad, stride, strict=True)]])
    y = np.zeros((len(x), len(W), *out))
    for g, (xs, ws) in enumerate(zip(np.split(x, groups, 1), np.split(W, groups), strict=True)):
        to = y[:, g * len(ws) : (g + 1) * len(ws)]
        for index, part in places(W, stride, pad, dilate, out):
            to += np.einsum("nc...,oc->no...", xs[(..., *part)], ws[(..., *index)])
    return y + b.reshape(-1, *[1] * len(out))


def deconvolved(x, W, b, stride, pad, dilate, groups, outsize):
    n, out = len(x), x.shape[2:]
    padded = [size + 2 * p + s for size, p, s in zip(outsize, pad, stride, strict=True)]
    y = np.zeros((n, W.shape[1] * groups, *padded))
    for g, (xs, ws) in enumerate(zip(np.split(x, groups, 1), np.split(W, groups), strict=True)):
        to = y[:, g * W.shape[1] : (g + 1) * W.shape[1]]
        for index, part in places(W, stride, pad, dilate, out):
            to[(..., *part)] += np.einsum("nc...,co->no...", xs, ws[(..., *index)])
    inside = tuple(slice(p, p + size) for p, size in zip(pad, outsize, strict=True))
    return y[(..., *inside)] + b.reshape(-1, *[1] * len(out))


SIZE = (9, 8, 7)
OPTIONS = [
    ((3,), (2,), (1,), (1,), 1),
    ((3, 2), (2, 1), (0, 1), (1, 1), 1),
    ((2, 3), (1, 2), (2, 1), (2, 1), 2),
    ((3, 2, 2), (2, 1, 2), (1, 0, 1), (1, 2, 1), 1),
]
F_CONV = {1: F.convolution_1d, 2: F.convolution_2d, 3: F.convolution_3d}
F_DECONV = {1: F.deconvolution_1d, 2: F.deconvolution_2d, 3: F.deconvolution_3d}


@pytest.mark.parametrize("cover_all", [False, True])
@pytest.mark.parametrize(("ksize", "stride", "pad", "dilate", "groups"), OPTIONS)
def test_convolution(ksize, stride, pad, dilate, groups, cover_all):
    ndim = len(ksize)
    x, W, b = rand(2, 4, *SIZE[:ndim]), rand(6, 4 // groups, *ksize), rand(6)
    expected = convolved(x, W, b, stride, pad, dilate, groups, cover_all)
    for f in (F_CONV[ndim], F.convolution_nd):
        y = f(x, W, b, stride, pad, cover_all, dilate=dilate, groups=groups)
        np.testing.assert_allclose(y.array, expected, atol=1e-12)
    np.testing.assert_allclose(F.convolution_nd(x, W, None, stride, pad, cover_all, dilate, groups).array,
                               expected - b.reshape(-1, *[1] * ndim), atol=1e-12)  # fmt: skip


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize(("ksize", "stride", "pad", "dilate", "groups"), OPTIONS)
def test_deconvolution(ksize, stride, pad, dilate, groups, more):
    ndim = len(ksize)
    x, W, b = rand(2, 4, 4, 3, 3)[(..., *[0] * (3 - ndim))], rand(4, 3, *ksize), rand(3 * groups)
    sizes = zip(x.shape[2:], ksize, stride, pad, dilate, strict=True)
    smallest = [conv.get_deconv_outsize(*size[:4], d=size[4]) for size in sizes]
    outsize = [n + min(more, s - 1) for n, s in zip(smallest, stride, strict=True)]
    expected = deconvolved(x, W, b, stride, pad, dilate, groups, outsize)
    for f in (F_DECONV[ndim], F.deconvolution_nd):
        y = f(x, W, b, stride, pad, outsize if more else None, dilate=dilate, groups=groups)
        np.testing.assert_allclose(y.array, expected, atol=1e-12)


@pytest.mark.skipif(ORIGINAL, reason="torch is not installed")
def test_convolution_equals_that_of_torch():
    import torch

    x, W, b = rand(2, 4, 9, 8), rand(6, 2, 3, 3), rand(6)
    y = F.convolution_2d(x, W, b, 2, 1, groups=2)
    expected = torch.nn.functional.conv2d(*map(torch.from_numpy, (x, W, b)), stride=2, padding=1, groups=2)
    np.testing.assert_allclose(y.array, expected.numpy(), atol=1e-12)
    y = F.deconvolution_2d(x, rand(4, 3, 3, 2), stride=2, pad=1)
    expected = torch.nn.functional.conv_transpose2d(*map(torch.from_numpy, (x, rand(4, 3, 3, 2))), stride=2, padding=1)
    np.testing.assert_allclose(y.array, expected.numpy(), atol=1e-12)


@pytest.mark.parametrize("dtypes", [("f4", "f8"), ("f8", "f4"), ("f2", "f4")])
def test_mixed_dtypes(dtypes):
    x, W = rand(1, 2, 4, 4).astype(dtypes[0]), rand(3, 2, 3, 3).astype(dtypes[1])
    vs = chainer.Variable(x), chainer.Variable(W)
    for f in (F.convolution_2d, F.convolution_nd):
        y = f(*vs)
        assert y.dtype == x.dtype
        y.grad = np.ones_like(y.array)
        y.backward()
        assert [v.grad.dtype for v in vs] == [x.dtype, W.dtype]
    assert F.linear(rand(2, 3).astype(dtypes[0]), rand(4, 3).astype(dtypes[1])).dtype == x.dtype


def test_depthwise_and_dilated():
    x, W = rand(2, 3, 6, 5), rand(2, 3, 3, 2)
    y = F.depthwise_convolution_2d(x, W, stride=2, pad=1).array
    for c in range(3):
        expected = F.convolution_2d(x[:, c : c + 1], W[:, c : c + 1], stride=2, pad=1).array
        np.testing.assert_allclose(y[:, 2 * c : 2 * c + 2], expected, atol=1e-12)
    W = rand(2, 3, 3, 2)
    np.testing.assert_array_equal(
        F.dilated_convolution_2d(x, W, dilate=2).array, F.convolution_2d(x, W, dilate=2).array
    )


def test_local_convolution():
    x, W, b = rand(2, 3, 6, 5), rand(4, 2, 3, 3, 3, 2), rand(4, 2, 3)
    y = F.local_convolution_2d(x, W, b, (2, 1)).array
    for i, j in np.ndindex(2, 3):
        expected = np.einsum("nckl,ockl->no", x[:, :, 2 * i : 2 * i + 3, j : j + 2], W[:, i, j]) + b[:, i, j]
        np.testing.assert_allclose(y[:, :, i, j], expected, atol=1e-12)


def test_bilinear():
    e1, e2, W = (rand(*s).astype(np.float32) for s in ((3, 2, 2), (3, 5), (4, 5, 6)))
    V1, V2, b = (rand(*s).astype(np.float32) for s in ((4, 6), (5, 6), (6,)))
    flat = e1.reshape(3, 4)
    product = np.einsum("ij,ik,jkl->il", flat, e2, W)
    np.testing.assert_allclose(F.bilinear(e1, e2, W).array, product, rtol=1e-4, atol=1e-5)
    expected = product + flat @ V1 + e2 @ V2 + b
    np.testing.assert_allclose(F.bilinear(e1, e2, W, V1, V2, b).array, expected, rtol=1e-4, atol=1e-5)


def test_deformable_convolution():
    x, W, b = (rand(*s).astype(np.float32) for s in ((2, 3, 6, 5), (4, 3, 3, 3), (4,)))
    still = np.zeros((2, 18, 3, 5), np.float32)
    y = F.deformable_convolution_2d_sampler(x, still, W, b, (2, 1), 1)
    np.testing.assert_allclose(y.array, F.convolution_2d(x, W, b, (2, 1), 1).array, rtol=1e-3, atol=1e-4)
    # an offset of one pixel to the right equals moving the image to the left
    still[:, :9] = 1
    y = F.deformable_convolution_2d_sampler(x, still, W, b, (2, 1), 1)
    moved = np.pad(x, ((0, 0), (0, 0), (1, 1), (0, 2)))
    np.testing.assert_allclose(y.array, F.convolution_2d(moved, W, b, (2, 1)).array, rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError):
        F.deformable_convolution_2d_sampler(x, still[:, :8], W)


@pytest.mark.parametrize(("stride", "pad", "out"), [(1, 0, (4, 3)), ((2, 1), (1, 2), (3, 7)), (1, 1, (5, 9))])
def test_deformable_convolution_is_a_sampler_and_a_product(stride, pad, out):
    """Values and gradients follow Chainer's definition, also for offsets far outside the image."""
    data = rand(2, 3, 6, 5), 4 * rand(2, 12, *out), rand(4, 3, 2, 3), rand(4)
    sy, sx, ph, pw = *np.broadcast_to(stride, 2), *np.broadcast_to(pad, 2)

    def composed(x, offset, W, b):
        tap_y, tap_x = np.divmod(np.arange(6), 3)
        columns = offset[:, :6] + (tap_x[:, None, None] + sx * np.arange(out[1])).astype(offset.dtype)
        rows = offset[:, 6:] + (tap_y[:, None, None] + sy * np.arange(out[0])[:, None]).astype(offset.dtype)
        grid = F.stack([columns / (5 + 2 * pw - 1) * 2 - 1, rows / (6 + 2 * ph - 1) * 2 - 1], 1)
        image = F.pad(x, ((0, 0), (0, 0), (ph, ph), (pw, pw)), "constant")
        samples = F.spatial_transformer_sampler(image, F.reshape(grid, (2, 2, 6, -1)))
        y = F.tensordot(W.reshape(4, 3, 6), samples, axes=((1, 2), (1, 2)))
        return F.reshape(F.transpose(y, (1, 0, 2)), (2, 4, *out)) + F.reshape(b, (1, 4, 1, 1))

    def deformable(*xs):
        return F.deformable_convolution_2d_sampler(*xs, stride, pad)

    results = []
    for f in (composed, deformable):
        xs = [chainer.Variable(a.astype("float64")) for a in data]
        y = f(*xs)
        # the original's sampler has no second derivative
        grads = chainer.grad([F.sum(y**2)], xs, enable_double_backprop=not ORIGINAL)
        second = [] if ORIGINAL else chainer.grad([sum(F.sum(g**2) for g in grads)], xs[:3])
        results.append([y, *grads, *second])
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b.array, a.array, rtol=1e-9, atol=1e-8 * np.abs(a.array).max())


@pytest.mark.parametrize("dilate", [1, 2])
def test_shift(dilate):
    x = rand(2, 11, 5, 6)
    y = F.shift(x, 3, dilate).array
    moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    moves[4], moves[8] = moves[8], moves[4]
    padded = np.pad(x, ((0, 0), (0, 0), (dilate, dilate), (dilate, dilate)))
    for c in range(11):
        i, j = (dilate - dilate * step for step in moves[min(c, 8)])
        np.testing.assert_array_equal(y[:, c], padded[:, c, i : i + 5, j : j + 6])


@pytest.mark.parametrize("ignore_label", [None, -1, 1, 9])
@pytest.mark.parametrize("shape", [(4,), (2, 2)])
def test_embed_id(shape, ignore_label):
    ids = np.array([0, 2, 1, 2 if ignore_label is None else ignore_label], np.int32).reshape(shape)
    W = chainer.Variable(rand(3, 2))
    y = F.embed_id(ids, W, ignore_label)
    used = ids != ignore_label
    expected = np.where(used[..., None], W.array[np.where(used, ids, 0)], 0)
    np.testing.assert_array_equal(y.array, expected)
    y.grad = rand(*y.shape)
    y.backward()
    gW = np.zeros((3, 2))
    np.add.at(gW, ids[used], y.grad_var.array[used] if y.grad_var is not None else rand(*y.shape)[used])
    np.testing.assert_allclose(W.grad, gW)
    with chainer.using_config("debug", True), pytest.raises(ValueError):
        F.embed_id(np.array([7], np.int32), W, ignore_label)


# ---- gradients ---------------------------------------------------------------------------------------------

DIFFERENTIABLE = {
    "linear": (F.linear, [(2, 3), (4, 3), (4,)]),
    "convolution": (lambda *v: F.convolution_2d(*v, stride=2, pad=1), [(1, 2, 4, 5), (2, 2, 3, 2), (2,)]),
    "cover_all": (lambda *v: F.convolution_2d(*v, stride=2, cover_all=True), [(1, 2, 4, 5), (2, 2, 3, 2)]),
    "groups": (lambda *v: F.convolution_2d(*v, groups=2, dilate=2), [(1, 2, 5, 5), (2, 1, 2, 2), (2,)]),
    "convolution 1d": (F.convolution_1d, [(1, 2, 5), (2, 2, 3), (2,)]),
    "deconvolution": (lambda *v: F.deconvolution_2d(*v, stride=2, pad=1), [(1, 2, 2, 3), (2, 2, 3, 2), (2,)]),
    "outsize": (lambda *v: F.deconvolution_2d(*v, stride=2, outsize=(6, 7)), [(1, 2, 2, 3), (2, 2, 3, 2)]),
    "deconvolution 3d": (F.deconvolution_3d, [(1, 1, 2, 2, 2), (1, 2, 2, 2, 2), (2,)]),
    "depthwise": (F.depthwise_convolution_2d, [(1, 2, 3, 3), (2, 2, 2, 2), (4,)]),
    "shift": (F.shift, [(1, 9, 3, 3)]),
    "embed_id": (lambda W: F.embed_id(np.array([1, 0, 1, -1], np.int32), W, -1), [(3, 2)]),
}
ONCE = {"local": (F.local_convolution_2d, [(1, 2, 4, 3), (2, 2, 2, 2, 3, 2), (2, 2, 2)])}


@pytest.mark.parametrize("name", [*DIFFERENTIABLE, *ONCE])
def test_gradients(name):
    f, shapes = {**DIFFERENTIABLE, **ONCE}[name]
    xs = tuple(rand(*s) for s in shapes)
    gy = rand(*f(*xs).shape)
    options = {"dtype": np.float64, "rtol": 1e-4, "atol": 1e-5}
    gradient_check.check_backward(f, xs, gy, **options)
    if not (ORIGINAL and name in ONCE):
        gradient_check.check_double_backward(f, xs, gy, xs, **options)


def test_bilinear_gradients():
    shapes = (2, 3), (2, 2), (3, 2, 4), (3, 4), (2, 4), (4,)
    xs = tuple(rand(*s).astype(np.float32) for s in shapes)
    gy = rand(2, 4).astype(np.float32)
    gradient_check.check_backward(F.bilinear, xs, gy, eps=1e-2, rtol=1e-2, atol=1e-3)
    gradient_check.check_double_backward(F.bilinear, xs, gy, xs, eps=1e-2, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("given", [(0,), (1,), (2,), (0, 2)])
def test_gradients_of_some_inputs(given):
    vs = [chainer.Variable(rand(*s), requires_grad=i in given)
          for i, s in enumerate([(1, 2, 4, 5), (2, 2, 3, 2), (2,)])]  # fmt: skip
    y = F.convolution_2d(*vs)
    y.grad = np.ones(y.shape)
    y.backward()
    assert [i for i, v in enumerate(vs) if v.grad is not None] == list(given)


# ---- invalid arguments and function nodes ------------------------------------------------------------------

f4 = np.float32
X, W, B = rand(1, 2, 4, 4).astype(f4), rand(3, 2, 3, 3).astype(f4), rand(3).astype(f4)
LINE = rand(4, 4, 3).astype(f4)
LOCAL = rand(1, 2, 2, 2, 3, 3).astype(f4)
WRONG = {
    "integers": (F.convolution_2d, (X.astype(int), W), InvalidType),
    "axes": (F.convolution_2d, (X[0], W), InvalidType),
    "channels": (F.convolution_2d, (X[:, :1], W), InvalidType),
    "bias": (F.convolution_2d, (X, W, B[:2]), InvalidType),
    "bias dtype": (F.convolution_2d, (X, W, B.astype(np.float64)), InvalidType),
    "too small": (F.convolution_2d, (X[:, :, :1], W), AssertionError),
    "dilate": (lambda: F.convolution_2d(X, W, dilate=0), (), ValueError),
    "deterministic": (lambda: F.convolution_2d(X, W, deterministic=True), (), ValueError),
    "keyword": (lambda: F.convolution_2d(X, W, padding=1), (), TypeError),
    "1d axes": (F.convolution_1d, (X, W), ValueError),
    "3d axes": (F.convolution_3d, (X, W), ValueError),
    "too small, nd": (F.convolution_nd, (X[:, :, :1], W), AssertionError),
    "nd axes": (F.convolution_nd, (X, W[0]), InvalidType),
    "nd groups": (lambda: F.convolution_nd(X, W, groups=3), (), TypeError),
    "deconvolution channels": (F.deconvolution_2d, (X, W), InvalidType),
    "deconvolution outsize": (F.deconvolution_2d, (X, W[:2], None, 1, 0, (9, 9)), InvalidType),
    "deconvolution nothing": (F.deconvolution_2d, (X, W[:2], None, 1, 3), RuntimeError),
    "deconvolution dilate": (lambda: F.deconvolution_2d(X, W[:2], dilate=-1), (), ValueError),
    "deconvolution keyword": (lambda: F.deconvolution_2d(X, W[:2], padding=1), (), TypeError),
    "deconvolution_nd outsize": (F.deconvolution_nd, (X, W[:2], None, 1, 0, (9, 9)), InvalidType),
    "deconvolution_1d axes": (F.deconvolution_1d, (X, W[:2]), ValueError),
    "linear": (F.linear, (X[0, 0], B[None]), InvalidType),
    "linear n_batch_axes": (F.linear, (X, W, None, 0), ValueError),
    "embed_id floats": (F.embed_id, (B, X[0, 0]), InvalidType),
    "embed_id 0 axes": (F.embed_id, (np.array(1, np.int32), X[0, 0]), InvalidType),
    "embed_id table": (F.embed_id, (np.array([1], np.int32), B), InvalidType),
    "embed_id range": (F.embed_id, (np.array([4], np.int32), X[0, 0]), IndexError),
    "bilinear": (F.bilinear, (X[0, 0], X[0, 0], W), InvalidType),
    "bilinear parts": (F.bilinear, (X[0, 0], X[0, 0], W, B), ValueError),
    "local": (F.local_convolution_2d, (X, W), InvalidType),
    "shift even": (F.shift, (X, 2), ValueError),
    "shift channels": (F.shift, (X, 3), InvalidType),
}  # fmt: skip


@pytest.mark.parametrize(("f", "args", "error"), WRONG.values(), ids=WRONG)
def test_wrong_arguments(f, args, error):
    with pytest.raises(error):
        f(*args)


@pytest.mark.parametrize(
    ("f", "args", "name", "attributes"),
    [
        (F.convolution_2d, (X, W, B, 2, 1), "Convolution2DFunction",
         {"sy": 2, "sx": 2, "ph": 1, "pw": 1, "dy": 1, "dx": 1, "groups": 1, "cover_all": False}),
        (F.convolution_1d, (X[0], LINE, None), "ConvolutionND", {"ndim": 1, "stride": (1,)}),
        (F.deconvolution_2d, (X, W[:2], None, 2), "Deconvolution2DFunction", {"sy": 2, "outh": 9, "outw": 9}),
        (F.deconvolution_1d, (X[0], LINE[:, :2], None, 2), "DeconvolutionND", {"ndim": 1, "outs": (9,)}),
        (F.linear, (X[0, 0], X[0, 1]), "LinearFunction", {}),
        (F.embed_id, (np.array([1], np.int32), X[0, 0], 2), "EmbedIDFunction", {"ignore_label": 2}),
        (F.local_convolution_2d, (X, LOCAL), "LocalConvolution2DFunction", {"sy": 1}),
        (F.bilinear, (X[0, 0], X[0, 1], rand(4, 4, 2).astype(f4)), "BilinearFunction", {}),
        (F.shift, (rand(1, 9, 3, 3),), "Shift", {"kh": 3, "dx": 1}),
    ],
)  # fmt: skip
def test_function_nodes(f, args, name, attributes):
    log = Log()
    with log:
        y = f(*args)
    assert y.creator.label == type(y.creator).__name__ == name
    assert {k: getattr(y.creator, k) for k in attributes} == attributes
    assert [function.label for _, function, *_ in log.events] == [name, name]
