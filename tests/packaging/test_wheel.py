"""What pip gets: the wheel, the editable wheel, the source archive."""

import csv
import email
import io
import re
import shutil
import sys
import sysconfig
import tarfile
import zipfile

import pytest

from compatgrad._build.cuda import find_nvcc
from tests.kernels.places import CSRC, names, opened

BUILD = "import sys; from compatgrad._build import backend; print(backend.{hook}({folder!r}))"
ANSWER = "import compatgrad._C as c; print(c.answer, c.__file__)"


def build(checkout, hook, env=None):
    """Runs a hook as pip does, in the checkout; returns the path of what it made."""
    folder = checkout.folder / "dist"
    folder.mkdir(exist_ok=True)
    name = checkout.output(BUILD.format(hook=hook, folder=str(folder)), cwd=checkout.root, env=env)
    return folder / name.strip()


def unpacked(checkout, wheel):
    where = checkout.folder / "installed"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(where)
    (checkout.root / "torch").rename(where / "torch")
    return {"PYTHONPATH": str(where)}


def test_wheel_with_torch_holds_a_module_for_it(checkout):
    wheel = build(checkout, "build_wheel")
    python = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert re.fullmatch(rf"compatgrad-[\d.]+-{python}-{python}t?-linux_\w+\.whl", wheel.name)
    done = checkout.python("-c", ANSWER, env=unpacked(checkout, wheel))
    assert done.stdout.startswith(f"42 {checkout.folder}/installed/compatgrad/_lib/"), done.stderr
    assert not (checkout.package / "_lib").exists()


def test_wheel_without_torch_compiles_at_first_import(checkout):
    checkout.hide_torch()
    wheel = build(checkout, "build_wheel")
    assert wheel.name.endswith("-py3-none-any.whl")
    checkout.install_torch()
    done = checkout.python("-c", ANSWER, env=unpacked(checkout, wheel))
    assert done.stdout.startswith(f"42 {checkout.folder}/.cache/"), done.stderr


@pytest.mark.slow
def test_wheel_for_a_torch_with_cuda_holds_the_kernels(checkout):
    nvcc = find_nvcc()
    if nvcc is None:
        pytest.skip("there is no nvcc")
    env, library = {"CUDACXX": nvcc}, "compatgrad/_lib/libcompatgrad_cuda.so"
    (checkout.root / "csrc/kernels").mkdir()
    for pattern in ("*.h", "*.cuh", "library.cu", "sum.cu", "reduce.cu"):
        for path in (CSRC / "kernels").glob(pattern):
            shutil.copy(path, checkout.root / "csrc/kernels")
    with zipfile.ZipFile(build(checkout, "build_wheel", env)) as archive:
        assert not [name for name in archive.namelist() if "cuda" in name and "_lib" in name]
        assert "compatgrad/csrc/kernels/sum.cu" in archive.namelist()  # from which they are compiled at first use
    checkout.install_torch(cuda="13.0")
    wheel = build(checkout, "build_wheel", env)
    with zipfile.ZipFile(wheel) as archive:
        assert {library, library + ".json"} <= set(archive.namelist())
    # found, not compiled: the nvcc named here makes nothing
    stand_in = checkout.write("nvcc", f"#!/bin/sh\n[ $1 = --version ] && exec {nvcc} --version; exit 1\n")
    stand_in.chmod(0o755)
    code = "from compatgrad._build.cuda import find_library; print(find_library())"
    done = checkout.python("-c", code, env=unpacked(checkout, wheel) | {"CUDACXX": str(stand_in)})
    assert (done.stdout, done.stderr) == (f"{checkout.folder}/installed/{library}\n", "")
    assert names(opened(done.stdout.strip())) == ["count_not_finite", "sum_n", "sum_of_squares"]


def test_wheel_is_well_formed(checkout):
    checkout.write("site/compatgrad/__pycache__/stale.pyc", "")
    checkout.write("site/compatgrad/_lib/stale.so", "")
    types = ["compatgrad/py.typed", "compatgrad/ops/__init__.pyi"]
    for name in types:
        checkout.write(f"site/{name}", "")
    with zipfile.ZipFile(build(checkout, "build_wheel")) as archive:
        names = archive.namelist()
        (record,) = [name for name in names if name.endswith(".dist-info/RECORD")]
        listed = [row[0] for row in csv.reader(io.StringIO(archive.read(record).decode()))]
        metadata = email.message_from_bytes(archive.read(record.replace("RECORD", "METADATA")))
        scripts = archive.read(record.replace("RECORD", "entry_points.txt")).decode()
    assert sorted(listed) == sorted(names) and len(set(names)) == len(names)
    assert not [name for name in names if "stale" in name]
    for name in ["compatgrad/csrc/core/answer.h", "compatgrad/chainer/links/connection/linear.py", *types]:
        assert name in names
    assert record.replace("RECORD", "licenses/LICENSE") in names
    required = [name for name in metadata.get_all("Requires-Dist") if "extra" not in name]
    assert sorted(re.match(r"\w+", name)[0] for name in required) == ["numpy", "torch"]
    assert metadata["Name"] == "compatgrad" and metadata["License-Expression"] == "Apache-2.0"
    assert "compatgrad = compatgrad.__main__:main" in scripts


def test_metadata_is_prepared_without_compiling(checkout):
    folder = build(checkout, "prepare_metadata_for_build_wheel")
    assert (folder / "METADATA").exists() and not (checkout.root / "build").exists()


def test_editable_wheel_builds_in_place(checkout):
    with zipfile.ZipFile(build(checkout, "build_editable")) as archive:
        (path,) = [name for name in archive.namelist() if name.endswith(".pth")]
        assert archive.read(path).decode().strip() == str(checkout.root)
    assert checkout.output(ANSWER).startswith(f"42 {checkout.package}/_lib/")


def test_source_archive_builds_a_wheel(checkout):
    archive = build(checkout, "build_sdist")
    where = checkout.folder / "sources"
    with tarfile.open(archive) as file:
        file.extractall(where, filter="data")
    (root,) = where.iterdir()
    assert (root / "PKG-INFO").exists() and not list(root.rglob("_lib"))
    code = BUILD.format(hook="build_wheel", folder=str(checkout.folder))
    done = checkout.python("-c", code, cwd=root, env={"PYTHONPATH": f"{root}:{checkout.root}"})
    assert done.returncode == 0 and "compatgrad-" in done.stdout, done.stderr
    assert (root / "build").exists()


def test_python_tag_is_in_the_module_name(checkout):
    with zipfile.ZipFile(build(checkout, "build_wheel")) as archive:
        assert f"compatgrad/_lib/_C{sysconfig.get_config_var('EXT_SUFFIX')}" in archive.namelist()
