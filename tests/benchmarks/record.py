"""python -m tests.benchmarks.record [--chainer PYTHON] [--nnabla PYTHON] [--mxnet PYTHON] [--jax PYTHON] [--only PART…]

Records the runs from which the tables of docs/benchmarks.md are written, in tests/benchmarks/figures.json, and writes
the tables. Takes 80 minutes on two cores, which should do nothing else.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

from tests.benchmarks import tables

# part -> the options of `tests.benchmarks`, and the originals that run beside compatgrad
PARTS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "steps": (
        ["--quick", "--limit", "--compiled", "--only", *tables.STEPS],
        ("chainer", "nnabla", "mxnet", "jax"),
    ),
    "large": (
        ["--quick", "--large", "--limit", "--against", "torch best", "MXNet", "nnabla static"],
        ("nnabla", "mxnet"),
    ),
    "threads": (["--quick", "--large", "--frontend", "chainer", "--threads", "2", "--against", "torch best"], ()),
    "second": (["--quick", "--only", *tables.SECOND, "--compiled", "--frontend", "chainer"], ("chainer", "jax")),
    "recurrent": (["--quick", "--only", "lstm layer", "gru layer", "lstm cells"], ("nnabla", "mxnet")),
    "memory": (["--memory", "--rounds", "1"], ("nnabla", "mxnet")),
}


def main() -> None:
    about = (__doc__ or "").split("\n\n")[1]
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.record", description=about)
    titles = {"chainer": "Chainer 7.8.1", "nnabla": "nnabla 1.39.0", "mxnet": "MXNet 1.9.1", "jax": "JAX"}
    for name, title in titles.items():
        parser.add_argument(f"--{name}", metavar="PYTHON", help=f"an interpreter in which {title} runs")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="measure only these parts")
    args = parser.parse_args()
    for part in args.only:
        options, originals = PARTS[part]
        command = [sys.executable, "-m", "tests.benchmarks", "--json", str(tables.RECORDED), *options]
        for name in originals:
            if python := getattr(args, name):
                command += [f"--{name}", python]
        print("$", *command, flush=True)
        subprocess.run(command, cwd=tables.ROOT, check=True)
    tables.main([])


if __name__ == "__main__":
    main()
