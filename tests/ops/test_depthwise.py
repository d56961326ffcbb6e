"""Depthwise convolutions and their gradients against torch, and which programs reach the kernels."""

import itertools
import random

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import compatgrad
from compatgrad.chainer import Variable
from compatgrad.chainer import functions as CF
from compatgrad.mxnet import autograd, nd
from compatgrad.nnabla import Variable as NVariable
from compatgrad.nnabla import functions as NF

ops = compatgrad.ops
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-6}
# ATen's functions that compute convolutions; at::convolution also finds the shapes of results
CONVOLUTIONS = {
    "_convolution", "convolution_backward", "mkldnn_convolution", "thnn_conv2d", "_slow_conv2d_forward",
    "_slow_conv2d_backward", "_conv_depthwise2d",
}  # fmt: skip


def shapes(seed, count):
    """Random convolutions: batch, channels, multiplier, image, filter, stride, pad, dilation."""
    pick = random.Random(seed)

    def pair(*values):
        return [pick.choice(values), pick.choice(values)]

    found = []
    while len(found) < count:
        image, filters = pair(*range(1, 10)), pair(1, 2, 3, 3, 3, 4, 5, 7)
        stride, pad, dilate = pair(1, 1, 2, 3), pair(0, 1, 1, 2, 3), pair(1, 1, 2)
        if pick.random() < 0.3:
            image = pair(1, 2, 4, 8, 16, 17, 32, 40)
        if pick.random() < 0.4:  # the result is as large as the image, or half as large
            filters, dilate = [3, 3], [pick.choice([1, 1, 2])] * 2
            stride, pad = [pick.choice([1, 2])] * 2, list(dilate)
        if all(i + 2 * p > d * (k - 1) for i, k, p, d in zip(image, filters, pad, dilate, strict=True)):
            batch, channels = pick.choice([1, 3]), pick.choice([*range(2, 21), 33])
            found.append((batch, channels, pick.choice([1, 1, 1, 2, 3]), image, filters, stride, pad, dilate))
    return found


def numbers(shape, dtype, generator):
    return torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)


def close(found, expected, dtype, what):
    expected = expected.detach().double()
    size = float(expected.abs().max()) if expected.numel() else 0.0
    error = (found.double() - expected).abs().max() if expected.numel() else torch.zeros(())
    assert found.shape == expected.shape, what
    assert float(error) <= TOLERANCE[dtype] * 30 * max(size, 1), (what, float(error), size)


def data(shape, dtype, seed, bias=True):
    batch, channels, multiplier, image, filters, *_ = shape
    g = torch.Generator().manual_seed(seed)
    x, w = (numbers(s, dtype, g) for s in ([batch, channels, *image], [channels * multiplier, 1, *filters]))
    return [x, w, numbers([channels * multiplier], dtype, g)] if bias else [x, w]


def derivatives(convolution, inputs, order, grad, leaf):
    """The result of a convolution and the gradients of its sum of squares, up to `order`."""
    inputs = [leaf(t) for t in inputs]
    outputs, found = [convolution(*inputs)], []
    for k in range(order + 1):
        found += outputs
        if k < order:
            total = sum((y * y).sum() if isinstance(y, torch.Tensor) else ops.sum(y * y) for y in outputs)
            outputs = grad(total, inputs)
    return found


def by_torch(shape, inputs, order):
    _, channels, _, _, _, stride, pad, dilate = shape
    return derivatives(
        lambda x, w, b=None: F.conv2d(x, w, b, stride, pad, dilate, channels), inputs, order,
        lambda y, xs: list(torch.autograd.grad(y, xs, create_graph=True, materialize_grads=True)),
        lambda t: t.double().clone().requires_grad_(),
    )  # fmt: skip


def by_engine(shape, inputs, order, convolution=None):
    _, channels, _, _, _, stride, pad, dilate = shape
    place = {"stride": stride, "pad": pad, "dilate": dilate, "groups": channels}
    found = derivatives(
        lambda *xs: (convolution or ops.convolution)(*xs, **place), inputs, order,
        lambda y, xs: compatgrad.grad([y], xs, enable_double_backprop=True), compatgrad.Variable,
    )  # fmt: skip
    return [y.tensor for y in found]


