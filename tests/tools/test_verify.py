"""`verify`, `record` and `compare`. CI has no originals: compatgrad plays the original's part, and the faults are
planted in the other run by a file that runs before the program."""

import ast
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from compatgrad.tools import compare as compare_command
from compatgrad.tools import compatgrad_recorder, record, verify
from compatgrad.tools.compatgrad_recorder._statistics import Statistics
from compatgrad.tools.verify import alignment, report, rounding, runs
from compatgrad.tools.verify.following import compare
from compatgrad.tools.verify.recording import Recording, RecordingError, distance, read

PROGRAMS = Path(__file__).parent / "verify_programs"
ROOT = Path(__file__).parents[2]
FRAMEWORKS = ("chainer", "nnabla", "mxnet")
RUN = [sys.executable, "-m", "compatgrad"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}


def command(*arguments, folder=PROGRAMS, timeout=120):
    return subprocess.run(
        [*RUN, *map(str, arguments)], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=timeout
    )


# Records a program several times, after different files, in processes that have imported torch together.
FORKS = """
import json, os, sys
import torch
from compatgrad.tools import record

torch.set_num_threads(1)
for name, arguments in json.loads(sys.argv[1]).items():
    child = os.fork()
    if not child:
        sys.argv[1:] = []
        sys.exit(record.main(arguments))
    if os.waitpid(child, 0)[1]:
        sys.exit(f"{name} failed")
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The recordings of a framework's program by fault; "original" and "here" are without one."""
    made = {}

    def of(framework):
        if framework not in made:
            folder = tmp_path_factory.mktemp(framework)
            runs.write_recorder(folder / "recorder.pyz")
            done = command("run", folder / "recorder.pyz", "-o", folder / "original", "--", f"{framework}_mlp.py")
            assert done.returncode == 0, done.stderr
            jobs = {"here": ["-o", str(folder / "here"), "--", f"{framework}_mlp.py"]}
            for name, (_, code, *_rest) in ((n, f) for n, f in FAULTS.items() if f[0] == framework):
                setup = folder / f"{name}.py"
                setup.write_text(code)
                jobs[name] = ["-o", str(folder / name), "--setup", str(setup), "--", f"{framework}_mlp.py"]
            done = subprocess.run(
                [sys.executable, "-c", FORKS, json.dumps(jobs)],
                cwd=PROGRAMS,
                env=ENVIRONMENT,
                capture_output=True,
                text=True,
            )
            assert done.returncode == 0, done.stderr
            made[framework] = {name: read(folder / name) for name in ("original", *jobs)}
        return made[framework]

    return of


