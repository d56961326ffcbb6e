"""The large networks of `tests.benchmarks`."""

import importlib
import io
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad
from tests.benchmarks import large, large_torch, recorded, worker
from tests.benchmarks.pace import Pace


@pytest.fixture(scope="module")
def programs():
    """The module of a frontend's programs, by the frontend's name, run by compatgrad."""
    names = ("chainer", "nnabla", "mxnet")
    compatgrad.install(*names)
    yield {name: importlib.import_module(f"tests.benchmarks.large_{name}") for name in names}
    compatgrad.uninstall(*names)


def waves(array):
    """Numbers that depend on the shape alone, about as large as those that initialize weights."""
    fan_in = array.size // len(array)
    return (np.sin(np.arange(array.size)) / fan_in**0.5).reshape(array.shape).astype(np.float32)


@pytest.fixture
def built(programs, monkeypatch):
    """A function: the arguments that a program with numbers from RandomState(0) passes to its `inference`."""

    def build(module, name):
        noted = []
        monkeypatch.setattr(module, "random", np.random.RandomState(0), raising=False)
        monkeypatch.setattr(module, "inference", lambda *arguments: noted.append(arguments))
        getattr(module, name)("infer", 2)
        return noted[0]

    return build


def results_of_chainer(programs, built, name):
    """The input and the results of a network whose parameters are waves."""
    model, x = built(programs["chainer"], name)
    for p in model.params():
        p.array[...] = waves(p.array)
    chainer = programs["chainer"].chainer
    with chainer.using_config("train", False), chainer.no_backprop_mode():
        expected = model(x).array
    assert expected.std() > 1e-6
    return x, expected


def assert_same(found, expected, tolerance=1e-3):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.abs(expected).max())


@pytest.mark.parametrize("name", large.BATCHES)
def test_programs_of_chainer_and_torch_are_the_same_network(name, programs, built):
    x, expected = results_of_chainer(programs, built, name)
    model, _ = built(large_torch, name)
    for p in model.parameters():
        p.data = torch.from_numpy(waves(p.detach().numpy()))
    as_tensors = tuple(map(torch.from_numpy, x)) if isinstance(x, tuple) else torch.from_numpy(x)
    with torch.inference_mode():
        assert_same(model.eval()(as_tensors).numpy(), expected)


@pytest.mark.parametrize("name", large.BATCHES)
def test_programs_of_chainer_and_nnabla_are_the_same_network(name, programs, built):
    _, expected = results_of_chainer(programs, built, name)
    (y,) = built(programs["nnabla"], name)
    for key, p in programs["nnabla"].nn.get_parameters(grad_only=False).items():
        kind = key.split("/")[-1]
        if kind in ("mean", "var"):
            p.d = 0 if kind == "mean" else 1
        elif key.endswith("affine/W"):
            p.d = waves(p.d.T).T
        else:
            p.d = waves(p.d.reshape(-1) if p.shape[0] == 1 else p.d).reshape(p.shape)
    y.forward()
    assert_same(y.d, expected, 5e-3 if name == "bert" else 1e-3)  # nnabla's GELU is an approximation by tanh


@pytest.mark.parametrize("name", ["unet", "dcgan", "wavenet", "transformer", "bert"])
def test_programs_of_chainer_and_mxnet_are_the_same_network(name, programs, built):
    _, expected = results_of_chainer(programs, built, name)
    module = programs["mxnet"]
    net, *x = built(module, name)
    net(*x)  # determines shapes
    for p in net.collect_params().values():
        if p.grad_req != "null":
            p.set_data(module.nd.array(waves(p.data().asnumpy().squeeze()).reshape(p.shape)))

    def divide(block):
        if isinstance(block, module.Attention):  # Chainer's program has one matrix for q, k and v
            parts = (block.q, block.k, block.v)
            for which in ("weight", "bias"):
                whole = waves(np.concatenate([getattr(part, which).data().asnumpy() for part in parts]))
                for part, numbers in zip(parts, np.split(whole, 3), strict=True):
                    getattr(part, which).set_data(module.nd.array(numbers))

    net.apply(divide)
    found = net(*x).asnumpy()
    assert_same(found.reshape(expected.shape), expected)


