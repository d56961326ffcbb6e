"""What the two programs of nnabla's documentation of `nn.grad` compute, from given random numbers.

nnabla_documented/ has the same computations in words of our own.

    PYTHON -m tests.golden.documented

prints the values as JSON. The programs ask for the extension `cudnn`; without it they get `cpu`.
"""

import contextlib
import io
import json
import os
import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent / "nnabla_documented"
PROGRAMS = ("gradient_penalty", "tenth_order")


def run(interpreter):
    """{program: {name: values}} as the framework of `interpreter` computes them."""
    done = subprocess.run(
        [*interpreter, "-m", "tests.golden.documented"],
        cwd=FOLDER.parents[2],
        env={**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        timeout=300,
    )
    if done.returncode:
        raise RuntimeError(f"the documented programs ended with {done.returncode}:\n{done.stderr}")
    return json.loads(done.stdout)


def execute(name, extension):
    """The global names of a program after it ran from the seed 0, and what it printed."""
    import nnabla as nn
    import numpy as np

    np.random.seed(0)
    nn.random.seed(0)
    nn.clear_parameters()
    text = (FOLDER / f"{name}.py").read_text().replace('"cudnn"', f'"{extension}"')
    names, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(text, f"{name}.py", "exec"), names)
    return names, printed.getvalue()


def main():
    import nnabla as nn
    from nnabla.ext_utils import get_extension_context

    def short(array):
        values = array.ravel()
        return [float(f"{value:.8g}") for value in values[:: 1 + values.size // 250].tolist()]

    try:
        get_extension_context("cudnn")
        extension = "cudnn"
    except ModuleNotFoundError:
        extension = "cpu"
    result = {}
    names, _ = execute("gradient_penalty", extension)
    result["gradient_penalty"] = {
        "loss": short(names["loss"].d),
        "grads": [short(g.d) for g in names["grads"]],
        "parameters": {key: short(p.g) for key, p in nn.get_parameters().items()},
    }
    names, printed = execute("tenth_order", extension)
    result["tenth_order"] = {
        "printed": printed.splitlines()[:2],
        "registered": [line.split()[0] for line in printed.splitlines()[2:] if line.count("<function ")],
        "dnx": short(names["dnx"].d),
        "g": short(names["x"].g),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
