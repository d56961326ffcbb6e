"""Update rules name the arrays that they cannot update, and leave everything unchanged."""

import numpy as np
import pytest
import torch

import compatgrad as cg
import compatgrad.chainer as chainer
import compatgrad.mxnet as mx
from compatgrad import _C

SORTS = "a dense tensor of float16, bfloat16, float32 or float64, not"
STRANGE = {
    "integers": (lambda: torch.zeros(3, dtype=torch.int64), TypeError, f"{SORTS} one of Long"),
    "booleans": (lambda: torch.zeros(3, dtype=torch.bool), TypeError, f"{SORTS} one of Bool"),
    "complex": (lambda: torch.zeros(3, dtype=torch.complex64), TypeError, f"{SORTS} one of ComplexFloat"),
    "sparse": (lambda: torch.zeros(3).to_sparse(), TypeError, f"{SORTS} a sparse tensor"),
    "quantized": (
        lambda: torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8),
        TypeError,
        f"{SORTS} one of QInt8",
    ),
    "narrow": (lambda: torch.zeros(3).to(torch.float8_e4m3fn), TypeError, f"{SORTS} one of Float8_e4m3fn"),
    "nested": (lambda: torch.nested.nested_tensor([torch.zeros(3)]), TypeError, f"{SORTS} a nested tensor"),
    "elsewhere": (lambda: torch.zeros(3, device="meta"), ValueError, "on meta"),
    "shape": (lambda: torch.zeros(4), ValueError, "differ in shape"),
}
each = pytest.mark.parametrize("strange", STRANGE)
HYPERS = (0.1, 0.1, 0.01, 1e-8, 1.0, -1.0)


def ones(n):
    return [torch.ones(3) for _ in range(n)]


@each
@pytest.mark.parametrize("what", ["parameter", "gradient", "state"])
def test_one_of_two_steps(strange, what):
    make, error, words = STRANGE[strange]
    x, y, m, v = first = ones(4)
    second = ones(4)
    second[{"parameter": 0, "gradient": 1, "state": 3}[what]] = make()
    if strange not in ("elsewhere", "shape"):
        words = f"adam: the {what} must be {words}"
    with pytest.raises(error, match=words):
        _C.optim_step("adam", [x, second[0]], [y, second[1]], [[m, v], second[2:]], HYPERS)
    for t in first:
        assert torch.equal(t, torch.ones(3))


@each
def test_chainer(strange):
    make, error, words = STRANGE[strange]
    link = chainer.Link()
    with link.init_scope():
        link.p, link.q = (chainer.Parameter(np.ones(3, np.float32)) for _ in range(2))
    optimizer = chainer.optimizers.Adam().setup(link)
    link.p.grad = np.ones(3, np.float32)
    link.q._grad_tensor = make()
    with pytest.raises(error, match=words):
        optimizer.update()
    np.testing.assert_array_equal(link.p.array, np.ones(3))


@pytest.mark.parametrize("strange", ["integers", "elsewhere", "shape"])
def test_mxnet(strange):
    make, _, words = STRANGE[strange]
    weights = [mx.nd.ones(3), mx.nd.ones(3)]
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd", learning_rate=0.5))
    with pytest.raises(mx.MXNetError, match=f"SGD: mx_sgd: .*{words}"):
        updater([0, 1], [mx.nd.ones(3), mx.nd.NDArray(make())], weights)
    np.testing.assert_array_equal(weights[0].asnumpy(), np.ones(3))


@pytest.mark.parametrize("change", [False, True])
def test_arrays_that_an_update_only_reads_can_be_differentiated(change):
    """Updates must not count up the version of an array that they only read: torch would refuse to differentiate."""
    x, y = torch.ones(3), torch.ones(3)
    factor = torch.ones(3, requires_grad=True)
    read = x if change else y
    product = (factor * read).sum()
    if change:
        v = cg.Variable(x)
        v.grad = y
        _C.optim_change_grads("weight_decay", [v], (0.1,))
    else:
        _C.optim_step("sgd", [x], [y], None, (0.1,))
    product.backward()
    assert factor.grad.tolist() == [1, 1, 1]
    assert read._version == 0
