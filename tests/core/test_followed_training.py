"""Random networks that are followed step by step: what counts as rounding, and what as a fault."""

import sys

import numpy as np
import pytest

from tests.golden import files
from tests.random_programs.training import follow
from tests.random_programs.training.__main__ import results

SEEDS = {"chainer": [0, 3, 5], "nnabla": [0, 1, 4], "mxnet": [0, 2, 4]}


@pytest.mark.parametrize("framework", files.ORIGINALS)
def test_all_that_a_step_leaves_to_the_next_is_recorded(framework, tmp_path):
    """A program that starts each step from its own recorded arrays gives the same bits, and with rounding errors
    others."""
    for name in ("recorded", "again", "changed", "rounded"):
        (tmp_path / name).mkdir()
    seeds, start = SEEDS[framework], ["--start", str(tmp_path / "recorded"), "--write"]
    first = results(framework, sys.executable, seeds, ["--write", str(tmp_path / "recorded")])
    again = results(framework, sys.executable, seeds, [*start, str(tmp_path / "again")])
    results(framework, sys.executable, seeds, [*start, str(tmp_path / "changed"), "--pattern", "0"])
    assert first == again
    for seed in seeds:
        recorded, found, changed = (follow.load(tmp_path / name, seed) for name in ("recorded", "again", "changed"))
        assert recorded.keys() == found.keys() == changed.keys()
        for name, a in recorded.items():
            np.testing.assert_array_equal(a, found[name])
        assert any((a != changed[name]).any() for name, a in recorded.items() if " after " in name)


def program(gradient, weight, loss=1.0):
    """Arrays and result of one step from the weight 1."""
    arrays = {"0 before w": np.ones(2), "0 gradient w": np.array(gradient, float), "0 after w": np.array(weight, float)}
    return arrays, {"tolerance": 1e-8, "steps": [[loss]], "error": ""}


def verdict(recorded, found, *perturbed):
    return follow.verdict(*recorded, *found, perturbed)


THEIRS = program([0.5, 1], [0.9, 0.8])


def test_a_fault_of_a_millionth_is_seen():
    assert verdict(THEIRS, THEIRS) == ("same step by step", "")
    assert verdict(THEIRS, program([0.5, 1 + 1e-12], [0.9, 0.8])) == ("same step by step", "")
    assert verdict(THEIRS, program([0.5, 1 + 1e-6], [0.9, 0.8]))[0] == "differs"
    assert verdict(THEIRS, program([0.5, 1], [0.9, 0.8 + 1e-7]))[0] == "differs"
    assert verdict(THEIRS, program([0.5, 1], [0.9, 0.8], 1 + 1e-6))[0] == "differs"
    other = program([0.5, 1], [0.9, 0.8])
    other[1]["error"] = "ValueError after 1 steps"
    assert verdict(THEIRS, other)[0] == "differs"


def test_rounding_is_what_moves_the_original_as_far():
    wrong = program([0.5, 1 + 1e-6], [0.9, 0.8])
    assert verdict(THEIRS, wrong, program([0.5, 1 + 1e-8], [0.9, 0.8]))[0] == "differs"
    assert verdict(THEIRS, wrong, program([0.5, 1 + 5e-7], [0.9, 0.8]))[0] == "unstable gradient"
    moved = program([0.5, 1], [0.9, 0.8 + 1e-7])
    assert verdict(THEIRS, program([0.5, 1], [0.9, 0.8 - 1e-7]), moved)[0] == "unstable update"
    # what moves is not what differs
    assert verdict(THEIRS, wrong, program([0.5, 1], [0.9, 0.8 + 1e-5]))[0] == "differs"


def test_numbers_that_are_not_finite():
    nan = float("nan")
    assert verdict(program([0.5, nan], [0.9, nan]), THEIRS)[0] == "original not finite"
    assert verdict(THEIRS, program([0.5, nan], [0.9, nan]))[0] == "differs"
    assert verdict(program([0.5, nan], [0.9, 0.8]), program([0.5, nan], [0.9, 0.8 + 1e-6]))[0] == "differs"
    strange = program([0.5, 1], [0.9, 0.8])
    strange[0]["0 strange"] = np.array(True)
    assert verdict(THEIRS, program([0.5, 2], [0.9, 0.8]), strange)[0] == "original not finite"
