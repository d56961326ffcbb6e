"""What goes in one pass with an update rule: hooks before it, rates for each set, copies in half precision."""

import random

import pytest
import torch

from compatgrad import _C
from tests.kernels.places import Place, unharmed

RULES = _C.optim_rules()
KINDS = ("scale", "unscale", "weight_decay", "lasso", "hard_clip")
OWN = [rule for rule in RULES if not rule.startswith("mx_") and rule not in (*KINDS, "lamb_direction")]
RATED = [rule for rule in RULES if rule.startswith("mx_")]
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SIZES = [0, 1, 33, 16390, 40000]


# CPU tensors go block by block, which tests of the calls see.
launched = pytest.mark.parametrize("place", ["simulated", pytest.param("cuda", marks=pytest.mark.cuda)], indirect=True)


def tensors(rule: str, dtype: torch.dtype, sizes=SIZES) -> list[list[torch.Tensor]]:
    """For each operand a list of tensors, such that no root is of a negative number."""
    states = [lambda n: 3 + torch.rand(n), *[lambda n: 1 + 0.4 * torch.rand(n)] * 2]
    return [[make(n).to(dtype) for n in sizes] for make in [torch.randn, torch.randn, *states[: RULES[rule][0]]]]


def numbers(rule: str) -> tuple[float, ...]:
    return tuple(sorted((0.2 + 0.3 * torch.rand(RULES[rule][1], dtype=torch.float64)).tolist()))


def hook(kind: str) -> tuple[float, ...]:
    if kind == "hard_clip":
        return (random.uniform(-1, 0), random.uniform(0, 1))
    return (random.choice((8.0, 3.0, 0.37)) if kind in ("scale", "unscale") else random.uniform(-0.3, 0.3),)


def hooks(most: int) -> list[tuple]:
    return [(kind, *hook(kind)) for kind in random.choices(KINDS, k=random.randint(1, most))]


def same(found, expected):
    for row, exact in zip(found, expected, strict=True):
        for a, b in zip(row, exact, strict=True):
            assert torch.equal(a.cpu(), b.cpu()) and a.dtype == b.dtype


def place_all(place: Place, given, offset=0):
    return [[place.tensor(t, offset) for t in row] for row in given]


def program(steps: list[tuple]) -> list[float]:
    return [x for kind, *h in steps for x in (KINDS.index(kind), h[0], h[1] if len(h) > 1 else 0.0)]


@launched
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rule", OWN)
def test_a_launch_with_hooks_is_launches_of_each(place: Place, rule, dtype):
    steps, hypers, given = hooks(8), numbers(rule), tensors(rule, dtype)
    factor = torch.tensor([0.4375], dtype=torch.float64, device=place.device)
    steps.insert(0, ("scale", 0.4375))
    steps = steps[:8]
    found, expected = place_all(place, given, 1), place_all(place, given)
    place(rule, found, (*hypers, *program(steps)), (factor.data_ptr(), *[0] * (len(steps) - 1)))
    for kind, *h in steps:
        place(kind, expected[1::-1], h)
    place(rule, expected, hypers)
    same(found, expected)
    assert all(unharmed(t) for row in found for t in row)
    if rule != "sgd":
        return
    for wrong in [5, 0, 0], [-1, 0, 0], [0, 0], [0, 0, 0] * 9:
        with pytest.raises(ValueError, match="does not take"):
            place(rule, found, (*hypers, *wrong))


def variables(given) -> list:
    params = [_C.Variable(x.clone()) for x in given[0]]
    for param, g in zip(params, given[1], strict=True):
        param.grad_var = _C.Variable(g.clone(memory_format=torch.preserve_format))
    return params


def both_ways(rule: str, given, steps: list[tuple]) -> None:
    hypers, found = numbers(rule), []
    for fused in (True, False):
        params = variables(given)
        states = [tuple(s.clone() for s in row) for row in zip(*given[2:], strict=True)] or [()] * len(params)
        if fused:
            assert _C.optim_update(rule, params, states, hypers, steps)
        else:
            for kind, *h in steps:
                if kind == "clip_norm":
                    _C.optim_clip(params, *h, True)
                else:
                    _C.optim_change_grads(kind, params, tuple(h))
            assert _C.optim_update(rule, params, states, hypers)
        found.append(
            [[p.tensor for p in params], [p.grad_var.tensor for p in params], [s for row in states for s in row]]
        )
    same(*found)
    assert steps[0][0] in ("clip_norm", "hard_clip") or not torch.equal(found[0][1][2], given[1][2])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rule", OWN)
