"""Loops of the engine that compute one op give what ATen's functions give: also for many numbers, in threads, and for
tensors that only ATen takes."""

import numpy as np
import pytest
import torch

from compatgrad import core, ops

INF, NAN = float("inf"), float("nan")
DTYPES = [torch.float32, torch.float64]


@pytest.fixture(params=[1, 3], autouse=True)
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def random(*shape, dtype=torch.float32):
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(sum(shape)))


def few_values(shape, dtype):
    """Numbers of which many are equal, with NaN, infinities and -0 where the dtype has them."""
    x = torch.randint(0, 5, shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)
    if dtype.is_floating_point:
        for i, special in enumerate((NAN, INF, -INF, -0.0)):
            x.view(-1)[i :: 7 + i] = special
    return x


@pytest.mark.parametrize("dtype", [*DTYPES, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64,
                                   torch.bool])  # fmt: skip
@pytest.mark.parametrize("shape, axis", [((7, 50), 1), ((50, 7), 0), ((3, 400, 4), -2), ((50_000,), 0), ((0, 9), 1)])
def test_first_elements_in_sorted_order(shape, axis, dtype):
    x = few_values(shape, dtype)
    for reverse in (False, True):
        order = torch.sort(x, stable=True, dim=axis, descending=reverse)[1]
        for k in (0, 1, 5, shape[axis]):
            got = ops.partial_argsort(x, k=k, axis=axis, reverse=reverse).tensor
            assert torch.equal(got, order.narrow(axis, 0, k))
            assert got.is_contiguous()
            assert got.untyped_storage().nbytes() == got.nbytes  # those of the other elements are not kept
    with pytest.raises(ValueError, match="k must be in"):
        ops.partial_argsort(x, k=shape[axis] + 1, axis=axis)


def test_first_elements_of_numbers_that_rise():
    got = ops.partial_argsort(torch.arange(70_000.0), k=600, reverse=True).tensor
    assert torch.equal(got, torch.arange(69_999, 69_399, -1))


def test_the_first_element_of_a_number():
    for reverse in (False, True):
        assert torch.equal(ops.partial_argsort(torch.tensor(3.0), k=1, reverse=reverse).tensor, torch.tensor(0))
    for k in (0, 2):
        with pytest.raises(ValueError, match=r"k must be in \[1, 1\]"):
            ops.partial_argsort(torch.tensor(3.0), k=k)


CONDITIONS = [torch.bool, torch.uint8, torch.int16, torch.int32, torch.int64, torch.float16, *DTYPES]


