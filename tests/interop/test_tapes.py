"""Tapes: graphs of ATen calls as lists of loops, compared with the calls themselves."""

import threading

import numpy as np
import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx

from compatgrad import _C
from compatgrad.exporting._lower import _Lowering, tape_of
from compatgrad.exporting._tape import Call, Step

aten = torch.ops.aten
INF, NAN = float("inf"), float("nan")


def numbers(*shape, dtype=torch.float32, seed=0):
    return torch.from_numpy(np.asarray(np.random.RandomState(seed).randn(*shape))).to(dtype)


def special(dtype=torch.float32):
    """Infinity, NaN, zeros of both signs, large and small numbers, among others."""
    x = torch.tensor([0.0, -0.0, INF, -INF, NAN, 1e-30, -1e-30, 50.0, -50.0, 100.0, -100.0, 0.5, -0.5, 2.0, 1.0, -3.0])
    return torch.cat([x, numbers(9)]).to(dtype)


def scaled(x, factor):
    """A multiple of `x` in other memory, in the same order."""
    whole = torch.empty_strided(x.shape, x.stride(), dtype=x.dtype)
    return whole.copy_(x * factor)


def tape_and_graph(f, *inputs):
    gm = make_fx(lambda *x: list(f(*x)))(*inputs)
    return _Lowering(gm, inputs).tape(), gm


def assert_tape(f, *inputs, calls=0, rtol=None):
    """The values of a tape are those of the function, also in a second call and for other inputs."""
    tape, gm = tape_and_graph(f, *inputs)
    assert sum(isinstance(s, Call) for s in tape.steps) == calls
    run = tape.function()
    for k in range(3):
        given = [scaled(x, (1, 1.25, 1)[k]) if x.is_floating_point() else x for x in inputs]
        expected, found = gm(*given), run(*given)
        for a, b in zip(expected, found, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            tolerance = rtol or (1e-12 if a.dtype == torch.float64 else 2e-5)
            torch.testing.assert_close(b, a, rtol=tolerance, atol=tolerance, equal_nan=True)
    return tape


DTYPES = pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float", "double"])
UNARY = {
    name: getattr(torch, name) for name in "abs exp tanh sigmoid relu sqrt rsqrt reciprocal erf neg square".split()
}
UNARY |= {
    "cube": lambda x: x**3,
    "half": lambda x: x**-0.5,
    "less": lambda x: 3 - x,
    "over": lambda x: x / 3,
    "scaled": lambda x: torch.add(x, x * x, alpha=-0.5),
    "zero": lambda x: x + 0,
    "clone": lambda x: x.clone(),
}
BINARY = {name: getattr(torch, name) for name in "add sub mul div maximum minimum".split()}


def selected(compare):
    return lambda a, b: torch.where(compare(a, b), a, b * 2)


BINARY |= {name: selected(getattr(torch, name)) for name in "gt ge lt le eq ne".split()}
BINARY |= {
    "tanh_backward": aten.tanh_backward,
    "sigmoid_backward": aten.sigmoid_backward,
    "threshold_backward": lambda g, x: aten.threshold_backward(g, x, 0.5),
    "leaky_relu_backward": lambda g, x: aten.leaky_relu_backward(g, x, 0.25, False),
    "mse_loss_backward": lambda a, b: aten.mse_loss_backward(a.sum(), a, b, 1),
    "mask": lambda a, b: (a > b).to(a.dtype) * b,
    "not": lambda a, b: torch.where(torch.logical_not(a > b), a, b),
}


@DTYPES
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name, dtype):
    f, x = UNARY[name], special(dtype)
    assert_tape(lambda x, y, z: (f(x), f(y.t()), f(z)), x, numbers(3, 40, dtype=dtype), numbers(dtype=dtype))
    assert_tape(lambda x: (f(x), f(x[1:, ::2])), numbers(3, 4, 5, dtype=dtype)[:, 1:])


