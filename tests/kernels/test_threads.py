"""Loops that share their work among threads give what one thread gives."""

import pytest
import torch

from compatgrad import _C

LOOPS = {
    "window_pooling": (dict(ksize=(3, 2), stride=(2, 1), pad=(1, 0)), (3, 23, 31, 41)),
    "repeat_blocks": (dict(kernel=(2, 3)), (2, 33, 19, 31)),
    "resample": (
        dict(axis=2, index=torch.tensor([[0, 3, 5, 8, 9], [1, 4, 6, 9, 9]]), weight=torch.rand(2, 5)),
        (5, 67, 10, 129),
    ),
}


def run(name, x, g):
    options, _ = LOOPS[name]
    v = _C.Variable(x, True)
    y = _C.op(name)(v, **options)
    (gx,) = _C.grad(_C.native_frontend, [y], [v], [_C.Variable(g(y.tensor), False)])
    return y.tensor, gx.tensor


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LOOPS)
def test_any_number_of_threads(name, dtype):
    torch.manual_seed(7)
    x, results = torch.randn(LOOPS[name][1], dtype=dtype), []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 64):  # the last: more than there are parts
            torch.set_num_threads(threads)
            results.append(run(name, x, lambda y: torch.linspace(-1, 1, y.numel(), dtype=dtype).view(y.shape)))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(result, results[0], strict=True))
    exact = run(name, x.double(), lambda y: torch.linspace(-1, 1, y.numel(), dtype=torch.float64).view(y.shape))
    for a, b in zip(results[0], exact, strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4)
