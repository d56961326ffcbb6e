"""`run --report`, `run --strict`, `report merge` and `compatgrad.report()`: what they count, say and refuse."""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import compatgrad
import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import _C
from compatgrad.core import lines, notes
from compatgrad.tools import run
from compatgrad.tools.report import Report, control, files, main
from compatgrad.tools.report.collect import Collector, StrictError
from compatgrad.tools.report.page import page
from compatgrad.tools.report.text import LINES, text

ROOT = Path(compatgrad.__file__).parents[1]

CHAINER = """
import numpy as np
import chainer, chainer.functions as F, chainer.links as L

class Twice(chainer.FunctionNode):
    def forward(self, inputs):
        return inputs[0] * 2,
    def backward(self, indexes, gys):
        return gys[0] * 2,

class Rule(chainer.UpdateRule):
    def update_core(self, param):
        param.array -= 0.1 * param.grad

class Plain(chainer.GradientMethod):
    def create_update_rule(self):
        return Rule(self.hyperparam)

layer = L.Linear(4, 3)
optimizer = Plain().setup(layer)
for step in range(7):
    y = layer(Twice().apply((np.ones((2, 4), np.float32),))[0])
    loss = F.sum(F.relu(y))
    layer.cleargrads()
    loss.backward()
    optimizer.update()
"""
NNABLA = """
import nnabla as nn, nnabla.functions as F, nnabla.parametric_functions as PF, nnabla.solvers as S
from nnabla.function import PythonFunction

class Twice(PythonFunction):
    name = "Twice"
    def min_outputs(self):
        return 1
    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)
    def forward_impl(self, inputs, outputs):
        outputs[0].d = 2 * inputs[0].d
    def backward_impl(self, inputs, outputs, propagate_down, accum):
        inputs[0].g = 2 * outputs[0].g + (inputs[0].g if accum[0] else 0)
    def grad_depends_input_data(self, i, j):
        return False
    def grad_depends_output_data(self, i, o):
        return False

x = nn.Variable((2, 4))
y = Twice()(PF.affine(x, 3))
loss = F.mean(F.interpolate(F.reshape(y, (1, 1, 2, 3)), output_size=(4, 6), mode="linear"))
solver = S.Sgd()
solver.set_parameters(nn.get_parameters())
for step in range(5):
    x.d = step
    loss.forward()
    solver.zero_grad()
    loss.backward()
    solver.update()
"""
MXNET = """
import mxnet as mx
from mxnet import autograd, gluon, nd

class Twice(autograd.Function):
    def forward(self, x):
        return 2 * x
    def backward(self, dy):
        return 2 * dy

mx.random.seed(1)
net = gluon.nn.HybridSequential()
net.add(gluon.nn.Dense(3, in_units=4))
net.initialize()
net.hybridize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
for step in range(6):
    with autograd.record():
        loss = Twice()(net(nd.ones((2, 4)))).sum()
    loss.backward()
    trainer.step(2)
    mx.np.median(mx.np.ones(3))
"""


def command(*arguments, cwd=None, **environment):
    env = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **environment}
    return subprocess.run(
        [sys.executable, "-m", "compatgrad", *map(str, arguments)], capture_output=True, text=True, cwd=cwd, env=env
    )