@pytest.mark.parametrize("dtype", [torch.int8, torch.bfloat16, torch.int32, torch.float64, torch.complex128])
@pytest.mark.parametrize("condition", CONDITIONS)
def test_where(condition, dtype):
    for shape in ((), (0, 3), (5,), (70, 1000)):
        c = few_values(shape, condition)
        a, b = few_values((*shape, 2), dtype).unbind(-1)
        for tensors in (
            (c, a.contiguous(), b.contiguous()),
            (c, a, b),
            (c.mT, a.mT, b.mT) if len(shape) > 1 else (c, a, b),
        ):
            got, expected = ops.where(*tensors).tensor, torch.where(tensors[0].bool(), *tensors[1:])
            torch.testing.assert_close(got, expected, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_where_is_0_elsewhere(dtype):
    c = torch.arange(50_000) % 3 == 0
    x, y = core.Variable(random(50_000, dtype=dtype)), core.Variable(random(50_000, dtype=dtype))
    g = torch.full((50_000,), INF, dtype=dtype)
    z = ops.where(core.Variable(c, requires_grad=False), x, y)
    z.grad_var = core.Variable(g)
    z.backward()
    assert torch.equal(x._grad_tensor, torch.where(c, g, 0.0))
    assert torch.equal(y._grad_tensor, torch.where(c, 0.0, g))


@pytest.mark.parametrize("dtype", [*DTYPES, torch.int32])
@pytest.mark.parametrize("shape", [(3, 4), (300, 400), (2, 300, 50), (), (9000,), (0, 4), (1, 70_000)])
def test_repetitions_and_padding(shape, dtype):
    x = (random(*shape) * 10).to(dtype)
    for t in (x, x.mT) if len(shape) > 1 else (x,):
        for reps in ((2,), (3, 1), (1, 2), (2, 3), (2, 1, 1, 1), (0, 1), ()):
            assert torch.equal(ops.tile(t, reps=reps).tensor, torch.tile(t, reps))
        for axis in (None, *range(-t.dim(), t.dim())):
            for n in (0, 1, 3):
                got = ops.repeat(t, repeats=(n,), axis=axis).tensor
                assert torch.equal(got, torch.repeat_interleave(t, n, axis))
        for count in range(t.dim() + 1):
            for widths in ((0, 0), (2, 0), (0, 1), (1, 3)):
                got = ops.pad(t, pad_width=widths * count, value=2).tensor
                assert torch.equal(got, torch.nn.functional.pad(t, widths * count, value=2))


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-6), (torch.float64, 1e-14)])
@pytest.mark.parametrize("shape", [(2, 7, 3, 5), (3, 9, 9000), (4, 6), (2, 0, 3), (2, 3, 0)])
def test_local_response_normalization(shape, dtype, tolerance):
    x = random(*shape, dtype=dtype) * 5
    for n in (1, 2, 5, 40):
        sums = torch.zeros_like(x)
        for c in range(shape[1]):
            sums[:, c] = (x[:, max(0, c - n // 2) : c + n // 2 + 1] ** 2).sum(1)
        got = ops.local_response_normalization(x, n=n, k=2, alpha=0.1, beta=0.75).tensor
        torch.testing.assert_close(got, x / (2 + 0.1 * sums) ** 0.75, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 2e-6), (torch.float64, 4e-15)])
@pytest.mark.parametrize("beta", [1, 2, 0.3, -1])
def test_softplus(beta, dtype, tolerance):
    x = torch.cat([torch.linspace(-86, 86, 70_001), torch.tensor([INF, -INF, NAN, 0.0, -0.0])]).to(dtype)
    if beta == 2:
        x = x / 2  # exp(-88) is 0 here, and denormal in torch
    close = {"rtol": tolerance, "atol": 0, "equal_nan": True}
    expected = torch.nn.functional.softplus(x, beta, 40)
    torch.testing.assert_close(ops.softplus(x, beta=beta).tensor, expected, **close)
    g = random(*x.shape, dtype=dtype)
    expected = torch.ops.aten.softplus_backward(g, x, beta, 40)
    torch.testing.assert_close(ops.softplus_grad(g, x, beta=beta).tensor, expected, **close)


@pytest.mark.parametrize("n", [0, 1, 2, 511, 512, 1023, 1024, 1025, 4001])
def test_normal_numbers_are_those_of_the_standard_library(n):
    """std::normal_distribution<float>: two numbers from each point inside the unit circle, the second one first."""
    state = ops.new_generator(torch.tensor(313)).tensor
    words = np.random.RandomState(313).randint(0, 1 << 32, 8 * n + 64, dtype=np.uint32)
    units = np.minimum(words.astype(np.float32) * np.float32(2**-32), np.float32(1 - 2**-24))
    for _ in range(2):
        points = (2 * units - 1).reshape(-1, 2)
        squares = points[:, 0] * points[:, 0] + points[:, 1] * points[:, 1]
        inside = (squares <= 1) & (squares != 0)
        used = np.flatnonzero(inside)[: (n + 1) // 2]
        factors = np.sqrt(np.float32(-2) * np.log(squares[used]) / squares[used])
        expected = (points[used, ::-1] * factors[:, None]).ravel()[:n] * np.float32(2) + np.float32(0.5)
        got = ops.draw(state, kind="normal", a=0.5, b=2.0, shape=[n]).tensor.numpy()
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6)
        units = units[2 * (used[-1] + 1) if n else 0 :]  # the second call goes on where the first one ended
