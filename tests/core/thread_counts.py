"""Finds ops whose results or gradients have other bits with two threads than with one.

    python -m tests.core.thread_counts [OP...]

Each sample of `tests/ops` runs in single precision with its inputs enlarged, first along each axis, then along all, to
some 150,000 numbers; once with one thread and twice with two. What differs runs again with torch's deterministic
algorithms. The script prints each op that differs, with the output or the input whose gradient differs. Enlarged inputs
that an op refuses, and those for which it takes too long, are left out.
"""

import sys
import time
import warnings

import numpy as np
import torch

from tests.ops.all_samples import SAMPLES, writes_inputs
from tests.ops.harness import constants, cotangents, gradients

NUMBERS, PART = 150_000, 10  # of an input; a tenth of them shows how long an op takes
SECONDS = 0.01  # for this part


def enlarged(arrays, factors):
    """The arrays repeated along axes (axis -> how often), and a little changed so that repetitions differ."""
    rng, found = np.random.default_rng(2), []
    for a in arrays:
        if isinstance(a, np.ndarray):
            for axis, times in factors.items():
                if axis < a.ndim and a.shape[axis] > 1:
                    a = np.concatenate([a] * times, axis)
            if a.dtype.kind == "f":
                a = (a * rng.uniform(0.99, 1, a.shape)).astype(a.dtype)
        found.append(a)
    return found


def sizes(arrays):
    """Factors for `enlarged`: a part of the numbers first, to see how long they take."""
    shapes = [a.shape for a in arrays if isinstance(a, np.ndarray) and a.size]
    most = max((int(np.prod(s)) for s in shapes), default=0)
    axes = range(max((len(s) for s in shapes), default=0))
    if most:
        for chosen in [[axis] for axis in axes] + ([list(axes)] if len(axes) > 1 else []):
            yield [
                {axis: max(1, round((n / most) ** (1 / len(chosen)))) for axis in chosen}
                for n in (NUMBERS // PART, NUMBERS)
            ]


def computed(sample, arrays, threads):
    """Label -> tensor of results and gradients."""
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    xs = sample.variables([a.copy() if isinstance(a, np.ndarray) else a for a in arrays])
    ys = sample.run(xs)
    found = {f"result {i}": y.tensor.detach().clone() for i, y in enumerate(ys)}
    ys = [y for y in ys if y.tensor.is_floating_point() and y.requires_grad]
    targets = {i: xs[i] for i in sample.targets if xs[i] is not None}
    if ys and targets:
        given = gradients(ys, list(targets.values()), constants(cotangents(ys)))
        found.update({f"gradient of input {i}": g.tensor for i, g in zip(targets, given, strict=True) if g is not None})
    return found


def bits(a, b):
    return torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8)) if a.numel() else True


def differing(sample, arrays):
    """Labels of what differs between one thread and two, or between two runs with two."""
    one, two, again = (computed(sample, arrays, threads) for threads in (1, 2, 2))
    return {label for label in one if not (bits(one[label], two[label]) and bits(two[label], again[label]))}


def search(samples):
    """Yields (op, labels that differ, labels of these that differ with deterministic algorithms); None for no label."""
    for sample in samples:
        if "float32" not in sample.dtypes or writes_inputs(sample):
            continue
        if any(torch.is_tensor(value) for value in sample.params.values()):  # running statistics keep their length
            continue
        arrays = [np.asarray(a) if np.isscalar(a) else a for a in sample.arrays("float32")]
        for part, whole in sizes(arrays):
            try:
                computed(sample, enlarged(arrays, part), 1)
                begun = time.perf_counter()
                computed(sample, enlarged(arrays, part), 1)
                if time.perf_counter() - begun > SECONDS:
                    continue
                large = enlarged(arrays, whole)
                found, still = differing(sample, large), None
                if found:
                    torch.use_deterministic_algorithms(True, warn_only=True)
                    still = differing(sample, large)
            except Exception:  # shapes that do not fit
                continue
            finally:
                torch.use_deterministic_algorithms(False)
            yield sample.op, found, still


def main(ops):
    warnings.simplefilter("ignore")
    samples = [s for s in SAMPLES if not ops or s.op in ops]
    threads, ran, differs = torch.get_num_threads(), set(), {}
    try:
        for op, found, still in search(samples):
            ran.add(op)
            known = differs.setdefault(op, {}) if found else {}
            for label in found:
                if known.get(label) not in (True, label in still):
                    known[label] = label in still
                    words = "also" if known[label] else "not"
                    print(f"{op}: {label}, {words} with deterministic algorithms", flush=True)
    finally:
        torch.set_num_threads(threads)
    kept = sum(any(labels.values()) for labels in differs.values())
    print(f"{len(ran)} ops ran on large arrays; {len(differs)} differ, with deterministic algorithms {kept}")
    if not samples:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