@DTYPES
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_arrays(name, dtype):
    f = BINARY[name]
    a = special(dtype)
    assert_tape(lambda a, b: (f(a, b), f(b, a)), a, a.flip(0).roll(3))
    if name in ("mse_loss_backward", "tanh_backward", "sigmoid_backward", "threshold_backward", "leaky_relu_backward"):
        assert_tape(lambda a, b: (f(a, b.t()), f(a.t(), b)), numbers(7, 19, dtype=dtype), numbers(19, 7, dtype=dtype))
        return
    pairs = [((7, 19), (19,)), ((7, 19), (7, 1)), ((7, 1), (1, 19)), ((2, 3, 4), (3, 1)), ((5,), ()), ((0, 3), (3,))]
    for left, right in pairs:
        assert_tape(lambda a, b: (f(a, b), f(b, a)), numbers(*left, dtype=dtype), numbers(*right, dtype=dtype, seed=1))
    assert_tape(lambda a, b: (f(a, b.t()), f(b, a.t())), numbers(7, 19, dtype=dtype), numbers(19, 7, dtype=dtype))


@DTYPES
def test_reductions(dtype):
    def sums(x):
        found = [
            x.sum(),
            x.sum(0),
            x.sum(1),
            x.sum((0, 2), keepdim=True),
            x.sum(-1),
            x.mean(),
            x.mean((1, 2)),
            x.amax(1),
        ]
        return [
            *found,
            x.amax(),
            x.transpose(0, 2).sum(0),
            x.transpose(0, 2).amax(2, keepdim=True),
            x.expand(3, 2, 5, 17).sum(0),
        ]

    assert_tape(sums, numbers(2, 5, 17, dtype=dtype))
    assert_tape(sums, numbers(17, 5, 2, dtype=dtype).transpose(0, 2))
    x = numbers(2, 5, 17, dtype=dtype)
    x[0, 1, 2] = NAN
    x[1, 3, 4] = INF
    assert_tape(sums, x)
    assert_tape(lambda x: (x.sum(0), x.sum(), x.sum(1)), torch.zeros(0, 3, dtype=dtype))
    assert_tape(
        lambda x, y: (torch.dot(x, y), torch.dot(x[::2], y[1::2])),
        numbers(24, dtype=dtype),
        numbers(24, dtype=dtype, seed=1),
    )


SIZES = [
    (1, 1, 1),
    (10, 40, 40),
    (10, 1, 40),
    (10, 40, 1),
    (1, 10, 40),
    (40, 10, 40),
    (9, 50, 49),
    (3, 2, 100),
    (17, 5, 33),
    (8, 0, 3),
]


@DTYPES
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products(size, dtype):
    n, k, m = size
    a, b = numbers(n, k, dtype=dtype), numbers(k, m, dtype=dtype, seed=1)
    at, bt = a.t().contiguous(), b.t().contiguous()
    d, e, row, column = (numbers(*s, dtype=dtype, seed=2) for s in [(n, m), (m, n), (m,), (n, 1)])

    def products(a, b, at, bt, d, e, row, column):
        found = [x @ y for x in (a, at.t()) for y in (b, bt.t())]
        found += [torch.addmm(c, x, y) for c in (d, e.t(), row, column) for x in (a, at.t()) for y in (b, bt.t())]
        found += [d - 0.5 * (a @ b), d + (at.t() @ bt.t()) * 2, -(a @ bt.t()), (a @ b).t() * 3 + e, column + a @ b]
        return [*found, (a @ b) + (a @ b), -0.01 * (a @ b) + (at.t() @ b) + d]

    assert_tape(products, a, b, at, bt, d, e, row, column)
    x, y = numbers(3, n, k, dtype=dtype), numbers(3, k, m, dtype=dtype, seed=1)
    assert_tape(lambda x, y, d: (torch.bmm(x, y), d + torch.bmm(x, y), torch.bmm(x, y.expand(3, k, m)) * 2), x, y, d)


