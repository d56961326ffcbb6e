"""Runs a script of an example with its own command line, and writes numbers to compare.

    python tests/programs/scripts/harness.py --out FILE.json [--perturb SEED] [--iterations N] SCRIPT.py ARGUMENTS…

Runs in the original's interpreter and, by `python -m compatgrad run`, here. The script is `__main__`; its random
numbers are seeded, a trainer stops after N iterations and its clock stands still, the progress bar prints nothing.
For each update of an optimizer, two numbers of each parameter and of its gradient are written; and the numbers in the
files that the script leaves behind. In double precision a bias whose gradient is only rounding errors (a bias before a
batch normalization has a gradient of 0) is listed in `left_out` instead, because Adam would turn the errors into whole
steps.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import random
import sys
import traceback
import types

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import harness as programs

sys.path.pop(0)

curves: dict[str, list[float]] = {}
left_out: set[str] = set()
waves = np.zeros(0)
ROUNDING = 1e-10  # largest gradient of a bias relative to its weight's that counts as a rounding error


def two_numbers(key, array):
    """The sum of an array, and a scalar product, which depends on the order of elements."""
    global waves
    flat = np.asarray(array, np.float64).ravel()
    if flat.size > waves.size:
        waves = np.cos(np.arange(flat.size))
    curves.setdefault(key, []).append(float(np.abs(flat).sum()))
    curves.setdefault(f"{key}*", []).append(float(flat @ waves[: flat.size]))


def rounding_errors(gradients):
    """The names of biases whose gradients are 0 up to rounding."""
    return {
        name
        for name, g in gradients.items()
        if name.endswith("/b")
        and g.dtype == np.float64
        and np.abs(g).max(initial=0) < ROUNDING * np.abs(gradients.get(f"{name[:-1]}W", 0)).max(initial=0)
    }


def watch(seed):
    """Record parameters after each update, and perturb them before the first one."""
    import chainer

    optimizers, disturbed = [], []
    run = programs.Run(pathlib.Path(), 0, seed)

    def number(self):
        if self not in optimizers:
            optimizers.append(self)
            disturbed.append(set())
        index = optimizers.index(self)
        # Deferred parameters are initialized by the first loss.
        fresh = {n: p.array for n, p in sorted(self.target.namedparams()) if n not in disturbed[index]}
        fresh = {n: a for n, a in fresh.items() if isinstance(a, np.ndarray)}
        disturbed[index].update(fresh)
        run.perturb(fresh.values())
        return index

    def arrays(self, of):
        send = chainer.get_device("@numpy").send
        found = ((name, getattr(p, of)) for name, p in sorted(self.target.namedparams()))
        return {name: send(a) for name, a in found if a is not None}

    def around(method):
        def update(self, *args, **kwargs):
            key = f"optimizer {number(self)}"
            result = method(self, *args, **kwargs)
            for name, array in arrays(self, "array").items():
                two_numbers(f"{key} {name}", array)
            return result

        return update

    def before(method):
        def check(self):
            key, gradients = f"optimizer {number(self)}", arrays(self, "grad")
            left_out.update(f"{key} {name}" for name in rounding_errors(gradients))
            for name, g in gradients.items():
                two_numbers(f"{key} gradient {name}", g)
            return method(self)

        return check

    base = chainer.optimizer
    base.GradientMethod.update = around(base.GradientMethod.update)
    base.Optimizer.check_nan_in_grads = before(base.Optimizer.check_nan_in_grads)


def quiet(iterations):
    """Make trainers stop early, report an elapsed time of 0, and show no progress."""
    import chainer
    from chainer.training.extensions import util

    trainer, bar = chainer.training.Trainer, util.ProgressBar

    def begin(self, updater, stop_trigger=None, *args, make=trainer.__init__, **kwargs):
        make(self, updater, (iterations, "iteration") if iterations else stop_trigger, *args, **kwargs)

    trainer.__init__ = begin
    trainer.elapsed_time = property(lambda self: 0.0)
    bar.update = lambda self: self.get_lines() and None  # its output contains times


def surroundings():
    """Restore functions that newer packages lack: `librosa.output`, SciPy's `imread`."""
    programs.old_surroundings()
    np.savez_compressed = np.savez  # compressing a VGG takes minutes
    try:
        import librosa
        import scipy.io.wavfile

        librosa.output = types.SimpleNamespace(write_wav=lambda path, y, sr: scipy.io.wavfile.write(path, sr, y))
    except ImportError:
        pass


