"""The command lines of Chainer's examples, and how their runs are compared."""

import json
import subprocess
import sys

from tests.programs.scripts.__main__ import FOLDER, numbers, stopped
from tests.programs.scripts.cases import CASES, REFUSED


def test_cases():
    for name, commands in CASES.items():
        assert name and commands
        for c in commands:
            assert c.script.endswith(".py") and " " not in c.folder
            assert all(text != other for text, other in c.edits)
    assert REFUSED < set(CASES)


def test_two_scripts_that_stop_at_once_are_not_the_same():
    # A package that was missing on both sides counted as agreement.
    nothing = {"ended": [["ModuleNotFoundError"]], "curves": {"0: printed": []}}
    assert stopped(nothing, nothing)
    assert stopped({**nothing, "curves": {"0: printed": [1.0]}}, nothing)
    assert not stopped({**nothing, "curves": {"0: optimizer 0 /W": [1.0]}}, nothing)
    assert not stopped({**nothing, "ended": [["returns"]]}, nothing)


def test_numbers_of_what_is_printed():
    found, text = numbers("epoch  main/loss\n\x1b[J1   2.5e-3   -4\ntook 0.31 [s]\nv1.2 done. 3.5\n")
    assert found == [1.0, 0.0025, -4.0]
    assert text == "epoch main/loss\n# # #\nTIME [s]\nv1.2 TIME\n"
    assert numbers("took 0.52 [s]")[1] == numbers("took 1.2 [s]")[1]


SCRIPT = """
import sys
import chainer
import numpy as np

if __name__ == "__main__":
    assert sys.argv == ["script.py", "--rate", "0.5"]
    link = chainer.links.Linear(3, 2)
    optimizer = chainer.optimizers.SGD(float(sys.argv[2])).setup(link)
    for _ in range(4):
        optimizer.update(lambda x: chainer.functions.sum(link(x)), np.ones((1, 3), "f"))
    np.savez("left.npz", W=link.W.array)
    print(chainer.functions.sum(link(np.ones((1, 3), "f"))).array)
    CHANGED
"""


def test_harness(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    results = []
    for more in ([], ["--perturb", "1"]):
        out = tmp_path / "out.json"
        command = [sys.executable, "-m", "compatgrad", "run", FOLDER / "harness.py", "--out", out, *more]
        command += ["--edit", "CHANGED", "raise KeyError(1)", "script.py", "--rate", "0.5"]
        subprocess.run(command, check=True, cwd=tmp_path)
        results.append(json.loads(out.read_text()))
    plain, perturbed = (r["curves"] for r in results)
    steps = plain["optimizer 0 /b"]
    assert len(steps) == 4 and steps[0] == 1 and steps[3] == 4  # two biases, one half each
    assert plain["left.npz W"] == [plain["optimizer 0 /W"][-1]] and results[0]["files"] == ["left.npz"]
    assert results[0]["ended"][0] == "KeyError" and "KeyError: 1" in results[0]["error"]
    assert plain != perturbed and abs(plain["left.npz W"][0] / perturbed["left.npz W"][0] - 1) < 1e-5