def answers(module, *names, arguments=()):
    """The answers of a program that compatgrad runs to requests for one step each."""
    requests = "".join(json.dumps({"name": name, "inner": 1, "samples": 1}) + "\n" for name in names)
    command = [sys.executable, "-m", "compatgrad", "run", "-m", f"tests.benchmarks.{module}", *arguments]
    done = subprocess.run(command, input=requests, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("module", ["large_mxnet", "large_nnabla"])
def test_programs_of_nnabla_and_mxnet_run(module):
    *found, missing = answers(module, "dcgan train 1", "wavenet train 1", "mobilenet2 infer 1", "absent infer 1")
    assert all(answer["value"] > 0 for answer in found) and missing == {"value": None}


def benchmarks(*arguments):
    command = [sys.executable, "-m", "tests.benchmarks", *arguments, "--quick", "--rounds", "1", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def test_large_networks_run_if_they_are_asked_for():
    found = benchmarks("--large", "--threads", "2", "--only", "transformer infer")
    rows = [(row["workload"], row["framework"], row["against"], row["target"]) for row in found]
    assert rows == [
        ("transformer infer 8", framework, against, 0.9)
        for framework in ("compatgrad", "nn static", "mx")
        for against in ("torch", "torch best")
    ]


def test_the_growth_of_memory_and_the_programs_it_is_compared_with():
    (row,) = benchmarks("--memory", "--frontend", "chainer", "--against", "torch", "--only", "lstm layer")
    found = [row[key] for key in ("workload", "framework", "against", "unit", "target", "threads")]
    assert found == ["lstm layer", "compatgrad", "torch", "MB", 1.0, 1]
    assert 1 < row["value"] < 1000 and 1 < row["other"] < 1000


def test_a_recorded_file_keeps_what_a_later_run_does_not_measure(tmp_path):
    def row(workload, value):
        return {"workload": workload, "framework": "compatgrad", "against": "torch", "unit": "ms", "value": value}

    file = tmp_path / "run.json"
    for rows, threads in ([row("a", 1), row("b", 2)], 1), ([row("b", 3)], 1), ([row("b", 4)], 2):
        file.write_text(json.dumps(recorded.merged(str(file), rows, {rows[0]["workload"]: {}}, threads, 3)))
    found = json.loads(file.read_text())
    values = [(row["workload"], row["value"], row["threads"]) for row in found["rows"]]
    assert values == [("a", 1, 1), ("b", 3, 1), ("b", 4, 2)] and list(found["limits"]) == ["a", "b"]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--device", "cuda"], "--device: only large networks"),
        (["--threads", "0"], "--threads: expected at least 1, got 0"),
        (["--large", "--only", "bert", "mlp_tiny"], "--only: no workload has 'mlp_tiny' in its name"),
        (["--against", "torsh"], "--against: expected names of Chainer, "),
    ],
)
def test_options_that_cannot_be(arguments, message):
    done = subprocess.run([sys.executable, "-m", "tests.benchmarks", *arguments], capture_output=True, text=True)
    assert done.returncode == 2 and message in done.stderr


def test_a_worker_waits_for_the_device_before_it_reads_the_clock(monkeypatch, capsys):
    seen = []
    monkeypatch.setattr(sys, "stdin", io.StringIO('{"name": "a", "inner": 2, "samples": 1}\n'))
    worker.serve({"a": lambda: lambda: seen.append("step")}, finish=lambda: seen.append("finish"))
    assert seen == ["step", "finish"] * 4 + ["step"] * 2 + ["finish"]
    assert json.loads(capsys.readouterr().out)["value"] > 0


@pytest.mark.parametrize(
    ("patience", "expected", "slow"),
    [(60, [0, 1, 8.3, 9.3, 10.3], 0), (4.5, [0, 1, 4.1, 5.1, 6.1], 3), (0, range(5), 3)],
)
def test_samples_from_a_slow_core_are_taken_again(patience, expected, slow):
    now = 0.0

    def sleep(seconds):
        nonlocal now
        now += seconds

    def take():
        start = now
        sleep(1)
        return start

    core = Pace(lambda: 1.4 if 3 <= now < 8 else 1.1, lambda: now, sleep)
    results, slow_ones = core.samples(take, 5, patience)
    assert results == pytest.approx(list(expected)) and slow_ones == slow


def test_a_worker_says_how_many_samples_are_from_a_slow_core(monkeypatch, capsys):
    monkeypatch.setattr(worker, "THREADS", 1)
    requests = '{"name": "a", "samples": 1}\n{"name": "a", "samples": 3, "pace": 1e-9}\n'  # no core is as fast
    monkeypatch.setattr(sys, "stdin", io.StringIO(requests))
    worker.serve({"a": lambda: lambda: None}, patience=1e-9)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["pace"] > 1e-6
    assert (second["pace"], second["slow"]) == (1e-9, 3)
