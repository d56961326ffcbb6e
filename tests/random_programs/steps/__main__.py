"""Runs random training runs and writes how they end.

python -m tests.random_programs.steps FRAMEWORK [--count N | --seed S...] [--out FILE.json.gz] [--show SEED]

FRAMEWORK is chainer, nnabla or mxnet. --show prints a run's actions and what it has after each.
"""

import argparse
import gzip
import importlib
import json

import numpy as np


def as_json(value):
    """Numbers and arrays as JSON has them, with nine digits."""
    if isinstance(value, np.ndarray):
        values = [float(f"{x:.9g}") for x in value.astype(np.float64).ravel()]
        return {"shape": list(value.shape), "dtype": value.dtype.name, "values": values}
    return float(f"{value:.9g}") if isinstance(value, float) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("framework", choices=["chainer", "nnabla", "mxnet"])
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, nargs="*")
    parser.add_argument("--out")
    parser.add_argument("--show", type=int)
    args = parser.parse_args()
    module = importlib.import_module(f"tests.random_programs.steps.{args.framework}_steps")
    if args.show is not None:
        for action, state in module.run(args.show)[0]:
            print(action, *(f"\n    {key}: {value}" for key, value in state.items()))
        return
    results = {}
    for seed in range(args.count) if args.seed is None else args.seed:
        actions, log = module.run(seed)
        last = {key: as_json(value) for key, value in actions[-1][1].items()}
        results[str(seed)] = {"actions": [name for name, _ in actions], "log": log, "last": last}
    if args.out:
        # No time in the file: the same results are the same bytes.
        with open(args.out, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(json.dumps(results, separators=(",", ":")).encode())


if __name__ == "__main__":
    main()
