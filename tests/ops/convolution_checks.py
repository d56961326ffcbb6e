"""What holds of convolutions, whichever kernel computes them. `conv` is a function of Variables x and w (and b)."""

import torch
from torch.fx.experimental.proxy_tensor import make_fx

import compatgrad
from compatgrad import ops

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


def _leaves(*tensors):
    return [compatgrad.Variable(t, requires_grad=True) for t in tensors]


def check_to_the_second_order(conv, x, w, b):
    found = second_order(conv, *_leaves(x, w, b))
    exact = second_order(conv, *_leaves(x.double(), w.double(), b.double()))
    for f, e in zip(found, exact, strict=True):
        e = e.tensor
        torch.testing.assert_close(f.tensor.double(), e, rtol=1e-4, atol=3e-5 * float(e.abs().max()))


def check_any_number_of_threads(conv, x, w, gy):
    """The parts of the batch, and so the order of sums, do not depend on the number of threads."""
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            leaves = _leaves(x, w)
            y = conv(*leaves)
            gradients = compatgrad.grad([y], leaves, [compatgrad.Variable(gy)])
            results.append([y.tensor, *(g.tensor for g in gradients)])
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))


def check_gradient_in_the_memory_of_the_other(conv, x, w):
    """For images and results of equal size: where nobody else holds the result's gradient, it is overwritten."""
    kept = []

    def gradients(dtype, keep):
        vx, vw = _leaves(x.to(dtype), w.to(dtype))
        h = conv(vx, vw)
        y = ops.sum(conv(ops.relu(h), vw) ** 2)
        found = compatgrad.grad([y], [vx, vw] + [h] * keep)
        kept.extend(found[2:])
        return [g.tensor for g in found]

    for keep in (False, True):
        for f, e in zip(gradients(torch.float32, keep), gradients(torch.float64, keep), strict=True):
            torch.testing.assert_close(f.double(), e, rtol=1e-4, atol=1e-5 * float(e.abs().max()))


def check_trace(conv, x, w):
    """A trace must serve other processors and sizes."""

    def f(x, w):
        return conv(compatgrad.Variable(x), compatgrad.Variable(w)).tensor

    graph = make_fx(f)(x, w)
    assert "convolution" in graph.code
    torch.testing.assert_close(graph(x, w), f(x, w), rtol=1e-4, atol=1e-4)
