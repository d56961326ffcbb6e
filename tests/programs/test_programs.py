"""The list of public programs, their drivers' form, and the comparison of curves."""

import argparse
import ast
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest

import tests.programs.__main__ as programs_main
from tests.programs.__main__ import FOLDER, driver_of, programs
from tests.programs.compare import compare
from tests.programs.harness import Run

PROGRAMS = programs()


def test_list():
    names = [p["name"] for p in PROGRAMS]
    assert len(set(names)) == len(names) == 60
    for frontend in ("chainer", "nnabla", "mxnet"):
        assert sum(p["frontend"] == frontend for p in PROGRAMS) == 20
    for p in PROGRAMS:
        assert p["repository"].count("/") == 1 and len(p["commit"]) == 40 and int(p["commit"], 16)
        assert p["kind"] and p["what"] and p["years"] and {"licence", "stars"} <= p.keys()
    drivers = {f.stem for f in FOLDER.joinpath("drivers").glob("*.py") if not f.stem.startswith("_")}
    assert drivers <= set(names)


@pytest.mark.parametrize("name", [p["name"] for p in PROGRAMS if driver_of(p["name"]).exists()])
def test_driver(name):
    tree = ast.parse(driver_of(name).read_text())
    assert ast.get_docstring(tree)
    (train,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "train"]
    assert [a.arg for a in train.args.args] == ["run"]
    called = {ast.unparse(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    assert any(name.endswith((".perturb", ".building")) for name in called)
    assert any(isinstance(n, (ast.Yield, ast.YieldFrom)) for n in ast.walk(train))


CURVE = [2.0 - 0.01 * i for i in range(30)]


def test_same_to_rounding():
    near = [v + 1e-6 for v in CURVE]
    v = compare({"loss": CURVE}, {"loss": near}, [{"loss": CURVE}])
    assert v.same and 0 < v.first < 1e-6 and v.own == 0


def test_a_different_first_step():
    other = [CURVE[0], CURVE[1] + 0.01, *CURVE[2:]]
    v = compare({"loss": CURVE}, {"loss": other}, [{"loss": CURVE}])
    assert not v.same and v.where == "loss: differs in the first 10 steps" and math.isclose(v.first, 0.005)
    assert not compare({"loss": CURVE}, {"loss": CURVE[:-1]}, []).same
    assert not compare({"loss": CURVE}, {"gain": CURVE}, []).same


def test_drift_is_measured_by_the_perturbed_runs():
    other = CURVE[:20] + [v + 0.02 for v in CURVE[20:]]
    chaotic = CURVE[:15] + [v - 0.01 for v in CURVE[15:]]
    assert compare({"loss": CURVE}, {"loss": other}, [{"loss": CURVE}]).where == "loss: drifts"
    assert compare({"loss": CURVE}, {"loss": other}, [{"loss": CURVE}, {"loss": chaotic}]).same
    nan = [*CURVE[:20], *[math.nan] * 10]
    assert compare({"loss": nan}, {"loss": nan}, [{"loss": nan}]).same
    assert not compare({"loss": CURVE}, {"loss": nan}, [{"loss": CURVE}]).same


def test_an_original_that_overflows_in_one_run_excuses_nothing_before():
    over = [*CURVE[:20], *[math.inf] * 10]
    assert compare({"loss": CURVE}, {"loss": CURVE}, [{"loss": CURVE}, {"loss": over}]).same
    assert compare({"loss": CURVE}, {"loss": over}, [{"loss": CURVE}, {"loss": over}]).same
    assert compare({"loss": over}, {"loss": CURVE}, [{"loss": CURVE}, {"loss": over}]).same
    early = [*CURVE[:15], CURVE[15] + 0.1, *CURVE[16:]]
    assert compare({"loss": CURVE}, {"loss": early}, [{"loss": CURVE}, {"loss": over}]).where == "loss: drifts"
    assert compare({"loss": over}, {"loss": early}, [{"loss": over}, {"loss": CURVE}]).where == "loss: drifts"
    assert not compare({"loss": CURVE}, {"loss": over}, [{"loss": CURVE}, {"loss": CURVE}]).same
    negative = [*CURVE[:20], *[-math.inf] * 10]
    assert not compare({"loss": over}, {"loss": negative}, [{"loss": over}]).same


def test_an_original_that_overflows_at_once_in_one_run_gives_no_verdict():
    nan = [*CURVE[:4], *[math.nan] * 26]
    for original, other in ((CURVE, nan), (nan, CURVE)):
        v = compare({"loss": original}, {"loss": CURVE}, [{"loss": original}, {"loss": other}])
        assert not v.same and v.where == "loss: runs of the original are not finite alike at step 5"
    assert compare({"loss": nan}, {"loss": nan}, [{"loss": nan}]).same
    assert not compare({"loss": nan}, {"loss": CURVE}, [{"loss": nan}]).same


@pytest.mark.parametrize("crossed", [1, 3, None])
def test_more_perturbed_runs_before_a_program_differs(tmp_path, monkeypatch, crossed):
    """Where a program rounds a number, a perturbed run jumps if its number rounds differently, which is rare."""
    jump = [*CURVE[:5], *[v + 0.5 for v in CURVE[5:]]]
    seeds = []

    def run(command, driver, repo, steps, seed, double):
        if command[0] != "here":
            seeds.append(seed)
        curve = jump if command[0] == "here" or (crossed and seed == crossed) else CURVE
        return {"curves": {"loss": curve}, "seconds": [1.0] * 30, "cpu": [1.0] * 30}

    monkeypatch.setattr(programs_main, "run", run)
    program = next(p for p in PROGRAMS if p["frontend"] == "nnabla")
    (tmp_path / program["repository"].replace("/", "+")).mkdir()
    options = argparse.Namespace(repos=tmp_path, nnabla="there", python="here", steps=30)
    row = programs_main.judge(program, options)
    assert row["status"] == ("same" if crossed else "differs")
    assert seeds == ([None, 1, 2] if crossed == 1 else [None, 1, 2, 3, 4, 5])


def test_double_precision_allows_less():
    other = [v + 1e-6 for v in CURVE]
    assert not compare({"loss": CURVE}, {"loss": other}, [{"loss": CURVE}], double=True).same
    assert compare({"loss": CURVE}, {"loss": [v + 1e-10 for v in CURVE]}, [{"loss": CURVE}], double=True).same
    chaotic = [CURVE[0], *[v - 0.5 for v in CURVE[1:]]]
    near = [v + 3e-7 for v in CURVE]
    assert compare({"loss": CURVE}, {"loss": near}, [{"loss": chaotic}], double=True).same


DRIVER = """
import numpy as np

def train(run):
    run.path()
    run.sources(lambda text: text.replace("0.25", "0.5"))
    import made
    assert made.TYPE == run.dtype
    w = np.ones(3)
    run.perturb([w])
    for i in range(20):
        w *= made.RATE
        yield {"w": w.sum()}
"""


def test_harness(tmp_path):
    (tmp_path / "made.py").write_text("RATE = 0.25\nTYPE = 'float32'\n")
    driver = tmp_path / "driver.py"
    driver.write_text(DRIVER)
    results = []
    for more in ([], ["--perturb", "1"]):
        out = tmp_path / "out.json"
        command = [sys.executable, FOLDER / "harness.py", driver, "--repo", tmp_path, "--steps", "5", "--out", out]
        subprocess.run([*command, *more], check=True)
        results.append(json.loads(out.read_text()))
    plain, perturbed = (r["curves"]["w"] for r in results)
    assert plain == [3 * 0.5**i for i in range(1, 6)] and len(results[0]["seconds"]) == 5
    assert plain != perturbed and all(abs(a / b - 1) < 1e-6 for a, b in zip(plain, perturbed, strict=True))


MXNET = """
import _mxnet
import mxnet as mx
import numpy as np

def train(run):
    _mxnet.streams()
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(3), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(1))
    net.initialize()
    x = mx.nd.array(np.full((4, 2), 1 / 3))
    net(x)
    _mxnet.perturb(run, net)
    symbol = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=2)
    module = mx.mod.Module(symbol, label_names=None)
    module.bind(mx.io.NDArrayIter(x, batch_size=2).provide_data)
    module.init_params()
    made = [x, net(x), mx.nd.zeros(2), mx.nd.random.normal(shape=(2,)), mx.nd.one_hot(mx.nd.array([1]), 3),
            *(p.data() for p in net.collect_params().values()), *module.get_params()[0].values()]
    assert {np.dtype(a.dtype) for a in made} == {run.dtype}
    assert mx.nd.array(mx.nd.ones(2, dtype="int32")).dtype == mx.nd.ones(2, dtype="int32").dtype == np.int32
    while True:
        yield {"loss": net(x).sum().asscalar()}
"""


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mxnet_in_double_precision(tmp_path, dtype):
    driver = tmp_path / "driver.py"
    driver.write_text(MXNET)
    out = tmp_path / "out.json"
    environment = {**os.environ, "CHAINER_DTYPE": dtype}
    environment["PYTHONPATH"] = os.pathsep.join([str(FOLDER / "drivers"), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "compatgrad", "run", FOLDER / "harness.py", driver, "--repo", tmp_path]
    subprocess.run([*command, "--steps", "2", "--out", out], check=True, env=environment)
    (value, _) = json.loads(out.read_text())["curves"]["loss"]
    assert (float(np.float32(value)) == value) == (dtype == "float32")


def test_double():
    text = "a.astype('f'), b(np.float32), c(s, dtype=\"f\"), d(s, 'f'), e['f']"
    assert Run.double(text) == "a.astype('d'), b(np.float64), c(s, dtype=\"d\"), d(s, 'd'), e['f']"


def test_python2():
    pytest.importorskip("lib2to3")
    assert Run.python2("print 'a', 1 / 2\nfor i in xrange(3): pass") == "print('a', 1 / 2)\nfor i in range(3): pass\n"


@pytest.mark.parametrize(
    "words, told",
    [
        (["--repos", "/nowhere"], "/nowhere is no folder"),
        (["--repos", "/tmp", "--steps", "0"], "1 or more, got 0"),
        (["--repos", "/tmp", "--python", "/nowhere/python"], "no Python /nowhere/python"),
        (["--repos", "/tmp", "--only", "nothing"], "not in the list: nothing"),
    ],
)
def test_mistakes_on_the_command_line(monkeypatch, capsys, words, told):
    from tests.programs import __main__

    monkeypatch.setattr("sys.argv", ["programs", "--legacy", sys.executable, "--nnabla", sys.executable, *words])
    with pytest.raises(SystemExit):
        __main__.main()
    assert told in capsys.readouterr().err
