"""Arrays share memory only where the originals' do, NaN reaches the same numbers, and unknown keywords are refused
where the originals refuse them.

The docstring example of every public name is run, and compared with the originals' results in
tests/golden/behaviour_*.json.gz (`make golden ARGS=behaviour`). `left_out.txt` lists differences with their reasons.
"""

import functools
import json
import pathlib
import subprocess
import sys

import pytest

from tests.behaviour.run import ROOT, run
from tests.golden import files

LEFT_OUT = pathlib.Path(__file__).with_name("left_out.txt")
CASES = [(frontend, what) for frontend in files.ORIGINALS for what in ("memory", "finite", "refusal", "states")]
CASES += [("mxnet", "symbol")]


@functools.cache
def reasons():
    """Difference -> reason, from `left_out.txt`."""
    lines = [line.split("\t") for line in LEFT_OUT.read_text().splitlines() if line and not line.startswith("#")]
    return {what: reason for what, reason in lines}


def recorded(frontend):
    return files.read(files.GOLDEN / f"behaviour_{frontend}.json.gz")


def shared(found, arrays):
    """Pairs of overlapping arrays, and arrays whose own elements overlap, as far as both sides have the arrays."""
    pairs = {tuple(pair) for pair in found["pairs"] if arrays.issuperset(pair)}
    return pairs | {(label,) for label in found["folded"] if label in arrays}


def is_gradient(label):
    return label.endswith(".grad") and not label.startswith("result ")


def memory(theirs, ours):
    """Overlaps on one side only; if the example fails in the original, overlaps of gradients."""
    if "failed" in theirs:
        if "failed" in ours:
            return []
        return [f"shares {' ~ '.join(pair)}" for pair in ours["pairs"] if all(map(is_gradient, pair))]
    if "failed" in ours:
        return [ours["failed"]]
    arrays = set(theirs["arrays"]) & set(ours["arrays"])
    here, there = shared(ours, arrays), shared(theirs, arrays)
    found = [f"shares {' ~ '.join(pair)}" for pair in sorted(here - there)]
    # an array whose elements overlap only in the original is no fault
    return found + [f"does not share {' ~ '.join(pair)}" for pair in sorted(there - here) if len(pair) == 2]


def states(theirs, ours):
    """As `memory`, and arrays of an optimizer that only one side has, in what both sides have run."""
    found = memory(theirs, ours)
    if "failed" in theirs or "failed" in ours:
        return found
    here, there = ({label: label.partition(": ")[0] for label in side["arrays"]} for side in (ours, theirs))
    both = set(here.values()) & set(there.values())
    return found + [
        f"not on both sides: {label}"
        for label in sorted(here.keys() ^ there.keys())
        if {**here, **there}[label] in both
    ]


def finite(theirs, ours):
    """Results and gradients in which other numbers are finite than in the original, as far as both sides have them."""
    if "failed" in theirs or "failed" in ours:
        return [] if "failed" in theirs else [ours["failed"]]
    found = []
    for where in ("input", "gradient"):
        here, there = ours[where], theirs[where]
        if "failed" in there or "failed" in here:
            found += [] if "failed" in there else [f"NaN in {where}: {here['failed']}"]
            continue
        arrays = sorted(label for label in here.keys() & there.keys() if here[label] != there[label])
        found += [f"NaN in {where}: {label}" for label in arrays]
    return found


def refusal(theirs, ours):
    """Unknown keywords that only one side accepts."""
    if "failed" in theirs or "failed" in ours:
        return [] if "failed" in theirs else [ours["failed"]]
    both = theirs.keys() & ours.keys()
    found = [f"takes any keyword ({where})" for where in sorted(both) if theirs[where] and not ours[where]]
    return found + [f"refuses ({where}): {ours[where]}" for where in sorted(both) if ours[where] and not theirs[where]]


@functools.cache
def examples(frontend):
    """The docstrings' current examples, from a separate interpreter, because all public modules are imported."""
    command = [sys.executable, "-W", "ignore", "-m", "tests.behaviour.examples", frontend]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.splitlines()[-1])


@pytest.mark.parametrize("frontend, what", CASES)
def test_every_name_is_recorded(frontend, what):
    """New names must be recorded; recorded names keep the examples that they were recorded with."""
    new = examples(frontend)[what].keys() - recorded(frontend)[what].keys()
    assert not new, f"new names: run `make golden ARGS=behaviour`, or name them in {LEFT_OUT.name} with a reason"