def numbers_of(path):
    """Yield the numbers in a file with their names."""
    if path.name == "log":
        for record in json.loads(path.read_text()):
            yield from ((k, v) for k, v in record.items() if isinstance(v, (int, float)) and k != "elapsed_time")
    elif path.suffix in (".npy", ".npz") or path.name.startswith(("snapshot", "model", "snaphot")):
        try:
            loaded = np.load(path)
        except (ValueError, OSError):
            yield "cannot be read", 1.0  # so that a file that only one side can read differs
            return
        arrays = {"": loaded} if isinstance(loaded, np.ndarray) else {}
        if not arrays:
            for k in loaded.files:
                try:
                    arrays[k] = loaded[k]
                except ValueError:  # an array of objects
                    continue
        yield from ((k, a) for k, a in arrays.items() if a.dtype.kind in "biuf" and a.size and "elapsed" not in k)
    elif path.suffix == ".caffemodel":  # protobuf's writers order fields differently
        yield "bytes", float(np.frombuffer(path.read_bytes(), np.uint8).sum())
    elif path.suffix in (".prototxt", ".wav", ".vocab"):
        yield "bytes", np.frombuffer(path.read_bytes(), np.uint8)
    elif path.suffix in (".png", ".jpg") and path.stem not in ("loss", "accuracy", "plot"):
        from PIL import Image

        yield "pixels", np.asarray(Image.open(path))


def main(arguments=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--perturb", type=int, default=None)
    parser.add_argument("--iterations", type=int, default=0)
    parser.add_argument("--edit", nargs=2, action="append", default=[], metavar=("TEXT", "OTHER"))
    parser.add_argument("script", type=pathlib.Path)
    parser.add_argument("rest", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    out, script = options.out.resolve(), options.script.resolve()
    surroundings()
    random.seed(0)
    np.random.seed(0)
    # Python reseeds `random` in each process of a MultiprocessIterator; NumPy's generator is copied.
    os.register_at_fork(after_in_child=lambda: random.seed(0))
    run = programs.Run(script.parent, 0, options.perturb)
    for text, other in options.edit:
        run.sources(lambda source, text=text, other=other: source.replace(text, other))
    run.hook()
    watch(options.perturb)
    quiet(options.iterations)
    before = {p: p.stat().st_mtime_ns for p in pathlib.Path().rglob("*")}
    text = script.read_text()
    for edit in run.edits:
        text = edit(text)
    main_module = types.ModuleType("__main__")
    main_module.__file__ = str(script)
    sys.modules["__main__"] = main_module
    sys.argv = [str(options.script), *options.rest]
    sys.path.insert(0, str(script.parent))
    ended, error = ["returns"], ""
    try:
        exec(compile(text, str(script), "exec"), main_module.__dict__)
    except SystemExit as e:
        ended = [f"exits with {e.code}"]
    except Exception as e:
        ended, error = [c.__name__ for c in type(e).__mro__], traceback.format_exc()
    sys.stdout.flush()
    files = []
    for path in sorted(pathlib.Path().rglob("*")):
        if path.is_file() and before.get(path) != path.stat().st_mtime_ns and "__pycache__" not in str(path):
            files.append(str(path))
            for key, value in numbers_of(path):
                if any(name.split(" ")[-1] in f"/{key}" for name in left_out):
                    continue
                if isinstance(value, np.ndarray):
                    two_numbers(f"{path} {key}", value)
                else:
                    curves.setdefault(f"{path} {key}", []).append(float(value))
    out_of_view = left_out | {" gradient /".join(name.split(" /")) for name in left_out}
    for name in out_of_view:
        curves.pop(name), curves.pop(f"{name}*")
    left = {"curves": curves, "files": files, "left_out": sorted(left_out), "ended": ended, "error": error}
    out.write_text(json.dumps(left))


if __name__ == "__main__":
    main()
