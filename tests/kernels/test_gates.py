"""Gates of recurrent cells: values, gradients, and the gradients of these, against torch's in float64."""

import pytest
import torch

from compatgrad import _C
from tests.kernels.places import Place, unharmed

DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
EPS = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 1e-5, torch.float64: 1e-12}
s, tanh = torch.sigmoid, torch.tanh


def lstm(c, a, i, f, o):
    new = tanh(a) * s(i) + s(f) * c
    return new, s(o) * tanh(new)


def slstm(c, d, a, i, f, o, a2, i2, f2, o2):
    new = tanh(a) * s(i) + tanh(a2) * s(i2) + s(f) * c + s(f2) * d
    return new, s(o + o2) * tanh(new)


def tree_lstm(*x):
    n = len(x) // 2 - 1
    a, i, o = x[n : n + 3]
    new = tanh(a) * s(i) + sum(s(f) * c for f, c in zip(x[n + 3 :], x[:n], strict=True))
    return new, s(o) * tanh(new)


def gru(h, r, z, n, r2, z2, n2):
    new = tanh(n + s(r + r2) * n2)
    return (new + s(z + z2) * (h - new),)


# the cell, how many numbers of a unit its inputs have, integers before rows and inner
CELLS = {
    "lstm": (lstm, (1, 4), ()),
    "slstm": (slstm, (1, 1, 4, 4), ()),
    "peephole_cell": (lambda c, a, i, f, o, p, q: (tanh(a) * s(i + p) + s(f + q) * c, o * 1), (1, 4, 1, 1), ()),
    "peephole_output": (lambda c, o, p: (s(o + p) * tanh(c),), (1, 1, 1), ()),
    "gru": (gru, (1, 3, 3), ()),
    "gru_reset": (lambda a, b, h: (s(a + b) * h,), (1, 1, 1), ()),
    "gru_update": (lambda z, y, n, m, h: (s(z + y) * tanh(n + m) + (1 - s(z + y)) * h,), (1,) * 5, ()),
    "mgu_reset": (lambda f, h: (s(f) * h,), (1, 1), ()),
    "mgu_update": (lambda f, n, h: (s(f) * tanh(n) + (1 - s(f)) * h,), (1, 1, 1), ()),
    "tree 1": (tree_lstm, (1, 4), (1,)),
    "tree 2": (tree_lstm, (1, 1, 5), (2,)),
    "tree 3": (tree_lstm, (1, 1, 1, 6), (3,)),
}


def expected(cell, order, xs, gys, ws):
    """Outputs, gradients of xs, and the gradients of <ws, these> by xs and gys, in float64."""
    xs = [x.double().clone().requires_grad_() for x in xs]
    given = [g.double().clone().requires_grad_() for g in gys]
    numbers = [x[:, k] for x, places in zip(xs, order, strict=True) for k in places]
    ys = cell(*numbers)
    gxs = torch.autograd.grad(ys, xs, given, create_graph=True)
    second = torch.autograd.grad(gxs, [*xs, *given], [w.double() for w in ws], allow_unused=True)
    zeros = [torch.zeros_like(t) for t in (*xs, *given)]
    return ys, gxs, [z if g is None else g for g, z in zip(second, zeros, strict=True)]