def called(f):
    """The names of ATen's convolutions that f() calls."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        f()
    keys = [event.key for event in profile.key_averages()]
    return {key.removeprefix("aten::") for key in keys if key.startswith("aten::")} & CONVOLUTIONS


@pytest.fixture
def always():
    """The kernels compute all float32 results, also those for which oneDNN is faster."""
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("seed", range(6))
def test_values_and_gradients_by_either_way(seed):
    for i, shape in enumerate(shapes(50 + seed, 25)):
        inputs = data(shape, torch.float32, i, bias=i % 2 == 0)
        for found, expected in zip(by_engine(shape, inputs, 1), by_torch(shape, inputs, 1), strict=True):
            close(found, expected, torch.float32, shape)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_values_and_gradients(seed, dtype):
    for i, shape in enumerate(shapes(seed, 25)):
        inputs = data(shape, dtype, i, bias=i % 2 == 0)
        for found, expected in zip(by_engine(shape, inputs, 1), by_torch(shape, inputs, 1), strict=True):
            close(found, expected, dtype, shape)


@pytest.mark.parametrize("seed", range(6))
def test_second_gradients(seed):
    for i, shape in enumerate(shapes(100 + seed, 15)):
        inputs = data(shape, torch.float64, i)
        expected = by_torch(shape, inputs, 2)
        scale = max(float(y.detach().abs().max()) for y in expected)
        for found, y in zip(by_engine(shape, inputs, 2), expected, strict=True):
            np.testing.assert_allclose(
                found.numpy() / scale, y.detach().numpy() / scale, atol=1e-12, err_msg=str(shape)
            )


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(
    ("image", "stride", "channels"),
    [(32, 1, 32), (32, 2, 8), (16, 1, 4), (16, 2, 3), (8, 1, 5), (8, 2, 7), (4, 1, 20), (4, 2, 33), (2, 1, 33),
     (7, 1, 9), (14, 2, 5), (56, 1, 3), (112, 2, 2), (200, 1, 2), (1, 1, 40)],
)  # fmt: skip
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_layers_of_networks(image, stride, channels, dtype):
    """3 x 3 filters at all positions of images of usual sizes."""
    shape = (3, channels, 1, [image, image], [3, 3], [stride, stride], [1, 1], [1, 1])
    inputs = data(shape, dtype, image)
    for found, expected in zip(by_engine(shape, inputs, 1), by_torch(shape, inputs, 1), strict=True):
        close(found, expected, dtype, shape)


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(("image", "batch"), [(32, 16), (4, 64), (112, 2)])
def test_precision_of_filters(image, batch, dtype):
    """Sums over many positions lose no more digits than torch's."""
    shape = (batch, 8, 1, [image, image], [3, 3], [1, 1], [1, 1], [1, 1])
    x, w = data(shape, dtype, 0, bias=False)
    gy = numbers(x.shape, dtype, torch.Generator().manual_seed(1)) + 0.3
    ours = ops.convolution_grad_w(x + 1, gy, ksize=[3, 3], pad=1, groups=8).tensor
    args = (None, [1, 1], [1, 1], [1, 1], False, [0, 0], 8, [False, True, False])
    theirs = torch.ops.aten.convolution_backward(gy, x + 1, w, *args)[1]
    by_tap = F.pad(x + 1, (1, 1, 1, 1)).to(torch.float64), gy.to(torch.float64)
    exact = torch.stack(
        [
            (by_tap[0][:, :, i : i + image, j : j + image] * by_tap[1]).sum((0, 2, 3))
            for i, j in itertools.product(range(3), repeat=2)
        ],
        1,
    ).view(8, 1, 3, 3)
    error = [float((t.double() - exact).abs().max() / exact.abs().max()) for t in (ours, theirs)]
    limit = torch.finfo(dtype).eps * (1 if dtype == torch.float32 else 4)  # of the exact sums, too
    assert error[0] <= max(error[1], limit), error