# ---- planted faults --------------------------------------------------------------------------------------------------
CHAINER_FORMULA = """
import chainer, numpy as np
import chainer.functions as F

class Tanh(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_outputs((0,))
        return (np.tanh(inputs[0]) * np.float32(1.001),)
    def backward(self, indexes, gradients):
        (y,) = self.get_retained_outputs()
        return (gradients[0] * (1 - y * y),)

F.tanh = lambda x: Tanh().apply((x,))[0]
"""
CHAINER_BACKWARD = CHAINER_FORMULA.replace(" * np.float32(1.001)", "").replace("(1 - y * y)", "(1 - y * y) * 1.001")
CHAINER_MASK = """
import numpy as np
import chainer.functions as F

plain = F.dropout

def dropout(x, ratio):
    np.random.rand(1)
    return plain(x, ratio)

F.dropout = dropout
"""
CHAINER_TWICE = """
import chainer

plain = chainer.optimizer.GradientMethod.setup

def setup(self, link):
    def again(optimizer):
        p = dict(optimizer.target.namedparams())["/predictor/l2/W"]
        p.array[...] -= optimizer.lr * p.grad
    plain(self, link)
    self.add_hook(again, "again")
    return self

chainer.optimizer.GradientMethod.setup = setup
"""
CHAINER_LEFT_OUT = """
import chainer

plain = chainer.optimizer.GradientMethod.setup

def setup(self, link):
    plain(self, link)
    dict(link.namedparams())["/predictor/l2/W"].update_rule.enabled = False
    return self

chainer.optimizer.GradientMethod.setup = setup
"""
CHAINER_SHARED = """
import chainer

plain = chainer.optimizer.GradientMethod.check_nan_in_grads

def check(self):
    if self.t:
        named = dict(self.target.namedparams())
        a, b = named["/predictor/l1/b"], named["/predictor/l2/b"]
        a.grad += b.grad
        b.grad = a.grad
    return plain(self)

chainer.optimizer.GradientMethod.check_nan_in_grads = check
"""
CHAINER_WEIGHTS = """
import numpy as np, chainer.links as L

plain = L.Linear.__init__

def init(self, *args):
    plain(self, *args)
    if self.W.shape == (3, 12):
        self.W.array[1, 2] += 0.01

L.Linear.__init__ = init
"""
CHAINER_DATA = """
import chainer.links as L

plain = L.Classifier.forward
L.Classifier.forward = lambda self, x, t: plain(self, x[::-1].copy(), t)
"""
NNABLA_FORMULA = """
import nnabla.functions as F, numpy as np
from nnabla.function import PythonFunction

class Tanh(PythonFunction):
    @property
    def name(self):
        return "Tanh"
    def min_outputs(self):
        return 1
    def grad_depends_output_data(self, i, o):
        return True
    def grad_depends_input_data(self, i, j):
        return False
    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)
    def forward_impl(self, inputs, outputs):
        outputs[0].data.data = np.tanh(inputs[0].data.data) * FORWARD
    def backward_impl(self, inputs, outputs, propagate, accumulate):
        y = outputs[0].data.data
        inputs[0].grad.data = (1 - y * y) * outputs[0].grad.data * BACKWARD

F.tanh = lambda x: Tanh()(x)
"""
MXNET_FORMULA = """
import mxnet as mx

scope = mx.nd.Activation.__wrapped__.__globals__
plain = scope["_body"]
scope["_body"] = lambda data, act_type, *rest: plain(data, act_type, *rest) * (1.001 if act_type == "tanh" else 1)
"""
MXNET_RATE = """
from mxnet import gluon

plain = gluon.Trainer.__init__

def init(self, params, *args, **named):
    params["dense1_weight"].lr_mult = RATE
    plain(self, params, *args, **named)

gluon.Trainer.__init__ = init
"""
MXNET_MASK = """
import mxnet as mx, numpy as np

plain = mx.nd.Dropout.__wrapped__.__closure__
draws = [c.cell_contents for c in plain if isinstance(c.cell_contents, np.random.RandomState)]
inner, calls = mx.nd.Dropout, []

def dropout(*args, **named):
    calls.append(1)
    if len(calls) > 2:  # in the second step; the first one also draws initial weights
        draws[0].rand(1)
    return inner(*args, **named)

mx.nd.Dropout = dropout
"""
MXNET_SHARED = """
from mxnet import gluon

plain = gluon.Trainer._update

def update(self, *args, **named):
    a, b = [p for p in self._params if p.name in ("dense0_bias", "dense1_bias")]
    a.grad()[:] = b.grad()[:] = a.grad() + b.grad()
    return plain(self, *args, **named)

gluon.Trainer._update = update
"""

