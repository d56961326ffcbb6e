"""The large networks of `tests.benchmarks`."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad
from tests.benchmarks import large, large_torch, recorded, worker


@pytest.fixture(scope="module")
def large_chainer():
    """The Chainer programs, run by compatgrad."""
    compatgrad.install("chainer")
    import tests.benchmarks.large_chainer

    yield tests.benchmarks.large_chainer
    compatgrad.uninstall("chainer")


def waves(array):
    """Numbers that depend on the shape alone, about as large as those that initialize weights."""
    fan_in = array.size // len(array)
    return (np.sin(np.arange(array.size)) / fan_in**0.5).reshape(array.shape).astype(np.float32)


@pytest.mark.parametrize("name", large.BATCHES)
def test_programs_of_chainer_and_torch_are_the_same_network(name, large_chainer, monkeypatch):
    made = {}
    for module in (large_chainer, large_torch):

        def note(model, x, module=module):
            made[module] = model, x

        monkeypatch.setattr(module, "inference", note)
        module.NETWORKS[name]("infer", 2)
    model, x = made[large_chainer]
    other, _ = made[large_torch]
    for p in model.params():
        p.array[...] = waves(p.array)
    for p in other.parameters():
        p.data = torch.from_numpy(waves(p.detach().numpy()))
    as_tensors = tuple(map(torch.from_numpy, x)) if isinstance(x, tuple) else torch.from_numpy(x)
    with large_chainer.chainer.using_config("train", False), large_chainer.chainer.no_backprop_mode():
        found = model(x).array
    with torch.inference_mode():
        expected = other.eval()(as_tensors).numpy()
    assert expected.std() > 1e-6
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def answers(module, *names, arguments=()):
    """The answers of a program that compatgrad runs to requests for one step each."""
    requests = "".join(json.dumps({"name": name, "inner": 1, "samples": 1}) + "\n" for name in names)
    command = [sys.executable, "-m", "compatgrad", "run", "-m", f"tests.benchmarks.{module}", *arguments]
    done = subprocess.run(command, input=requests, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("module, absent", [("large_mxnet", "bert infer 4"), ("large_nnabla", "vgg16 infer 1")])
def test_programs_of_nnabla_and_mxnet_run(module, absent):
    others = {"large_mxnet": "mobilenet2", "large_nnabla": "dcgan"}[module]
    *found, missing = answers(module, f"{others} train 1", f"{others} infer 1", "resnet18 infer 1", absent)
    assert all(answer["value"] > 0 for answer in found) and missing == {"value": None}


def benchmarks(*arguments):
    command = [sys.executable, "-m", "tests.benchmarks", *arguments, "--quick", "--rounds", "1", "--json", "-"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["rows"]


def test_large_networks_run_if_they_are_asked_for():
    found = benchmarks("--large", "--threads", "2", "--only", "transformer infer", "mlp_tiny")
    rows = [(row["workload"], row["framework"], row["against"], row["target"]) for row in found]
    assert rows == [("transformer infer 8", "compatgrad", against, 0.9) for against in ("torch", "torch best")]


def test_the_growth_of_memory_and_the_programs_it_is_compared_with():
    words = ("lstm layer", "transformer infer")
    (row,) = benchmarks("--memory", "--frontend", "chainer", "--against", "torch", "--only", *words)
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
