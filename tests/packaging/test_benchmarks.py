"""`python -m tests.benchmarks`: that it measures and counts what it says."""

import json
import signal
import subprocess
import sys

import pytest
import torch

from tests.benchmarks import __main__ as bench
from tests.benchmarks import limit, second, second_native, second_torch, single, steps_torch, tables


def test_operations_and_bytes_of_a_perceptron():
    needs = limit.needs(lambda: steps_torch.mlp(5, 7, 3, 11))
    first, others = 5 * 7, 7 * 7 + 7 * 3
    # forward, gradients of weights, gradients of inputs, which the first layer does not need
    assert needs["operations"] == 2 * 11 * (2 * first + 3 * others)
    count = first + others + 7 + 7 + 3
    assert needs["kept"] == 4 * 4 * count
    assert needs["moved"] == 4 * (4 + 3 + 2 + 1) * count


def test_operations_of_a_gradient_of_a_gradient_are_counted():
    found = limit.needs(steps_torch.wgan_gp)["operations"]
    first, second, last = 16 * 16 * 16 * 16 * 3 * 16, 16 * 8 * 8 * 32 * 16 * 16, 16 * 32 * 8 * 8
    # forward, gradient and gradient of the gradient of each layer, or nearly
    assert 2 * 5 * (first + second + last) < found < 2 * 7 * (first + second + last)


@pytest.mark.parametrize("groups, transposed", [(1, False), (4, False), (8, False), (1, True), (4, True)])
def test_operations_of_convolutions_with_groups(groups, transposed):
    kind = torch.nn.ConvTranspose2d if transposed else torch.nn.Conv2d
    layer = kind(8, 8, 3, padding=1, groups=groups, bias=False)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    x = torch.rand(2, 8, 6, 6, requires_grad=True)

    def make():
        torch.optim.SGD(layer.parameters(), 0.1)
        return lambda: (layer(x).sum().backward(), optimizer.step())

    # forward, and the gradients of the image and of the filters
    assert limit.needs(make)["operations"] == 3 * 2 * 2 * 8 * 36 * 8 // groups * 9


def test_operations_and_bytes_of_inference():
    def make():
        model = torch.nn.Sequential(
            torch.nn.Conv2d(3, 5, 3, bias=False), torch.nn.Flatten(), torch.nn.Linear(5 * 36, 7)
        )
        x = torch.rand(2, 3, 8, 8)

        def step():
            with torch.inference_mode():
                return model(x)

        return step

    needs = limit.needs(make)
    assert needs["operations"] == 2 * 2 * (5 * 36 * 27 + 5 * 36 * 7)
    assert needs["moved"] == needs["kept"] == 4 * (5 * 27 + 7 * (5 * 36 + 1))


def test_rates_are_those_of_a_machine():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # beside other programs each part of several threads waits for the slowest
    try:
        assert 1e8 < limit.product_rate() < 1e14
        assert 1e8 < limit.copy_rate(1 << 20) < 1e13
    finally:
        torch.set_num_threads(threads)


def test_a_quick_run():
    command = ["-m", "tests.benchmarks", "--quick", "--only", "mlp_tiny", "--frontend", "chainer", "--limit"]
    done = subprocess.run([sys.executable, *command, "--json", "-"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (row,) = found["rows"]
    assert (row["workload"], row["framework"], row["against"], row["unit"]) == ("mlp_tiny", "compatgrad", "torch", "ms")
    assert 0 < row["ratio"] < 100 and 0 < found["limits"]["mlp_tiny"]["products"] < row["value"]


@pytest.mark.parametrize("document", tables.DOCUMENTS, ids=lambda path: path.name)
def test_tables_show_the_recorded_run(document):
    text = document.read_text()
    assert "<!-- figures: " in text and tables.written(text) == text


def test_a_table_has_the_figures_of_all_programs(monkeypatch, tmp_path):
    def row(framework, against, value, other, target, rounds=3):
        ratio = value / other
        return {
            "workload": "cnn", "framework": framework, "against": against, "unit": "ms", "threads": 1,
            "value": value, "other": other, "ratio": ratio, "target": target, "met": ratio <= target, "rounds": rounds,
        }  # fmt: skip

    file = tmp_path / "figures.json"
    rows = [row("compatgrad", "torch", 2.0, 3.0, 1), row("compatgrad", "JAX", 2.0, 1.0, 0.5)]
    # the figure of a program that was measured twice is that of the run with more rounds
    rows += [row("mx", "MXNet", 130.0, 1000.0, 1, rounds=1), row("mx", "torch", 123.4, 246.8, 1)]
    file.write_text(json.dumps({"rows": rows, "limits": {"cnn": {"products": 0.001, "moves": 0.0001}}}))
    monkeypatch.setattr(tables, "RECORDED", file)
    assert tables.written("a\n\n<!-- figures: steps -->\n\n| old |\n\nb") == (
        "a\n\n<!-- figures: steps -->\n\n"
        "| workload | program | compatgrad | torch | JAX | original | share of the limit |\n"
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |\n"
        "| cnn | Chainer | 2.00 | 3.00 (0.67) | 1.00 (**2.00**) |  | 50%, 5% |\n"
        "| cnn | MXNet | 123 | 247 (0.50) |  | 1000 (0.13) | 1%, 0% |\n\nb"
    )


def benchmarks(*arguments, module="tests.benchmarks"):
    return subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"rows": 1, "limits": {}}', None], ids=["damaged", "list", "rows", "folder"]
)
def test_a_file_in_which_no_run_can_be_recorded_is_named_before_measuring(tmp_path, text):
    file = tmp_path / "nowhere" / "figures.json" if text is None else tmp_path / "figures.json"
    if text is not None:
        file.write_text(text)
    done = benchmarks("--quick", "--only", "mlp_tiny", "--json", str(file))
    assert done.returncode == 2 and "--json: " in done.stderr and "Traceback" not in done.stderr
    assert text is None or file.read_text() == text


