"""`python -m compatgrad profile`: steps, their parts, functions, layers and lines, on programs of all frontends."""

import copy
import gzip
import json
import os
import re
import subprocess
import sys
import textwrap
from html.parser import HTMLParser

import pytest

import compatgrad
from compatgrad.tools.compatgrad_recorder import _calls, _steps
from compatgrad.tools.profile import main
from compatgrad.tools.profile.page import page
from compatgrad.tools.profile.report import text
from compatgrad.tools.profile.trace import POINTS, thinned

CHAINER = """
import numpy as np, time, sys
import chainer, chainer.functions as F, chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.first = L.Linear(4, 8)
            self.rest = chainer.Sequential(L.Linear(8, 8), F.relu)
    def forward(self, x):
        h = F.tanh(self.first(x))  # line of tanh
        time.sleep(0.004)
        return self.rest(h)

chainer.print_runtime_info if "quiet" in sys.argv else print("begins")
data = chainer.datasets.TupleDataset(np.ones((64, 4), "f"), np.zeros(64, "i"))
model = L.Classifier(Net())
optimizer = chainer.optimizers.SGD().setup(model)
for batch in chainer.iterators.SerialIterator(data, 8, repeat=True):
    x, t = chainer.dataset.concat_examples(batch)
    loss = model(x, t)
    model.cleargrads()
    loss.backward()
    optimizer.update()
    if optimizer.t == 40:
        break
print("ends at", optimizer.t)
"""

NNABLA = """
import numpy as np, sys
import nnabla as nn, nnabla.functions as F, nnabla.parametric_functions as PF, nnabla.solvers as S

def network(x):
    with nn.parameter_scope("one"):
        h = F.relu(PF.convolution(x, 4, (3, 3)))  # line of relu
    with nn.parameter_scope("two"):
        return PF.affine(h, 3)

dynamic = "dynamic" in sys.argv
nn.set_auto_forward(dynamic)
x, solver = nn.Variable.from_numpy_array(np.ones((2, 1, 6, 6))), S.Adam()
loss = F.mean(network(x) ** 2)
solver.set_parameters(nn.get_parameters())
for _ in range(40):
    if dynamic:
        loss = F.mean(network(x) ** 2)
    else:
        loss.forward()
    solver.zero_grad()
    loss.backward()
    solver.update()
"""

MXNET = """
import mxnet as mx, numpy as np, sys
from mxnet import gluon, autograd

how = sys.argv[1]
x, t = np.ones((80, 1, 6, 6), "f"), np.zeros(80, "f")
if how == "module":
    data = mx.sym.Activation(mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=4, name="inner"), act_type="tanh")
    module = mx.mod.Module(mx.sym.SoftmaxOutput(data, name="softmax"))
    module.fit(mx.io.NDArrayIter(x, t, 2), num_epoch=1)
elif how == "hand":
    w = mx.nd.ones((36, 4))
    w.attach_grad()
    for _ in range(40):
        with autograd.record():
            loss = mx.nd.dot(mx.nd.array(x[:2]).reshape((2, -1)), w).sum()
        loss.backward()
        w -= 0.1 * w.grad
else:
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 3, activation="relu"), gluon.nn.Dense(4))
    net.initialize()
    if how == "hybrid":
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd")
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    for a, b in gluon.data.DataLoader(gluon.data.ArrayDataset(x, t), 2):
        with autograd.record():
            loss = entropy(net(a), b)
        loss.backward()
        trainer.step(2)
"""
PROGRAMS = {"chainer": CHAINER, "nnabla": NNABLA, "mxnet": MXNET}
#: What a plain program of each frontend must have in its tables: functions, layers, and the call that ends steps.
EXPECTED = {
    "chainer": (
        {"chainer:LinearFunction", "chainer:Tanh", "chainer:SGD.update", "chainer:SerialIterator.__next__"},
        {"Classifier", "Classifier/predictor/first", "Classifier/predictor/rest/0.Linear"},
        "SGD.update",
    ),
    "nnabla": ({"nnabla:Convolution", "nnabla:ReLU", "nnabla:Adam.update"}, {"one/conv", "two/affine"}, "Adam.update"),
    "nnabla dynamic": ({"nnabla:Convolution", "nnabla:ReLU"}, {"one/conv", "two/affine"}, "Adam.update"),
    "mxnet gluon": (
        {"mxnet:Convolution", "mxnet:FullyConnected", "mxnet:Trainer.step", "mxnet:DataLoader.__next__"},
        {"HybridSequential/0.Conv2D", "HybridSequential/1.Dense", "SoftmaxCrossEntropyLoss"},
        "Trainer.step",
    ),
    "mxnet hybrid": ({"mxnet:Convolution"}, {"HybridSequential/0.Conv2D", "HybridSequential/1.Dense"}, "Trainer.step"),
    "mxnet module": (
        {"mxnet:FullyConnected", "mxnet:Module.update", "mxnet:NDArrayIter.__next__"},
        {"inner", "softmax"},
        "Module.update",
    ),
    "mxnet hand": ({"mxnet:dot"}, set(), "backward"),
}