def test_products_and_sums_become_one_step():
    def f(w, x, g, p):
        h = x @ w
        return p - 0.01 * (x.t() @ g), (-h) * 0.5, g + h * 3.0

    tape = assert_tape(f, numbers(6, 5), numbers(7, 6), numbers(7, 5), numbers(6, 5, seed=3))
    kinds = [(s.kind, s.function) for s in tape.steps if isinstance(s, Step)]
    assert kinds == [(4, "copy"), (4, "copy"), (0, "mul"), (0, "add_scaled")]
    tape = assert_tape(lambda x: (torch.exp(x * 2) + 1, torch.exp(x * 2) - 1), numbers(6, 5))  # the same steps twice
    assert len(tape.steps) == 4


def test_outputs_do_not_share_memory():
    def f(x):
        y = x * 2
        return y, y, y.t(), y[1], x, x[0], torch.ones_like(x), (x > 0), y.sum()

    x = numbers(3, 4)
    tape, gm = tape_and_graph(f, x)
    run = tape.function()
    first, second = run(x), run(x)
    for a, b in zip(first, gm(x), strict=True):
        torch.testing.assert_close(a, b)
    memory = [t.untyped_storage().data_ptr() for t in (*first, *second, x)]
    assert len(set(memory)) == len(memory)


def test_calls_between_loops():
    """Functions without loops, and other dtypes, are calls of torch among the loops."""
    labels = torch.tensor([0, 2, 1, 1])

    def loss(x, t):
        y = torch.log_softmax(x * 2, 1)
        picked = y.gather(1, t.unsqueeze(1)).squeeze(1)
        values, places = x.max(1)
        return -picked.mean(), values * 2, places, torch.sin(x) + 1, (x > 0).sum(), x.t().contiguous().view(-1) + 1

    assert_tape(loss, numbers(4, 3), labels, calls=5)


OTHERS = [
    lambda x: torch.split(x, 2)[0] * 2,
    lambda x: x.unbind(0)[1] + torch.cat([x[0], x[1]])[:4],
    lambda x: torch.stack([x, x * 2]).sum(0),
    lambda x: x[[0, 1]] * 2,
    lambda x: torch.softmax(x, 1) * 2,
    lambda x: torch.layer_norm(x, (4,)) + 1,
    lambda x: x.max(0)[0] + x.topk(2)[0][:, :1],
    lambda x: x.masked_fill(x > 0, 0.5) * x.clamp(0, 1),
    lambda x: (x.double() * 2).float() + x.int(),
    lambda x: (x.gt(0).logical_and(x < 1).float() - x) * True,
    lambda x: x.sum(dtype=torch.float64),
    lambda x: torch.full((4,), 2.0) + 1 + torch.ones_like(x) * 3 - (-x + 0.0) - 0.0,
    lambda x: x.mean(1, keepdim=True) - x.permute(1, 0).reshape(16)[0],
    lambda x: x.unfold(0, 2, 1) * 2,
    lambda x: x.pow(3) + x.pow(2.5),
    lambda x: x.expand(2, 4, 4).contiguous() * 2,
    lambda x: torch.addmm(x, x, x, beta=2, alpha=3) + x @ x[0],
    lambda x: x[:0].sum(0) + x.as_strided((3, 4), (2, 1)) * 2,
]


@pytest.mark.parametrize("k", range(len(OTHERS)))
def test_other_functions(k):
    """Views, calls of torch, and masks in arithmetic."""
    tape, gm = tape_and_graph(lambda x: (OTHERS[k](x),), numbers(4, 4))
    run = tape.function()
    for seed in range(2):
        torch.testing.assert_close(run(numbers(4, 4, seed=seed)), gm(numbers(4, 4, seed=seed)), equal_nan=True)


