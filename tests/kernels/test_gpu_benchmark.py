"""The command that measures what is asked of a GPU: that it runs, and says so where there is none."""

import subprocess
import sys

import pytest
import torch

import compatgrad.nnabla as nn
from compatgrad import _C
from tests.benchmarks import gpu


def run(*arguments):
    command = [sys.executable, "-m", "tests.benchmarks.gpu", *arguments]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_one_line():
    done = run()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "nothing measured: there is no CUDA device\n"


def test_every_kernel_is_measured():
    """All but those of images' places, which are no streams over memory, and what is made of the same parts: second
    derivatives, norms behind hooks."""
    sizes = gpu.Sizes("cpu", 10_000, 1000, 1)
    measured = {word for name in gpu.all_kernels(sizes) for word in name.replace(",", "").split()}
    left = {name for name in _C.kernel_names() if name not in measured}
    places = ("region_", "sample_", "window_", "deform_")
    assert {n for n in left if not n.startswith(places) and not n.endswith(("_grad_grad", "_after"))} == set()
    for name, make in gpu.all_kernels(sizes).items():
        step, moved = make()
        step()
        assert 10_000 <= moved < 200_000, (name, moved)


def test_rows(tmp_path):
    path = tmp_path / "rows.md"
    done = run("--try-on-cpu", "--only", "copy", "overhead", "--markdown", str(path))
    assert done.returncode == 0, done.stderr
    lines = path.read_text().splitlines()
    assert [line.split(" | ")[0] for line in lines] == ["| ", "| ---", "| copy", "| overhead"]
    rows = [
        gpu.Row("kernels", "a", 0.9, 0.85),
        gpu.Row("graph", "b", 2.0, 3.0),
        gpu.Row("optimizer", "c", 1.1, 1.0, True),
    ]
    assert [row.met for row in rows] == [True, False, False]
    text = gpu.table([*rows, gpu.Row("optimizer", "d", None, 1.0, True, "why")], "a GPU")
    assert "| kernels | a | 90% | at least 85% | yes |" in text and "| graph | b | 2 | at least 3 | NO |" in text
    assert "| optimizer | d | not measured | at most 1 |  | why |" in text


def test_networks_that_are_captured_run_on_the_cpu():
    for make in gpu.networks().values():
        nn.clear_parameters()
        loss = make()
        loss.forward(clear_no_need_grad=True)
        loss.backward(clear_buffer=True)
        assert float(loss.d) > 0
    nn.clear_parameters()