def command(folder, *arguments, **more):
    done = [sys.executable, "-m", "compatgrad", "profile", *map(str, arguments)]
    parent = os.path.dirname(os.path.dirname(compatgrad.__file__))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": parent, **more}
    return subprocess.run(done, capture_output=True, text=True, env=environment, cwd=folder)


def program(folder, name, code=None):
    (folder / f"{name}.py").write_text(textwrap.dedent(code or PROGRAMS[name]))
    return f"{name}.py"


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The report of each program of `EXPECTED`, made once."""
    made = {}

    def of(case):
        if case not in made:
            name, *arguments = case.split()
            options = ["--memory"] if case == "nnabla" else []
            made[case] = profiled(tmp_path_factory.mktemp(name), name, *arguments, options=options)
        return made[case]

    return of


def profiled(folder, name, *arguments, options=()):
    done = command(
        folder, "--steps", "3", "--warmup", "2", "--format", "json", *options, "--", program(folder, name), *arguments
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done


@pytest.mark.parametrize("case", EXPECTED)
def test_steps_and_tables(plain, case):
    functions, layers, ends_with = EXPECTED[case]
    found, _ = plain(case)
    assert found["ends_with"] == ends_with and found["schema"] == 1 and found["started"].endswith("+00:00")
    assert found["step"]["count"] == 3 and 0 < found["step"]["q1"] <= found["step"]["median"] <= found["step"]["q3"]
    assert functions <= {row["name"] for row in found["functions"]}
    assert layers <= {row["name"] for row in found["layers"]}
    rows = {row["name"]: row for row in found["functions"]}
    for function in functions:
        if not re.search(r"update|next|step", function):
            assert rows[function]["forward"] > 0 and rows[function]["backward"] > 0, rows[function]
    parts = found["parts"]
    assert parts["forward"] > 0 and parts["backward"] > 0
    assert (parts["update"] > 0) == (ends_with != "backward")
    # the rows are parts of the step, and no time is counted twice
    assert sum(row["total"] for row in found["functions"]) <= found["table_of"]
    assert sum(row["total"] for row in found["layers"]) <= found["table_of"]
    assert sum(row["total"] for row in found["lines"]) <= found["table_of"]


def test_lines_layers_and_parts_of_chainer(plain):
    found, done = plain("chainer")
    assert "begins\n" in done.stderr and "ends at 40\n" in done.stderr  # the program's output is not in the JSON
    assert found["parts"]["forward"] > 0.004  # the sleep is between calls of layers
    layers = {row["name"]: row for row in found["layers"]}
    assert layers["Classifier/predictor"]["self_forward"] > 0.004 > layers["Classifier"]["self_forward"]
    assert layers["Classifier"]["forward"] > 0.004
    lines = {row["source"]: row for row in found["lines"]}
    tanh = lines["h = F.tanh(self.first(x))  # line of tanh"]
    assert (
        tanh["calls"] == 2 and tanh["forward"] > 0 and tanh["backward"] > 0 and tanh["name"].startswith("chainer.py:")
    )
    assert lines["optimizer.update()"]["other"] > 0
    rows = {row["name"]: row for row in found["functions"]}
    assert rows["chainer:LinearFunction"]["calls"] == 2 and rows["chainer:concat_examples"]["calls"] == 1


def test_lines_of_graphs_that_run_later(plain):
    found, _ = plain("nnabla")
    line = {row["source"]: row for row in found["lines"]}["h = F.relu(PF.convolution(x, 4, (3, 3)))  # line of relu"]
    assert line["calls"] == 2 and line["forward"] > 0 and line["backward"] > 0
    layers = {row["name"]: row for row in found["layers"]}
    assert layers["one/conv"]["allocated"] >= 2 * 4 * 4 * 4 * 4  # the result of the convolution, and more
    assert layers["one/conv"]["calls"] == 2  # what follows a layer belongs to it


def test_trace_memory_and_page(tmp_path):
    options = ["--trace", "trace.json.gz", "--html", "page.html", "--memory", "--stop"]
    found, done = profiled(tmp_path, "chainer", options=options)
    assert "ends at" not in done.stderr  # stopped
    events = json.loads(gzip.decompress((tmp_path / "trace.json.gz").read_bytes()))["traceEvents"]
    names = {event.get("name") for event in events}
    assert {"chainer:LinearFunction", "chainer:LinearFunction backward", "layer Classifier/predictor/first"} <= names
    assert {"forward", "backward", "update", "data"} <= names
    (memory,) = found["memory"]
    assert memory["device"] == "cpu" and memory["peak"] > 0 and 0 <= memory["peak_at"] <= memory["step"]
    assert memory["peak"] == max(n for _, n in memory["curve"])
    assert {row["name"]: row for row in found["functions"]}["chainer:LinearFunction"]["allocated"] >= 2 * 8 * 8 * 4
    shown = (tmp_path / "page.html").read_text()
    assert "Classifier/<wbr>predictor/<wbr>first" in shown and "<svg" in shown and "Memory over a step" in shown
    assert "allocated" in text(found, "op", "memory", 5, True) and "memory on cpu: at most" in text(
        found, "op", "time", 5, True
    )


class Page(HTMLParser):
    void = {"meta", "br", "wbr", "line", "rect", "circle", "path"}

    def __init__(self, shown):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(shown)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in self.void:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def test_the_page_needs_nothing_else(plain):
    found = copy.deepcopy(plain("chainer")[0])
    found["program"] = ["<script>alert(1)</script>.py"]
    found["functions"][0]["name"] = 'chainer:<b onclick="x">'
    shown = Page(page(found))
    assert not shown.open
    assert {tag for tag, _ in shown.tags}.isdisjoint({"script", "link", "img", "iframe", "b\nonclick"})
    for _, attributes in shown.tags:
        assert not any(key.startswith("on") or key in ("src", "href") for key in attributes)
    assert "url(" not in page(found) and "@import" not in page(found)
    assert any("<script>alert(1)</script>.py" in word for word in shown.words)
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in shown.tags


def test_text(tmp_path):
    options = ["--steps", "2", "--warmup", "1", "--limit", "3", "--by", "layer", "--output", "report{rank}.txt"]
    code = CHAINER + "\nsys.exit(7 if sys.argv[1:] == ['--steps'] else 8)\n"
    done = command(tmp_path, *options, program(tmp_path, "chainer", code), "--steps")
    assert done.returncode == 7 and done.stdout == "begins\nends at 40\n"
    shown = (tmp_path / "report0.txt").read_text()
    assert re.search(r"^step [\d.]+ ms median \([\d.]+–[\d.]+ IQR, 2 steps, which end with SGD.update\)$", shown, re.M)
    assert re.search(r"^  forward \d+ %, backward \d+ %, update \d+ %, data \d+ %, other \d+ %$", shown, re.M)
    assert re.search(r"^  with the hooks that time functions: [\d.]+ ms \([+-]\d+%\)$", shown, re.M)
    assert re.search(r"^… 2 more with [\d.]+ % \(--limit 5\)\neverything else +[\d.]+$", shown, re.M)


# ---- what ends a program, and what is no step ------------------------------------------------------------------------


def test_a_program_without_steps(tmp_path):
    done = command(tmp_path, "--", program(tmp_path, "none", "import chainer\nprint('nothing')\n"))
    assert done.returncode == 1 and done.stdout == "nothing\n" and "no step was seen" in done.stderr


def test_too_few_steps(tmp_path):
    done = command(tmp_path, "--warmup", "100", "--", program(tmp_path, "chainer"))
    assert done.returncode == 1
    assert "39 steps were seen, but measurements begin after 100 steps of warmup" in done.stderr


def test_an_exception_of_the_program_is_its_own(tmp_path):
    """What was measured before it counts."""
    script = program(tmp_path, "lost", CHAINER + "\nraise KeyError('lost')\n")
    done = command(tmp_path, "--steps", "100", "--warmup", "20", "--", script)
    assert done.returncode == 1 and "19 steps, which end with SGD.update" in done.stdout
    assert "ended after 39 steps, before its functions could be timed: try --warmup 1 --steps 12" in done.stdout
    assert "KeyError: 'lost'" in done.stderr and "compatgrad/tools" not in done.stderr


@pytest.mark.parametrize(
    "arguments, words",
    [
        ([], "name the program behind the options"),
        (["--stop", "--"], "name the program behind the options"),
        (["--stopp", "x.py"], "unrecognized arguments: --stopp"),
        (["--steps", "0", "--", "x.py"], "--steps: expected a positive number, got 0"),
        (["--trace", "t.txt", "--", "x.py"], "--trace: expected a name that ends with .json or .json.gz, got t.txt"),
        (["--html", "no/where.html", "--", "x.py"], "--html: there is no folder"),
        (["--sort", "memory", "--", "x.py"], "--sort memory needs --memory"),
        (["--", "-x"], "unknown option -x"),
        (["--as-of", "old", "--", "x.py"], "--as-of: expected a year from 2012, 'auto' or 'off', got 'old'"),
    ],
)
def test_wrong_command_lines(capsys, arguments, words):
    try:
        code = main(arguments)
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2 and words in capsys.readouterr().err


def test_a_layer_that_trains_itself(tmp_path):
    """The steps end inside calls of layers, and inside a function of the program that computes the loss."""
    code = """
        import numpy as np, chainer, chainer.functions as F, chainer.links as L

        np.zeros(3, np.float)  # removed in NumPy 1.24
        class Old(chainer.Chain):  # as programs for Chainer 1 were written
            def __init__(self):
                super().__init__(linear=L.Linear(3, 2))
            def __call__(self, x):
                return F.relu(self.linear(x))

        class Learner(chainer.Chain):
            def __init__(self):
                super().__init__(inner=Old())
            def forward(self, x):
                for _ in range(3):
                    loss = F.sum(self.inner(x))
                    self.cleargrads()
                    loss.backward()
                    optimizer.update()

        learner = Learner()
        optimizer = chainer.optimizers.SGD().setup(learner)
        for _ in range(15):
            learner(np.ones((2, 3), "f"))
        print("ends at", optimizer.t)
    """
    options = ["--steps", "4", "--warmup", "2", "--memory", "--by", "layer", "--clock", "cpu"]
    done = command(tmp_path, *options, "--", program(tmp_path, "learner", code))
    assert done.returncode == 0 and "ends at 45" in done.stdout, done.stderr
    for layer in ("Learner/inner", "Learner/inner/linear"):
        assert re.search(rf"^{layer} +1 ", done.stdout, re.M), done.stdout
    assert "processor time of a step" in done.stdout
    done = command(tmp_path, "--as-of", "off", *options, "--", "learner.py")
    assert done.returncode == 1 and "np.float" in done.stderr


def test_nothing_stays_behind(tmp_path):
    """After the last step all hooks and watched functions are gone."""
    code = (
        CHAINER
        + """
