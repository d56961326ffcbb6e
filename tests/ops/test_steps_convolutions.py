"""Convolutions with filters of 4 x 4 that move by two through the ops, which compute them by csrc/kernels/steps.h."""

import numpy as np
import pytest
import torch

import compatgrad
from compatgrad import ops
from tests.ops.convolution_checks import functions, laid_out, second_order

STEPS = torch.backends.cpu.get_cpu_capability() == "AVX512"


def tensors(*data):
    return [compatgrad.Variable(t, requires_grad=True) for t in data]


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("pad", [[0, 0], [1, 1], [2, 3], [3, 0]])
@pytest.mark.parametrize(
    "n, channels, out, height, width",
    [(3, 24, 17, 19, 18), (2, 16, 48, 12, 23), (8, 33, 16, 8, 8), (1, 16, 16, 25, 60), (40, 20, 35, 5, 6)],
)
def test_to_the_second_order(n, channels, out, height, width, pad, transposed, layout):
    torch.manual_seed(0)
    size = [(length + 2 * p - 4) // 2 + 1 for length, p in zip((height, width), pad, strict=True)]
    b = torch.randn(channels if transposed else out)
    if transposed:
        x, options = laid_out((n, out, *size), layout), {"outsize": [height, width]}
    else:
        x, options = laid_out((n, channels, height, width), layout), {}
    w = laid_out((out, channels, 4, 4), layout) / 4 / channels**0.5
    op = ops.deconvolution if transposed else ops.convolution
    found, exact = (
        second_order(lambda x, w, b: op(x, w, b, stride=[2, 2], pad=pad, **options), *tensors(*data))
        for data in ((x, w, b), (x.double(), w.double(), b.double()))
    )
    for f, e in zip(found, exact, strict=True):
        e = e.tensor.numpy()
        np.testing.assert_allclose(f.tensor.numpy(), e, rtol=1e-4, atol=3e-5 * np.abs(e).max())
    if STEPS:
        v, u = tensors(x, w)
        assert not functions(lambda: compatgrad.backward(ops.sum(op(v, u, stride=[2, 2], pad=pad, **options))))


@pytest.mark.parametrize("seed", range(30))
def test_random_shapes(seed):
    r = np.random.RandomState(seed)
    torch.manual_seed(seed)
    n, channels, out, height, width = (
        int(r.randint(*limits)) for limits in ((1, 9), (8, 90), (8, 90), (4, 40), (4, 40))
    )
    pad = [int(p) for p in r.randint(0, 4, 2)]
    x, w, b = torch.randn(n, channels, height, width), torch.randn(out, channels, 4, 4), torch.randn(out)
    exact = [t.double().requires_grad_() for t in (x, w, b)]
    y = torch.conv2d(*exact, 2, pad)
    gy = torch.randn(y.shape)
    expected = [y.detach(), *torch.autograd.grad(y, exact[:2], gy.double())]
    v = tensors(x, w, b)
    result = ops.convolution(*v, stride=[2, 2], pad=pad)
    found = [result, *compatgrad.grad([result], v[:2], [compatgrad.Variable(gy)])]
    for f, e in zip(found, expected, strict=True):
        torch.testing.assert_close(f.tensor.double(), e, rtol=1e-4, atol=5e-6 * float(e.abs().max()))


@pytest.mark.parametrize("sought", ["map", "image"])
def test_numbers_reach_only_their_own_results(sought):
    """NaN and large numbers do not reach results whose sums have none of them, and zeros stay zeros."""
    torch.manual_seed(0)
    w = torch.randn(20, 20, 4, 4)
    x = torch.zeros(2, 20, 24, 22)
    op = ops.convolution if sought == "map" else ops.deconvolution
    for number in (float("nan"), 1e30):
        for row, column in ((0, 0), (7, 8), (12, 21), (23, 5)):
            t = x.clone()
            t[1, 3, row, column] = number
            y = op(compatgrad.Variable(t), compatgrad.Variable(w), stride=[2, 2], pad=[1, 1]).tensor
            t[1, 3, row, column] = 1
            conv = torch.conv2d if sought == "map" else torch.conv_transpose2d
            reached = conv(t, torch.ones_like(w), stride=2, padding=1) != 0
            assert (y[~reached] == 0).all()
            assert (y[reached] != 0).all()
            assert y.isnan().any() == np.isnan(number)


@pytest.mark.skipif(not STEPS, reason="the processor has no AVX-512")
@pytest.mark.parametrize(
    "why, change",
    {
        "double": {"dtype": torch.float64},
        "half": {"dtype": torch.bfloat16},
        "other stride": {"stride": [2, 1]},
        "dilation": {"dilate": [2, 2]},
        "groups": {"groups": 2},
        "other filter": {"filters": (4, 3)},
        "few channels": {"channels": 8},
        "few places": {"size": (6, 6)},
        "more padding than the filter": {"pad": [4, 1]},
    }.items(),
)
def test_others_go_to_aten(why, change):
    change = dict(change)
    channels, dtype = change.pop("channels", 64), change.pop("dtype", torch.float32)
    filters, options = change.pop("filters", (4, 4)), {"stride": [2, 2], "pad": [1, 1]}
    x = torch.randn(3, channels, *change.pop("size", (24, 24))).to(dtype)
    options |= change
    w = torch.randn(128, channels // options.get("groups", 1), *filters).to(dtype)
    y = []
    assert functions(lambda: y.append(ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), **options)))
    names = {"stride": "stride", "pad": "padding", "dilate": "dilation", "groups": "groups"}
    expected = torch.conv2d(x, w, **{names[k]: v for k, v in options.items()})
    torch.testing.assert_close(y[0].tensor, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("channels", [40, 200])
def test_any_number_of_threads(channels):
    torch.manual_seed(1)
    x, w, gy = torch.randn(6, channels, 30, 31), torch.randn(48, channels, 4, 4), torch.randn(6, 48, 15, 15)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            vx, vw = tensors(x, w)
            y = ops.convolution(vx, vw, stride=[2, 2], pad=[1, 1])
            gx, gw = compatgrad.grad([y], [vx, vw], [compatgrad.Variable(gy)])
            results.append((y.tensor, gx.tensor, gw.tensor))
    finally:
        torch.set_num_threads(before)
    # the parts of the batch, and so the order of sums, do not depend on the number of threads
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))


