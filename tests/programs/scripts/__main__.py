"""Runs Chainer's example scripts on the original and here, and compares what they print, learn and write.

    python tests/programs/scripts/made.py DATA        (by the original, once)
    python -m tests.programs.scripts --examples DIR --data DATA --legacy PYTHON [--python PYTHON] [--only NAME…]

DIR is the folder `examples` of Chainer's repository. Both interpreters need the packages optuna 2.10, librosa 0.9,
pycocotools, mpi4py with an MPI, gym 0.12 and nltk.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any

from tests.programs.compare import compare
from tests.programs.scripts.cases import CASES, REFUSED, Command

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[-+]?\d+)?(?![\w])")
CURSOR = re.compile(r"\x1b\[\d*[AJ]")
TIMES = re.compile(
    r"\(t=[\d.]+s\)|took [\d.]+|done\. [\d.]+|\[\d{4}-\d\d-\d\d[^]]*\]|[\d.]+ ?(sec|iters?/sec|words/sec)|throughput.*"
)


def numbers(printed: str) -> tuple[list[float], str]:
    """The numbers in a script's output, without times, and the text around them."""
    found: list[float] = []

    def take(m: re.Match[str]) -> str:
        found.append(float(m.group()))
        return "#"

    text = NUMBER.sub(take, TIMES.sub("TIME", CURSOR.sub("", printed)))
    return found, re.sub(r"[ \t]+", " ", text)


def run(
    case: str, commands: list[Command], here: bool, seed: int | None, options: argparse.Namespace
) -> dict[str, Any]:
    """Run the commands of a case in sequence in a fresh copy of the examples."""
    result: dict[str, Any] = {"curves": {}, "text": [], "ended": [], "error": ""}
    with tempfile.TemporaryDirectory(prefix="scripts.") as folder:
        examples = pathlib.Path(folder, "examples")
        shutil.copytree(options.examples, examples)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
            "CHAINER_DTYPE": "float64" if options.double else "float32",
            "CHAINER_DATASET_ROOT": str(options.data / "root"),
            "NLTK_DATA": str(options.data / "nltk"),
        }
        if here:
            environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        python = [options.python, "-m", "compatgrad", "run"] if here else [options.legacy]
        for number, c in enumerate(commands):
            cwd = examples / c.folder
            for name in c.links:
                if not (cwd / name).exists():
                    (cwd / name).symlink_to(options.data / name)
            out = pathlib.Path(folder, f"{number}.json")
            words = [FOLDER / "harness.py", "--out", out, "--iterations", c.iterations]
            words += [] if seed is None else ["--perturb", seed]
            for text, other in c.edits:
                words += ["--edit", text, other]
            words += [c.script, *(a.replace("{data}", str(options.data)) for a in c.arguments)]
            done = subprocess.run(
                [*python, *map(str, words)],
                cwd=cwd,
                env=environment,
                capture_output=True,
                text=True,
                input=c.typed,
                timeout=options.limit,
            )
            if not out.exists():
                result["error"] = done.stderr
                result["ended"].append(["dies"])
                return result
            left = json.loads(out.read_text())
            printed, text = numbers(done.stdout.replace(folder, ""))
            result["curves"].update({f"{number}: {k}": v for k, v in left["curves"].items()})
            result["curves"][f"{number}: printed"] = printed
            result["text"] += [*text.splitlines(), *left["files"], *(f"{n}: rounding errors" for n in left["left_out"])]
            result["ended"].append(left["ended"])
            result["error"] += left["error"]
            if options.keep:
                keep = options.keep / f"{case}.{number}.{'here' if here else 'original'}.{seed}"
                keep.write_text(done.stdout + done.stderr)
    return result


def stopped(*sides: dict[str, Any]) -> bool:
    """Whether on each side the script ended with an error before it left a number to compare."""
    return all(
        side["ended"][-1] != ["returns"]
        and not any(v for k, v in side["curves"].items() if not k.endswith(": printed"))
        for side in sides
    )


def judge(name: str, options: argparse.Namespace) -> dict[str, Any]:
    commands = CASES[name]
    row: dict[str, Any] = {"name": name, "double": options.double}
    original, here = (run(name, commands, side, None, options) for side in (False, True))
    ends = [*zip(original["ended"], here["ended"], strict=False)]
    if len(original["ended"]) != len(here["ended"]) or any(theirs[0] not in ours for theirs, ours in ends):
        return {**row, "status": "ends differently", "ends": ends, "error": here["error"], "theirs": original["error"]}
    if stopped(original, here) and name not in REFUSED:
        return {**row, "status": "stops on both", "error": here["error"], "theirs": original["error"]}
    row["errors"] = [side["error"].strip().split("\n")[-1] for side in (original, here)]
    row["ends"] = ", ".join(sorted({theirs[0] for theirs, _ in ends} - {"returns"}))
    difference = list(difflib.unified_diff(original["text"], here["text"], "original", "here", lineterm="", n=0))
    verdict = compare(original["curves"], here["curves"], [], options.double)
    if not verdict.same:
        others = [run(name, commands, False, seed, options)["curves"] for seed in (1, 2)]
        others = [o for o in others if all(k in o and len(o[k]) == len(v) for k, v in original["curves"].items())]
        verdict = compare(original["curves"], here["curves"], others, options.double)
    steps = max((len(v) for k, v in here["curves"].items() if "optimizer" in k), default=0)
    row.update(status="same" if verdict.same and not difference else "differs", where=verdict.where, steps=steps)
    row.update(first=verdict.first, drift=verdict.drift, own=verdict.own, text=difference)
    return {**row, "curves": len(here["curves"])}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.programs.scripts", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--examples", type=pathlib.Path, required=True, help="the folder `examples` of Chainer's repository"
    )
    parser.add_argument(
        "--data",
        type=pathlib.Path,
        required=True,
        help="the folder that `python tests/programs/scripts/made.py DATA` filled",
    )
    parser.add_argument("--legacy", required=True, help="a Python with Chainer")
    parser.add_argument("--python", default=sys.executable, help="the Python for compatgrad; this one by default")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="names in `cases.py`, in quotes; all by default"
    )
    parser.add_argument("--double", action="store_true", help="in double precision")
    parser.add_argument("--limit", type=int, default=600, help="seconds for a script (600)")
    parser.add_argument("--lines", type=int, default=8, help="lines of an error to show (8)")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what the scripts print")
    options = parser.parse_args()
    options.data = options.data.resolve()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    rows = []
    for name in CASES:
        if options.only and not any(name.startswith(o) for o in options.only):
            continue
        try:
            row = judge(name, options)
        except subprocess.TimeoutExpired as e:
            row = {"name": name, "status": "time is up", "error": str(e.cmd[-1])}
        rows.append(row)
        text = f"{name:28}{row['status']:12}"
        if "first" in row:
            text += f"{row['steps']:>4} {row['curves']:>5} {row['first']:<9.1e}{row['drift']:<9.1e}{row['own']:<9.1e}"
            text += f"{row['ends']} {row['where']}"
        print(text, flush=True)
        for line in row.get("text", [])[:12]:
            print("    " + line[:160])
        if row.get("ends"):
            for error in row.get("errors", []):
                print("    " + error[:200])
        for key in ("theirs", "error"):
            if row.get(key):
                print(f"  {key}: " + "\n".join(row[key].strip().split("\n")[-options.lines :]))
    print(f"{sum(r['status'] == 'same' for r in rows)} of {len(rows)} are the same")
    return int(any(r["status"] != "same" for r in rows))


if __name__ == "__main__":
    raise SystemExit(main())
