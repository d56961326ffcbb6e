"""Loops of the engine that take the place of ATen's functions give the same bits, for any number of elements."""

import numpy as np
import pytest
import torch

import compatgrad as cg
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
from compatgrad import ops

SPECIAL = [0.0, -0.0, 1.0, -1.0, float("nan"), float("inf"), -float("inf"), 1e-40, -1e-40]


def bits(t):
    return t.view({torch.float32: torch.int32, torch.float64: torch.int64}[t.dtype])


def numbers(n, dtype):
    """All pairs of special numbers, then random ones."""
    pairs = torch.cartesian_prod(torch.tensor(SPECIAL, dtype=dtype), torch.tensor(SPECIAL, dtype=dtype))
    more = torch.randn(n, 2, dtype=dtype, generator=torch.Generator().manual_seed(n))
    return torch.cat([pairs, more]).T.contiguous()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("n", [0, 9, 100_000])
def test_relu(n, dtype):
    g, y = numbers(n, dtype)
    assert torch.equal(bits(ops.relu(y).tensor), bits(torch.relu(y)))
    assert torch.equal(
        bits(ops.relu_grad(g, y, rule="choice").tensor), bits(torch.ops.aten.threshold_backward(g, y, 0))
    )
    expected = torch.ops.aten.leaky_relu_backward(g, y, 0.0, False)
    got = ops.relu_grad(g, y, rule="product").tensor
    finite = ~expected.isnan()
    assert torch.equal(got.isnan(), expected.isnan())
    assert torch.equal(bits(got[finite]), bits(expected[finite]))


@pytest.mark.parametrize("rows, inside, columns", [(1, 10, 32), (4, 10, 32), (16, 32, 30), (3, 1, 1), (1, 1, 5)])
def test_products_of_tiny_matrices(rows, inside, columns):
    make = torch.Generator().manual_seed(rows)
    x, w, gy = (torch.randn(*s, generator=make) for s in ((rows, columns), (columns, inside), (rows, inside)))
    got = ops.matmul(gy, w, transb=True).tensor
    torch.testing.assert_close(got, gy @ w.T)
    torch.testing.assert_close(ops.matmul(x, gy, transa=True).tensor, x.T @ gy)


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes, axis", [((300, 40, 7), 0), ((300, 40, 7), 1), ((3, 400, 17), 1), ((2, 3, 9000), -1)])
def test_joins(sizes, axis, dtype, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        xs = [random(*(n + (i if k == axis % 3 else 0) for k, n in enumerate(sizes)), dtype=dtype) for i in range(4)]
        assert torch.equal(ops.concat(xs, axis=axis).tensor, torch.cat(xs, axis))
        same = [x.narrow(axis, 0, sizes[axis]).contiguous() for x in xs]
        for new_axis in (axis, 0, -1):  # the last: parts of one number, which ATen joins
            assert torch.equal(ops.stack(same, axis=new_axis).tensor, torch.stack(same, new_axis))
    finally:
        torch.set_num_threads(before)


def test_joins_of_other_tensors():
    x = random(200, 100)
    for others in ([x, random(100, 200).T], [x, x.double()], [x, x[:0]], [x[:0], x[:0]], [x]):
        assert torch.equal(ops.concat(others, axis=0).tensor, torch.cat(others, 0))
    with pytest.raises((ValueError, RuntimeError), match="Sizes|sizes|shapes"):
        ops.concat([x, x[:, :50]], axis=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(), (0,), (1,), (63,), (64, 64), (4097,), (3, 100_000)])
def test_sums_of_all_elements(sizes, dtype):
    x = random(*sizes, dtype=dtype) + 3
    for axes in (None, list(range(len(sizes)))):
        for keepdims in (False, True):
            y = ops.sum(x, axis=axes, keepdims=keepdims).tensor
            expected = torch.sum(x.double(), keepdim=keepdims, dim=list(range(len(sizes)))).to(dtype)
            torch.testing.assert_close(y, expected, rtol=1e-7 if dtype == torch.float32 else 1e-14, atol=0)
            if sizes != (0,):
                y = ops.mean(x, axis=axes, keepdims=keepdims).tensor
                torch.testing.assert_close(
                    y, expected / x.numel(), rtol=2e-7 if dtype == torch.float32 else 1e-14, atol=0
                )


def test_sums_are_the_same_with_any_threads():
    x, results = random(3, 100_001), set()
    before = torch.get_num_threads()
    for threads in (1, 2, 3):
        torch.set_num_threads(threads)
        results.add(ops.sum(x).tensor.item())
    torch.set_num_threads(before)
    assert len(results) == 1


@pytest.mark.parametrize("special", [float("inf"), float("nan"), -float("inf")])
def test_sums_with_special_numbers(special):
    x = torch.ones(10_000)
    x[777] = special
    torch.testing.assert_close(ops.sum(x).tensor, torch.sum(x), equal_nan=True)
    torch.testing.assert_close(ops.mean(x).tensor, torch.mean(x), equal_nan=True)