def test_an_interrupt_records_what_was_measured(tmp_path):
    file = tmp_path / "figures.json"
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks",
        "--frontend",
        "chainer",
        "--only",
        "chain fb",
        "resnet50 train",
    ]
    process = subprocess.Popen(
        [*command, "--quick", "--json", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    lines = [process.stdout.readline() for _ in range(3)]  # of the header and of the first workload
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in errors and "chain fb" in lines[1]
    assert {row["workload"] for row in json.loads(file.read_text())["rows"]} == {"chain fb"}
    assert list(tmp_path.iterdir()) == [file]


def test_a_program_that_is_killed_is_named():
    worker = bench.Worker([sys.executable, "-c", "import os, sys; sys.stdin.readline(); os.kill(os.getpid(), 9)"])
    with pytest.raises(bench.Failure, match="chain fb: .* ended with -9"):
        worker.seconds("chain fb", 1, 1)
    worker.close()


def test_a_program_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(bench, "_PATIENCE", 0.1)
    worker = bench.Worker([sys.executable, "-c", "import time; time.sleep(1000)"])
    worker.close()
    assert worker.process.returncode == -9


@pytest.mark.parametrize("text", [None, "{", '{"rows": []}'])
def test_tables_without_recorded_runs(monkeypatch, tmp_path, text, capsys):
    file = tmp_path / "figures.json"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(tables, "RECORDED", file)
    with pytest.raises(SystemExit):
        tables.main([])
    assert f"{file}: " in capsys.readouterr().err


def test_an_interpreter_that_is_not_there():
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", "--jax", "nowhere/python"], capture_output=True, text=True
    )
    assert done.returncode == 2 and "--jax: there is no interpreter nowhere/python" in done.stderr


@pytest.mark.parametrize("option", ["chainer", "nnabla", "mxnet", "jax"])
def test_an_interpreter_without_the_framework(option, tmp_path):
    python = tmp_path / "python"  # refuses every import but those of its own start
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "tests.benchmarks", f"--{option}", str(python)], capture_output=True, text=True
    )
    said = f"--{option}: {python} cannot import {option}: ModuleNotFoundError: No module named '{option}'"
    assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("order", [1, 3])
def test_derivatives_of_an_order(order):
    from tests.benchmarks import chain_torch
    from tests.benchmarks.chain import workloads

    seen = []

    def grad(y, again):
        seen.append(again)
        return y

    made = workloads(None, None, chain_torch.forward, lambda y: y.sum(), grad)
    made[f"order {order}"]()()
    assert seen == [True] * (order - 1) + [False]


@pytest.mark.parametrize("name", second.NAMES)
def test_programs_that_differentiate_twice_compute_the_same(name, monkeypatch):
    def outcome(module):
        # With other seeds an input of a ReLU is zero to rounding on one side, and gradients differ by a hundredth from
        # those in double precision, now torch's, now the engine's.
        torch.manual_seed(1)
        step = second.programs(module.penalty, module.hessian, module.sine, module.images)[name]()
        if name == "second hessian":
            return [v if isinstance(v, torch.Tensor) else v.tensor for v in step()]
        optimizer, lossfun = step
        loss = lossfun()
        loss.backward()
        value = loss.detach() if isinstance(loss, torch.Tensor) else loss.tensor
        return [value, *(p.grad for p in optimizer.param_groups[0]["params"])]

    for module in (second_torch, second_native):
        monkeypatch.setattr(module, "training_step", lambda *arguments: arguments)
    for expected, actual in zip(outcome(second_torch), outcome(second_native), strict=True):
        # a bias before a batch normalization has no gradient, only rounding errors
        torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-6 + 1e-3 * expected.abs().max().item())


def test_programs_that_differentiate_twice_run_if_they_are_named():
    command = [sys.executable, "-m", "tests.benchmarks", "--quick", "--rounds", "1", "--json", "-"]
    done = subprocess.run([*command, "--only", "second sine, 1"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [
        (row["workload"], row["framework"], row["against"], row["target"]) for row in json.loads(done.stdout)["rows"]
    ]
    assert found == [("second sine, 1", name, "torch", 0.8) for name in ("native", "compatgrad")]


@pytest.mark.parametrize("arguments, said", [
    ([], "expected an interpreter of an original: --mxnet PYTHON, --nnabla PYTHON, --chainer PYTHON"),
    (["--chainer", "/nowhere/python"], "--chainer /nowhere/python: there is no such program"),
    (["--chainer", sys.executable, "--only", "flip", "softsign"],
     "--only softsign: no call of chainer has this in its name; the calls are `huber_loss`; `huber_loss` of float64;"),
])  # fmt: skip
def test_single_calls_that_would_print_no_row_are_an_error(arguments, said, capsys):
    with pytest.raises(SystemExit) as e:
        single.main(arguments)
    assert e.value.code == 2 and said in capsys.readouterr().err
