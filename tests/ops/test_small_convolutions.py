"""Convolutions of little work, or of few places and large filters, go a way of their own: against double precision."""

from pathlib import Path

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import _C

# Whether csrc/kernels/winograd.h computes convolutions with filters of 3 x 3, without functions of ATen.
WINOGRAD = torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512")
CPU = Path("/proc/cpuinfo")
INTEL = CPU.exists() and "AuthenticAMD" not in CPU.read_text()
# Whether products of columns compute convolutions with large filters that move by two or more at few places.
STEPS = INTEL and torch.backends.cpu.get_cpu_capability() == "AVX512"
SHAPES = {  # images, filters; the limit is 2**20 products
    "tiny": ((2, 4, 5, 6), (3, 4, 3, 2)),
    "below": ((2, 8, 24, 24), (8, 8, 3, 3)),
    "above": ((4, 16, 24, 24), (16, 16, 3, 3)),
    "five by five": ((4, 16, 24, 24), (16, 16, 5, 5)),
    "one by one": ((2, 3, 4, 4), (5, 3, 1, 1)),
    "large filters": ((2, 500, 5, 6), (360, 500, 3, 3)),
    "large filters, three images": ((3, 500, 5, 6), (360, 500, 3, 3)),
    "large filters, few places": ((3, 300, 4, 4), (400, 300, 3, 3)),
    "few channels": ((4, 3, 24, 24), (48, 3, 3, 3)),
    "few filters": ((4, 48, 24, 24), (3, 48, 3, 3)),  # the transposed convolution has few channels
    "few places": ((5, 64, 4, 4), (64, 64, 3, 3)),
    "one image, few places": ((1, 130, 4, 4), (120, 130, 3, 3)),
    "few places, one by one": ((2, 400, 3, 4), (350, 400, 1, 1)),
    "large filters in steps": ((6, 264, 7, 8), (250, 264, 4, 5)),
}


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("stride,pad", [(1, 1), (2, 0), ((2, 1), (0, 2))])
@pytest.mark.parametrize("name", SHAPES)
def test_convolution(name, stride, pad, needs):
    torch.manual_seed(0)
    image, filters = SHAPES[name]
    # not contiguous: what transposes and slices hand on
    x = torch.randn(image[1], image[0], *image[2:]).transpose(0, 1)
    w, b = torch.randn(*filters, 2)[..., 0], torch.randn(filters[0])
    vx, vw = (_C.Variable(t, requires_grad=need) for t, need in zip((x, w), needs, strict=True))
    vb = _C.Variable(b)
    y = _C.op("convolution")(vx, vw, vb, stride=list(np.broadcast_to(stride, 2)), pad=list(np.broadcast_to(pad, 2)))
    expected = [t.double().clone().requires_grad_() for t in (x, w, b)]
    ty = torch.conv2d(*expected, stride, pad)
    gy = torch.randn(ty.shape)
    ty.backward(gy.double())
    asked = [(v, e.grad) for v, e, need in zip((vx, vw, vb), expected, (*needs, True), strict=True) if need]
    found = _C.grad(
        _C.native_frontend, [y], [v for v, _ in asked], [_C.Variable(gy)], [None] * len(asked), False, None, False
    )
    # the rounding of a long sum goes with its terms: torch's kernels add in an order that depends on the processor
    np.testing.assert_allclose(y.tensor.numpy(), ty.detach().numpy(), rtol=1e-4, atol=1e-5 * float(ty.abs().max()))
    for g, (_, e) in zip(found, asked, strict=True):
        np.testing.assert_allclose(g.tensor.numpy(), e.numpy(), rtol=1e-4, atol=1e-4 * e.abs().max())


def test_no_images():
    y = _C.op("convolution")(_C.Variable(torch.zeros(0, 2, 4, 4)), _C.Variable(torch.ones(3, 2, 3, 3)))
    assert y.tensor.shape == (0, 3, 2, 2)