@pytest.mark.parametrize("layout", ["channels last", "transposed", "sliced", "expanded"])
def test_memory_layouts(layout):
    shape = (2, 6, 1, [7, 7], [3, 3], [1, 1], [1, 1], [1, 1])
    x, w, b = data(shape, torch.float64, 0)
    if layout == "channels last":
        x = x.to(memory_format=torch.channels_last)
    elif layout == "transposed":
        x, w = x.transpose(2, 3), w.transpose(2, 3)
    elif layout == "sliced":
        x, w, b = torch.cat([x, x], 3)[..., ::2], torch.cat([w, w], 0)[::2], torch.cat([b, b])[::2]
    else:
        x, w, b = x[:1].expand(2, 6, 7, 7), w[:1].expand(6, 1, 3, 3), b[:1].expand(6)
    for found, expected in zip(by_engine(shape, [x, w, b], 1), by_torch(shape, [x, w, b], 1), strict=True):
        close(found, expected, torch.float64, layout)
    assert called(lambda: ops.convolution(x, w, b, pad=1, groups=6)) == (
        {"convolution", "_convolution", "thnn_conv2d", "_slow_conv2d_forward"}
        & called(lambda: F.conv2d(x, w, b, 1, 1, 1, 6))
        if layout == "channels last"
        else set()
    )


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_threads(dtype):
    """One, two and three threads give the same bits."""
    torch.set_num_threads(1)
    try:
        for shape in [*shapes(7, 8), (5, 40, 1, [32, 32], [3, 3], [1, 1], [1, 1], [1, 1]),
                      (5, 300, 1, [8, 8], [3, 3], [2, 2], [1, 1], [1, 1])]:  # fmt: skip
            inputs = data(shape, dtype, 0)
            results = []
            for threads in (1, 2, 3):
                torch.set_num_threads(threads)
                results.append(by_engine(shape, inputs, 1))
            for other in results[1:]:
                assert all(torch.equal(a, b) for a, b in zip(results[0], other, strict=True)), shape
    finally:
        torch.set_num_threads(1)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("shape", [
    (2, 3, 1, [9, 9], [3, 3], [1, 1], [1, 1], [1, 1]),
    (2, 3, 1, [9, 9], [3, 3], [2, 2], [1, 1], [1, 1]),
    (1, 5, 1, [2, 2], [3, 3], [1, 1], [1, 1], [1, 1]),
    (1, 5, 1, [9, 6], [3, 3], [1, 1], [0, 0], [1, 1]),
    (1, 3, 2, [9, 8], [3, 3], [1, 2], [2, 1], [2, 1]),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_not_finite(shape, value, dtype):
    """Numbers that are not finite reach what they are multiplied with. The zeros beyond the image are no factors, as
    in oneDNN; ATen's other functions multiply them."""
    x, w, b = data(shape, dtype, 0)
    gy = torch.ones(by_torch(shape, [x, w, b], 0)[0].shape, dtype=dtype)
    _, channels, multiplier, _, _, stride, pad, dilate = shape
    x[0, 0, 0, 0] = x[0, 1, -1, -1] = gy[0, 2, 0, -1] = value
    w[-1, 0, 0, 0] = value
    y, gx, gw = b.view(-1, 1, 1).expand(gy.shape).clone(), torch.zeros_like(x), torch.zeros_like(w)
    for o, i, j, r, c in np.ndindex(*gy.shape[1:2], *w.shape[2:], *gy.shape[2:]):
        row, column = (k * s - p + t * d for k, s, p, t, d in zip((r, c), stride, pad, (i, j), dilate, strict=True))
        if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
            place = (slice(None), o // multiplier, row, column)
            y[:, o, r, c] += x[place] * w[o, 0, i, j]
            gx[place] += gy[:, o, r, c] * w[o, 0, i, j]
            gw[o, 0, i, j] += (gy[:, o, r, c] * x[place]).sum()
    place = {"stride": stride, "pad": pad, "dilate": dilate, "groups": channels}
    found = [
        ops.convolution(x, w, b, **place),
        ops.deconvolution(gy, w, outsize=list(x.shape[2:]), **place),
        ops.convolution_grad_w(x, gy, ksize=list(w.shape[2:]), **place),
    ]
    for a, e in zip(found, [y, gx, gw], strict=True):
        assert not e.isfinite().all()
        np.testing.assert_allclose(a.tensor, e, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(4))
def test_transposed(seed):
    for shape in shapes(200 + seed, 12):
        _, w, _ = data(shape, torch.float64, seed)
        batch, channels, multiplier, image, filters, stride, pad, dilate = shape
        place = {"stride": stride, "pad": pad, "dilate": dilate}
        touched = [s * (n - 1) + d * (k - 1) + 1 - 2 * p
                   for n, k, s, p, d in zip(image, filters, stride, pad, dilate, strict=True)]  # fmt: skip
        if min(touched) < 1:
            continue
        x = numbers([batch, channels * multiplier, *image], torch.float64, torch.Generator().manual_seed(seed))
        b = torch.arange(channels, dtype=torch.float64)
        more = [s - 1 for s in stride]
        extra = {"stride": stride, "padding": pad, "dilation": dilate, "groups": channels}
        expected = F.conv_transpose2d(x, w, b, output_padding=more, **extra)
        size = [n + m for n, m in zip(touched, more, strict=True)]
        whole = ops.deconvolution(x, w, b, outsize=size, groups=channels, **place)
        close(whole.tensor, expected, x.dtype, shape)
        cut = ops.deconvolution(x, w, b, outsize=[1, 1], groups=channels, **place)
        close(cut.tensor, expected[..., :1, :1], x.dtype, shape)
        channelwise = ops.depthwise_deconvolution(x, w[:, 0], b, divisor=multiplier, **place)
        close(channelwise.tensor, F.conv_transpose2d(x, w, b, **extra), x.dtype, shape)


def test_positions_beyond_the_image():
    """`outsize` reads zeros there; the gradients are those of the image extended by zeros."""
    x, w, b = data((2, 4, 1, [5, 6], [3, 3], None, None, None), torch.float64, 0)
    size = [6, 6]
    found = compatgrad.Variable(x), compatgrad.Variable(w)
    y = ops.convolution(*found, compatgrad.Variable(b), stride=2, pad=1, groups=4, outsize=size)
    tx, tw = x.clone().requires_grad_(), w.clone().requires_grad_()
    expected = F.conv2d(F.pad(tx, (0, 5, 0, 6)), tw, b, 2, 1, 1, 4)
    close(y.tensor, expected, x.dtype, "outsize")
    grads = compatgrad.grad([ops.sum(y * y)], list(found))
    for a, e in zip(grads, torch.autograd.grad((expected * expected).sum(), [tx, tw]), strict=True):
        close(a.tensor, e, x.dtype, "gradient")


@pytest.mark.parametrize("shape", [(0, 3, 4, 4), (2, 3, 4, 4)])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_other_dtypes_and_empty_batches(shape, dtype):
    x, w = torch.ones(shape, dtype=dtype), torch.ones(3, 1, 3, 3, dtype=dtype)
    y = ops.convolution(x, w, pad=1, groups=3).tensor
    assert torch.equal(y, F.conv2d(x, w, None, 1, 1, 1, 3))


WRONG = {
    "filter larger than the image": ((1, 4, 3, 3), (4, 1, 5, 5), None, {}),
    "number of filters": ((1, 4, 3, 3), (6, 1, 3, 3), None, {}),
    "number of biases": ((1, 4, 3, 3), (4, 1, 3, 3), 3, {}),
    "negative padding": ((1, 4, 3, 3), (4, 1, 3, 3), None, {"pad": [-1, -1]}),
    "number of channels": ((1, 6, 3, 3), (4, 1, 3, 3), None, {}),
    "empty filter": ((1, 4, 3, 3), (4, 1, 0, 3), None, {}),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_shapes(name):
    x, w, b, place = WRONG[name]
    args = [torch.ones(s) for s in (x, w)] + ([torch.ones(b)] if b else [])
    with pytest.raises((RuntimeError, ValueError)):
        ops.convolution(*args, groups=4, **place)


def chainer_program(function, shape, **arguments):
    def program():
        x, w = Variable(np.ones((2, 6, 8, 8), np.float32)), Variable(np.ones(shape, np.float32))
        CF.sum(function(x, w, pad=1, **arguments)).backward()
        assert x.grad is not None
        assert w.grad.shape == shape

    return program


def mxnet_program():
    x, w = nd.ones((2, 6, 8, 8)), nd.ones((6, 1, 3, 3))
    x.attach_grad()
    w.attach_grad()
    with autograd.record():
        y = nd.Convolution(x, w, kernel=(3, 3), pad=(1, 1), num_filter=6, num_group=6, no_bias=True)
    y.backward()
    assert w.grad.shape == w.shape


def nnabla_program(function):
    def program():
        x, w = NVariable.from_numpy_array(np.ones((2, 6, 8, 8))), NVariable.from_numpy_array(np.ones((6, 3, 3)))
        x.need_grad = w.need_grad = True
        x.grad.zero()
        w.grad.zero()
        y = function(x, w, pad=(1, 1))
        y.forward()
        y.backward()
        assert w.g.shape == w.shape

    return program


PROGRAMS = {
    "chainer depthwise_convolution_2d": chainer_program(CF.depthwise_convolution_2d, (1, 6, 3, 3)),
    "chainer depthwise_convolution_2d, two filters": chainer_program(CF.depthwise_convolution_2d, (2, 6, 3, 3)),
    "chainer convolution_2d": chainer_program(CF.convolution_2d, (6, 1, 3, 3), groups=6),
    "chainer deconvolution_2d": chainer_program(CF.deconvolution_2d, (6, 1, 3, 3), groups=6),
    "mxnet Convolution": mxnet_program,
    "nnabla depthwise_convolution": nnabla_program(NF.depthwise_convolution),
    "nnabla depthwise_deconvolution": nnabla_program(NF.depthwise_deconvolution),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_reach_the_kernels(name):
    """torch's profiler sees no convolution of ATen in forward and backward."""
    assert called(PROGRAMS[name]) == set()


def test_other_convolutions_do_not():
    """Some float32 results are left to oneDNN, which is faster; with deterministic algorithms none is."""
    x, w = torch.ones(2, 32, 28, 28), torch.ones(32, 1, 3, 3)
    assert "_convolution" in called(lambda: ops.convolution(x, w, stride=3, groups=32))
    torch.use_deterministic_algorithms(True)
    assert not called(lambda: ops.convolution(x, w, stride=3, groups=32))
    torch.use_deterministic_algorithms(False)
    x, w = torch.ones(1, 4, 8, 8), torch.ones(4, 2, 3, 3)
    assert "_convolution" in called(lambda: ops.convolution(x, w, groups=2))
    x, w = torch.ones(1, 4, 8, 8, 8), torch.ones(4, 1, 3, 3, 3)
    assert "_convolution" in called(lambda: ops.convolution(x, w, groups=4))
