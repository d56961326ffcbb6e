"""Runs one driver in one interpreter and writes what it yields.

    python tests/programs/harness.py DRIVER.py --repo FOLDER --steps N [--perturb SEED] --out FILE.json

Runs in the originals' interpreters and, by `python -m compatgrad run`, here: nothing but NumPy is imported. A driver is
a module with a function `train(run)`, a generator: it makes the program's model, calls `run.perturb` with the arrays
of its initial parameters, trains, and yields a dictionary of numbers after each step. See README.md.
"""

from __future__ import annotations

import argparse
import collections
import collections.abc
import importlib
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import random
import re
import sys
import time
import unittest.mock
import warnings

import numpy as np

SIZE = 1e-7  # relative size of perturbations, about the spacing of float32


class Run:
    """The argument of a driver: `repo` is the folder of the program's code, `steps` the number of steps to be run, and
    `dtype` that of floating point numbers to create."""

    dtype = np.dtype(os.environ.get("CHAINER_DTYPE", "float32"))

    def __init__(self, repo, steps, seed):
        self.repo, self.steps, self.seed = repo, steps, seed
        self.perturbed = 0
        self.edits = [self.double] if self.dtype == "float64" else []

    def perturb(self, arrays):
        """Perturb initial parameters in place, in runs that measure the growth of rounding errors.

        Returns the arrays, for drivers that must write them back.
        """
        arrays = list(arrays)
        rng = np.random.RandomState(0 if self.seed is None else self.seed)
        for a in arrays:
            self.perturbed += 1
            if self.seed is not None and a.dtype.kind == "f" and a.size:
                a *= (1 + SIZE * rng.choice([-1, 1], a.shape)).astype(a.dtype)
        return arrays

    def path(self, *parts):
        """Make the modules in the folder `parts` of the program's repository importable."""
        sys.path.insert(0, str(self.repo.joinpath(*parts)))

    @staticmethod
    def without(*names):
        """Replace missing packages, which a program imports and its training does not use, by mocks."""
        for name in names:
            try:
                importlib.import_module(name)
            except ImportError:
                sys.modules[name] = unittest.mock.MagicMock(name=name)

    def sources(self, *edits):
        """Edit the source of the program's modules at import; each of `edits` is a function from text to text."""
        self.edits += edits

    def hook(self):
        """Install the import hook that applies `edits`."""
        root, edits = str(self.repo), self.edits

        class Loader(importlib.machinery.SourceFileLoader):
            def source_to_code(self, data, path, **options):
                for edit in edits:
                    data = edit(importlib.util.decode_source(data) if isinstance(data, bytes) else data)
                return super().source_to_code(data, path, **options)

        finder = importlib.machinery.FileFinder.path_hook((Loader, [".py"]))

        def hook(folder):
            if not folder.startswith(root):
                raise ImportError("not of the program")
            return finder(folder)

        sys.path_hooks.insert(0, hook)
        sys.path_importer_cache.clear()

    @staticmethod
    def double(text):
        """Replace float32 by float64 in a source text."""
        return re.sub(r"""(astype\(|, |dtype=)(["'])f\2\)""", r"\1\2d\2)", text.replace("float32", "float64"))

    @staticmethod
    def python2(text):
        """Translate Python 2 to Python 3 by lib2to3 (Python up to 3.12), for `sources`."""
        from lib2to3.refactor import RefactoringTool, get_fixers_from_package

        tool = RefactoringTool(get_fixers_from_package("lib2to3.fixes"))
        return str(tool.refactor_string(text.rstrip() + "\n", "program"))

    @staticmethod
    def together(**trainings):
        """Yield a step of each training together, with the training's name before its curves' names."""
        while True:
            values = {}
            for name, training in trainings.items():
                values.update({f"{name} {key}": value for key, value in next(training).items()})
            yield values


def old_surroundings():
    """Restore names that older versions of NumPy and Python had."""
    for name, value in (("int", int), ("float", float), ("bool", bool), ("object", object), ("str", str)):
        if name not in vars(np):
            setattr(np, name, value)
    if "asscalar" not in vars(np):
        np.asscalar = lambda a: a.item()
    for name in collections.abc.__all__:
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    # before NumPy 1.24 each use of these names warns
    warnings.simplefilter("ignore")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("driver", type=pathlib.Path)
    parser.add_argument("--repo", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--perturb", type=int, default=None)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    options = parser.parse_args(arguments)
    old_surroundings()
    random.seed(0)
    np.random.seed(0)
    shared = str(options.driver.resolve().parent)  # modules that drivers share
    sys.path.insert(0, shared)
    spec = importlib.util.spec_from_file_location(options.driver.stem.replace("-", "_"), str(options.driver))
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    sys.path.remove(shared)  # drivers have the names of the programs' packages
    run = Run(options.repo.resolve(), options.steps, options.perturb)
    run.hook()
    curves, seconds, cpu = {}, [], []
    generator = driver.train(run)
    for _ in range(options.steps):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        try:
            values = next(generator)
        except StopIteration:
            break
        seconds.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
        for key, value in values.items():
            curves.setdefault(key, []).append(float(value))
    if not run.perturbed:
        raise SystemExit("the driver never called run.perturb")
    options.out.write_text(json.dumps({"curves": curves, "seconds": seconds, "cpu": cpu}))


if __name__ == "__main__":
    main()
