"""The sum of n tensors in one pass, and where the engine takes it."""

import pytest
import torch

import compatgrad
from compatgrad import _C
from tests.kernels.places import Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
# Of the largest partial sum: one rounding to the dtype, and one per addition of what is computed in.
EPS = {
    torch.float16: 2.0**-11 + 8 * 2.0**-24,
    torch.bfloat16: 2.0**-8 + 8 * 2.0**-24,
    torch.float32: 8 * 2.0**-24,
    torch.float64: 8 * 2.0**-53,
}


def check(y, xs, scale=1.0):
    exact = sum(x.to(torch.float64) for x in xs) * scale
    bound = (
        sum(x.to(torch.float64).abs() for x in xs) * abs(scale) * EPS[y.dtype] + (y.dtype == torch.float16) * 2.0**-25
    )
    error = (y.to(torch.float64) - exact).abs()
    assert bool((error <= bound).all()), (error - bound).max()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", range(1, 9))
def test_against_float64(place: Place, dtype, n):
    for size in (0, 1, 5, 31, 64, 1003, 70001 if n == 8 or place.name != "simulated" else 9001):
        # all at a boundary, all at the same distance from one, all at different ones
        for offsets in ([0] * 9, [1] * 9, range(9)):
            xs = [place.tensor(torch.randn(size).to(dtype), o) for o in offsets[1 : n + 1]]
            y = place.poisoned((size,), dtype, offsets[0])
            before = [x.clone() for x in xs]
            place("sum_n", [y, *xs], (0.37,))
            check(y, xs, 0.37)
            assert unharmed(y)
            assert all(torch.equal(x, b) and unharmed(x) for x, b in zip(xs, before, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_into_an_operand(place: Place, dtype, position):
    xs = [place.tensor(torch.randn(4099).to(dtype), 1) for _ in range(3)]
    before = [x.clone() for x in xs]
    place("sum_n", [xs[position], *xs])
    check(xs[position], before)
    assert unharmed(xs[position])


def test_floats_are_added_left_to_right(place: Place):
    for dtype in (torch.float32, torch.float64):
        xs = [place.tensor(torch.randn(1000, dtype=dtype) * 10.0 ** torch.randint(-3, 4, (1000,))) for _ in range(8)]
        y = place.poisoned((1000,), dtype)
        place("sum_n", [y, *xs])
        chained = xs[0]
        for x in xs[1:]:
            chained = chained + x
        assert torch.equal(y, chained)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_every_16_bit_number(place: Place, dtype):
    every = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(dtype)
    x, y = place.tensor(every), place.poisoned(every.shape, dtype)
    place("sum_n", [y, x])
    assert torch.equal(y.isnan(), x.isnan())
    numbers = ~x.isnan()
    assert torch.equal(y.view(torch.int16)[numbers], x.view(torch.int16)[numbers])
    # halves of them need rounding below the normal range, thirds nearly everywhere
    for scale in (0.5, 1 / 3, 1.5):
        place("sum_n", [y, x], (scale,))
        expected = (x.float() * torch.tensor(scale, dtype=torch.float32)).to(dtype)
        assert torch.equal(y.view(torch.int16)[numbers], expected.view(torch.int16)[numbers]), scale


def test_special_numbers_go_through(place: Place):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, inf, nan, 3e38, -0.0])
    z = torch.tensor([1.0, 1.0, -inf, 1.0, 3e38, -0.0])
    y = place.poisoned((6,), torch.float32)
    place("sum_n", [y, place.tensor(x), place.tensor(z)])
    assert str(y.tolist()) == str([inf, -inf, nan, nan, inf, -0.0])


def test_lists_are_summed_set_by_set(place: Place):
    sizes = [5, 0, 1000, 33]
    xs = [[place.tensor(torch.randn(n), k) for n in sizes] for k in range(3)]
    ys = [place.poisoned((n,), torch.float32) for n in sizes]
    place("sum_n", [ys, *xs])
    for y, *x in zip(ys, *xs, strict=True):
        check(y, x)


def test_what_the_kernel_does_not_take(place: Place):
    x = place.tensor(torch.randn(4))
    with pytest.raises(ValueError, match="sum_n: the kernel does not take these operands"):
        place("sum_n", [x] * 10)
    with pytest.raises(ValueError, match="sum_n: the kernel does not take these operands"):
        place("sum_n", [x, place.tensor(torch.randn(5))])
    with pytest.raises(ValueError, match="expected tensors without gaps"):
        place("sum_n", [x, place.tensor(torch.randn(8))[::2]])
    with pytest.raises(ValueError, match="expected float16, bfloat16, float32 or float64"):
        place("sum_n", [x.int(), x.int()])
    with pytest.raises(RuntimeError, match="no_such: there is no such kernel for"):
        place("no_such", [x])


# ---- in the engine --------------------------------------------------------------------------------------------------


def chained(ts):
    y = ts[0]
    for t in ts[1:]:
        y = y + t
    return y


LAYOUTS = {
    "contiguous": lambda t: t,
    "channels last": lambda t: t.to(memory_format=torch.channels_last),
    "transposed": lambda t: t.transpose(1, 2).contiguous().transpose(1, 2),
    "with gaps": lambda t: torch.stack([t, t], -1)[..., 0],
    "broadcast": lambda t: t[:1].expand(t.shape),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", [2, 5, 8, 9, 17])
def test_add_n_in_any_layout(layout, n):
    add_n = _C.op("add_n")
    ts = [LAYOUTS[layout](torch.randn(2, 3, 4, 5)) for _ in range(n)]
    before = [t.clone() for t in ts]
    y = add_n(ts).tensor
    assert torch.equal(y, chained(ts)) and all(torch.equal(t, b) for t, b in zip(ts, before, strict=True))
    mixed = [*ts[:-1], ts[-1].contiguous()]
    assert torch.equal(add_n(mixed).tensor, chained(mixed))


@pytest.mark.parametrize("uses", [2, 5, 6, 8, 12])
def test_gradients_of_a_variable_that_is_used_often(uses):
    x = compatgrad.Variable(torch.randn(33, 5))
    weights = [compatgrad.Variable(torch.randn(33, 5), requires_grad=False) for _ in range(uses)]
    before = [w.tensor.clone() for w in weights]
    z = x * weights[0]
    for w in weights[1:]:
        z = z + x * w
    (gx,) = compatgrad.grad([z], [x])
    torch.testing.assert_close(gx.tensor, sum(w.double() for w in before).float(), rtol=1e-6, atol=1e-5)
    assert all(torch.equal(w.tensor, b) for w, b in zip(weights, before, strict=True))


def test_a_tracer_sees_the_additions():
    from torch.fx.experimental.proxy_tensor import make_fx

    add_n = _C.op("add_n")
    graph = make_fx(lambda a, b, c: add_n([a, b, c]).tensor)(*(torch.randn(3) for _ in range(3)))
    assert [n.target for n in graph.graph.nodes if n.op == "call_function"].count(torch.ops.aten.add.Tensor) >= 1
    a, b, c = (torch.randn(3) for _ in range(3))
    torch.testing.assert_close(graph(a, b, c), a + b + c)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same(threads):
    xs = [torch.randn(200_003) for _ in range(4)]
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        y = torch.full_like(xs[0], float("nan"))
        _C.run_kernel("sum_n", [y, *xs])
    finally:
        torch.set_num_threads(before)
    assert torch.equal(y, chained(xs))
