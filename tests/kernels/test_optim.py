"""Every update rule as a kernel, against its formula evaluated by ATen's operations in float64."""

import pytest
import torch

from compatgrad import _C
from tests.kernels.places import Place, unharmed

RULES = _C.optim_rules()
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
SIZES = [0, 1, 33, 16390]
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5, torch.float64: 1e-12}
SIGNS = ("lion", "mx_signum")  # of sums, which may round to the other side of zero


def operands(rule: str, dtype: torch.dtype) -> list[list[torch.Tensor]]:
    """For each operand a list of tensors, such that no root is of a negative number."""
    states = [lambda n: 3 + torch.rand(n), *[lambda n: 1 + 0.4 * torch.rand(n)] * 2]
    makers = [torch.randn, torch.randn, *states[: RULES[rule][0]]]
    return [[make(n).to(dtype) for n in SIZES] for make in makers]


def numbers(rule: str) -> tuple[float, ...]:
    return tuple(sorted((0.2 + 0.3 * torch.rand(RULES[rule][1], dtype=torch.float64)).tolist()))


def by_operations(rule: str, given: list[list[torch.Tensor]], hypers) -> list[list[torch.Tensor]]:
    # tensors with gaps are not for kernels
    apart = [[torch.stack((t.double(), t.double()), -1)[..., 0] for t in row] for row in given]
    steps = [[row[i] for row in apart[2:]] for i in range(len(SIZES))]
    _C.optim_step(rule, apart[0], apart[1], steps, hypers)
    return apart


def check(rule: str, place: Place, dtype: torch.dtype, offsets):
    given, hypers = operands(rule, dtype), numbers(rule)
    found = [[place.tensor(t, offset) for t in row] for row, offset in zip(given, offsets, strict=False)]
    expected = by_operations(rule, given, hypers)
    place(rule, found, hypers)
    for k, (row, exact) in enumerate(zip(found, expected, strict=True)):
        for t, e, before in zip(row, exact, given[k], strict=True):
            assert unharmed(t)
            if k == 1:
                assert torch.equal(t.cpu(), before)
            wrong = ~torch.isclose(t.cpu().double(), e, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=False)
            assert wrong.sum() <= (t.numel() // 2000 if rule in SIGNS else 0), (k, t.numel(), int(wrong.sum()))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rule", RULES)
def test_rules(place: Place, rule, dtype):
    check(rule, place, dtype, [1] * 5)
    check(rule, place, dtype, [0, 1, 0, 1, 0])


def test_rules_keep_nan_where_it_is(place: Place):
    for rule in RULES:
        if rule in (
            "msvag",
            "lion",
            "mx_signsgd",
            "mx_signum",
            "lasso",
            "weight_decay",
        ):  # by their definition, or of y
            continue
        found = [[place.tensor(row[3])] for row in operands(rule, torch.float32)]
        gradient = 0 if rule in ("hard_clip", "scale", "unscale") else 1
        found[gradient][0][5] = float("nan")
        place(rule, found, numbers(rule))
        nan = found[0][0].isnan().cpu()
        assert nan[5] and nan.sum() == 1, rule


def test_wrong_operands(place: Place):
    x = place.tensor(torch.ones(3))
    for operands, hypers in ([[x], [x], [x]], (0.1,)), ([[x], [x]], ()), ([[x], [x[:2]]], (0.1,)):
        with pytest.raises(ValueError, match="sgd: the kernel does not take these operands"):
            place("sgd", operands, hypers)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scale_by_a_number_on_the_device(place: Place, dtype):
    factor = torch.tensor([0.375], dtype=torch.float64, device=place.device)
    values = [torch.randn(n).to(dtype) for n in SIZES]
    xs = [place.tensor(x, 1) for x in values]
    place("scale_by", [xs], (), (factor.data_ptr(),))
    for x, value in zip(xs, values, strict=True):
        assert torch.equal(x.cpu(), value * 0.375) and unharmed(x)


def kinds():
    """Gradients that kernels take, and such that they do not."""
    dense = [torch.randn(n, dtype=dtype) for n in (7, 20000) for dtype in (torch.float32, torch.float64)]
    half = torch.randn(31).to(torch.bfloat16)
    return [*dense, half, torch.randn(6, 8).t(), torch.randn(9, 8)[:, ::3], torch.randn(0)]


def test_steps_of_mixed_lists():
    """One call for tensors of several dtypes and layouts does what calls for each do."""
    hypers = numbers("adam")
    xs, gs = kinds(), kinds()
    gs[0], gs[4] = gs[0].double(), gs[4].float()  # not the parameter's dtype
    gs[1] = torch.randn(2, 7, dtype=torch.float64)[1]  # misaligned
    gs[5] = torch.randn(8, 6)  # another layout
    states = [(torch.rand_like(x), torch.rand_like(x)) for x in xs]
    alone = [[t.clone() for t in row] for row in (xs, gs)]
    alone_states = [tuple(s.clone() for s in row) for row in states]
    _C.optim_step("adam", xs, gs, states, hypers)
    for i, (x, g) in enumerate(zip(*alone, strict=True)):
        exact, m, v = (t.double().contiguous() for t in (x, *alone_states[i]))
        _C.optim_step("adam", [exact], [g.double().contiguous()], [(m, v)], hypers)
        tolerance = 1e-2 if x.dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(xs[i].double(), exact, rtol=tolerance, atol=tolerance)
        torch.testing.assert_close(states[i][0].double(), m, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)])
@pytest.mark.parametrize("threshold", [0.5, 1e4])
def test_norms_are_clipped(device, threshold):
    if device == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no CUDA device")
    values = [t.to(device) for t in kinds()]
    params = [_C.Variable(torch.zeros_like(t)) for t in values]
    for param, value in zip(params, values, strict=True):
        param.grad_var = _C.Variable(value.clone(memory_format=torch.preserve_format))
    norm = torch.stack([t.double().square().sum() for t in values]).sum().sqrt()
    _C.optim_clip(params, threshold, True)
    rate = min(1.0, threshold / norm.item())
    for param, value in zip(params, values, strict=True):
        tolerance = 1e-2 if value.dtype == torch.bfloat16 else 1e-5
        torch.testing.assert_close(
            param.grad_var.tensor.double(), value.double() * rate, rtol=tolerance, atol=tolerance * rate
        )


def test_what_is_not_finite_is_found():
    gradients = kinds()
    assert _C.optim_special(gradients, True, True) == []
    gradients[1][3], gradients[4][30], gradients[6][2, 1] = float("inf"), float("nan"), float("-inf")
    assert _C.optim_special(gradients, True, True) == [1, 4, 6]
    assert _C.optim_special([], True, True) == []