def test_a_call_with_hooks_is_calls_of_each(rule, dtype):
    steps = hooks(5)
    for threshold in (0.7, 3.0, 1e6):
        steps.insert(random.randint(0, len(steps)), ("clip_norm", threshold))
    both_ways(rule, tensors(rule, dtype), steps)


def test_threads_share_a_call_with_hooks():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        both_ways("adam", tensors("adam", torch.float32, [200_001, 0, 7]), [("lasso", 0.1), ("clip_norm", 1.0)])
    finally:
        torch.set_num_threads(before)


def test_hooks_of_what_no_kernel_takes_together():
    """Several dtypes, layouts and shared memory: hook by hook, then the rule."""
    given = tensors("momentum_sgd", torch.float32, [6, 12, 8])
    given[0][1], given[2][1] = given[0][1].double(), given[2][1].double()
    given[1][1] = given[1][1].double()
    both_ways("momentum_sgd", given, [("weight_decay", 0.1), ("clip_norm", 0.5)])
    given = tensors("adam", torch.float32, [12, 12, 12])
    given[1][1] = torch.randn(12, 2)[:, 0]
    for row in given:
        row[2] = row[2].reshape(3, 4)
    given[1][2] = torch.randn(4, 3).t()
    both_ways("adam", given, [("weight_decay", 0.1), ("clip_norm", 0.5), ("hard_clip", -0.1, 0.1)])

    shared, found = torch.randn(9), []
    for fused in (True, False):
        memory = shared.clone()
        params = [_C.Variable(torch.ones(5)), _C.Variable(torch.ones(5))]
        params[0].grad_var, params[1].grad_var = _C.Variable(memory[:5]), _C.Variable(memory[4:])
        if fused:
            _C.optim_update("sgd", params, [(), ()], (0.1,), (("weight_decay", 0.5),))
        else:
            _C.optim_change_grads("weight_decay", params, (0.5,))
            _C.optim_update("sgd", params, [(), ()], (0.1,))
        found.append([[memory], [p.tensor for p in params]])
    same(*found)


def test_hooks_leave_what_has_no_gradient():
    params = [_C.Variable(torch.ones(3)), _C.Variable(torch.ones(2))]
    params[0].grad_var = _C.Variable(torch.ones(3))
    assert _C.optim_update("sgd", params, [(), ()], (0.5,), [("weight_decay", 1.0)])
    assert params[0].tensor.tolist() == [0] * 3 and params[1].tensor.tolist() == [1] * 2
    assert _C.optim_update("sgd", [], [], (0.5,), [("weight_decay", 1.0)])


