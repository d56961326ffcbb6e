"""`python -m compatgrad test`: it passes here, and each fault planted in what it checks is reported by name."""

import json
import os
import subprocess
import sys
import textwrap

import pytest
import torch

import compatgrad
import compatgrad.chainer
import compatgrad.mxnet
import compatgrad.nnabla
import compatgrad.nnabla.functions
from compatgrad import _C
from compatgrad.tools.test import kernels, main, worker


def command(*arguments, path=None, cwd=None):
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if path is not None:
        environment["PYTHONPATH"] = os.pathsep.join([str(path), os.environ.get("PYTHONPATH", "")])
    done = [sys.executable, "-m", "compatgrad", *arguments]
    return subprocess.run(done, capture_output=True, text=True, env=environment, cwd=cwd)


@pytest.fixture(scope="module")
def report():
    done = command("test", "--format", "json")
    return done.returncode, json.loads(done.stdout)


def test_this_installation_works(report):
    code, found = report
    assert code == 0 and not found["failed"] and found["schema"] == 1
    by_name = {check["name"]: check for check in found["checks"]}
    for frontend in ("chainer", "nnabla", "mxnet"):
        for what in ("import {}", "{} trains", "{} differentiates", "{} files"):
            assert by_name[what.format(frontend)]["status"] == "ok", by_name
    assert by_name["kernels"]["detail"].startswith(f"{len(_C.kernel_names())} of {len(_C.kernel_names())} kernels")
    assert set(by_name["speed"]["detail"]) == {"torch", "chainer", "nnabla", "mxnet"}
    assert all(0.1 < us < 1e4 for us in by_name["speed"]["detail"].values())
    assert found["facts"]["compatgrad"].startswith(compatgrad.__version__) and "numpy" in found["facts"]
    assert found["seconds"] < 30


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_machine_without_gpu_is_told_so(report):
    (gpu,) = [check for check in report[1]["checks"] if "GPU" in check["name"]]
    assert gpu["status"] == "absent" and "nothing was checked on a GPU" in gpu["detail"]


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_a_gpu_is_checked(report):
    by_name = {check["name"]: check["status"] for check in report[1]["checks"]}
    assert by_name["GPU"] == by_name["kernels on the GPU"] == by_name["mxnet trains on the GPU"] == "ok"


def failures(checks=None):
    results = []
    worker.run(results.append)
    return {r["name"]: r["detail"] for r in results if r.get("status") == "failed"}


@pytest.fixture
def quick(monkeypatch):
    """Without the check that starts another Python."""
    monkeypatch.setattr(worker, "_run", lambda: "")
    monkeypatch.setattr(worker, "_speed", lambda: {})


def test_wrong_functions_of_a_frontend_are_found(monkeypatch, quick):
    chainer, functions = compatgrad.chainer, compatgrad.nnabla.functions
    relu, exp = chainer.functions.relu, functions.exp
    monkeypatch.setattr(chainer.functions, "relu", lambda x: relu(x) * 1.002)
    monkeypatch.setattr(functions, "exp", lambda x: exp(x * 1.0001))
    monkeypatch.setattr(compatgrad.mxnet.gluon.nn.Dense, "save_parameters", lambda self, path: open(path, "w").close())
    found = failures()
    assert set(found) == {"chainer trains", "nnabla differentiates", "mxnet files"}
    assert "loss is" in found["chainer trains"] and "the original's is" in found["chainer trains"]


def changed(kernel, monkeypatch):
    run = _C.run_kernel

    def run_kernel(name, operands, *rest, **more):
        result = run(name, operands, *rest, **more)
        if name == kernel:
            lists = [[result]] if more.get("sums") else [x if isinstance(x, (list, tuple)) else [x] for x in operands]
            for tensor in (tensor for row in lists for tensor in row if tensor.is_floating_point()):
                tensor.add_(0.1)
        return result

    monkeypatch.setattr(_C, "run_kernel", run_kernel)


KERNELS = "adam mx_ftrl sum_n sum_of_squares sum_of_squares_after count_not_finite scale_by lstm gru_grad"


@pytest.mark.parametrize("kernel", [*KERNELS.split(), "tree_lstm_grad_grad", "window_sums", "window_scatter"])
def test_a_wrong_kernel_is_named(monkeypatch, kernel):
    changed(kernel, monkeypatch)
    with pytest.raises(kernels.Wrong, match=f"^{kernel}.*numbers differ.*expected"):
        worker._kernels("cpu")


@pytest.mark.parametrize("op", ["roi_align", "roi_max_align", "roi_average", "roi_max", "deform_columns"])
def test_a_wrong_operation_on_regions_is_named(monkeypatch, op):
    right = getattr(compatgrad.ops, op)

    def wrong(x, *more, **params):
        y = right(x, *more, **params)
        return y[0] * 1.01 if isinstance(y, tuple) else y * 1.01

    monkeypatch.setattr(compatgrad.ops, op, wrong)
    with pytest.raises(kernels.Wrong, match=f"^{op}, torch.float32"):
        worker._kernels("cpu")


def package(folder, code):
    (folder / "torch").mkdir()
    (folder / "torch" / "__init__.py").write_text(textwrap.dedent(code))
    return folder


def test_a_crash_is_the_failure_of_the_check_that_ran(tmp_path):
    done = command("test", path=package(tmp_path, "import os; os.abort()"))
    assert done.returncode == 1
    assert "FAILED import compatgrad" in done.stdout and "SIGABRT" in done.stdout
    assert "Fatal Python error: Aborted" in done.stdout  # where it crashed
    assert "bug report" in done.stdout and "Python: " in done.stdout and "error: " in done.stdout


def test_checks_that_hang_end(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(package(tmp_path, "import time; time.sleep(60)")))
    assert main(["--timeout", "1", "--format", "json"]) == 1
    (check,) = json.loads(capsys.readouterr().out)["checks"]
    assert check["name"] == "import compatgrad" and "1 s" in check["detail"]


def test_the_folder_of_the_user_does_not_matter(tmp_path, report):
    """A file there that is called as a module of Python or of the package is not imported."""
    for name in ("numpy", "torch", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('wrong file')")
    code = "import sys; sys.path.remove(''); from compatgrad.tools.test import main; sys.exit(main([]))"
    parent = os.path.dirname(os.path.dirname(compatgrad.__file__))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path,
                          env={**os.environ, "PYTHONPATH": parent})  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Everything works" in done.stdout


def test_wrong_command_lines():
    with pytest.raises(SystemExit) as stopped:
        main(["--form", "json"])
    assert stopped.value.code == 2


def test_an_unknown_command_is_answered_with_the_one_meant():
    run = subprocess.run(
        [sys.executable, "-m", "compatgrad", "verfy"], capture_output=True, text=True, check=False, timeout=100
    )
    assert run.returncode == 2 and "unknown command 'verfy' (did you mean verify?); see" in run.stderr


def test_info_as_json():
    done = command("info", "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 0 and found["schema"] == 1
    assert found["facts"]["numpy"] and torch.__version__ in found["facts"]["torch"]
    assert command("info", "--json", "x").returncode == 2