def check(place, name, dtype, rows, inner, offsets=(0,), absent=(), order=None):
    cell, widths, leading = CELLS[name]
    kernel = "tree_lstm" if leading else name
    places = [list(range(w)) for w in widths]
    if order is not None:
        places[1] = order
    integers = (*leading, rows, inner, *(sum(places, []) if order else ()))
    offset = iter(offsets * 40)

    def fresh(width, scale=1.0):
        return place.tensor((torch.randn(rows, width, inner) * scale).to(dtype), next(offset))

    xs = [fresh(w, 1.5) for w in widths]
    outputs = len(cell(*[torch.zeros(1)] * sum(widths)))
    gys, ws = [fresh(1) for _ in range(outputs)], [fresh(w) for w in widths]
    for k in absent:
        (gys if k < outputs else ws)[k if k < outputs else k - outputs].zero_()
    before = [t.clone() for t in (*xs, *gys, *ws)]
    truth = expected(cell, places, xs, [g[:, 0] for g in gys], ws)

    def or_none(ts, first):
        return [None if k in absent else t for k, t in enumerate(ts, first)]

    given = ([], or_none(gys, 0), or_none(gys, 0) + or_none(ws, outputs))
    like = ([1] * outputs, widths, [*widths, *[1] * outputs])
    for suffix, more, shapes, exact in zip(("", "_grad", "_grad_grad"), given, like, truth, strict=True):
        results = [place.poisoned((rows, w, inner), dtype, next(offset)) for w in shapes]
        place(kernel + suffix, [*xs, *more, *results], integers=integers)
        for y, e in zip(results, exact, strict=True):
            e = e.detach().reshape(y.shape)
            torch.testing.assert_close(y.double(), e, rtol=EPS[dtype], atol=EPS[dtype])
            assert unharmed(y)
    assert all(torch.equal(a, b) for a, b in zip((*xs, *gys, *ws), before, strict=True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CELLS)
def test_against_float64(place: Place, name, dtype):
    for rows, inner in ((1, 1), (0, 4), (3, 0), (3, 5), (2, 37), (70, 1), (1003, 1), (1, 1003), (5, 64)):
        check(place, name, dtype, rows, inner)


@pytest.mark.parametrize("name", CELLS)
def test_at_any_distance_from_a_boundary(place: Place, name):
    for rows, inner in ((131, 1), (3, 131)):
        for offsets in ((1,), (3,), (0, 1, 2, 3, 5, 7, 11)):
            check(place, name, torch.float32, rows, inner, offsets)
            check(place, name, torch.float16, rows, inner, offsets)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_that_are_absent(place: Place, dtype):
    for rows, inner in ((67, 1), (3, 67)):
        for absent in ((0,), (1,), (2,), (3,), (0, 2), (1, 3), (2, 3)):
            check(place, "lstm", dtype, rows, inner, absent=absent)
        check(place, "gru", dtype, rows, inner, absent=(1, 3))
        check(place, "tree 2", dtype, rows, inner, absent=(0, 1, 4))


@pytest.mark.parametrize("order", [[2, 0, 1, 3], [3, 2, 1, 0], [0, 1, 2, 3]])
def test_gates_in_another_order(place: Place, order):
    for rows, inner in ((3, 5), (2, 70), (9, 1)):
        check(place, "lstm", torch.float32, rows, inner, order=order)


def test_absent_gradients_are_zero_whatever_the_inputs_are(place: Place):
    x = place.tensor(torch.full((4, 1, 1), float("inf")))
    gates, gh = place.tensor(torch.zeros(4, 4, 1)), place.tensor(torch.zeros(4, 1, 1))
    gc, gx = place.poisoned((4, 1, 1), torch.float32), place.poisoned((4, 4, 1), torch.float32)
    place("lstm_grad", [x, gates, None, gh, gc, gx], integers=(4, 1))
    assert torch.equal(gc, torch.zeros_like(gc))


def test_what_the_kernels_do_not_take(place: Place):
    c, x, wrong = (place.tensor(torch.randn(2, w, 3)) for w in (1, 4, 3))
    y = [place.poisoned((2, 1, 3), torch.float32) for _ in range(2)]
    for operands, integers in (
        ([c, wrong, *y], (2, 3)),
        ([c, x, *y], (3, 2, 0)),
        ([c, x, *y], (4, 3)),
        ([c, x, y[0]], (2, 3)),
        ([c, x, *y], (2, 3, 0, 0, 1, 2, 4)),
        ([c, None, *y], (2, 3)),
    ):
        with pytest.raises(ValueError, match="the kernel does not take these operands"):
            place("lstm", operands, integers=integers)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_give_the_same(threads):
    tensors = [torch.randn(301, w * 130) for w in (1, 4, 1, 1)]
    results = []
    before = torch.get_num_threads()
    for count in (1, threads):
        torch.set_num_threads(count)
        try:
            ys = [torch.full((301, 130), float("nan")), torch.full((301, 520), float("nan"))]
            _C.run_kernel("lstm_grad", [*tensors, *ys], (), (301, 130))
        finally:
            torch.set_num_threads(before)
        results.append(ys)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


# ---- in the ops -----------------------------------------------------------------------------------------------------
SHAPES = {
    "lstm": [(2, 3), (2, 12)],
    "slstm": [(2, 3), (2, 3), (2, 12), (2, 12)],
    "peephole_cell": [(2, 3), (2, 12), (2, 3), (2, 3)],
    "gru": [(2, 3), (2, 9), (2, 9)],
    "gru_update": [(2, 3)] * 5,
    "mgu_update": [(2, 3)] * 3,
    "tree_lstm": [(2, 3), (2, 3), (2, 15)],
}


def run(name, tensors, record=False):
    """Outputs and gradients of the sum of their squares."""
    op, many = _C.op(name), name == "tree_lstm"
    xs = [_C.Variable(t, True) for t in tensors]
    ys = op(xs) if many else op(*xs)
    ys = ys if isinstance(ys, tuple) else (ys,)
    g = _C.grad(
        _C.native_frontend, list(ys), xs, [_C.Variable(y.tensor * 2, False) for y in ys], enable_double_backprop=record
    )
    return [v.tensor for v in (*ys, *g)]


@pytest.mark.parametrize("name", SHAPES)
def test_a_tracer_sees_aten(name):
    from torch.fx.experimental.proxy_tensor import make_fx

    draw = lambda: [torch.randn(s, dtype=torch.float64) for s in SHAPES[name]]  # noqa: E731
    graph = make_fx(lambda *ts: run(name, ts))(*draw())
    assert any(n.target == torch.ops.aten.sigmoid.default for n in graph.graph.nodes)
    fresh = draw()
    for a, b in zip(graph(*fresh), run(name, fresh), strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("name", SHAPES)
def test_operands_with_gaps_are_copied(name):
    tensors = [torch.randn(*s[::-1]).repeat_interleave(2, 0)[::2].T for s in SHAPES[name]]
    assert not all(t.is_contiguous() for t in tensors)
    for a, b in zip(run(name, tensors), run(name, [t.contiguous() for t in tensors]), strict=True):
        assert torch.equal(a, b)
