"""Convolutions of images with few channels through the ops (csrc/kernels/few_channels.h)."""

import pytest
import torch

import compatgrad
from compatgrad import ops
from tests.ops.convolution_checks import functions, laid_out, second_order

HAS_LOOPS = torch.backends.cpu.get_cpu_capability() == "AVX512"
# batch, channels, filters, image, size of a filter, stride, padding
CASES = {
    "first layer": (3, 3, 32, (32, 32), (3, 3), (1, 1), (1, 1)),
    "7 x 7 by two": (2, 3, 16, (24, 26), (7, 7), (2, 2), (3, 3)),
    "one channel": (2, 1, 16, (28, 28), (3, 3), (1, 1), (0, 0)),
    "rows shorter than a vector": (5, 2, 17, (9, 13), (4, 2), (2, 1), (0, 2)),
    "one column": (2, 4, 9, (30, 1), (3, 3), (1, 1), (1, 1)),
    "images smaller than a vector": (16, 1, 8, (4, 3), (3, 3), (1, 1), (0, 0)),
    "more padding than filter": (3, 4, 9, (5, 7), (3, 5), (1, 2), (4, 6)),
    "last column not read": (4, 3, 20, (9, 12), (2, 3), (2, 2), (0, 0)),
}


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "sliced"])
@pytest.mark.parametrize("n, channels, out, image, filters, stride, pad", CASES.values(), ids=CASES)
def test_to_the_second_order(n, channels, out, image, filters, stride, pad, layout):
    torch.manual_seed(0)
    x, w = laid_out((n, channels, *image), layout), laid_out((out, channels, *filters), layout)
    b = torch.randn(out)

    def op(x, w, b=None):
        return ops.convolution(x, w, b, stride=list(stride), pad=list(pad))

    found, exact = (
        second_order(op, *(compatgrad.Variable(t, requires_grad=True) for t in data))
        for data in ((x, w, b), (x.double(), w.double(), b.double()))
    )
    for f, e in zip(found, exact, strict=True):
        e = e.tensor
        torch.testing.assert_close(f.tensor.double(), e, rtol=1e-4, atol=3e-5 * float(e.abs().max()))
    if HAS_LOOPS:
        v, u = compatgrad.Variable(x, requires_grad=False), compatgrad.Variable(w, requires_grad=True)
        assert not functions(lambda: compatgrad.backward(ops.sum(op(v, u))))


def test_the_gradients_of_a_transposed_convolution():
    torch.manual_seed(0)
    x, w = torch.randn(2, 24, 8, 9), torch.randn(24, 3, 4, 4)

    def gradients(dtype):
        vx, vw = (compatgrad.Variable(t.to(dtype), requires_grad=True) for t in (x, w))
        y = ops.sum(ops.deconvolution(vx, vw, stride=[2, 2], pad=[1, 1]) ** 3)
        return [g.tensor for g in compatgrad.grad([y], [vx, vw])]

    for f, e in zip(gradients(torch.float32), gradients(torch.float64), strict=True):
        torch.testing.assert_close(f.double(), e, rtol=1e-4, atol=1e-5 * float(e.abs().max()))


@pytest.mark.parametrize("batch, size", [(6, (30, 31)), (1, (5, 5)), (2, (64, 64))])
def test_any_number_of_threads(batch, size):
    torch.manual_seed(1)
    x, w, gy = torch.randn(batch, 3, *size), torch.randn(20, 3, 3, 3), torch.randn(batch, 20, *size)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            vx, vw = compatgrad.Variable(x), compatgrad.Variable(w, requires_grad=True)
            y = ops.convolution(vx, vw, pad=[1, 1])
            results.append((y.tensor, compatgrad.grad([y], [vw], [compatgrad.Variable(gy)])[0].tensor))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))


@pytest.mark.parametrize("image", [(12, 12), (5, 3)])
def test_numbers_beside_the_arrays_reach_nothing(image):
    torch.manual_seed(2)

    def beside_nan(*shape):
        n = torch.Size(shape).numel()
        return torch.cat([torch.full((64,), float("nan")), torch.randn(n), torch.full((64,), float("nan"))])[
            64 : 64 + n
        ].view(shape)

    x, w, gy = beside_nan(3, 3, *image), beside_nan(11, 3, 3, 3), beside_nan(3, 11, *image)
    vx, vw = compatgrad.Variable(x), compatgrad.Variable(w, requires_grad=True)
    y = ops.convolution(vx, vw, pad=[1, 1])
    gw = compatgrad.grad([y], [vw], [compatgrad.Variable(gy)])[0]
    assert y.tensor.isfinite().all() and gw.tensor.isfinite().all()


@pytest.mark.parametrize(
    "why, change",
    {
        "double": {"dtype": torch.float64},
        "stride": {"stride": [3, 3]},
        "dilation": {"dilate": [2, 2]},
        "groups": {"groups": 3},
        "large filter": {"filters": (9, 9)},
        "few filters": {"out": 6},
        "more channels": {"channels": 5},
    }.items(),
)
def test_others_go_to_other_functions(why, change):
    change = dict(change)
    channels, dtype = change.pop("channels", 3), change.pop("dtype", torch.float32)
    x = torch.randn(4, channels, 24, 24).to(dtype)
    filters = change.pop("filters", (4, 4))
    w = torch.randn(change.pop("out", 33), channels // change.get("groups", 1), *filters).to(dtype)
    y = ops.convolution(compatgrad.Variable(x), compatgrad.Variable(w), **change).tensor
    names = {"stride": "stride", "groups": "groups", "dilate": "dilation"}
    expected = torch.conv2d(x, w, **{names[k]: v for k, v in change.items()})
    torch.testing.assert_close(y, expected, rtol=1e-4, atol=1e-3)


def test_wrong_inputs_raise():
    x = compatgrad.Variable(torch.randn(4, 3, 8, 8))
    for w, b in (((24, 4, 3, 3), 24), ((24, 3, 3, 3), 23), ((24, 3, 9, 9), 24), ((24, 3, 3), 24)):
        with pytest.raises((RuntimeError, ValueError)):
            ops.convolution(x, compatgrad.Variable(torch.randn(w)), compatgrad.Variable(torch.randn(b)))


@pytest.mark.parametrize("threads", [2, 3])
def test_deterministic_algorithms_have_memory_for_each_thread(threads):
    """torch then says that it has one thread, while the loops keep theirs."""
    torch.manual_seed(0)
    x, w, before = torch.randn(8, 3, 64, 64), torch.randn(32, 3, 5, 5), torch.get_num_threads()
    expected = ops.convolution(x, w).tensor
    try:
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(True)
        for _ in range(5):
            assert torch.equal(ops.convolution(x, w).tensor, expected)
    finally:
        torch.use_deterministic_algorithms(False)
        torch.set_num_threads(before)