def test_images_larger_than_a_part_of_the_batch():
    """The last rows of a part of the image's tiles belong to the next part, too."""
    torch.manual_seed(2)
    x, w, b = torch.randn(2, 20, 70, 40), torch.randn(20, 17, 4, 4), torch.randn(17)
    y = ops.deconvolution(*tensors(x, w, b), stride=[2, 2], pad=[1, 1], outsize=[141, 80]).tensor
    expected = torch.conv_transpose2d(x.double(), w.double(), b.double(), 2, 1, (1, 0))
    torch.testing.assert_close(y.double(), expected, rtol=1e-4, atol=1e-4)


def test_a_plan_is_traced_with_aten():
    # a trace must serve other processors and sizes
    x, w = torch.randn(2, 16, 16, 16), torch.randn(16, 16, 4, 4)

    def f(x, w):
        return ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), stride=[2, 2], pad=[1, 1]).tensor

    graph = torch.fx.experimental.proxy_tensor.make_fx(f)(x, w)
    assert "convolution" in graph.code
    torch.testing.assert_close(graph(x, w), f(x, w), rtol=1e-4, atol=1e-4)


def test_no_images():
    x, w = torch.randn(0, 16, 16, 16), torch.randn(16, 16, 4, 4)
    assert ops.convolution(*tensors(x, w), stride=[2, 2], pad=[1, 1]).tensor.shape == (0, 16, 8, 8)
    assert ops.deconvolution(*tensors(x, w), stride=[2, 2], pad=[1, 1]).tensor.shape == (0, 16, 32, 32)


