"""The command lines of Chainer's examples, and how their runs are compared."""

import json
import random
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


def test_two_scripts_that_fail_at_once_do_not_agree():
    # A package that is missing on both sides must not count as agreement.
    nothing = {"ended": [["ModuleNotFoundError"]], "curves": {"0: printed": []}}
    assert stopped(nothing, nothing)
    assert stopped({**nothing, "curves": {"0: printed": [1.0]}}, nothing)
    assert not stopped({**nothing, "curves": {"0: optimizer 0 /W": [1.0]}}, nothing)
    assert not stopped({**nothing, "ended": [["returns"]]}, nothing)


def test_numbers_of_printed_text():
    found, text = numbers("epoch  main/loss\n\x1b[J1   2.5e-3   -4\ntook 0.31 [s]\nv1.2 done. 3.5\n")
    assert found == [1.0, 0.0025, -4.0]
    assert text == "epoch main/loss\n# # #\nTIME [s]\nv1.2 TIME\n"
    assert numbers("took 0.52 [s]")[1] == numbers("took 1.2 [s]")[1]
    assert numbers("Done (t=0.00s)") == numbers("Done (t=0.03s)")


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


NORMALIZED = """
import multiprocessing
import chainer
import numpy as np

chainer.config.dtype = np.float64
x = np.random.normal(size=(6, 3))
chain = chainer.Sequential(chainer.links.Linear(3, 2), chainer.links.BatchNormalization(2))
optimizer = chainer.optimizers.Adam().setup(chain)
for _ in range(2):
    optimizer.update(lambda: chainer.functions.sum(chain(x) ** 3))
np.savez("model.npz", **{"0/b": chain[0].b.array, "0/W": chain[0].W.array})
with multiprocessing.get_context("fork").Pool(1) as pool:
    print(pool.apply(eval, ("__import__('random').random()",)))
"""


def test_biases_before_a_normalization_are_left_out_and_processes_have_a_seed(tmp_path):
    # Otherwise Adam makes steps of the rounding errors, and each process of an iterator crops its images differently.
    (tmp_path / "script.py").write_text(NORMALIZED)
    command = [sys.executable, "-m", "compatgrad", "run", FOLDER / "harness.py", "--out", "out.json", "script.py"]
    done = subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, text=True)
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["left_out"] == ["optimizer 0 /0/b"]
    assert {k.split("optimizer 0 ")[-1] for k in result["curves"] if not k.endswith("*")} == {
        *(f"{kind}{name}" for kind in ("", "gradient ") for name in ("/0/W", "/1/beta", "/1/gamma")),
        "model.npz 0/W",
    }
    assert float(done.stdout) == random.Random(0).random()


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
    assert len(steps) == 4 and steps[0] == 1 and steps[3] == 4  # two elements, which change by 0.5 each in every step
    assert plain["optimizer 0 gradient /b"] == [2.0] * 4
    assert plain["left.npz W"] == [plain["optimizer 0 /W"][-1]] and results[0]["files"] == ["left.npz"]
    assert results[0]["ended"][0] == "KeyError" and "KeyError: 1" in results[0]["error"]
    assert plain != perturbed and abs(plain["left.npz W"][0] / perturbed["left.npz W"][0] - 1) < 1e-5