def test_random_numbers_are_those_of_torch():
    def f(x):
        return x * torch.bernoulli(torch.full_like(x, 0.5)), torch.rand_like(x) * 2

    x = numbers(5, 6)
    tape, gm = tape_and_graph(f, x)
    run = tape.function()
    torch.manual_seed(3)
    found = [*run(x), *run(x)]
    torch.manual_seed(3)
    expected = [*gm(x), *gm(x)]
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b)
    assert not torch.equal(found[0], found[2])


def test_graphs_that_are_not_for_tapes():
    def tape(f, *inputs):
        return tape_of(make_fx(lambda *x: [f(*x)])(*inputs), inputs)

    assert tape(torch.exp, numbers(16)) is not None
    assert tape(torch.exp, numbers(200, 200)) is None  # large
    assert tape(lambda x: x.sin().cos().log(), numbers(16)) is None  # few loops
    assert tape(torch.exp, numbers(16).half()) is None
    assert tape(lambda x: torch.view_as_real((x + 1j) ** 2), numbers(16)) is None
    assert tape(lambda x: torch.add(x, 1j, alpha=1j).real, numbers(16)) is None
    assert tape(lambda x: x.add_(1).exp(), numbers(16)) is None  # reads what it has written
    assert tape(lambda x: (x.exp(), x.mul_(2))[0], numbers(16)) is None


def test_writes_to_inputs():
    def f(x, a, b):
        y = x * x.sum(0)
        a.copy_(y.t())
        b.add_(y)
        return y + 1

    def tensors():
        return [numbers(3, 4), torch.zeros(4, 3), numbers(4, 3, seed=1).t()]

    given = tensors()
    gm = make_fx(lambda *x: [f(*x)])(*given)
    run = _Lowering(gm, given).tape().function()
    for _ in range(2):
        expected, found = tensors(), tensors()
        versions = [t._version for t in found]
        torch.testing.assert_close(run(*found), gm(*expected))
        torch.testing.assert_close(found, expected)
        assert [t._version > v for t, v in zip(found, versions, strict=True)] == [False, True, True]


def test_arrays_in_between_are_used_again_and_threads_do_not_meet():
    def chain(x, w):
        for _ in range(30):
            x = torch.tanh(x @ w) + x.sum(1, keepdim=True) * 0.01
        return (x,)

    x, w = numbers(10, 40), numbers(40, 40) * 0.2
    tape, gm = tape_and_graph(chain, x, w)
    run = tape.function()
    assert run.bytes < 8 * x.numel() * 4
    expected = {k: gm(k * x, w)[0] for k in range(4)}
    wrong = []

    def work(k):
        for _ in range(200):
            if not torch.allclose(run(k * x, w)[0], expected[k], rtol=1e-3, atol=1e-4):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_wrong_tapes_are_refused():
    loop = (0, 0, 0.0, (4,), (2, 0, (1,)), [(1, 0, (1,))])
    outputs = [((4,), (1,), torch.float32)]
    tape = _C.tape(False, 1, [loop], outputs, [])
    workspace = torch.empty(1, dtype=torch.uint8)
    assert torch.equal(_C.run_tape(tape, 0, 1, workspace, [torch.arange(4.0)], None)[0], torch.arange(4.0))
    with pytest.raises(ValueError, match="too little memory"):
        _C.run_tape(tape, 0, 1, workspace, [torch.arange(3.0)], None)
    with pytest.raises(ValueError, match="another number of tensors"):
        _C.run_tape(tape, 0, 1, workspace, [], None)
    with pytest.raises(IndexError, match="no such steps"):
        _C.run_tape(tape, 0, 2, workspace, [torch.arange(4.0)], None)
    for wrong in [
        (9, *loop[1:]),
        (0, 99, *loop[2:]),
        (*loop[:3], (-1,), *loop[4:]),
        (*loop[:4], (7, 0, (1,)), loop[5]),
    ]:
        with pytest.raises(ValueError, match=r"kind|function|sizes|memory"):
            _C.tape(False, 1, [wrong], outputs, [])
