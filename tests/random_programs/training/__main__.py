"""Trains random networks on an original and on compatgrad, and compares every step.

python -m tests.random_programs.training FRAMEWORK --peer PYTHON [--first SEED] [--count N]    both, compared
python -m tests.random_programs.training FRAMEWORK --here [--first SEED] [--count N]           one side, as JSON lines
python -m tests.random_programs.training FRAMEWORK --show SEED                                 one program in words

FRAMEWORK is chainer, nnabla or mxnet; PYTHON has the original. Two runs agree if their numbers differ by no more than
a tolerance (1e-8; 1e-6 for MXNet, whose update operators keep hyperparameters in single precision; 1e-4 for programs in
single precision, as all of nnabla's are). Those that do not are followed step by step (`follow.py`): they are "the same
step by step", or "unstable" if a step of the original changes as much by rounding errors. Programs in which only the
original's numbers become NaN or infinite are listed and counted apart.
"""

import argparse
import importlib
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.random_programs import training
from tests.random_programs.training import follow

ROOT = Path(__file__).resolve().parents[3]
FRAMEWORKS = ("chainer", "mxnet", "nnabla")
BATCH = 100  # seeds for each process
# Texts of errors of an original that compatgrad does not raise: docs/deviations.md.
DEVIATIONS = (
    "cannot twice-differentiate an old style Function",
    "Variables do not support != operator",  # Deconvolution2D that is asked for the gradient of x alone, or of W alone
    "not enough values to unpack (expected 4",  # Deconvolution2D that is asked for the gradient of W alone
    "too many values to unpack (expected 4)",  # the same
    "'NoneType' object",  # functions differentiated twice where one of the gradients is None
    "Value must be a scalar, `numpy.ndarray`",  # the same
    "NotImplementedError after",  # local_response_normalization, differentiated twice
    "with 'enable_double_backprop=False'",
    "channel_last_=true is not supported in CPU",
    "process died",
    "local learning rate should be positive or zero",  # nnabla's Lars after NaN in a gradient (`norms` of zeros)
    "This function is not called since the function is the composite",  # nn.grad of nnabla's clip_grad_by_value and kin
    "to.IsDefaultData()",  # MXNet's attention with a convolution of 8 channels, with oneDNN
    "is non-differentiable because it didn't register",  # MXNet's operators without a second derivative
    "name 'func' is not defined",  # nn.grad of nnabla's pad(mode="reflect")
)


# The same for a program that is followed step by step: nn.grad of nnabla's dynamic graphs, in some runs alone.
FREED = re.compile(r"KeyError after \d+ steps \d{9,} ")
# Words of programs whose numbers are wrong, or less precise, in the original: docs/deviations.md.
WRONG = (
    ("float64;", "; resize;"),
    ("float64;", "; gelu;"),
    ("LocalConvolution2D", "penalty True"),
    ("; prod;",),
    ("; mish;",),
    ("; deformable;",),
)


def command(framework, python, seeds, options):
    here = ["-m", "compatgrad", "run"] if python == sys.executable else []
    words = ["-m", "tests.random_programs.training", framework, "--here", *options, "--seeds", *seeds]
    return [python, "-W", "ignore", *here, *words]


def results(framework, python, seeds, options=()):
    """The results of the seeds; a process that dies loses the seed at which it died, and another one goes on."""
    found = {}
    left = [str(s) for s in seeds]
    while left:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        made = subprocess.run(
            command(framework, python, left, options), capture_output=True, text=True, env=environment, cwd=ROOT
        )
        for line in made.stdout.splitlines():
            if line.startswith('{"seed"'):
                result = json.loads(line)
                found[result["seed"]] = result
        left = [s for s in left if int(s) not in found]
        if made.returncode == 0 and left:
            raise RuntimeError(f"no result of {left[:5]}: {made.stderr[-2000:]}")
        if made.returncode and len(left) == len(seeds):
            raise RuntimeError(f"{python} runs no program: {made.stderr[-2000:]}")
        if left:
            died = f"process died ({made.returncode})"
            found[int(left[0])] = {"seed": int(left[0]), "what": "", "steps": [], "error": died}
            left = left[1:]
    return found


def difference(a, b):
    """The largest relative difference of the steps' numbers; inf where the runs differ in kind."""
    if len(a["steps"]) != len(b["steps"]) or a["error"] != b["error"]:
        return math.inf
    largest = 0.0
    for x, y in zip(a["steps"], b["steps"], strict=True):
        if len(x) != len(y):
            return math.inf
        for p, q in zip(x, y, strict=True):
            if p == q:
                continue
            if isinstance(p, str) or isinstance(q, str):  # one of them is no finite number
                return math.inf
            largest = max(largest, abs(p - q) / max(1.0, abs(p), abs(q)))
    return largest


def only_theirs_not_finite(theirs, ours, tolerance):
    """Whether the original's numbers become NaN or infinite where the other ones agree and stay finite."""
    for x, y in zip(theirs["steps"], ours["steps"], strict=False):
        pairs = [(p, q) for p, q in zip(x, y, strict=False) if p != q]
        if any(isinstance(q, str) for _, q in pairs):
            return False
        if any(isinstance(p, str) for p, _ in pairs):
            finite = [abs(p - q) / max(1.0, abs(p), abs(q)) for p, q in pairs if not isinstance(p, str)]
            return all(d <= tolerance for d in finite)
    return False


