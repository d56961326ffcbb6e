"""Random networks in training have the originals' numbers after each of 20 steps (tests/golden/record_training.py).

`python -m tests.random_programs.training FRAMEWORK --peer PYTHON` compares as many as one likes with the original.
"""

import sys

import pytest

from tests.golden import files
from tests.random_programs.training.__main__ import difference, known, results

GOLDEN = {name: files.read(files.GOLDEN / f"random_training_{name}.json.gz") for name in files.ORIGINALS}


@pytest.mark.parametrize("framework", files.ORIGINALS)
def test_random_training(framework):
    if framework == "nnabla":
        pytest.importorskip("h5py")
    theirs = {int(seed): result for seed, result in GOLDEN[framework].items()}
    assert len(theirs) >= 25
    ours = results(framework, sys.executable, theirs)
    for seed, want in theirs.items():
        assert ours[seed]["what"] == want["what"], "the generator changed: record again (`make golden ARGS=training`)"
    found = {seed: difference(want, ours[seed]) for seed, want in theirs.items()}
    wrong = {s: (d, theirs[s]["what"], ours[s]["error"]) for s, d in found.items() if not d <= theirs[s]["tolerance"]}
    assert not wrong


@pytest.mark.parametrize(("text", "expected"), [("139704706186112 ... 139704706186112", True), ("'x' ... 'x'", False)])
def test_a_key_error_of_an_address_is_the_original_fault(text, expected):
    theirs = {"error": "KeyError after 8 steps", "text": text, "steps": [[1.0]], "what": ""}
    assert known(theirs, {"error": "", "text": "", "steps": [[1.0]] * 20, "what": ""}) is expected
