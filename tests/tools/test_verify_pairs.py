"""How `compare` pairs functions of which the two sides compose another number, and follows gradients past functions
whose backward is not recorded."""

import numpy as np
import pytest

from compatgrad.tools.verify import details
from compatgrad.tools.verify.alignment import align
from compatgrad.tools.verify.following import compare
from tests.tools.test_verify import recording

RNG = np.random.RandomState(0)


class Side:
    """A recording in the making. A result is an array; the inputs of a function are numbers of functions or arrays."""

    def __init__(self):
        self.events, self.arrays = [], b""

    def add(self, array):
        place, self.arrays = len(self.arrays), self.arrays + np.ascontiguousarray(array).tobytes()
        return [array.dtype.name, list(array.shape), None, place]

    def forward(self, name, result, *inputs, line="train.py:3"):
        numbers = [x if isinstance(x, int) else -1 for x in inputs]
        arrays = [None if isinstance(x, int) else self.add(x) for x in inputs]
        self.events.append(
            {"k": "forward", "s": 1, "n": name, "p": "/", "l": line, "f": numbers, "i": arrays, "o": [self.add(result)]}
        )
        return len(self.events) - 1

    def backward(self, name, of, gradients, into):
        """An event of nnabla or MXNet, with the gradients of the function's inputs."""
        arrays = [self.add(g) for g in gradients]
        self.events.append({"k": "backward", "s": 1, "n": name, "of": of, "g": into, "o": arrays})

    def received(self, name, of, gradient, into):
        """An event of Chainer, with the gradient of the function's result."""
        self.events.append({"k": "backward", "s": 1, "n": name, "of": of, "g": into, "i": [self.add(gradient)]})

    def done(self):
        return recording(self.events, self.arrays)


def rows(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def huber(composed, x, factor=1.0, line="train.py:3"):
    """A loss that sums over its second axis, in one function or in two."""
    side = Side()
    of = [side.forward("LinearFunction", x, x)]
    loss = np.abs(x).astype(np.float32) * np.float32(factor)
    of.append(side.forward("HuberLoss", loss if composed else loss.sum(1), of[0]))
    if composed:
        of.append(side.forward("Sum", loss.sum(1), of[1], line=line))
    of.append(side.forward("Exp", loss.sum(1), of[-1]))
    gradient = np.ones(len(x), np.float32)
    side.received("Exp", of[-1], gradient, [of[-2]])
    if composed:
        side.received("Sum", of[2], gradient, [of[1]])
    side.received("HuberLoss", of[1], np.ones_like(x) if composed else gradient, [of[0]])
    side.received("LinearFunction", of[0], np.sign(x), [-1])
    return side.done()


@pytest.mark.parametrize("here", [True, False])
def test_a_function_that_one_side_composes_of_two(here):
    x = rows(6, 4)
    sides = huber(not here, x), huber(here, x)
    pairs, single = align(*sides)
    names = [(a["k"], a["n"], b["n"]) for a, b in pairs]
    two = ("HuberLoss", "Sum") if here else ("Sum", "HuberLoss")
    assert ("forward", *two) in names and ("backward", *two) in names and len(pairs) == 6
    assert [(side, e["k"], e["n"]) for side, e in single] == [
        ("here" if here else "original", kind, "HuberLoss") for kind in ("forward", "backward")
    ]
    found = compare(*sides)
    assert not found.findings and found.counts["forward"] == 3
    found = compare(huber(not here, x), huber(here, x, 1.001))
    assert found.findings[0].original["n"] == two[0] and found.findings[0].agreed


def test_functions_that_only_follow_each_other_are_not_taken_for_one():
    x = rows(6, 4)
    found = compare(huber(False, x), huber(True, x, line="train.py:9"))
    assert found.findings[0].original["n"] == "HuberLoss"
    assert found.findings[0].why == "float32[6] in the original, float32[6, 4] here"


@pytest.mark.parametrize(("ours", "differs"), [((1, 6), False), ((4, 6), False), ((6, 4), True), ((6,), True)])
def test_gradients_of_an_array_that_one_side_repeats_are_not_compared(ours, differs):
    """MXNet has a row of an initial state for each sample, and compatgrad one row for all."""
    x, g = rows(4, 6), rows(4, 6)
    sides = []
    for shape in ((4, 6), ours):
        side = Side()
        of = side.forward("elemwise_mul", x, x)
        part = g if shape == (4, 6) else g.sum(0, keepdims=True) if shape == (1, 6) else rows(*shape)
        side.backward("elemwise_mul", of, [part], [-1])
        sides.append(side.done())
    assert bool(compare(*sides).findings) == differs


@pytest.mark.parametrize("after", ["Activation", "tanh"])
def test_single_elements_beyond_a_threshold_are_followed_past_functions_that_pass_gradients_on(after):
    """MXNet shows no backward of an addition. What comes before it has the errors of what comes after it."""
    x, g, w = rows(64, 64), rows(64, 64), rows(64, 64)
    sides = []
    for crossed in (0, 1):
        side = Side()
        y = x * np.float32(1 + 3e-6 * crossed)
        fc = side.forward("FullyConnected", y, y)
        add = side.forward("elemwise_add", y, fc)
        act = side.forward(after, y, add)
        moved = g.copy()
        moved[3, :10] *= 1 - crossed
        side.backward(after, act, [moved], [add])
        side.backward("FullyConnected", fc, [moved @ w], [-1])
        sides.append(side.done())
    found = compare(*sides)
    if after == "tanh":
        assert found.findings[0].original["n"] == "tanh"
    else:
        assert not found.findings and not found.doubtful


def test_units_in_the_last_place_are_told_of_small_differences_only():
    x = np.float32([1, 2, 1e-30, 0])
    assert details.not_close(x, np.nextafter(x, np.float32(9)), 0).endswith(
        "; up to 1 ulp in elements that are not near 0"
    )
    assert "ulp" not in details.not_close(x, x * np.float32(1.01), 0)
    assert "ulp" not in details.not_close(np.zeros(3, np.float32), np.full(3, 1e-30, np.float32), 0)
    assert "ulp" not in details.not_close(np.float32([np.nan]), np.float32([1]), 0)


def test_differences_in_one_channel_are_described():
    x = np.random.RandomState(0).standard_normal((3, 4, 8)).astype(np.float32)
    one, all_of = x.copy(), x + 1
    one[1:, :, 5] += 1
    text = details.not_close(x, one, 1e-5)
    assert "Mismatched elements: 8 / 96" in text and "all of these are at index 5 of axis 2; in a gradient" in text
    assert "all of these" not in details.not_close(x, all_of, 1e-5)
    assert "all of these" not in details.not_close(x[0, 0], x[0, 0] + np.eye(8, dtype="f")[3], 1e-5)


@pytest.mark.parametrize(("name", "differs"), [("Gaussian", False), ("Mul", True)])
def test_inputs_that_the_function_here_does_not_have_are_not_compared(name, differs):
    """`no_backprop_mode` records inputs only. Chainer's Gaussian gets the logarithm of the variance, ours the noise."""
    mean, result = rows(4, 3), rows(4, 3)
    sides = []
    for second in (rows(4, 3), rows(4, 3)):
        side = Side()
        side.forward(name, result, mean, second)
        sides.append(side.done())
    assert bool(compare(*sides).findings) == differs
