"""Wheels that are named after the torch that they are compiled for (`make wheels`)."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import numpy
import pytest
import torch

import compatgrad
from tests.packaging.test_build import ANSWER

ROOT = Path(__file__).resolve().parents[2]
TRAIN = """
import numpy as np, chainer, chainer.functions as F, chainer.links as L
from chainer import optimizers
import compatgrad._C
x = np.random.RandomState(0).rand(64, 3).astype(np.float32)
t = x @ np.float32([[1], [-2], [3]])
net = chainer.Sequential(L.Linear(3, 16), F.tanh, L.Linear(16, 1))
optimizer = optimizers.Adam(0.01).setup(net)
for _ in range(200):
    loss = F.mean_squared_error(net(x), t)
    net.cleargrads()
    loss.backward()
    optimizer.update()
print(float(loss.array) < 0.1, compatgrad._C.__file__)
"""


def wheel_of(checkout) -> Path:
    done = checkout.python("-m", "compatgrad._build", "--wheel", "out", cwd=checkout.root)
    assert done.returncode == 0, done.stderr
    return checkout.root / done.stdout.strip()


def test_the_name_says_which_torch(checkout):
    checkout.install_torch("2.13.0+cpu")
    wheel = wheel_of(checkout)
    python = f"cp{sysconfig.get_config_var('py_version_nodot')}"
    assert wheel.name.startswith(f"compatgrad-{compatgrad.__version__}+torch2.13.0.cpu-{python}-{python}")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
        assert metadata == f"compatgrad-{compatgrad.__version__}+torch2.13.0.cpu.dist-info/METADATA"
        assert f"\nVersion: {compatgrad.__version__}+torch2.13.0.cpu\n" in archive.read(metadata).decode()
    checkout.install_torch("2.14.0", git="b" * 40, cuda="13.0")
    other = wheel_of(checkout)
    assert "+torch2.14.0-" in other.name and wheel.exists()


def test_without_torch_there_is_no_such_wheel(checkout):
    checkout.hide_torch()
    done = checkout.python("-m", "compatgrad._build", "--wheel", "out", cwd=checkout.root)
    assert done.returncode == 1 and "install the torch that the wheel is for" in done.stderr


def test_a_build_that_fails_leaves_no_wheel(checkout):
    checkout.write("site/csrc/ops/broken.cpp", "int broken( {\n")
    done = checkout.python("-m", "compatgrad._build", "--wheel", "out", cwd=checkout.root)
    assert done.returncode == 1 and "broken.cpp" in done.stderr
    assert not list((checkout.root / "out").iterdir())


def install(wheel: Path, python: Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", wheel]
    subprocess.run([*map(str, command), "--quiet", "--disable-pip-version-check"], check=True)


def test_with_another_torch_it_says_so_and_compiles(checkout):
    wheel = wheel_of(checkout)
    venv = checkout.folder / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    install(wheel, venv / "bin/python")
    checkout.executable = venv / "bin/python"
    env = {"PYTHONPATH": str(checkout.folder / "torches")}
    checkout.install_torch("2.13.0+cpu", where="torches")
    first = checkout.python("-c", ANSWER, env=env)
    assert first.stdout.startswith(f"42 compatgrad._C {venv}/") and first.stderr == ""
    checkout.install_torch("2.14.0", git="b" * 40, where="torches")
    other = checkout.python("-c", ANSWER, env=env)
    assert other.stdout.startswith(f"42 compatgrad._C {checkout.folder}/.cache/compatgrad/"), other.stderr
    assert "was built for torch 2.13.0+cpu" in other.stderr and "compiling it for torch 2.14.0" in other.stderr


@pytest.mark.slow
def test_a_real_wheel_trains_in_an_empty_environment(tmp_path):
    """The wheel of this checkout, in an environment that has torch and NumPy and nothing else of compatgrad."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(("COMPATGRAD_", "PYTHON"))}
    command = [sys.executable, "-m", "compatgrad._build", "--wheel", str(tmp_path)]
    made = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "torch.pth").write_text(f"{Path(torch.__file__).parents[1]}\n{Path(numpy.__file__).parents[1]}\n")
    install(Path(made.stdout.strip()), venv / "bin/python")
    (tmp_path / "train.py").write_text(TRAIN)
    done = subprocess.run(
        [venv / "bin/python", "-m", "compatgrad", "run", "train.py"],
        cwd=tmp_path,
        env=env | {"COMPATGRAD_NO_COMPILE": "1", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["True", str(next(site.glob("compatgrad/_lib/_C.*.so")))], done.stderr
