"""Gradients of functions of leaves alone do not wait in memory until a pass has come to all other functions."""

import torch

import compatgrad
from compatgrad import Variable, ops

STEPS, ROWS, UNITS = 40, 256, 512


def network(op, variable):
    torch.manual_seed(0)
    w, h = variable(torch.randn(UNITS, 128) / 10, True), variable(torch.zeros(ROWS, UNITS), True)
    kept = []
    y = h
    for _ in range(STEPS):
        kept.append(op.linear(variable(torch.randn(ROWS, 128), False), w))
        y = op.tanh(kept[-1] + y)
    return op.sum(y), w, h, kept


class Torch:
    linear, tanh, sum = torch.nn.functional.linear, torch.tanh, torch.sum


def expected():
    y, w, h, _ = network(Torch, lambda t, needed: t.double().requires_grad_(needed))
    return torch.autograd.grad(y, [w, h])


def check(found):
    for g, e in zip(found, expected(), strict=True):
        torch.testing.assert_close(g.tensor.double(), e, rtol=1e-4, atol=1e-4)


def peak_of(work):
    """The most bytes of tensors that `work` allocates and has not freed yet."""
    with torch.profiler.profile(profile_memory=True) as seen:
        work()
    now = peak = 0
    for event in sorted(seen.profiler.kineto_results.events(), key=lambda e: e.start_ns()):
        if event.name() == "[memory]":
            now += event.nbytes()
            peak = max(peak, now)
    return peak


def test_gradients_of_the_inputs_of_steps_are_used_at_once():
    y, w, h, kept = network(ops, Variable)
    kept.clear()
    found = []
    peak = peak_of(lambda: found.extend(compatgrad.grad([y], [w, h])))
    check(found)
    assert peak < 8 * ROWS * UNITS * 4  # and not those of 40 steps
    w.grad = h.grad = None
    y, w, h, kept = network(ops, Variable)
    kept.clear()
    peak = peak_of(y.backward)
    check([Variable(w.grad), Variable(h.grad)])
    assert peak < 8 * ROWS * UNITS * 4


def test_results_that_the_program_keeps():
    y, w, h, kept = network(ops, Variable)
    check(compatgrad.grad([y], [w, h]))
    again = compatgrad.grad([y], [kept[0], w])
    torch.testing.assert_close(again[1].tensor.double(), expected()[0], rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(again[0].tensor, compatgrad.grad([y], [h])[0].tensor)


def test_a_result_that_two_functions_read():
    torch.manual_seed(0)
    x, w = torch.randn(4, 3), torch.randn(5, 3)
    v = Variable(w, True)
    z = ops.linear(Variable(x), v)
    y = ops.sum(ops.exp(ops.sin(z)) * z)
    del z
    t = w.clone().requires_grad_()
    z = x @ t.T
    torch.testing.assert_close(
        compatgrad.grad([y], [v])[0].tensor, torch.autograd.grad((torch.exp(torch.sin(z)) * z).sum(), t)[0]
    )
