"""The library of CUDA kernels: what nvcc makes of it, how it is found, and what happens without."""

import json
import os
import shutil
import subprocess
import sys
import warnings
from dataclasses import replace

import pytest
import torch

from compatgrad import _C
from compatgrad._build import cuda
from compatgrad._build.compiler import build, file_hash, publish
from compatgrad._build.target import BuildError, source_root
from tests.kernels.places import names, opened


def test_every_kernel_has_its_cuda_launcher(simulated_library):
    assert names(opened(simulated_library)) == _C.kernel_names()


@pytest.mark.slow
def test_nvcc_compiles_all_of_it(nvcc, tmp_path):
    target = cuda.CudaTarget(nvcc, source_root())
    reports, folder = [], target.root / "build" / target.object_folder()
    made = build(target, folder, report=reports.append)  # what was compiled before stays
    assert not [line for line in reports if "warning" in line], reports
    library = publish(target, made, tmp_path)
    assert names(opened(library)) == _C.kernel_names()
    stamp = cuda.read_cuda_stamp(library)
    expected = replace(target.stamp(), module=file_hash(library), size=library.stat().st_size)
    assert stamp == expected and stamp.nvcc[0].isdigit()
    # machine code for two generations, and what later ones compile; in the file it is compressed
    assert all(arch in stamp.flags for arch in ("code=sm_80", "code=sm_90", "code=compute_90")), stamp.flags
    reports.clear()
    assert build(target, folder, report=reports.append) == made
    assert not [line for line in reports if line.startswith("[")]
    if shutil.which("nvidia-smi") is None:  # no driver: the library loads, and says that it cannot run
        assert opened(library).probe(0) != 0
        x = torch.ones(3)
        with pytest.raises(RuntimeError, match=r"sum_n on cpu: CUDA error \d+, [A-Za-z]"):
            _C.run_kernel("sum_n", [x, x], library=str(library))


@pytest.fixture
def sources(tmp_path, monkeypatch):
    """A checkout of a few sources, an empty cache, and no nvcc."""
    (tmp_path / "csrc/kernels").mkdir(parents=True)
    (tmp_path / "csrc/kernels/a.cu").write_text("int a;\n")
    monkeypatch.setattr(cuda, "source_root", lambda: tmp_path)
    monkeypatch.setattr(cuda, "PACKAGE", tmp_path / "package")
    monkeypatch.setattr(cuda, "find_nvcc", lambda: None)
    monkeypatch.setenv("COMPATGRAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv(cuda.SWITCH, raising=False)
    return tmp_path


def fake_nvcc(folder, monkeypatch, version="12.8.61"):
    """A program that answers as nvcc does and leaves what it is asked to make."""
    path = folder / "nvcc"
    path.write_text(
        f"""#!{sys.executable}
import sys
if "--version" in sys.argv:
    print("Cuda compilation tools, release 12.8, V{version}")
else:
    open({str(folder / "calls")!r}, "a").write(" ".join(sys.argv[1:]) + "\\n")
    open(sys.argv[sys.argv.index("-o") + 1], "w").write("made")
    if "-MF" in sys.argv:
        open(sys.argv[sys.argv.index("-MF") + 1], "w").write("a.o: csrc/kernels/a.cu")
"""
    )
    path.chmod(0o755)
    cuda.nvcc_version.cache_clear()
    monkeypatch.setattr(cuda, "find_nvcc", lambda: str(path))


def test_without_nvcc_it_is_said_what_to_do(sources):
    with pytest.warns(RuntimeWarning, match="no nvcc found.*install the CUDA toolkit.*CUDACXX.*ATen computes in place"):
        assert cuda.find_library() is None


def test_it_is_compiled_once_and_kept(sources, monkeypatch, capfd):
    fake_nvcc(sources, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = cuda.find_library()
        said = capfd.readouterr().err.splitlines()
        assert cuda.find_library() == first
    assert first.startswith(str(sources / "cache")) and "nvcc12.8.61" in first and open(first).read() == "made"
    assert len(said) == 2 and said[0].startswith("compatgrad: compiling the CUDA kernels, once")
    assert capfd.readouterr().err == ""
    assert json.loads(open(first + ".json").read())["nvcc"] == "12.8.61"
    compiled, linked = (sources / "calls").read_text().splitlines()
    for arch in ("arch=compute_80,code=sm_80", "arch=compute_90,code=sm_90", "arch=compute_90,code=compute_90"):
        assert f"-gencode {arch}" in compiled
    assert "-shared" in linked
    # without nvcc the build of any serves; another nvcc, and other sources, make builds of their own
    monkeypatch.setattr(cuda, "find_nvcc", lambda: None)
    assert cuda.find_library() == first
    fake_nvcc(sources, monkeypatch, version="13.0.1")
    assert cuda.find_library() != first
    (sources / "csrc/kernels/a.cu").write_text("int b;\n")
    assert len({first, cuda.find_library()}) == 2
    assert len(list((sources / "cache").iterdir())) == 3


def test_a_compile_error_is_shown(sources, monkeypatch):
    fake_nvcc(sources, monkeypatch)
    (sources / "nvcc").write_text("#!/bin/sh\necho 'a.cu(1): error: wrong' >&2\nexit 2\n")
    with pytest.warns(RuntimeWarning, match="cannot be compiled: .*(?s:.)*error: wrong"):
        assert cuda.find_library() is None


def test_it_can_be_switched_off(sources, monkeypatch):
    monkeypatch.setenv(cuda.SWITCH, "0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cuda.find_library() is None


def test_the_named_nvcc_must_be_there(monkeypatch):
    monkeypatch.setenv("CUDACXX", "/nowhere/nvcc")
    cuda.find_nvcc.cache_clear()
    with pytest.raises(BuildError, match="CUDACXX=/nowhere/nvcc is not a program; install"):
        cuda.find_nvcc()
    monkeypatch.undo()
    cuda.find_nvcc.cache_clear()


def test_info_says_what_is_there():
    done = subprocess.run(
        [sys.executable, "-m", "compatgrad", "info"], capture_output=True, text=True, env={**os.environ}
    )
    assert any(line.startswith("CUDA kernels:") for line in done.stdout.splitlines()), done.stdout
