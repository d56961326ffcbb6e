"""The example programs whose losses are recorded, and how each is run."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile
from collections.abc import Sequence

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "chainer"
NNABLA_EXAMPLES = ROOT / "examples" / "nnabla"
MXNET_EXAMPLES = ROOT / "examples" / "mxnet"
GOLDEN = pathlib.Path(__file__).resolve().parent
STEPS = 100
NNABLA_STEPS = 50
MXNET_STEPS = 50

# name -> (arguments that give at least 100 steps, the curves to compare). Accuracies are left out: they are
# counts, and one image on the border between two classes would make a step of a whole count.
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "train_digits_mlp": (["--epoch", "4"], ["loss"]),
    "train_digits_cnn": (["--epoch", "4"], ["loss"]),
    "train_text_lstm": (["--epoch", "6"], ["loss"]),
    "train_digits_wgan_gp": (["--epoch", "4"], ["loss", "penalty"]),
    "train_digits_trpo": (["--epoch", "20"], ["loss", "surrogate", "kl", "reward"]),
}
# The same for the nnabla programs, whose curves have NNABLA_STEPS values. No dropout: its numbers come from
# C++ in nnabla. And steps so short that they do not amplify the last bits of the sums, which differ.
NNABLA_PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "train_digits_classifier": (["--dropout", "0", "--learning-rate", "0.01"], ["loss"]),
    "train_digits_dcgan": (["--learning-rate", "0.0002"], ["generator", "discriminator"]),
    "train_digits_wgan_gp": ([], ["critic", "penalty"]),
    "train_digits_siren": ([], ["loss"]),
}
# The same for the MXNet programs; no dropout here either. The gradient penalty is missing: MXNet cannot
# differentiate it.
MXNET_PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "train_digits_mlp": (["--dropout", "0"], ["loss"]),
    "train_digits_cnn": (["--lr", "0.003", "--decay-at", "20", "40", "--devices", "2"], ["loss"]),
    "train_text_lstm": (["--dropout", "0", "--tied"], ["loss", "norm"]),
    "train_digits_function": ([], ["digit", "domain"]),
}


def run(name: str, interpreter: list[str], timeout: float = 600) -> tuple[dict[str, list[float]], str]:
    """Run one Chainer program with seed 0; return its curves over the first steps and what it printed."""
    arguments, curves = PROGRAMS[name]
    return _run(EXAMPLES / f"{name}.py", [*arguments, "--seed", "0"], curves, STEPS, interpreter, timeout)


def run_nnabla(
    name: str, interpreter: list[str], timeout: float = 600, extra: Sequence[str] = ()
) -> tuple[dict[str, list[float]], str]:
    """The same for an nnabla program, with `extra` arguments."""
    arguments, curves = NNABLA_PROGRAMS[name]
    arguments = [*arguments, "--seed", "0", "--max-iter", str(NNABLA_STEPS), *extra]
    return _run(NNABLA_EXAMPLES / f"{name}.py", arguments, curves, NNABLA_STEPS, interpreter, timeout)


def run_mxnet(
    name: str, interpreter: list[str], timeout: float = 600, extra: Sequence[str] = ()
) -> tuple[dict[str, list[float]], str]:
    """The same for an MXNet program, from parameters that are the same for all interpreters."""
    arguments, curves = MXNET_PROGRAMS[name]
    path, arguments = MXNET_EXAMPLES / f"{name}.py", [*arguments, "--seed", "0"]
    with tempfile.TemporaryDirectory() as folder:
        init = os.path.join(folder, "init.params")
        write_initial_parameters(path, arguments, init, interpreter)
        arguments = [*arguments, "--init", init, "--steps", str(MXNET_STEPS), *extra]
        return _run(path, arguments, curves, MXNET_STEPS, interpreter, timeout, option="--curve")


def write_initial_parameters(path: pathlib.Path, arguments: list[str], init: str, interpreter: list[str]) -> None:
    """Write parameters for the MXNet program `path` that tests/golden/mxnet_initial.py makes up."""
    execute([*interpreter, "-m", "tests.golden.mxnet_initial", init, str(path), *arguments])


def execute(command: list[str], timeout: float = 600) -> str:
    """Run a command on one thread; return what it printed. RuntimeError with that where it fails."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, timeout=timeout, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout + done.stderr


def _run(path, arguments, curves, steps, interpreter, timeout, option="--out"):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "losses.json")
        printed = execute([*interpreter, str(path), *arguments, option, out], timeout)
        records = json.loads(pathlib.Path(out).read_text())
    found = {curve: [record[curve] for record in records if curve in record][:steps] for curve in curves}
    for curve, values in found.items():
        if len(values) < steps:
            raise RuntimeError(f"{path.name} wrote {len(values)} values of {curve}, {steps} are needed")
    return found, printed