from compatgrad import _C
assert not _C.function_hooks() and not chainer.link_hook._get_link_hooks()
for each in (chainer.Link.__call__, chainer.Variable.backward, chainer.optimizer.GradientMethod.update,
             chainer.iterators.SerialIterator.__next__, chainer.dataset.concat_examples):
    assert not hasattr(each, "_watches"), each
assert not any("tools" in type(f).__module__ for f in sys.meta_path)
print("clean")
"""
    )
    done = command(tmp_path, "--steps", "2", "--warmup", "1", "--", program(tmp_path, "after", code))
    assert done.returncode == 0 and done.stdout.endswith("clean\n"), done.stderr


# ---- the original's side ----


def test_against_another_interpreter(tmp_path):
    """The timer runs by itself; an original is a package that is called as one. Here it is compatgrad's own."""
    (tmp_path / "original").mkdir()
    (tmp_path / "original" / "sitecustomize.py").write_text("import compatgrad\ncompatgrad.install()\n")
    path = os.pathsep.join([str(tmp_path / "original"), os.path.dirname(os.path.dirname(compatgrad.__file__))])
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    found, _ = profiled(tmp_path, "chainer", "quiet", options=["--against", python, "--stop"])
    assert found["original"]["ends_with"] == "SGD.update" and found["original"]["versions"]["chainer"] == "7.8.1"
    assert found["original"]["step"]["count"] == 3 and 0.2 < found["ratio"] < 5
    assert found["original"]["parts"]["forward"] > 0.004
    shown = text(found, "op", "time", 5, False)
    assert re.search(r"step \(median, IQR\) +[\d.]+ ms \(.*\) +[\d.]+ ms \(.*\) +\d\.\d\d\n +forward", shown)
    assert "Beside the original" in page(found)


