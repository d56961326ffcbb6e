"""Convolutions with filters of 3 x 3 and stride 1 through the ops, which compute them by csrc/kernels/winograd.h."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import _C, ops

WINOGRAD = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
CALLS = {"convolution", "_convolution", "convolution_backward", "_slow_conv2d_forward", "mm"}


def functions(call):
    """Which of ATen's functions compute products in a call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        call()
    return CALLS & {event.key.removeprefix("aten::") for event in profile.key_averages()}


def laid_out(shape, layout):
    t = torch.randn(shape)
    if layout == "channels last":
        return t.contiguous(memory_format=torch.channels_last)
    if layout == "sliced":
        return torch.randn(*shape, 2)[..., 1]
    return t


def second_order(conv, x, w, b):
    """The result, its gradients and gradients of these."""
    y = conv(x, w, b)
    first = compatgrad.grad([ops.sum(y * y * y)], [x, w, b], enable_double_backprop=True)
    return [y, *first, *compatgrad.grad([sum((ops.sum(g * g) for g in first[1:]), ops.sum(first[0]))], [x, w])]


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("pad", [0, 1, 2])
@pytest.mark.parametrize(
    "n, channels, out, height, width", [(3, 24, 17, 19, 18), (2, 16, 32, 16, 23), (8, 33, 16, 15, 16)]
)
def test_to_the_second_order(n, channels, out, height, width, pad, transposed, layout):
    torch.manual_seed(0)
    x = laid_out((n, channels, height, width), layout)
    w = laid_out((channels, out, 3, 3) if transposed else (out, channels, 3, 3), layout) / channels**0.5
    b = torch.randn(out)
    op = ops.deconvolution if transposed else ops.convolution
    found, exact = (
        second_order(
            lambda x, w, b: op(x, w, b, pad=[pad, pad]), *(compatgrad.Variable(t, requires_grad=True) for t in data)
        )
        for data in ((x, w, b), (x.double(), w.double(), b.double()))
    )
    for f, e in zip(found, exact, strict=True):
        e = e.tensor.numpy()
        np.testing.assert_allclose(f.tensor.numpy(), e, rtol=1e-4, atol=3e-5 * np.abs(e).max())
    if WINOGRAD and not transposed:
        v, u = compatgrad.Variable(x), compatgrad.Variable(w)
        assert not functions(lambda: compatgrad.backward(ops.sum(ops.convolution(v, u, pad=[pad, pad]))))


@pytest.mark.skipif(not WINOGRAD, reason="the processor has no AVX2")
@pytest.mark.parametrize(
    "why, change",
    {
        "double": {"dtype": torch.float64},
        "half": {"dtype": torch.bfloat16},
        "stride": {"stride": [2, 1]},
        "dilation": {"dilate": [1, 2]},
        "groups": {"groups": 2},
        "other filter": {"filters": (3, 1)},
        "few channels": {"channels": 8},
        "one row": {"size": (1, 576)},
        "more padding than the filter": {"pad": [3, 1]},
    }.items(),
)
def test_others_go_to_aten(why, change):
    change = dict(change)
    channels, dtype = change.pop("channels", 32), change.pop("dtype", torch.float32)
    filters, pad = change.pop("filters", (3, 3)), change.pop("pad", [1, 1])
    x = torch.randn(4, channels, *change.pop("size", (24, 24))).to(dtype)
    w = torch.randn(32, channels // change.get("groups", 1), *filters).to(dtype)
    y = []
    assert functions(
        lambda: y.append(ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), pad=pad, **change))
    )
    names = {"stride": "stride", "dilate": "dilation", "groups": "groups"}
    options = {names[k]: v for k, v in change.items()}
    expected = torch.conv2d(x, w, padding=pad, **options)
    assert torch.equal(y[0].tensor, expected) or torch.allclose(y[0].tensor, expected, rtol=1e-4, atol=1e-3)


def test_any_number_of_threads():
    torch.manual_seed(1)
    x, w, gy = torch.randn(6, 40, 30, 31), torch.randn(48, 40, 3, 3), torch.randn(6, 48, 30, 31)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            vx, vw = compatgrad.Variable(x, requires_grad=True), compatgrad.Variable(w, requires_grad=True)
            y = ops.convolution(vx, vw, pad=[1, 1])
            gx, gw = compatgrad.grad([y], [vx, vw], [compatgrad.Variable(gy)])
            results.append((y.tensor, gx.tensor, gw.tensor))
    finally:
        torch.set_num_threads(before)
    # the parts of the batch, and so the order of sums, do not depend on the number of threads
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_gradient_in_the_memory_of_the_other(batch):
    """With equal sizes the image's gradient overwrites the result's, which nobody else holds."""
    torch.manual_seed(2)
    x, w = torch.randn(batch, 32, 16, 16), torch.randn(32, 32, 3, 3) / 17
    kept = []

    def gradients(dtype, keep):
        vx, vw = (compatgrad.Variable(t.to(dtype), requires_grad=True) for t in (x, w))
        h = ops.convolution(vx, vw, pad=[1, 1])
        y = ops.sum(ops.convolution(ops.relu(h), vw, pad=[1, 1]) ** 2)
        found = compatgrad.grad([y], [vx, vw] + [h] * keep)
        kept.extend(found[2:])
        return [g.tensor for g in found]

    for keep in (False, True):
        for f, e in zip(gradients(torch.float32, keep), gradients(torch.float64, keep), strict=True):
            torch.testing.assert_close(f.double(), e, rtol=1e-4, atol=1e-5 * float(e.abs().max()))


def test_a_plan_is_traced_with_aten():
    # a trace must serve other processors and sizes
    x, w = torch.randn(2, 16, 16, 16), torch.randn(16, 16, 3, 3)

    def f(x, w):
        return ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), pad=[1, 1]).tensor

    graph = torch.fx.experimental.proxy_tensor.make_fx(f)(x, w)
    assert "convolution" in graph.code
    torch.testing.assert_close(graph(x, w), _C.op("convolution")(_C.Variable(x), _C.Variable(w), pad=[1, 1]).tensor)


@pytest.mark.parametrize("shape", [(16, 1), (4, 4), (1, 16)])
def test_bias_that_is_no_vector(shape):
    x, w = torch.randn(2, 16, 12, 12), torch.randn(16, 16, 3, 3)
    for op in (ops.convolution, ops.deconvolution):
        with pytest.raises((ValueError, RuntimeError)):
            op(x, w, torch.ones(shape), pad=[1, 1])


@pytest.mark.parametrize("place", [(0, 0), (0, 5), (11, 0), (5, 11), (6, 6)])
def test_not_a_number_in_an_image_reaches_the_elements_of_the_filter_that_meet_it(place):
    torch.manual_seed(3)
    x, w = torch.randn(4, 16, 12, 12), torch.randn(16, 16, 3, 3)
    x[1, 2, place[0], place[1]] = float("nan")

    y = torch.nn.functional.conv2d(x, w)
    y[y.isnan()] = 1.0  # so that only the image has them
    found = compatgrad.grad(
        [ops.convolution(x, v := compatgrad.Variable(w, requires_grad=True))], [v], [compatgrad.Variable(y)]
    )[0].tensor
    exact = torch.nn.grad.conv2d_weight(x.double(), w.shape, y.double())
    assert exact.isnan().any()
    assert torch.equal(found.isnan(), exact.isnan())
    finite = ~exact.isnan()
    torch.testing.assert_close(found[finite].double(), exact[finite], rtol=1e-4, atol=1e-3)