@pytest.mark.parametrize(
    "x_shape, w_shape, pad",
    [
        ((2, 4, 1, 1), (3, 4, 3, 3), 1),
        ((2, 1, 5, 5), (3, 1, 3, 3), 1),
        ((2, 4, 5, 5), (3, 4, 1, 1), 0),
        ((2, 1, 5, 5), (1, 1, 1, 1), 0),
    ],
)
@pytest.mark.parametrize("last", [(0,), (1,), (0, 1)])
def test_axes_of_length_1_may_have_any_stride(x_shape, w_shape, pad, last):
    # strides like those of channels last, of contiguous tensors: ATen's columns took x or w for what it is not
    def made(shape, channels_last):
        n, c, h, w = shape
        t = torch.randn(shape, dtype=torch.float64)
        return t.as_strided(shape, (c * h * w, 1, w * c, c)) if channels_last and (c == 1 or h * w == 1) else t

    data = [made(shape, i in last) for i, shape in enumerate((x_shape, w_shape))]
    results = []
    for tensors in (data, [t.clone(memory_format=torch.contiguous_format) for t in data]):
        x, w = (compatgrad.Variable(t.detach(), requires_grad=True) for t in tensors)
        y = compatgrad.ops.convolution(x, w, pad=[pad, pad])
        results.append([y.tensor, *(g.tensor for g in compatgrad.grad([compatgrad.ops.sum(y * y)], [x, w]))])
    p, q = (t.clone(memory_format=torch.contiguous_format).requires_grad_() for t in data)
    y = torch.conv2d(p, q, padding=pad)
    expected = [y, *torch.autograd.grad((y * y).sum(), (p, q))]
    for found in results:
        for f, e in zip(found, expected, strict=True):
            torch.testing.assert_close(f, e.detach(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    "name, functions",
    [
        ("above", set() if WINOGRAD else {"_convolution", "convolution_backward"}),
        ("five by five", {"_convolution", "convolution_backward"}),
        ("tiny", {"_slow_conv2d_forward", "_slow_conv2d_backward"}),
        (
            "few channels",
            {"_slow_conv2d_backward"}
            if torch.backends.cpu.get_cpu_capability() == "AVX512"
            else {"_convolution", "convolution_backward", "_slow_conv2d_backward"},
        ),
        ("large filters, few places", {"_convolution", "convolution_backward", "mm"}),
        ("few places", set() if WINOGRAD else {"_convolution", "convolution_backward"}),
    ],
)
def test_ways(name, functions):
    """Which of ATen's functions compute a convolution and its gradients."""
    image, filters = SHAPES[name]
    x, w = compatgrad.Variable(torch.randn(image)), compatgrad.Variable(torch.randn(filters))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compatgrad.backward(compatgrad.ops.sum(compatgrad.ops.convolution(x, w, pad=1)))
    called = {event.key.removeprefix("aten::") for event in profile.key_averages()}
    assert called & {"_convolution", "convolution_backward", "_slow_conv2d_forward", "_slow_conv2d_backward", "mm"} == (
        functions
    )


@pytest.mark.skipif(not STEPS, reason="measured on Intel processors with AVX-512")
@pytest.mark.parametrize("dtype, stride, by_at", [("float32", 2, False), ("float64", 2, True), ("float32", 1, True)])
def test_large_filters_in_steps(dtype, stride, by_at):
    """Filters that move by two or more are multiplied with columns, and so are the gradients."""
    image, filters = SHAPES["large filters in steps"]
    x, w = (compatgrad.Variable(torch.randn(shape, dtype=getattr(torch, dtype))) for shape in (image, filters))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compatgrad.backward(compatgrad.ops.sum(compatgrad.ops.convolution(x, w, pad=1, stride=stride)))
    called = {event.key.removeprefix("aten::") for event in profile.key_averages()}
    assert ("_convolution" in called) == by_at
    assert {"mm", "col2im"} <= called or by_at


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(
    "name", ["large filters, few places", "few channels", "few filters", "few places", "tiny", "large filters in steps"]
)
def test_recorded_gradients(name, order):
    """The gradients of gradients, of which each is a convolution of another kind, against double precision."""
    torch.manual_seed(0)
    image, filters = SHAPES[name]
    data = [torch.randn(image), torch.randn(filters) / np.sqrt(np.prod(filters[1:]))]

    def of_torch(x, w):
        x, w = x.double().requires_grad_(), w.double().requires_grad_()
        outputs = [torch.conv2d(x, w, None, (2, 1), 1)]
        for _ in range(order):
            outputs = torch.autograd.grad(sum((y * y).sum() for y in outputs), (x, w), create_graph=True)
        return [g.detach() for g in outputs]

    def of_engine(x, w):
        x, w = compatgrad.Variable(x), compatgrad.Variable(w)
        outputs = [compatgrad.ops.convolution(x, w, stride=[2, 1], pad=1)]
        for _ in range(order):
            total = sum(compatgrad.ops.sum(y * y) for y in outputs)
            outputs = compatgrad.grad([total], [x, w], enable_double_backprop=True)
        return [g.tensor for g in outputs]

    for found, expected in zip(of_engine(*data), of_torch(*data), strict=True):
        torch.testing.assert_close(found.double(), expected, rtol=1e-3, atol=1e-4 * expected.abs().max().item())


@pytest.mark.parametrize("needs", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("stride, pad, more", [(1, 1, 0), (2, 0, 0), (2, 1, 1), (3, 0, 2)])
@pytest.mark.parametrize("name", SHAPES)
def test_deconvolution(name, stride, pad, more, needs):
    """`more`: what the result has beyond what the filters touch, which the gradient must leave alone."""
    torch.manual_seed(0)
    (n, channels, *size), (out, _, *ksize) = SHAPES[name]
    if any(stride * (length - 1) + k - 2 * pad + more < 1 for length, k in zip(size, ksize, strict=True)):
        pytest.skip("no image is left")
    x = torch.randn(channels, n, *size).transpose(0, 1)
    w, b = torch.randn(channels, out, *ksize, 2)[..., 0], torch.randn(out)
    expected = [t.double().clone().requires_grad_() for t in (x, w, b)]
    ty = torch.conv_transpose2d(*expected, stride, pad, more)
    gy = torch.randn(ty.shape)
    ty.backward(gy.double())
    vx, vw = (_C.Variable(t, requires_grad=need) for t, need in zip((x, w), needs, strict=True))
    vb = _C.Variable(b)
    y = _C.op("deconvolution")(vx, vw, vb, stride=[stride] * 2, pad=[pad] * 2, outsize=list(ty.shape[2:]))
    asked = [(v, e.grad) for v, e, need in zip((vx, vw, vb), expected, (*needs, True), strict=True) if need]
    found = _C.grad(
        _C.native_frontend, [y], [v for v, _ in asked], [_C.Variable(gy)], [None] * len(asked), False, None, False
    )
    np.testing.assert_allclose(y.tensor.numpy(), ty.detach().numpy(), rtol=1e-4, atol=1e-3)
    for g, (_, e) in zip(found, asked, strict=True):
        np.testing.assert_allclose(g.tensor.numpy(), e.numpy(), rtol=1e-4, atol=1e-4 * e.abs().max())


@pytest.mark.parametrize("n, channels", [(8, 4), (1, 1), (1, 4)])
@pytest.mark.parametrize("last", [False, True])
def test_windows_in_the_padding_alone_do_not_end_the_process(n, channels, last):
    generator = torch.Generator().manual_seed(n)
    x, w = torch.randn(n, 2 * channels, 5, 1, generator=generator), torch.randn(8, channels, 1, 2, generator=generator)
    x = x.contiguous(memory_format=torch.channels_last) if last else x
    place = {"stride": (2, 3), "dilate": (2, 2), "pad": (2, 4), "groups": 2}
    y = compatgrad.ops.convolution(x, w, torch.ones(8), **place).tensor
    expected = torch.nn.functional.conv2d(x.double(), w.double(), torch.ones(8).double(), (2, 3), (2, 4), (2, 2), 2)
    torch.testing.assert_close(y.double(), expected, rtol=1e-5, atol=1e-5)
