"""Layers that share their work among threads give what one thread gives, and what double precision gives."""

import pytest
import torch

from compatgrad import _C


def labels(*shape, classes):
    t = torch.randint(0, classes, shape)
    t.view(-1)[::7] = -1  # ignored
    return t


# name: (op, its float inputs, its other inputs, its options)
LAYERS = {
    "images": ("batch_normalization", [(6, 23, 17, 21), (23,), (23,)], [], {}),
    "small images": ("batch_normalization", [(16, 700, 3, 2), (700,), (700,)], [], {}),
    "rows": ("batch_normalization", [(70, 1030), (1030,), (1030,)], [], {}),
    "classes": ("softmax_cross_entropy", [(400, 300)], [labels(400, classes=300)], {}),
    "pixels": ("softmax_cross_entropy", [(2, 21, 59, 61)], [labels(2, 59, 61, classes=21)], {}),
    "one image": ("softmax_cross_entropy", [(1, 5, 150, 151)], [labels(1, 150, 151, classes=5)], {"reduce": "no"}),
    "tiles": ("max_pooling", [(3, 23, 34, 37)], [], {"ksize": (2, 2), "stride": (2, 2), "pad": (0, 0)}),
    "windows": ("max_pooling", [(3, 23, 34, 37)], [], {"ksize": (3, 3), "stride": (2, 2), "pad": (1, 1)}),
    "volumes": ("max_pooling", [(2, 9, 7, 34, 37)], [], {"ksize": (2, 3, 2), "stride": (2, 1, 2), "pad": (1, 1, 0)}),
    "words": ("embedding", [(90, 515)], [torch.randint(0, 90, (7, 120))], {"ignore_index": 3}),
}


def run(name, floats):
    op, _, others, options = LAYERS[name]
    inputs = [_C.Variable(x, True) for x in floats]
    y = _C.op(op)(*inputs, *[_C.Variable(t, False) for t in others], **options)
    g = torch.linspace(-1, 1, y.tensor.numel(), dtype=floats[0].dtype).view(y.tensor.shape)
    v = _C.Variable(g, True)

    def grads_of(recorded):
        return _C.grad(_C.native_frontend, [y], inputs, [v], [None] * len(inputs), False, None, recorded)

    (gx, *_), grads = grads_of(True), grads_of(False)
    (second,) = _C.grad(_C.native_frontend, [gx], [v], [_C.Variable(floats[0], False)], [None], False, None, False)
    return [y.tensor, *(t.tensor for t in grads)], second.tensor


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_any_number_of_threads(name, dtype):
    torch.manual_seed(7)
    floats, results = [torch.randn(shape, dtype=dtype) for shape in LAYERS[name][1]], []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 3, 64):  # the last: more than there are parts
            torch.set_num_threads(threads)
            results.append(run(name, floats))
    finally:
        torch.set_num_threads(before)
    (first, second), *others = results
    for result, again in others:
        for a, b in zip(result, first, strict=True):
            assert torch.equal(a, b)
        torch.testing.assert_close(again, second)  # some are computed by torch, whose sums depend on the threads
    exact, second_exact = run(name, [x.double() for x in floats])
    for a, b in zip([*first, second], [*exact, second_exact], strict=True):
        torch.testing.assert_close(a.double(), b, rtol=1e-4, atol=1e-4 * max(1, float(b.abs().max())))


def test_an_id_out_of_range_is_named_by_any_number_of_threads():
    ids = torch.zeros(5000, dtype=torch.int64)
    ids[4321] = 77
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        with pytest.raises(IndexError, match="id 77 is out of range for 10 rows"):
            _C.op("embedding")(_C.Variable(torch.zeros(10, 100), True), _C.Variable(ids, False))
    finally:
        torch.set_num_threads(before)