def line_of(program, words):
    return next(i for i, line in enumerate(program.splitlines(), 1) if words in line)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which each program has run with a report in JSON."""
    folder = tmp_path_factory.mktemp("report")
    for name, program in ("chainer", CHAINER), ("nnabla", NNABLA), ("mxnet", MXNET):
        (folder / f"{name}.py").write_text(program)
        done = command("run", f"--report={name}.json", f"{name}.py", cwd=folder)
        assert done.returncode == 0, done.stderr
        assert f"Written to {name}.json" in done.stderr and done.stdout == ""
    return folder


def report_of(folder, name):
    return json.loads((folder / f"{name}.json").read_text())


def slow(data):
    return {row["name"]: (row["reason"], row["calls"], row["first"]) for row in data["slow"]}


def calls(data, frontend):
    return {row["name"]: row["calls"] for row in data["operators"] if row["frontend"] == frontend}


def test_a_chainer_program(folder):
    data = report_of(folder, "chainer")
    assert calls(data, "chainer") == {"LinearFunction": 7, "ReLU": 7, "Sum": 7}
    assert {(row["device"], row["dtype"]) for row in data["operators"]} == {("cpu", "float32")}
    assert slow(data) == {
        "Twice": ("python", 7, f"chainer.py:{line_of(CHAINER, 'Twice().apply')}"),
        "Rule": ("update", 14, f"chainer.py:{line_of(CHAINER, 'optimizer.update()')}"),
    }
    first = {row["name"]: row["first"] for row in data["operators"]}
    assert first["ReLU"] == f"chainer.py:{line_of(CHAINER, 'F.relu')}"
    assert data["schema"] == 1 and data["versions"]["compatgrad"] == compatgrad.__version__
    assert data["command"][-1] == "chainer.py" and data["memory"]["process"] > 1 << 26


def test_an_nnabla_program_gives_the_lines_that_define_its_graph(folder):
    data = report_of(folder, "nnabla")
    assert calls(data, "nnabla") == {"Affine": 5, "Reshape": 5, "Mean": 5}
    assert slow(data) == {
        "Twice": ("python", 5, f"nnabla.py:{line_of(NNABLA, 'Twice()(')}"),
        "Interpolate": ("composed", 5, f"nnabla.py:{line_of(NNABLA, 'F.interpolate')}"),
    }
    first = {row["name"]: row["first"] for row in data["operators"]}
    assert first["Affine"] == f"nnabla.py:{line_of(NNABLA, 'PF.affine')}"


def test_an_mxnet_program(folder):
    data = report_of(folder, "mxnet")
    found = calls(data, "mxnet")
    assert found["FullyConnected"] == 6 and found["sum"] == 6
    assert slow(data) == {
        "Twice": ("python", 6, f"mxnet.py:{line_of(MXNET, 'Twice()(')}"),
        "np.median": ("numpy", 6, f"mxnet.py:{line_of(MXNET, 'np.median')}"),
    }
    deviations = {row["name"]: (row["first"], row["anchor"]) for row in data["deviations"]}
    assert deviations == {
        "random": (f"mxnet.py:{line_of(MXNET, 'seed')}", "docs/deviations.md#mxnet-different"),
        "hybridize": (f"mxnet.py:{line_of(MXNET, 'hybridize')}", "docs/deviations.md#mxnet-different"),
    }


def test_reports_of_several_processes_are_merged(folder, capsys, tmp_path):
    names = [str(folder / f"{name}.json") for name in ("chainer", "mxnet", "chainer")]
    assert main(["merge", *names]) == 0
    words = capsys.readouterr().out
    assert "3 processes" in words and re.search(r"Twice +20 +Python", words), words
    assert "chainer calls: LinearFunction 14" in words and len(words.splitlines()) <= LINES
    whole = tmp_path / "sub" / "whole.html"
    assert main(["merge", *names, "-o", str(whole)]) == 0
    html = whole.read_text()
    assert '<td>Twice</td><td class="number">20</td>' in html and "<script" not in html and "http" not in html
    assert main(["merge", *names[:2], "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["processes"] == 2 and data["pid"] is None
    assert data["memory"]["process"] == max(report_of(folder, n)["memory"]["process"] for n in ("chainer", "mxnet"))


def test_files_that_are_no_reports_are_named(folder, tmp_path, capsys):
    other = tmp_path / "other.json"
    for content, words in (("[1, 2", "expected a .json file"), ('{"a": 1}', "got other JSON"),
                           ('{"kind": "compatgrad report", "schema": 9}', "of schema 9")):  # fmt: skip
        other.write_text(content)
        assert main(["merge", str(folder / "chainer.json"), str(other)]) == 2
        error = capsys.readouterr().err
        assert words in error and str(other) in error
    assert main(["merge", str(tmp_path / "none.json")]) == 2
    assert "none.json: No such file" in capsys.readouterr().err
    assert main(["merge", str(folder / "chainer.json"), "-o", "x.csv"]) == 2
    assert "ends in .json, .html or .txt, got 'x.csv'" in capsys.readouterr().err


def test_wrong_options_are_refused(capsys):
    for arguments, words in (
        (["--report=out.csv", "x.py"], "--report: expected a file that ends in .json, .html or .txt, got 'out.csv'"),
        (["--report=out-{host}.json", "x.py"], "may contain {pid} and {rank}"),
        (["--strict=fast", "x.py"], "--strict: expected slow, transfer, deviation, or several with commas, got 'fast'"),
        (["--strict"], "--strict needs"),
        (["--report", "out.json", "x.py"], "follows an equals sign: --report=out.json"),
        (["--reprot", "x.py"], "unknown option --reprot"),
    ):
        assert run.main(arguments) == 2
        assert words in capsys.readouterr().err, arguments


def test_a_wrong_variable_of_the_environment_is_refused(capsys, monkeypatch):
    monkeypatch.setenv("COMPATGRAD_REPORT", "out.csv")
    assert run.main(["x.py"]) == 2
    assert "got 'out.csv'" in capsys.readouterr().err


def test_a_program_that_fails_is_reported_and_its_exit_status_stays(tmp_path):
    (tmp_path / "fails.py").write_text(
        "import numpy as np, chainer.functions as F\nF.relu(np.ones(2, 'f'))\nraise SystemExit(5)\n"
    )
    done = command("run", "--report", "fails.py", cwd=tmp_path)
    assert done.returncode == 5
    assert (
        "Its only operator call ran on a fast kernel. None took a slower path. Nothing else to report." in done.stderr
    )


def test_a_program_without_a_frontend_and_a_file_that_cannot_be_written(tmp_path):
    (tmp_path / "plain.py").write_text("print('done')\n")
    done = command("run", "--report", "plain.py", cwd=tmp_path)
    assert done.stdout == "done\n" and "imported neither chainer nor nnabla nor mxnet" in done.stderr
    (tmp_path / "uses.py").write_text("import numpy as np, chainer.functions as F\nF.relu(np.ones(2, 'f'))\n")
    (tmp_path / "taken").write_text("")
    done = command("run", "--report=taken/x.json", "uses.py", cwd=tmp_path)
    assert done.returncode == 0 and "compatgrad report: the report cannot be written: " in done.stderr


def test_each_process_of_a_program_writes_a_file(tmp_path):
    (tmp_path / "many.py").write_text(
        textwrap.dedent("""
        import multiprocessing, os
        import numpy as np
        import chainer.functions as F
        def work(n):
            for _ in range(n):
                F.relu(np.ones(2, "f"))
        if __name__ == "__main__":
            work(1)
            processes = [multiprocessing.get_context(k).Process(target=work, args=(n,))
                         for k, n in (("fork", 3), ("fork", 0), ("spawn", 5))]
            for p in processes:
                p.start()
            for p in processes:
                p.join()
            os.mkdir("elsewhere")
            os.chdir("elsewhere")
    """)
    )
    done = command("run", "many.py", cwd=tmp_path, COMPATGRAD_REPORT="r.json")
    assert done.returncode == 0, done.stderr
    found = sorted(tmp_path.glob("r*.json"))
    counts = sorted(calls(json.loads(path.read_text()), "chainer")["ReLU"] for path in found)
    assert counts == [1, 3, 5]
    assert calls(json.loads((tmp_path / "r.json").read_text()), "chainer")["ReLU"] == 1


@pytest.mark.parametrize(
    ("program", "kind", "words", "where"),
    [
        (CHAINER, "slow", "Twice: the program computes it in Python", "Twice().apply"),
        (NNABLA, "slow,transfer", "Twice: the program computes it in Python", "Twice()("),
        (MXNET, "deviation", "random: the random numbers are torch's", "seed"),
        (MXNET, "slow", "Twice: the program computes it in Python", "Twice()("),
    ],
)
def test_strict_ends_a_program_at_its_line(tmp_path, program, kind, words, where):
    (tmp_path / "train.py").write_text(program)
    done = command("run", f"--strict={kind}", "train.py", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert f"StrictError: --strict={kind.split(',')[0]}: train.py:{line_of(program, where)}: {words}" in last
    assert "compatgrad report" not in done.stderr


# ---- in this process ------------------------------------------------------------------------------------------------


class _Twice(chainer.Function):
    def forward(self, inputs):
        return (inputs[0] * 2,)

    def backward(self, inputs, grads):
        return (grads[0] * 2,)


@pytest.fixture
def counted():
    with compatgrad.report() as report:
        yield report


def test_a_report_of_a_piece_of_code(counted, tmp_path):
    x = np.ones((3, 2), np.float32)
    for _ in range(4):
        F.relu(_Twice()(x))
    F.relu(x[::-1])
    assert isinstance(compatgrad.report(), Report) and compatgrad.report().data()["slow"] == counted.data()["slow"]
    found = slow(counted.data())
    assert found["_Twice"][:2] == ("python", 4) and found["_Twice"][2].startswith("tests/tools/test_report.py:")
    assert found["array float32 3x2"][:2] == ("copy", 1)
    counted.stop()
    F.relu(x)
    assert calls(counted.data(), "chainer") == {"ReLU": 5}
    assert "55.6 % of 9 operator calls" in str(counted) and "2 kinds of call" in str(counted)
    assert "<table>" in counted._repr_html_()
    counted.save(tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["slow"] == counted.data()["slow"]
    with pytest.raises(ValueError, match="got 'a.pdf'"):
        counted.save("a.pdf")


def test_a_report_inside_of_another_does_not_end_it(counted):
    with compatgrad.report() as inner:
        F.relu(np.ones(2, np.float32))
    F.relu(np.ones(2, np.float32))
    assert calls(counted.data(), "chainer") == calls(inner.data(), "chainer") == {"ReLU": 2}


def test_the_line_of_a_library_counts_if_the_program_has_none():
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert re.fullmatch(r".*concurrent[/.]futures[/.]thread\.py:\d+", pool.submit(lines.program_line).result())
    assert lines.program_line().startswith("tests/tools/test_report.py:")
    assert lines.shown("/somewhere/else.py") == "/somewhere/else.py"


def test_nothing_is_counted_before_and_after():
    assert notes.listener is None and _C.tallies() == []
    with compatgrad.report() as report:
        assert notes.listener is not None
        with pytest.raises(RuntimeError, match="already being made"):
            Collector().start()
    assert notes.listener is None and _C.tallies() == []
    assert "No operator of chainer, nnabla or mxnet ran" in str(report)


def test_hooks_debug_mode_and_functions_that_numpy_computes(counted):
    with chainer.function_hooks.TimerHook(), chainer.using_config("debug", True):
        F.relu(np.ones(2, np.float32))
        F.accuracy(np.ones((2, 3), np.float32), np.zeros(2, np.int32))
    found = slow(counted.data())
    assert {name: row[0] for name, row in found.items()} == {
        "TimerHook": "hook", "debug mode": "debug", "Accuracy": "arrays",
    }  # fmt: skip


def test_a_hook_of_an_optimizer_that_the_program_defines_makes_updates_slow(counted):
    layer = L.Linear(2, 2)
    optimizer = chainer.optimizers.SGD().setup(layer)
    for _ in range(2):
        optimizer.update(lambda: F.sum(layer(np.ones((1, 2), np.float32))))
    assert "SGDRule" not in slow(counted.data())
    layer.W.update_rule.add_hook(lambda rule, param: None, "mine")
    optimizer.update(lambda: F.sum(layer(np.ones((1, 2), np.float32))))
    assert slow(counted.data())["SGDRule"][:2] == ("update", 1)


def test_a_custom_operator_of_mxnet_is_named_by_its_class(counted):
    class Older(mx.operator.NumpyOp):
        def forward(self, in_data, out_data):
            out_data[0][:] = 2 * in_data[0]

    with pytest.warns(UserWarning):
        Older()(mx.sym.var("x")).eval(x=mx.nd.ones(2))
    assert slow(counted.data())["Older"][:2] == ("python", 1)


def test_copies_between_devices_are_summed():
    class FakeGPU:
        device = type("Device", (), {"id": 1})()
        nbytes = 4096

    with compatgrad.report() as report:
        notes.note_move(np.zeros(4, np.float32), "cuda:0")
        notes.note_move(np.zeros(4, np.float32), "cuda:0")
        notes.note_move(np.zeros(4, np.float32), "cpu")
        notes.note_move(FakeGPU(), "cpu")
    rows = {row["name"]: (row["calls"], row["bytes"]) for row in report.data()["transfers"]}
    assert rows == {"cpu to cuda:0": (2, 32), "cuda:1 to cpu": (1, 4096)}
    assert re.search(r"cuda:1 to cpu +1 +copied between devices \(4 KiB\)", str(report))


def test_strict_of_transfers():
    collector = Collector(["transfer"])
    collector.start()
    try:
        with pytest.raises(
            StrictError, match=r"--strict=transfer: tests/tools/test_report.py:\d+: cpu to cuda:0: copied"
        ):
            notes.note_move(np.zeros(4), "cuda:0")
        F.relu(_Twice()(np.ones(2, np.float32)))  # slow, which is allowed
    finally:
        collector.stop()


def test_strict_lets_slow_paths_pass_that_no_program_can_avoid():
    collector = Collector(["slow"])
    collector.start()
    try:
        F.accuracy(np.ones((2, 3), np.float32), np.zeros(2, np.int32))
        NF.interpolate(nn.Variable((1, 1, 2, 2)), output_size=(4, 4), mode="linear").forward()
        with pytest.raises(StrictError, match="_Twice: the program computes it in Python"):
            F.relu(_Twice()(np.ones(2, np.float32)))
    finally:
        collector.stop()
    assert {name: row[1] for name, row in slow(collector.data()).items()} == {
        "Accuracy": 1, "Interpolate": 1, "_Twice": 1,
    }  # fmt: skip


def test_a_static_graph_that_never_runs_is_no_slow_call(counted):
    NF.interpolate(nn.Variable((1, 1, 2, 2)), output_size=(4, 4), mode="linear")
    assert counted.data()["slow"] == [] and calls(counted.data(), "nnabla") == {}


def test_names_that_were_asked_for_and_are_absent(counted):
    assert not hasattr(F, "no_such_function") and not hasattr(F, "no_such_function")
    with pytest.raises(ImportError):
        from compatgrad.mxnet.gluon import NoSuchBlock  # noqa: F401
    with pytest.raises(ModuleNotFoundError):
        import compatgrad.nnabla.no_such_module  # noqa: F401
    assert hasattr(F, "relu") and not hasattr(F, "_repr_html_")
    rows = {row["name"]: row for row in counted.data()["absent"]}
    assert set(rows) == {"chainer.functions.no_such_function", "mxnet.gluon.NoSuchBlock", "nnabla.no_such_module"}
    assert rows["chainer.functions.no_such_function"]["calls"] == 2
    assert all(row["first"].startswith("tests/tools/test_report.py:") for row in rows.values())
    assert "names that compatgrad does not have: chainer.functions.no_such_function (tests" in str(counted)


def test_modules_that_are_imported_by_name_are_not_absent(counted, monkeypatch):
    """Python asks the package for the name before it imports the module."""
    import compatgrad.chainer

    monkeypatch.delitem(sys.modules, "compatgrad.chainer.gradient_check", raising=False)
    monkeypatch.delitem(vars(compatgrad.chainer), "gradient_check", raising=False)
    from compatgrad.chainer import gradient_check  # noqa: F401

    assert counted.data()["absent"] == []


def test_the_longest_report_has_25_lines_and_keeps_the_most_frequent_rows():
    collector = Collector()
    for i in range(40):
        for _ in range(i + 1):
            collector.note("python", f"Function{i}", line="train.py:1")
    for name in notes.DIFFERENCES:
        collector.note("difference", name)
    for i in range(30):
        collector.hear_of_absent(f"chainer.functions.absent_{i}")
    data = collector.data()
    data["shims"] = [{"name": f"numpy.old{i}", "calls": 1, "first": "a.py:1", "library": "numpy", "removed": "1",
                      "now": "-"} for i in range(30)]  # fmt: skip
    data["operators"] = [{"name": f"op{i}", "op": "op", "frontend": f, "device": "cpu", "dtype": "float32", "calls": 5,
                          "first": ""} for i in range(30) for f in ("chainer", "nnabla", "mxnet")]  # fmt: skip
    lines = text(data).splitlines()
    assert len(lines) <= LINES and lines[-1].startswith("peak memory:")
    assert "Function39" in lines[2] and any("… and 30 more" in line for line in lines)
    assert any(
        line.startswith("old names of other packages that compatgrad provided: numpy.old0") and "and 24 more" in line
        for line in lines
    )
    html = page(data)
    assert html.count("<tr>") > 150 and "Function0" in html
    merged = files.merged([data, data])
    assert len(merged["deviations"]) == len(notes.DIFFERENCES) and merged["deviations"][0]["calls"] == 2


def test_names_of_the_program_are_escaped_in_html():
    collector = Collector()
    collector.note("python", "<script>alert(1)</script>", line='<b>".py:1')
    html = page(collector.data())
    assert "<script>" not in html and "&lt;script&gt;" in html and "<b>" not in html.split("</style>")[1]


# ---- the tables -----------------------------------------------------------------------------------------------------

_SOURCES = [path.read_text() for path in (ROOT / "compatgrad").rglob("*.py")]


def test_every_difference_is_a_row_of_the_document_and_is_noted_somewhere():
    sections = {}
    for line in (ROOT / "docs" / "deviations.md").read_text().splitlines():
        if line.startswith("## "):
            rows = sections[re.sub(r"[^a-z0-9 -]", "", line[3:].lower()).replace(" ", "-")] = []
        elif line.startswith("| "):
            rows.append(line[2:].split(" | ")[0])
    for name, difference in notes.DIFFERENCES.items():
        assert any(row.startswith(difference.row) for row in sections[difference.section]), name
    noted = {name for source in _SOURCES for name in re.findall(r'note_difference\("([^"]+)"\)', source)}
    assert noted == set(notes.DIFFERENCES)


def test_every_reason_that_the_code_gives_is_known():
    given = {reason for source in _SOURCES for reason in re.findall(r'notes\.listener\(\s*"(\w+)"', source)}
    assert given >= {"python", "composed", "numpy", "update", "hook"}
    assert given <= set(notes.REASONS)
    assert {reason.kind for reason in notes.REASONS.values()} == set(control.STRICT)