@pytest.mark.parametrize("frontend, what", CASES)
def test_as_the_original(frontend, what):
    names = examples(frontend)[what]
    theirs = {name: found for name, found in recorded(frontend)[what].items() if name in names}
    asked = {name: {key: found.get(key) for key in ("source", "spelled", "enters")} for name, found in theirs.items()}
    ours = run(sys.executable, frontend, what, asked, "compatgrad.")
    compare = {"memory": memory, "states": states, "finite": finite}.get(what, refusal)
    wrong = {f"{what} {name}: {said}" for name in theirs for said in compare(theirs[name], ours[name])}
    wrong -= reasons().keys()
    assert not wrong, "\n".join(["", *sorted(wrong)])
    assert sum("failed" not in found for found in ours.values()) > 0.9 * len(ours)


def test_reasons_are_given():
    assert all(len(reason) > 10 for reason in reasons().values())


def test_the_comparison_sees_faults():
    """Faults of either kind are reported."""
    fine = {"arrays": ["/b0.grad", "/b1.grad", "input 0", "result 0"], "pairs": [["input 0", "result 0"]], "folded": []}
    both = {**fine, "pairs": [["/b0.grad", "/b1.grad"]], "folded": ["/b0.grad"]}
    assert memory(fine, both) == [
        "shares /b0.grad",
        "shares /b0.grad ~ /b1.grad",
        "does not share input 0 ~ result 0",
    ]
    assert memory({"failed": "absent"}, both) == ["shares /b0.grad ~ /b1.grad"]
    run = {"arrays": ["a: weight", "a: state 0"], "pairs": [], "folded": []}
    assert states(run, run) == []
    assert states(run, {**run, "arrays": ["a: weight", "a: state 1", "b: weight"]}) == [
        "not on both sides: a: state 0",
        "not on both sides: a: state 1",
    ]
    right = {"input": {"result 0": "+!", "input 0.grad": "+!"}, "gradient": {"failed": "TypeError"}}
    spread = {"input": {"result 0": "+!", "input 0.grad": "!!"}, "gradient": {"input 0.grad": "++"}}
    assert finite(right, right) == []
    assert finite(right, spread) == ["NaN in input: input 0.grad"]
    assert finite(spread, right) == ["NaN in input: input 0.grad", "NaN in gradient: TypeError"]
    assert refusal({"call": "TypeError"}, {"call": ""}) == ["takes any keyword (call)"]
    assert refusal({"call": ""}, {"call": "TypeError"}) == ["refuses (call): TypeError"]


def test_the_probe_sees_what_shares_memory():
    """The probe is right about functions that share a gradient, return a view, and copy."""
    asked = {
        "chainer.functions.add": {"source": ["F.add(np.ones(3), np.ones(3))\n"], "spelled": []},
        "chainer.functions.reshape": {"source": ["F.reshape(np.ones(4), (2, 2))\n"], "spelled": []},
        "chainer.functions.exp": {"source": ["F.exp(np.ones(3))\n"], "spelled": []},
        "chainer.links.Linear": {"source": ["l = L.Linear(2, 3)\n", "l(np.ones((1, 2), 'f'))\n"], "spelled": []},
    }
    found = run(sys.executable, "chainer", "memory", asked, "compatgrad.")
    pairs = {name.rpartition(".")[2]: {frozenset(p) for p in f["pairs"]} for name, f in found.items()}
    assert frozenset(("input 0.grad", "input 1.grad")) in pairs["add"]
    assert frozenset(("input 0", "result 0")) in pairs["reshape"]
    assert not pairs["exp"] and "/W.grad" in found["chainer.links.Linear"]["arrays"]


def test_the_probe_sees_where_nan_goes():
    """Of a function that passes NaN on, one that adds it up, and one that drops it."""
    asked = {
        "chainer.functions.exp": {"source": ["F.exp(np.ones(3))\n"], "spelled": []},
        "chainer.functions.sum": {"source": ["F.sum(np.ones(3))\n"], "spelled": []},
        "chainer.functions.get_item": {"source": ["F.get_item(np.ones(3), 0)\n"], "spelled": []},
    }
    found = run(sys.executable, "chainer", "finite", asked, "compatgrad.")
    exp, total, item = (found[name] for name in asked)
    assert exp["input"] == exp["gradient"] | {"result 0": "+!+"} == {"result 0": "+!+", "input 0.grad": "+!+"}
    assert total["input"] == {"result 0": "!", "input 0.grad": "+++"}
    assert item["input"] == {"result 0": "+", "input 0.grad": "+++"}