def test_wrong_inputs_raise():
    x, options = torch.randn(4, 16, 16, 16), {"stride": [2, 2], "pad": [1, 1]}
    for op in (ops.convolution, ops.deconvolution):
        with pytest.raises((RuntimeError, ValueError)):
            op(x, torch.randn(17, 17, 4, 4), **options)
        for bias in (torch.randn(15), torch.randn(16, 1), torch.randn(4, 4)):
            with pytest.raises((RuntimeError, ValueError)):
                op(x, torch.randn(16, 16, 4, 4), bias, **options)


def test_positions_beyond_the_image_are_zeros():
    x, w, b = torch.randn(4, 16, 13, 14), torch.randn(24, 16, 4, 4), torch.randn(24)
    y = ops.convolution(*tensors(x, w, b), stride=[2, 2], outsize=[6, 7]).tensor
    torch.testing.assert_close(y, torch.conv2d(torch.nn.functional.pad(x, (0, 2, 0, 1)), w, b, 2), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("size", [12, 14])
@pytest.mark.parametrize("of", ["image", "map"])
@pytest.mark.parametrize("place", [(0, 0), (0, 5), (-1, 0), (5, -1), (-2, -2), (5, 5)])
def test_not_a_number_reaches_the_elements_of_the_filter_that_meet_it(place, of, size):
    torch.manual_seed(3)
    x, w = torch.randn(4, 16, size, size), torch.randn(16, 16, 4, 4)
    gy = torch.randn(4, 16, size // 2, size // 2)
    (x if of == "image" else gy)[(1, 2, *place)] = float("nan")
    found = ops.convolution_grad_w(*map(compatgrad.Variable, (x, gy)), ksize=[4, 4], stride=[2, 2], pad=[1, 1]).tensor
    exact = torch.nn.grad.conv2d_weight(x.double(), w.shape, gy.double(), 2, 1)
    assert exact.isnan().any()
    assert torch.equal(found.isnan(), exact.isnan())
    finite = ~exact.isnan()
    torch.testing.assert_close(found[finite].double(), exact[finite], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("padding", [0, 1])
def test_transposed_convolution_of_nnabla(padding):
    torch.manual_seed(0)
    x, w, b = torch.randn(4, 32, 7, 8), torch.randn(32, 24, 4, 4) / 20, torch.randn(24)

    def op(x, w, b):
        return ops.transposed_convolution(
            x, w, b, stride=[2, 2], pad=[1, 1], dilate=[1, 1], output_padding=[padding, 0]
        )

    found, exact = (second_order(op, *tensors(*data)) for data in ((x, w, b), (x.double(), w.double(), b.double())))
    for f, e in zip(found, exact, strict=True):
        e = e.tensor
        torch.testing.assert_close(f.tensor.double(), e, rtol=1e-4, atol=3e-5 * float(e.abs().max()))
    if STEPS:
        assert not functions(lambda: compatgrad.backward(ops.sum(op(*tensors(x, w, b)))))


@pytest.mark.parametrize("place", [(0, 0), (1, 2), (3, 3)])
@pytest.mark.parametrize("side", [10, 11, 13])
def test_nan_in_a_filter_reaches_its_own_numbers_of_an_image(side, place):
    """In a map with an odd side the last tile is partly empty: the zeros there must not meet the NaN."""
    gy_side = (side + 2 - 4) // 2 + 1
    w, gy = torch.ones(16, 16, 4, 4), torch.ones(4, 16, gy_side, gy_side)
    w[(3, 2, *place)] = float("nan")
    found = []
    for dtype in (torch.float32, torch.float64):
        x = compatgrad.Variable(torch.zeros(4, 16, side, side, dtype=dtype), requires_grad=True)
        y = ops.convolution(x, compatgrad.Variable(w.to(dtype)), stride=[2, 2], pad=[1, 1])
        (g,) = compatgrad.grad([y], [x], [compatgrad.Variable(gy.to(dtype))])
        found.append(g.tensor.isnan())
    assert found[1].any() and not found[1].all()
    assert torch.equal(*found)
