"""What `verify` and `record` do with programs whose runs are hard to compare: differences of nearly equal numbers,
worker processes, old libraries, data that change from run to run."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from compatgrad.tools import compare as compare_command
from compatgrad.tools.compatgrad_recorder._statistics import Statistics
from compatgrad.tools.verify import rounding
from compatgrad.tools.verify.following import compare
from compatgrad.tools.verify.recording import distance, read

ROOT = Path(__file__).parents[2]


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "compatgrad", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )


def write(path, code):
    path.write_text(textwrap.dedent(code))
    return path.name


RATIO = """
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import numpy as np

    model = L.Linear(3, 8)
    optimizer = chainer.optimizers.SGD(0.01).setup(model)
    for _ in range(2):
        x = np.random.rand(4, 3).astype("f")
        old, new = F.tanh(model(x)), F.tanh(model(x))
        loss = F.mean(F.exp(new - old) * new)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    """
ROUNDS = """
    import chainer
    import chainer.functions as F
    import numpy as np

    calls = []

    class Tanh(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0,))
            calls.append(1)
            return (np.tanh(inputs[0]) * np.float32(1 + ERROR * (len(calls) % 2)),)

        def backward(self, indexes, gradients):
            (y,) = self.get_retained_outputs()
            return (gradients[0] * (1 - y * y),)

    F.tanh = lambda x: Tanh().apply((x,))[0]
    """


@pytest.mark.parametrize("error", ["2e-7", "2e-3"])
def test_differences_of_nearly_equal_numbers_are_as_exact_as_these(tmp_path, error):
    program = write(tmp_path / "ratio.py", RATIO)
    for side, rounds in (("original", "0"), ("here", error)):
        setup = write(tmp_path / f"{side}.py", ROUNDS.replace("ERROR", rounds))
        done = command(tmp_path, "record", "-o", side, "--setup", setup, "--", program)
        assert done.returncode == 0, done.stderr
    found = compare(read(tmp_path / "original"), read(tmp_path / "here"))
    assert [f.original["n"] for f in found.findings] == ([] if error == "2e-7" else ["Tanh"])
    assert found.counts.get("update", 0) == (4 if error == "2e-7" else 0)


TO_ZERO = """
    import chainer
    import chainer.functions as F
    import numpy as np

    w = chainer.Link()
    with w.init_scope():
        w.b = chainer.Parameter(np.float32([0.7]))
    optimizer = chainer.optimizers.SGD(0.5).setup(w)
    for _ in range(2):
        loss = F.sum(w.b * np.float32(1.4))
        w.cleargrads()
        loss.backward()
        optimizer.update()
    """


@pytest.mark.parametrize("error", [1e-7, 1e-3])
def test_parameters_that_come_near_zero(tmp_path, error):
    """An update subtracts nearly equal numbers, too."""
    for side, goal in (("original", 1.4), ("here", 1.4 * (1 + error))):
        code = TO_ZERO.replace("1.4", repr(goal))
        assert command(tmp_path, "record", "-o", side, "--", write(tmp_path / f"{side}.py", code)).returncode == 0
    found = compare(read(tmp_path / "original"), read(tmp_path / "here"))
    assert bool(found.findings) == (error > 1e-5), found.findings


MEAN = """
    import chainer
    import chainer.functions as F
    import chainer.links as L
    import numpy as np

    bn = L.BatchNormalization(2)
    optimizer = chainer.optimizers.SGD(0.1).setup(bn)
    x = np.float32([[1, 2], [-1, -2], [3, 1], [-3, -1]]) + np.float32(SHIFT)
    loss = F.sum(bn(x) ** 2)
    bn.cleargrads()
    loss.backward()
    optimizer.update()
    """


@pytest.mark.parametrize("shift", [1e-6, 1e-3])
def test_running_means_of_numbers_whose_sum_is_zero(tmp_path, shift):
    for side, by in (("original", 0), ("here", shift)):
        program = write(tmp_path / f"{side}.py", MEAN.replace("SHIFT", str(by)))
        assert command(tmp_path, "record", "-o", side, "--", program).returncode == 0
    found = compare(read(tmp_path / "original"), read(tmp_path / "here"))
    assert bool(found.findings) == (shift > 1e-5), found.findings
    assert found.counts.get("persistent") or found.findings


def test_functions_that_cancel():
    for name in (
        "_ - _",
        "_ + 0.5",
        "1.0 - _",
        "Add2",
        "RSubScalar",
        "elemwise_sub",
        "_plus_scalar",
        "_npi_subtract",
        "GetItem",
    ):
        assert rounding.cancels(name), name
    for name in ("_ * _", "LinearFunction", "Sum", "AddN", "SubpixelConvolution", "Dropout", "_ ** 2"):
        assert not rounding.cancels(name), name


class _Stored:
    def whole(self, described):
        return None


def test_statistics_of_large_arrays_do_not_depend_on_the_order_of_their_sums():
    x = np.random.RandomState(0).standard_normal(3_000_000).astype(np.float32)
    assert abs(Statistics().products(x)[0] / np.square(x.astype(np.float64)).sum() - 1) < 1e-6
    theirs = Statistics().of(x)
    ours = [*theirs[:7], theirs[7] * (1 + 1e-5), theirs[8]]  # as another version of NumPy adds them
    described = [["float32", [x.size], one, -1] for one in (theirs, ours)]
    assert distance(_Stored(), described[0], _Stored(), described[1]).error == 0
    turned = ["float32", [x.size], Statistics().of(x[::-1]), -1]
    assert distance(_Stored(), described[0], _Stored(), turned).relative > 0.1


@pytest.mark.parametrize("bad, found", [(np.inf, (0, 1)), (np.nan, (1, 0)), (3e38, (0, 0)), (1e-38, (0, 0))])
def test_statistics_of_numbers_that_float32_cannot_add_raise_nothing(bad, found):
    a = np.arange(20001, dtype=np.float32)
    a[17] = bad
    with np.errstate(all="raise"):  # as a program may ask
        norm, nans, infinities, _, s1, s2 = Statistics().of(a)[3:]
    assert (nans, infinities) == found and np.isfinite([norm, s1, s2]).all()
    assert norm == pytest.approx(np.linalg.norm(np.where(np.isfinite(a), a, 0).astype(np.float64)), rel=1e-5)


def test_statistics_of_all_kinds_of_numbers():
    ones = [np.ones(5001, kind) for kind in ("f", ">f4", "d", ">f8", "e", "g", "i", "?")]
    values = [Statistics().of(one)[3:] for one in ones]
    for norm, nans, infinities, _, s1, s2 in values:
        assert (nans, infinities) == (0, 0)
        assert (norm, s1, s2) == pytest.approx((values[0][0], values[0][4], values[0][5]), rel=1e-4)
    assert Statistics().of(ones[-2])[:3] == [1, 1, 1]


WORKERS = """
    import multiprocessing
    import random

    import numpy as np

    def work(queue):
        queue.put((random.random(), np.random.rand()))

    context = multiprocessing.get_context("fork")
    found = []
    for _ in range(2):
        queue = context.Queue()
        process = context.Process(target=work, args=(queue,))
        process.start()
        found.append(queue.get())
        process.join()
    print(found, random.random())
    """


def test_worker_processes_draw_the_same_numbers_in_each_run(tmp_path):
    program = write(tmp_path / "workers.py", WORKERS)
    first, second = (command(tmp_path, "record", "-o", side, "--", program) for side in ("a", "b"))
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout
    (one, same), (two, as_well) = eval(first.stdout[: first.stdout.index("]") + 1])
    assert one != two and same == as_well


def test_the_year_of_a_program(tmp_path):
    program = write(tmp_path / "old.py", "import numpy as np\nprint(np.array([[1], [1, 2]]).shape)\n")
    assert command(tmp_path, "record", "-o", "a", "--as-of", "2020", "--", program).stdout == "(2,)\n"
    assert "--as-of 2022" in command(tmp_path, "record", "-o", "a", "--", program).stderr
    for name, more in (("record", ["-o", "a"]), ("verify", ["--original", sys.executable])):
        wrong = command(tmp_path, name, *more, "--as-of", "1999", "--", program)
        assert wrong.returncode == 2 and "expected a year from 2012" in wrong.stderr


def test_a_failure_of_both_runs_is_said(tmp_path, capsys):
    program = write(
        tmp_path / "fails.py", "import chainer.functions as F, numpy as np\nF.tanh(np.zeros(2, 'f')).nothing"
    )
    for side in ("original", "here"):
        assert command(tmp_path, "record", "-o", side, "--", program).returncode == 1
    assert compare_command.main([str(tmp_path / "original"), str(tmp_path / "here")]) == 0
    out = capsys.readouterr().out
    assert "Both runs failed after 0 updates: AttributeError: " in out and "The runs agree" in out


CHANGING = """
    from pathlib import Path

    import chainer.functions as F
    import numpy as np

    runs = Path("runs")
    runs.write_text(str(int(runs.read_text()) + 1 if runs.exists() else 1))
    x = np.arange(60, dtype="f") * min(int(runs.read_text()), 2)  # other data in the first run
    print(F.tanh(x))
    """


def test_data_that_change_from_run_to_run_are_said_to_do_so(tmp_path):
    program = write(tmp_path / "changing.py", CHANGING)
    done = command(tmp_path, "verify", "--original", f"{sys.executable} -m compatgrad run", "--", program)
    assert done.returncode == 1, done.stderr
    assert "in the second run these arrays agree" in done.stdout and "Mismatched" not in done.stdout


def test_an_original_that_fails_at_once_is_told_from_one_that_uses_no_framework(tmp_path):
    fails = write(tmp_path / "fails.py", "import no_such_package\nimport chainer\n")
    done = command(tmp_path, "verify", "--original", sys.executable, "--", fails)
    assert done.returncode == 4
    assert "the original's run failed before it computed anything (exit status 1)" in done.stderr + done.stdout
    plain = write(tmp_path / "plain.py", "print(3)\n")
    done = command(tmp_path, "verify", "--original", sys.executable, "--", plain)
    assert done.returncode == 4
    assert "the original's run used no framework (exit status 0)" in done.stderr + done.stdout


FETCHING = """
    import threading
    import mxnet as mx
    from mxnet import nd

    def fetch():
        for _ in range(300):
            nd.exp(nd.ones((2,)))

    net = mx.gluon.nn.Dense(2)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd")
    thread = threading.Thread(target=fetch)
    thread.start()
    for _ in range(30):
        with mx.autograd.record():
            loss = nd.tanh(net(nd.ones((3, 4))))
        loss.backward()
        trainer.step(3)
    thread.join()
    """


def test_operators_of_threads_that_fetch_batches_are_not_recorded(tmp_path):
    program = write(tmp_path / "fetching.py", FETCHING)
    assert command(tmp_path, "record", "-o", "r", "--", program).returncode == 0
    forward = [event for event in read(tmp_path / "r").events if event["k"] == "forward"]
    assert {event["n"] for event in forward} == {"FullyConnected", "tanh"} and len(forward) == 60


def test_no_operator_has_a_second_name_by_accident():
    """The name by which `record` knows an operator is the first under which a module has it."""
    program = 'import compatgrad.mxnet as mx; print([n for n in vars(mx.nd) if n.strip("_") == "function"])'
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