@pytest.mark.parametrize(
    "steps, error, text",
    [
        ([("no", 1.0)], ValueError, "unknown update rule 'no'"),
        ([("adam", 1.0)], ValueError, "adam cannot be a hook"),
        ([("scale",)], ValueError, "'scale' takes 1 numbers"),
        ([("clip_norm", 1.0, 2.0)], ValueError, "'clip_norm' takes 1 numbers"),
        (["scale"], TypeError, "expected tuples"),
        (3, TypeError, "expected a list"),
    ],
)
def test_bad_hooks(steps, error, text):
    with pytest.raises(error, match=text):
        _C.optim_update("sgd", [], [], (0.5,), steps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_norms_of_what_hooks_make(place: Place, dtype):
    steps = [(kind, *hook(kind)) for kind in KINDS]
    random.shuffle(steps)
    given = tensors("sgd", dtype)
    xs, gs = place_all(place, given, 1)
    sums = _C.run_kernel("sum_of_squares_after", [gs, xs], program(steps), library=place.library, sums=True).cpu()
    same([gs], [given[1]])
    for kind, *h in steps:
        place(kind, [gs, xs], h)
    expected = _C.run_kernel("sum_of_squares", [gs], library=place.library, sums=True).cpu()
    assert torch.equal(sums, expected) if place.name == "cpu" else torch.allclose(sums, expected, rtol=1e-6)
    assert sums[2] > 0


def own_rates(rule: str):
    rest = numbers(rule)[2:]
    rates = torch.rand(2, len(SIZES)) * 0.3 + 0.1
    return rates, rest


@launched
@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("rule", RATED)
def test_a_launch_with_rates_of_each(place: Place, rule, dtype, there):
    (rates, rest), given = own_rates(rule), tensors(rule, dtype)
    found, expected = place_all(place, given, 1), place_all(place, given)
    kept = rates.to(place.device)
    if there:
        place(rule, found, (9.0, 9.0, *rest), (kept[0].data_ptr(), kept[1].data_ptr(), 0))
    else:
        place(rule, found, (9.0, 9.0, *rest, *rates.double().flatten().tolist()))
    for k in range(len(SIZES)):
        place(rule, [[row[k]] for row in expected], (*rates[:, k].tolist(), *rest))
    same(found, expected)
    assert all(unharmed(t) for row in found for t in row)


@launched
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("rule", RATED)
def test_a_launch_with_copies(place: Place, rule, narrow):
    (rates, rest), given = own_rates(rule), tensors(rule, torch.float32)
    given[1] = [g.half().float() for g in given[1]]
    found, expected = place_all(place, given, 1), place_all(place, given)
    if narrow:
        found[1] = [place.tensor(g.half(), 3) for g in given[1]]
    copies = [place.poisoned((n,), torch.float16, 1) for n in SIZES]
    place(
        rule,
        [*found, [*copies[:2], None, *copies[3:]]],
        (*[0.0] * 2, *rest, *rates.double().flatten().tolist()),
        (0, 0, narrow),
    )
    for k in range(len(SIZES)):
        place(rule, [[row[k]] for row in expected], (*rates[:, k].tolist(), *rest))
    same([found[0], *found[2:]], [expected[0], *expected[2:]])
    same([[c for k, c in enumerate(copies) if k != 2]], [[x.half() for k, x in enumerate(expected[0]) if k != 2]])
    assert all(unharmed(t) for t in copies) and copies[2].isnan().all()
    with pytest.raises(ValueError, match="does not take"):
        place(rule, [*found, copies], (0.1,))


@pytest.mark.parametrize("kind", ["same", "half", "both"])
@pytest.mark.parametrize("rule", RATED)
def test_lists_with_rates_and_copies(rule, kind):
    """One call for weights with rates of their own, of which some are copies in single precision of half ones."""
    (rates, rest), given = own_rates(rule), tensors(rule, torch.float32)
    weights, grads, *states = ([t.clone() for t in row] for row in given)
    mixed = [kind == "half" or (kind == "both" and k % 2) for k in range(len(SIZES))]
    grads = [g.half() if m else g for g, m in zip(grads, mixed, strict=True)]
    copies = [
        torch.full_like(w, float("nan"), dtype=torch.float16) if m else None
        for w, m in zip(weights, mixed, strict=True)
    ]
    rows = [tuple(row) for row in zip(*states, strict=True)] or [None] * len(SIZES)
    if kind == "same":
        _C.optim_step(rule, weights, grads, rows, (9.0, 9.0, *rest), True, None, tuple(rates))
    else:
        _C.optim_step(rule, weights, grads, rows, [(*r, *rest) for r in rates.t().tolist()], True, copies)
    xs, gs, *ss = ([t.clone() for t in row] for row in given)
    for k in range(len(SIZES)):
        g = gs[k].half().float() if mixed[k] else gs[k]
        _C.optim_step(rule, [xs[k]], [g], [tuple(s[k] for s in ss) or None], (*rates[:, k].tolist(), *rest), True)
        assert copies[k] is None or torch.equal(copies[k], xs[k].half())
    same([weights, *states], [xs, *ss])


def test_lists_with_copies_that_kernels_do_not_take():
    """Gaps, doubles with single gradients: tensor by tensor."""
    wide = torch.randn(4, 6)
    weights, grads = [wide[:, ::2], torch.ones(3, dtype=torch.float64)], [torch.ones(4, 3).half(), torch.ones(3)]
    before, copy = wide.clone(), torch.zeros(4, 3, dtype=torch.float16)
    _C.optim_step("mx_descend", weights, grads, [None] * 2, [(0.5, 0, 1, 1), (0.25, 0, 1, 1)], True, [copy, None])
    assert torch.equal(wide[:, ::2], before[:, ::2] - 0.5) and torch.equal(wide[:, 1::2], before[:, 1::2])
    assert torch.equal(copy, wide[:, ::2].half()) and weights[1].tolist() == [0.75] * 3


def test_sums_of_several_kinds():
    values = [
        torch.randn(7),
        torch.randn(3, 4).double(),
        torch.randn(9).bfloat16(),
        torch.randn(4, 6)[:, ::2],
        torch.ones(0),
    ]
    exact = torch.stack([v.double().square().sum() for v in values])
    torch.testing.assert_close(_C.optim_sums(values, False), exact, rtol=1e-2, atol=0)
    assert _C.optim_sums(values, True).tolist() == [0] * 5
    values[3][1, 2], values[0][0] = float("nan"), float("inf")
    assert _C.optim_sums(values, True).tolist() == [1, 0, 0, 1, 0]
    with pytest.raises(ValueError, match="empty"):
        _C.optim_sums([], True)
    before = [v.clone() for v in values]
    _C.optim_scale(values, torch.tensor([0.5], dtype=torch.float64))
    for v, b in zip(values, before, strict=True):
        torch.testing.assert_close(v, b * 0.5, equal_nan=True)
