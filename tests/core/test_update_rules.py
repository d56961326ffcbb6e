"""Update rules: the fused kernels and the fallbacks by torch's operations give the same numbers."""

import pytest
import torch

from compatgrad import _C

ADAM = (0.1, 0.1, 0.001, 1e-8, 0.9, -1.0)
BELIEF = (0.9, 0.1, 0.99, 0.01, 0.1, 0.1, 1e-8, 0.3)
# name -> states, constants
RULES = {
    "sgd": (0, (0.1,)),
    "momentum_sgd": (1, (0.1, 0.9)),
    "corrected_momentum_sgd": (1, (0.1, 0.9)),
    "nesterov_ag": (1, (0.1, 0.9, 0.81, 0.19)),
    "ada_grad": (1, (0.1, 1e-8)),
    "ada_delta": (2, (0.9, 0.1, 1e-6)),
    "ada_delta_scaled": (2, (0.9, 0.1, 1e-6, 0.5)),
    "rmsprop": (1, (0.1, 0.9, 0.1, 1e-8)),
    "rmsprop_inside": (1, (0.1, 0.9, 0.1, 1e-8)),
    "rmsprop_graves": (3, (0.1, 0.9, 0.1, 0.9, 1.0)),
    "smorms3": (3, (0.1, 1e-16, 1.0)),
    "adam": (2, ADAM),
    "amsgrad": (3, ADAM),
    "adabound": (2, (*ADAM, 0.01, 0.2)),
    "amsbound": (3, (*ADAM, 0.01, 0.2)),
    "msvag": (2, (0.1, 0.5, 0.2, 0.8, 0.1, 1.0, 0.1, 0.0, 1.0)),
    "momentum": (1, (0.1, 0.9, 0.01)),
    "nesterov": (1, (0.1, 0.9, 1.9)),
    "adamax": (2, (0.1, 0.9, 0.1, 0.99, 1e-8)),
    "lion": (1, (0.1, 0.9, 0.99, 0.1)),
    "lamb_direction": (2, (0.9, 0.1, 0.99, 0.01, 0.5, 0.6, 1e-6)),
    "adabelief": (2, BELIEF),
    "adabelief_plain": (2, BELIEF),
    "adabelief_amsgrad": (3, BELIEF),
    "adabelief_amsgrad_plain": (3, BELIEF),
    "weight_decay": (0, (0.1,)),
    "lasso": (0, (0.1,)),
    "hard_clip": (0, (-0.5, 0.5)),
    "scale": (0, (0.3,)),
}
SHAPES = [(3, 4), (5,), (2, 1, 2)]


def with_gaps(t):
    """The same values with a stride of 2, for which there is no fused loop."""
    return torch.stack([t, t], dim=-1)[..., 0]


@pytest.mark.parametrize("rule", RULES)
def test_lists_and_loops(rule):
    states, hypers = RULES[rule]
    rng = torch.Generator().manual_seed(0)
    xs = [torch.randn(s, generator=rng) for s in SHAPES]
    ys = [torch.randn(s, generator=rng) for s in SHAPES]
    ss = [[torch.rand(s, generator=rng) / 2 for _ in range(states)] for s in SHAPES]
    before = [x.clone() for x in xs]
    others = [with_gaps(x) for x in xs], ys, [[with_gaps(s) for s in state] for state in ss]
    for _ in range(3):
        _C.optim_step(rule, xs, ys, ss, hypers)
        _C.optim_step(rule, *others, hypers)
    torch.testing.assert_close(others[0], xs, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(others[2], ss, rtol=1e-5, atol=1e-6)
    assert not any(torch.equal(x, b) for x, b in zip(xs, before, strict=True))


def test_constants_for_each_tensor():
    xs, ys = [torch.ones(2), torch.ones(3)], [torch.ones(2), torch.ones(3)]
    _C.optim_step("sgd", xs, ys, None, [(0.25,), (0.5,)])
    assert xs[0].tolist() == [0.75] * 2 and xs[1].tolist() == [0.5] * 3
    with pytest.raises(ValueError, match="one tuple per x"):
        _C.optim_step("sgd", xs, ys, None, [(0.25,)])


@pytest.mark.parametrize(
    "args, error, text",
    [
        (("no", [], [], None, ()), ValueError, "unknown update rule 'no'"),
        (("sgd", [1], [1], None, (1.0,)), TypeError, "expected tensors, got int"),
        (("sgd", [torch.ones(1)], [], None, (1.0,)), ValueError, "ys: 0 for 1 xs"),
        (("sgd", [torch.ones(1)], [torch.ones(2)], None, (1.0,)), ValueError, "differ in shape"),
        (("sgd", [torch.ones(1)], [torch.ones(1)], None, ()), ValueError, "a tuple of 1 numbers"),
        (("momentum", [torch.ones(1)], [torch.ones(1)], None, (1.0,) * 3), ValueError, "needs 1 per parameter, got 0"),
    ],
)
def test_bad_calls(args, error, text):
    with pytest.raises(error, match=text):
        _C.optim_step(*args)