def test_an_original_that_fails_is_reported(tmp_path, capsys):
    script = program(tmp_path, "fails", "raise RuntimeError('no data')\n")
    assert main(["--against", sys.executable, "--", str(tmp_path / script)]) == 1
    said = capsys.readouterr().err
    assert "| RuntimeError: no data" in said and "0 steps were seen" in said
    assert main(["--against", "/no/python", "--", script]) == 1
    assert "expected a Python interpreter, and '/no/python' is none" in capsys.readouterr().err


def test_the_timer_is_for_old_pythons():
    """It uses no syntax and no module that Python 3.6 lacks."""
    import ast

    for module in (_steps, _calls):
        tree = ast.parse(open(module.__file__).read(), feature_version=(3, 6))
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert {name.partition(".")[0] for name in imported} <= set(sys.stdlib_module_names)
        others = {(n.level, n.module) for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
        assert others <= {(0, "typing"), (1, "_calls")}


# ---- steps ----


class Optimizer:
    def update(self):
        pass


def counted(*order):
    """The steps that a program with these updates has: the number of updates in each."""
    steps, lengths = _steps.Steps([("timed", 1000)]), [0]
    steps.step = lambda start, end: lengths.append(0)
    steps.enter = lambda stage: lengths.__setitem__(slice(None), [0])
    for optimizer in order:
        lengths[-1] += 1
        steps.call("update", type(optimizer).update, (optimizer,), {})
    return lengths[:-1]


def test_a_step_has_updates_by_all_optimizers():
    a, b = Optimizer(), Optimizer()
    assert counted(*[a] * 6) == [1] * 5
    assert counted(*[a, b] * 5) == [2] * 4
    assert counted(*[a, a, a, b] * 4) == [4] * 3
    assert len(counted(*[Optimizer() for _ in range(40)])) > 20  # a new one each time


def test_updates_inside_updates_and_failed_ones_count_once():
    a = Optimizer()
    steps = _steps.Steps([("timed", 100)])

    def nested(self):
        steps.call("update", Optimizer.update, (self,), {})

    def fails(self):
        raise ValueError

    for _ in range(4):
        steps.call("update", nested, (a,), {})
        with pytest.raises(ValueError):
            steps.call("update", fails, (a,), {})
    assert len(steps.times["timed"]) == 3


def test_chainer_s_loss_function_is_forward():
    """Other optimizers get their arguments as they are: nnabla's `update` may have a hook there."""

    def update(self, first=None, lossfun=None):
        for each in (first, lossfun):
            if each is not None:
                each()

    calls = []
    steps = _steps.Steps([("timed", 100)], begin=lambda kind, function, arguments: calls.append(kind))
    hook = len
    steps.call("update", update, (Optimizer(), lambda: calls.append("called")), {})
    assert calls == ["update", "called"]
    update.__module__ = "chainer.optimizer"
    steps.call("update", update, (Optimizer(), lambda: calls.append("called")), {"lossfun": lambda: hook("")})
    assert calls[2:] == ["update", "loss", "called"]
    steps.call("update", update, (Optimizer(),), {"lossfun": lambda: calls.append("called")})
    assert calls[5:] == ["update", "loss", "called"]


def test_parts():
    phases = _steps.Phases()
    phases.clear(0.0)
    for what, at in (("data", 1), (None, 2), ("forward", 3), (None, 5), ("backward", 6), (None, 10), ("update", 11),
                     ("loss", 12), (None, 14), ("backward", 14), (None, 15), (None, 17)):  # fmt: skip
        phases.end(at) if what is None else phases.begin(what, at)
    phases.step(18)
    assert phases.steps == [{"forward": 5.0, "backward": 5.0, "update": 3.0, "data": 1.0, "other": 4.0}]


def test_curves_keep_their_peaks():
    curve = [(k / 10000, (k * 7919) % 1000) for k in range(10000)]
    curve[4321] = (0.4321, 99999)
    thin = thinned(curve, 1.0)
    assert len(thin) <= 2 * POINTS + 2 and (0.4321, 99999) in thin and thin == sorted(thin)