def known(theirs, ours):
    """Whether the difference is a known fault of the original."""
    text = theirs["error"] + " " + theirs.get("text", "")
    later = not ours["error"] or len(ours["steps"]) > len(theirs["steps"])
    if later and (any(text_of_one in text for text_of_one in DEVIATIONS) or FREED.match(text)):
        return True
    if "loss ctc" in theirs["what"] and theirs["steps"] and ours["steps"]:  # Chainer's CTC of NaN is about 1e10
        x, y = theirs["steps"][0], ours["steps"][0]
        if isinstance(y[0], str) and not isinstance(x[0], str) and x[0] > 1e9 and x[1:] == y[1:]:
            return True
    return False


def followed(framework, peer, seeds):
    """Seed -> (verdict, where), of programs that are followed step by step."""
    with tempfile.TemporaryDirectory() as folder:
        here = {name: os.path.join(folder, name) for name in ("recorded", "found", *map(str, range(follow.PATTERNS)))}
        for path in here.values():
            os.mkdir(path)
        theirs = results(framework, peer, seeds, ["--write", here["recorded"]])
        start = ["--start", here["recorded"], "--write"]
        ours = results(framework, sys.executable, seeds, [*start, here["found"]])
        arrays = {name: {s: follow.load(here[name], s) for s in seeds} for name in ("recorded", "found")}
        found, perturbed = {}, {s: [] for s in seeds}
        for k in [None, *range(follow.PATTERNS)]:
            left = [s for s in seeds if found.get(s, ("differs",))[0] == "differs"]
            if left and k is not None:
                runs = results(framework, peer, left, [*start, here[str(k)], "--pattern", str(k)])
                for s in left:
                    if runs[s]["error"] != theirs[s]["error"] and not runs[s]["steps"]:
                        raise RuntimeError(f"seed {s} with rounding errors: {runs[s]['error']} {runs[s].get('text')}")
                    perturbed[s].append((follow.load(here[str(k)], s), runs[s]))
            for s in left:
                if FREED.match(theirs[s]["error"] + " " + theirs[s].get("text", "")) and known(theirs[s], ours[s]):
                    found[s] = "original's fault", ""
                    continue
                found[s] = follow.verdict(arrays["recorded"][s], theirs[s], arrays["found"][s], ours[s], perturbed[s])
    return found


def compare(framework, peer, seeds):
    """Yields (seed, verdict, difference, where it differs step by step, the two results)."""
    theirs, ours = results(framework, peer, seeds), results(framework, sys.executable, seeds)
    verdicts = {}
    for s in seeds:
        tolerance = theirs[s].get("tolerance", 0)
        if difference(theirs[s], ours[s]) <= tolerance:
            verdicts[s] = "same", ""
        elif known(theirs[s], ours[s]):
            verdicts[s] = "original's fault", ""
        elif only_theirs_not_finite(theirs[s], ours[s], tolerance):
            verdicts[s] = "original not finite", ""
    odd = [s for s in seeds if s not in verdicts]
    verdicts.update(followed(framework, peer, odd) if odd else {})
    for s in seeds:
        verdict, where = verdicts[s]
        if verdict == "differs" and any(all(word in theirs[s]["what"] for word in words) for words in WRONG):
            verdict = "original's fault"
        yield s, verdict, difference(theirs[s], ours[s]), where, theirs[s], ours[s]


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.random_programs.training", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("framework", choices=FRAMEWORKS, help="whose API the programs use")
    parser.add_argument("--peer", help="a Python that has the original")
    parser.add_argument("--here", action="store_true", help="run on whatever this Python imports, without comparison")
    parser.add_argument("--first", type=int, default=0, help="the first seed (0)")
    parser.add_argument("--count", type=int, default=100, help="number of programs (100)")
    parser.add_argument("--seeds", type=int, nargs="+", help="run these seeds instead")
    parser.add_argument("--perturb", action="store_true", help="change the first parameters by a rounding error")
    parser.add_argument("--write", metavar="FOLDER", help="with --here: write the arrays before and after each step")
    parser.add_argument("--start", metavar="FOLDER", help="with --write: start each step from the arrays in FOLDER")
    parser.add_argument("--pattern", type=int, help="with --start: add rounding errors of this pattern to the arrays")
    parser.add_argument("--show", type=int, metavar="SEED", help="print one program in words")
    args = parser.parse_args()
    seeds = args.seeds or list(range(args.first, args.first + args.count))
    if args.here or args.show is not None:
        module = importlib.import_module(f"tests.random_programs.training.{args.framework}_training")
        for seed in [args.show] if args.show is not None else seeds:
            following = follow.Following(args.write, seed, args.start, args.pattern) if args.write else None
            result = training.run(module.Training, seed, args.perturb, following)
            if following is not None:
                following.close()
            if args.show is not None:
                print(result["what"], *result["steps"], result["error"], sep="\n")
            else:
                print(json.dumps({"seed": seed, **result}), flush=True)
        return 0
    if not args.peer:
        parser.error("--peer PYTHON is missing: the original to compare with")
    counts, begun, failed = {}, time.time(), 0
    for k in range(0, len(seeds), BATCH):
        for seed, verdict, found, where, a, b in compare(args.framework, args.peer, seeds[k : k + BATCH]):
            kind = verdict if verdict != "same" or not a["error"] else "same error"
            counts[kind] = counts.get(kind, 0) + 1
            if verdict in ("differs", "original not finite"):
                failed += verdict == "differs"
                print(f"seed {seed} {verdict}, difference {found:.1e}; {where}\n    {b['what']}")
                if a["error"] != b["error"]:
                    for side, result in (("original", a), ("here", b)):
                        print(f"    {side}: {result['error'] or 'no error'} {result.get('text', '')}")
        print(f"{min(k + BATCH, len(seeds))} of {len(seeds)}, {time.time() - begun:.0f} s: {counts}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
