"""The command line of a module of random programs."""

import argparse
import gzip
import json
import traceback


def rounded(value, digits):
    """The same nested lists with short numbers."""
    if isinstance(value, dict):
        digits = min(digits, 9) if value.get("dtype") == "float32" else digits
        return {key: rounded(item, digits) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value


def main(program, count, digits):
    """Run the programs of the module `program` and write their results.

    [--count N | --seed S...] [--out FILE.json.gz] [--show SEED]
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=count)
    parser.add_argument("--seed", type=int, nargs="*")
    parser.add_argument("--out")
    parser.add_argument("--show", type=int)
    args = parser.parse_args()
    if args.show is not None:
        made = program.Program(args.show)
        made.build()
        print("\n".join(made.lines))
        return
    seeds = range(args.count) if args.seed is None else args.seed
    results = {}
    for seed in seeds:
        try:
            results[str(seed)] = rounded(program.run(seed), digits)
        except Exception:
            results[str(seed)] = {"error": traceback.format_exc()}
    for seed, result in results.items():
        if "error" in result:
            print(f"random program {seed}:\n{result['error']}")
    if args.out:
        # No time in the file: the same results are the same bytes.
        with open(args.out, "wb") as f, gzip.GzipFile(fileobj=f, mode="wb", mtime=0) as z:
            z.write(json.dumps(results, separators=(",", ":")).encode())