@pytest.mark.parametrize("images, side", [(1, 1), (3, 2), (2, 40)])
def test_relu_before_global_pooling(images, side):
    """The gradient of global pooling is a broadcast tensor, and relu writes into its own result."""
    x = random(images, 5, side, side)
    v = nn.Variable.from_numpy_array(x.numpy(), need_grad=True)
    v.grad.zero()
    loss = F.sum(F.average_pooling(F.relu(F.mul_scalar(v, 2.0)), (side, side)) ** 2)
    loss.forward(clear_no_need_grad=True)
    loss.backward(clear_buffer=True)
    t = x.clone().requires_grad_()
    torch.relu(2 * t).mean((2, 3)).square().sum().backward()
    np.testing.assert_allclose(v.g, t.grad, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("rows", [1, 5, 40])
def test_weights_used_in_many_steps(rows):
    """The rows of all steps are multiplied together, which takes views of the first rows and of transposes."""
    steps = [random(rows, 96) + k for k in range(7)]
    w = nn.Variable.from_numpy_array(random(96, 64).numpy(), need_grad=True)
    w.grad.zero()
    loss = F.sum(F.stack(*(F.affine(nn.Variable.from_numpy_array(x.numpy()), w) for x in steps)) ** 2)
    loss.forward()
    loss.backward()
    t = torch.tensor(w.d, requires_grad=True)
    torch.stack([x @ t for x in steps]).square().sum().backward()
    np.testing.assert_allclose(w.g, t.grad, rtol=1e-4, atol=1e-3)


def layouts(sizes, dtype):
    """Tensors of the sizes whose memory is in C order, has gaps between rows or elements, or is in another order."""
    rows, columns = sizes
    return [
        random(rows, columns, dtype=dtype),
        random(rows, columns + 5, dtype=dtype)[:, 3 : columns + 3],
        random(columns, rows, dtype=dtype).T,
        random(rows, 2 * columns, dtype=dtype)[:, ::2],
        random(2 * rows, columns, dtype=dtype)[::2],
    ]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sizes", [(0, 3), (1, 1), (3, 4), (5, 300), (300, 5), (70, 1000)])
def test_arithmetic_with_one_number_in_all_places(sizes, dtype, threads):
    """The gradient of a sum is such an array."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for number in (1.7, float("nan"), -0.0):
            one = torch.tensor(number, dtype=dtype).expand(sizes)
            for x in layouts(sizes, dtype):
                for got, expected in [
                    (ops.mul(one, x), one * x),
                    (ops.mul(x, one), x * one),
                    (ops.add(x, one), x + one),
                    (ops.add(one, x), one + x),
                    (ops.add(one, one), one + one),
                ]:
                    assert torch.equal(bits(got.tensor.contiguous()), bits(expected.contiguous()))
                    assert got.tensor.numel() < 2 or got.tensor.stride() == expected.stride()
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("op", [ops.sigmoid, ops.tanh])
@pytest.mark.parametrize("sizes", [(3, 4), (60, 1000)])
def test_gradients_of_sums(op, sizes):
    """The gradient of a sum is one number in all places; that of the product with ones is an array."""
    x = cg.Variable(random(*sizes))
    (of_sum,) = cg.grad([ops.sum(op(x)) * 0.3], [x])
    (of_array,) = cg.grad([ops.sum(op(x) * torch.full(sizes, 0.3))], [x])
    assert torch.equal(bits(of_sum.tensor), bits(of_array.tensor))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_parts_of_tensors_in_any_order(axis):
    whole = random(4, 6, 8)
    for x in (whole, whole.permute(2, 0, 1), whole[:, ::2], torch.tensor(1.5).expand(2, 4, 6)):
        for got, expected in [
            (ops.unstack(x, axis=axis), x.unbind(axis)),
            (ops.split(x, indices=[1], axis=axis), x.tensor_split([1], axis)),
        ]:
            for y, e in zip(got, expected, strict=True):
                assert torch.equal(y.tensor, e)
                assert y.tensor.stride() == e.stride()
                assert y.tensor.data_ptr() == e.data_ptr()


def test_a_cell_whose_gradient_is_one_number():
    """The last step of nnabla's LSTM cells gets the gradient of a sum."""
    gates, c = (cg.Variable(random(*s)) for s in ((3, 4, 20), (3, 20)))
    of_sum = cg.grad([ops.sum(ops.lstm_parts(c, gates)[1]) * 0.3], [c, gates])
    of_array = cg.grad([ops.sum(ops.lstm_parts(c, gates)[1] * torch.full((3, 20), 0.3))], [c, gates])
    for a, b in zip(of_sum, of_array, strict=True):
        assert torch.equal(bits(a.tensor), bits(b.tensor))