# framework, fault, kind, step, phase, name, part of the layer or the culprit
FAULTS = {
    "chainer formula": ("chainer", CHAINER_FORMULA, "function", 1, "forward", "Tanh", "/Classifier/predictor"),
    "chainer backward": ("chainer", CHAINER_BACKWARD, "function", 1, "backward", "LinearFunction", "Tanh"),
    "chainer mask": ("chainer", CHAINER_MASK, "random", 1, "forward", "Dropout", "/Classifier/predictor"),
    "chainer twice": ("chainer", CHAINER_TWICE, "update", 1, "update", "/predictor/l2/W", ""),
    "chainer left out": ("chainer", CHAINER_LEFT_OUT, "update", 1, "update", "/predictor/l2/W", ""),
    "chainer shared": ("chainer", CHAINER_SHARED, "gradient", 2, "gradient", "/predictor/l2/b", "LinearFunction"),
    "chainer weights": ("chainer", CHAINER_WEIGHTS, "initial", 1, "initial", "/predictor/l3/W", ""),
    "chainer data": ("chainer", CHAINER_DATA, "batch", 1, "forward", "LinearFunction", "/predictor/l1"),
    "nnabla formula": (
        "nnabla",
        NNABLA_FORMULA.replace("FORWARD", "1.001").replace("BACKWARD", "1"),
        *("function", 1, "forward", "Tanh", "/"),
    ),
    "nnabla backward": (
        "nnabla",
        NNABLA_FORMULA.replace("FORWARD", "1").replace("BACKWARD", "1.001"),
        *("function", 1, "backward", "Tanh", "Tanh"),
    ),
    "mxnet formula": ("mxnet", MXNET_FORMULA, "function", 1, "forward", "Activation", "dense1_tanh"),
    "mxnet mask": ("mxnet", MXNET_MASK, "random", 2, "forward", "Dropout", "dropout0"),
    "mxnet left out": ("mxnet", MXNET_RATE.replace("RATE", "0.0"), "update", 1, "update", "dense1_weight", ""),
    "mxnet twice": ("mxnet", MXNET_RATE.replace("RATE", "2.0"), "update", 1, "update", "dense1_weight", ""),
    "mxnet shared": ("mxnet", MXNET_SHARED, "gradient", 1, "gradient", "dense1_bias", "FullyConnected"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault(recorded, fault):
    framework, _, kind, step, phase, name, where = FAULTS[fault]
    sides = recorded(framework)
    found = compare(sides["original"], sides[fault]).findings
    assert len(found) == 1
    (finding,) = found
    event = finding.original
    assert (finding.kind, finding.step, event["k"], event["n"]) == (kind, step, phase, name)
    assert finding.agreed
    told = [event.get("p", ""), *(e["n"] for e in finding.culprits)]
    assert any(where in text for text in told)
    line = event.get("l") or (finding.culprits[0]["l"] if finding.culprits else "")
    assert not line or line.startswith(f"{framework}_mlp.py:")


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_two_runs_of_a_program_agree(recorded, framework):
    """The recorder's one file on one side, `record` on the other."""
    original = recorded(framework)["original"]
    found = compare(original, recorded(framework)["here"])
    assert not found.findings and not found.single and found.draws is None and found.until is None
    assert found.counts["forward"] == 3 * {"chainer": 9, "nnabla": 9, "mxnet": 8}[framework]
    assert found.counts["update"] == found.counts["gradient"] == 18 and found.counts["initial"] == 6
    states = {s for e in original.events if e["k"] == "update" for s in e["x"]}
    assert states == {"chainer": {"v"}, "nnabla": {"m"}, "mxnet": {"state 0"}}[framework]
    assert any("export" in note for note in original.meta["notes"]) == (framework == "mxnet")
    assert original.meta["steps"] == 3 and original.meta["ended"] == "finished"


def test_verify_end_to_end(tmp_path):
    """Runs both sides twice, names the program's line, and writes a script that shows the difference."""
    setup = tmp_path / "fault.py"
    setup.write_text(CHAINER_FORMULA)
    original = f"{sys.executable} -m compatgrad run"
    out = tmp_path / "out"
    given = ["--original", original, "--steps", 1, "--format", "json", "-o", out, "--here-setup", setup]
    done = command("verify", *given, "--", "chainer_mlp.py")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    (finding,) = found["findings"]
    assert finding["function"] == "Tanh" and finding["inputs_agreed"] and finding["line"] == "chainer_mlp.py:17"
    assert 5e-4 < finding["relative_error"] < 5e-3
    assert "every element here is 1.001 times the original's" in found["arrays"]
    assert "Mismatched elements: 106 / 108 (98.1%)" in found["arrays"]
    assert found["schema"] == 1 and found["status"] == 1 and found["original"]["steps"] == 1
    script = Path(found["reproducer"]).read_text()
    arrays = np.load(out / "repro_0001.npz")
    assert np.abs(arrays["original0"] - np.tanh(arrays["input0"])).max() < 1e-6
    assert "compatgrad.ops.tanh(" in script and f"runpy.run_path({str(setup)!r})" in script
    again = subprocess.run([sys.executable, found["reproducer"]], cwd=tmp_path, capture_output=True, text=True)
    assert "result 0: largest difference" in again.stdout, again.stderr


# ---- the command line ------------------------------------------------------------------------------------------------
def python(code):
    """A command that runs a piece of code in place of the recorder."""
    return f'{sys.executable} -c "{code}"'


def test_a_failed_original_is_exit_status_4(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(PROGRAMS)
    failing = python("import sys; print('no such library'); sys.exit(3)")
    status = verify.main(["--original", failing, "-o", str(tmp_path), "--", "chainer_mlp.py"])
    error = capsys.readouterr().err
    assert status == 4 and "the original's run failed (exit status 3)" in error and "| no such library" in error


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--original", "no-such-python", "--", "chainer_mlp.py"], "neither a Python interpreter nor a command"),
        (["--original", sys.executable, "--", "missing.py"], "there is no program 'missing.py'"),
        (["--original", sys.executable], "name the program after --"),
        (["--", "chainer_mlp.py"], "--original"),
        (["--original", sys.executable, "--steps", "0", "--", "chainer_mlp.py"], "expected a positive number"),
        (["--original", sys.executable, "--tolerance", "-1", "--", "chainer_mlp.py"], "expected a positive number"),
        (["--original", sys.executable, "--here-setup", "no.py", "--", "chainer_mlp.py"], "there is no file 'no.py'"),
        (["--orig", sys.executable, "--", "chainer_mlp.py"], "--original"),
    ],
)
def test_wrong_command_lines_are_exit_status_2(capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(PROGRAMS)
    with pytest.raises(SystemExit) as exit:
        verify.main(arguments)
    assert exit.value.code == 2 and message in capsys.readouterr().err


@pytest.mark.parametrize("main", [verify.main, record.main, compare_command.main])
def test_help(capsys, main):
    with pytest.raises(SystemExit) as exit:
        main(["--help"])
    assert exit.value.code == 0
    text = capsys.readouterr().out
    assert "usage: python -m compatgrad" in text and max(map(len, text.splitlines())) <= 120


def test_compare_prints_every_form(recorded, capsys):
    original, other = recorded("chainer")["original"], recorded("chainer")["chainer left out"]
    sides = [str(original.folder), str(other.folder)]
    assert compare_command.main(sides) == 1
    text = capsys.readouterr().out
    assert "first divergence: step 1, update: /predictor/l2/W" in text and "\x1b[" not in text
    assert compare_command.main([*sides, "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["findings"][0]["kind"] == "update"
    assert compare_command.main([*sides, "--format", "html"]) == 1
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>") and "http" not in page and "<script" not in page
    assert compare_command.main([str(original.folder), str(original.folder)]) == 0
    assert "The runs agree: no value is further apart than rounding allows." in capsys.readouterr().out


def copy(recording, folder, change=None, meta=None):
    """A recording with other events."""
    folder.mkdir()
    events = [{k: v for k, v in e.items() if k != "j"} for e in recording.events]
    events = events if change is None else change(events)
    (folder / "events.jsonl").write_text("".join(json.dumps([e]) + "\n" for e in events))
    (folder / "arrays.bin").write_bytes(recording.arrays)
    (folder / "meta.json").write_text(json.dumps({**recording.meta, **(meta or {})}))
    return folder


def test_a_run_that_ends_early_differs_in_structure(recorded, tmp_path, capsys):
    original = recorded("chainer")["original"]
    ended = {"steps": 2, "ended": "ValueError: no more data"}
    other = copy(original, tmp_path / "short", lambda events: [e for e in events if e["s"] < 3], ended)
    assert compare_command.main([str(original.folder), str(other)]) == 3
    text = capsys.readouterr().out
    assert "original: finished after 3 updates; here: ValueError: no more data after 2 updates" in text
    assert "only in the original: gradient /predictor/l1/W of step 3" in text


def test_a_parameter_on_one_side_only_differs_in_structure(recorded, tmp_path, capsys):
    original = recorded("mxnet")["original"]
    other = copy(original, tmp_path / "less", lambda events: [e for e in events if e["n"] != "dense2_bias"])
    assert compare_command.main([str(original.folder), str(other)]) == 3
    assert "only in the original: gradient dense2_bias of step 1" in capsys.readouterr().out


def test_a_helper_function_on_one_side_is_no_difference(recorded, tmp_path, capsys):
    original = recorded("chainer")["original"]

    def without(events):
        """Removes the first dropout; its consumer reads what the function before it made."""
        at = next(i for i, e in enumerate(events) if e["n"] == "Dropout")
        for e in events:
            for key in ("f", "g"):
                if key in e:
                    e[key] = [n - (n > at) if n != at else at - 1 for n in e[key]]
            if "of" in e:
                e["of"] = e["of"] - (e["of"] > at)
        return events[:at] + events[at + 1 :]

    assert compare_command.main([str(original.folder), str(copy(original, tmp_path / "other", without))]) == 0
    text = capsys.readouterr().out
    assert "1 call of functions is on one side only; its result" in text
    assert "original  1 x Dropout in /Classifier" in text


@pytest.mark.parametrize(
    "damage, message",
    [
        (lambda folder: (folder / "meta.json").unlink(), "has no meta.json"),
        (lambda folder: (folder / "meta.json").write_text("{"), "meta.json is damaged"),
        (lambda folder: (folder / "meta.json").write_text('{"schema": 99}'), "a recording of version 99"),
        (lambda folder: (folder / "events.jsonl").write_text("no"), "is damaged"),
        (lambda folder: (folder / "arrays.bin").unlink(), "is damaged"),
        (lambda folder: (folder / "arrays.bin").write_bytes(b"1234"), "arrays.bin ends before an array"),
    ],
)
def test_damaged_recordings_are_refused(recorded, tmp_path, capsys, damage, message):
    original = recorded("chainer")["original"]
    other = copy(original, tmp_path / "damaged")
    damage(other)
    assert compare_command.main([str(original.folder), str(other)]) == 2
    assert message in capsys.readouterr().err


def test_options_of_the_recorder(tmp_path):
    options = ["--every", 2, "--layers", "*/l1*", "--record", "all", "--steps", 3]
    assert command("record", "-o", tmp_path / "r", *options, "--", "chainer_mlp.py").returncode == 0
    only = read(tmp_path / "r")
    assert only.meta["ended"] == "stopped"
    forward = [e for e in only.events if e["k"] == "forward"]
    assert [(e["s"], e["p"]) for e in forward] == [(1, "/Classifier/predictor/l1"), (3, "/Classifier/predictor/l1")]
    assert {e["s"] for e in only.events if e["k"] == "gradient"} == {1, 3}
    assert all(a is None or a[2] is None for e in only.events for a in (*e.get("i", ()), *e.get("o", ())))


def test_the_programs_exit_status_is_passed_on(tmp_path):
    done = command("record", "-o", tmp_path / "r", "--", "-c", "import chainer; raise SystemExit(7)")
    assert done.returncode == 7 and read(tmp_path / "r").meta["ended"] == "exit 7"


# ---- the pieces ------------------------------------------------------------------------------------------------------
def test_the_recorder_is_written_for_python_36():
    files = sorted(Path(compatgrad_recorder.__file__).parent.glob("*.py"))
    assert Path(compatgrad_recorder.__file__).with_name("_recorder.py") in files
    for file in files:
        tree = ast.parse(file.read_text(), feature_version=(3, 6))
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and not node.level else []
            assert not [n for n in names if n.startswith(("compatgrad", "dataclasses", "torch", "__future__"))]


def recording(events=(), arrays=b""):
    for j, e in enumerate(events):
        e["j"] = j
    return Recording(Path("."), {"steps": 1, "ended": "finished", "frameworks": {}, "notes": []}, list(events), arrays)


def described(a):
    return [a.dtype.name, list(a.shape), Statistics().of(a), -1]


@pytest.mark.parametrize("count", [101, 16384, 30000, 100_003])
def test_statistics_estimate_the_difference(count):
    rng = np.random.RandomState(count)
    a = rng.standard_normal(count).astype(np.float32)
    side = recording()
    for size in (1e-2, 1e-4):
        ratios = []
        for _ in range(12):
            b = (a + size * rng.standard_normal(count)).astype(np.float32)
            ratios.append(distance(side, described(a), side, described(b)).relative / size)
        assert 0.5 < np.mean(ratios) < 1.6 and max(ratios) < 4
    moved = np.roll(a, 1)
    assert distance(side, described(a), side, described(moved)).relative > 0.1
    assert distance(side, described(a), side, described(a.copy())).relative == 0
    tiny = a * np.float32(1e-28)  # an optimizer's mean of squared gradients; float32 has no squares of it
    assert 0.1 < distance(side, described(tiny), side, described(np.roll(tiny, 1))).relative < 5
    close = np.nextafter(a, np.float32(9))
    assert 0 < distance(side, described(a), side, described(close)).relative < 2 * rounding.NOISE


def test_statistics_are_compared_with_arrays_that_the_other_side_stored_whole():
    a = np.random.RandomState(1).standard_normal(3000).astype(np.float32)
    b = a + np.float32(1e-3)
    whole, place = recording(arrays=b.tobytes()), ["float32", [3000], None, 0]
    assert 0.5e-3 < distance(recording(), described(a), whole, place).relative < 2e-3
    assert 0.5e-3 < distance(whole, place, recording(), described(a)).relative < 2e-3
    assert distance(recording(), described(b), whole, place).relative == 0


def test_distances_that_are_no_numbers():
    side, a = recording(), np.arange(100, dtype=np.float32)
    b = a.copy()
    b[3] = np.nan
    assert (
        "0 NaN and 0 infinities in the original, 1 and 0 here" in distance(side, described(a), side, described(b)).why
    )
    other = distance(side, described(a), side, described(a.reshape(10, 10)))
    assert other.why == "float32[100] in the original, float32[10, 10] here" and other.relative == math.inf
    assert distance(side, None, side, described(a)) is None
    whole = recording(arrays=np.float32([1, np.nan, np.inf]).tobytes() + np.float32([1, np.nan, -np.inf]).tobytes())
    one, two = ["float32", [3], None, 0], ["float32", [3], None, 12]
    assert distance(whole, one, whole, one).relative == 0 and distance(whole, one, whole, two).relative == math.inf
    labels, others = np.arange(100), np.arange(100)[::-1].copy()
    assert distance(side, described(labels), side, described(others)).relative > 0


def test_alignment_is_by_layer_name_and_occurrence():
    def event(name, path="/a", **more):
        return {"k": "forward", "s": 1, "n": name, "p": path, **more}

    original = recording([event("Conv"), event("ReLU"), event("Conv", "/b"), event("ReLU")])
    other = recording([event("Conv", "/b"), event("Conv"), event("ReLU"), event("ReLU")])
    pairs, single = alignment.align(original, other)
    assert [(a["j"], b["j"]) for a, b in pairs] == [(0, 1), (1, 2), (2, 0), (3, 3)] and not single
    other = recording([event("conv"), event("Reshape"), event("_contrib_ReLU"), event("Conv", "/b"), event("Conv")])
    pairs, single = alignment.align(original, other)
    assert [(a["j"], b["j"]) for a, b in pairs] == [(2, 3)]
    assert [(side, e["n"]) for side, e in single].count(("here", "Reshape")) == 1 and len(single) == 7


def test_rounding_depends_on_dtype_and_function():
    assert rounding.tolerance("float16") > rounding.tolerance("float32") > rounding.tolerance("float64") > 0
    assert rounding.tolerance("int64") == 0
    assert rounding.factor("LinearFunction", 10000, 100) == 30 * rounding.factor("ReLU", 10000, 100)
    assert rounding.factor("Convolution", 10**9, 1) == 30 * rounding.FACTOR
    assert rounding.counts_in_steps("Accuracy") and not rounding.counts_in_steps("Tanh")
    assert rounding.growth("BatchNorm", 2) > rounding.growth("BatchNorm", 64) == rounding.growth("Tanh", 2)
    assert rounding.is_adaptive(["m", "v"]) and rounding.is_adaptive(["ms"]) and not rounding.is_adaptive(["v"])
    assert rounding.RANDOM.search("Dropout") and not rounding.RANDOM.search("BatchNormalization")


def test_rows_of_the_deviations_are_found():
    assert report.deviations("NoSuchFunction", ["chainer"]) == []
    found = report.deviations("BatchNormalizationGrad", ["chainer"])
    assert found and "gradient functions" in found[0]
    assert report.deviations("BatchNormalizationGrad", ["mxnet"]) == []


def test_a_recording_that_was_killed_is_refused(tmp_path):
    with pytest.raises(RecordingError, match="its run was killed"):
        read(tmp_path)
