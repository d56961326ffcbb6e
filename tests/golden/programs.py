"""The example programs whose losses are recorded, and how each is run."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / "chainer"
GOLDEN = pathlib.Path(__file__).resolve().parent
STEPS = 100

# name -> (arguments that give at least 100 steps, the curves to compare). Accuracies are left out: they are
# counts, and one image on the border between two classes would make a step of a whole count.
PROGRAMS: dict[str, tuple[list[str], list[str]]] = {
    "train_digits_mlp": (["--epoch", "4"], ["loss"]),
    "train_digits_cnn": (["--epoch", "4"], ["loss"]),
    "train_text_lstm": (["--epoch", "6"], ["loss"]),
    "train_digits_wgan_gp": (["--epoch", "4"], ["loss", "penalty"]),
    "train_digits_trpo": (["--epoch", "20"], ["loss", "surrogate", "kl", "reward"]),
}


def run(name: str, interpreter: list[str], timeout: float = 600) -> tuple[dict[str, list[float]], str]:
    """Run one program with seed 0; return its curves over the first 100 steps and what it printed."""
    arguments, curves = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "losses.json")
        command = [*interpreter, str(EXAMPLES / f"{name}.py"), *arguments, "--seed", "0", "--out", out]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, timeout=timeout, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
        records = json.loads(pathlib.Path(out).read_text())
    if len(records) < STEPS:
        raise RuntimeError(f"{name} made {len(records)} steps, {STEPS} are needed")
    return {curve: [record[curve] for record in records[:STEPS]] for curve in curves}, done.stdout
