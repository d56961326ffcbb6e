"""Helpers for the drivers of Chainer programs."""

import sys
import types

import chainer
import numpy as np


def arrays(*models):
    """The arrays of all initialized parameters."""
    return [p.array for model in models for _, p in sorted(model.namedparams()) if p.array is not None]


def number(value):
    return float(np.asarray(getattr(value, "array", value)))


def updates(updater, *models):
    """Update repeatedly, and yield the values that the updater and its models report."""
    reporter = chainer.Reporter()
    for i, model in enumerate(models):
        reporter.add_observer(f"model{i}", model)
    while True:
        observation = {}
        with reporter.scope(observation):
            updater.update()
        yield {key: number(value) for key, value in observation.items()}


class Narrow:
    """`chainer.links` with numbers of channels from 32 on divided by `by`, so that steps of wide networks are short.

    It replaces the name `L` in a program's module.
    """

    def __init__(self, by):
        self.by = by

    def divide(self, n):
        return n // self.by if isinstance(n, int) and n >= 32 and n % self.by == 0 else n

    def __getattr__(self, name):
        link = getattr(chainer.links, name)

        def make(*args, **kwargs):
            if "shape" in kwargs:
                kwargs["shape"] = tuple(map(self.divide, kwargs["shape"]))
            if "groups" in kwargs:
                kwargs["groups"] = self.divide(kwargs["groups"])
            sizes = len(args) if "Inception" in name else 2
            return link(*map(self.divide, args[:sizes]), *args[sizes:], **kwargs)

        return make


def numpy_for_cupy():
    """Make `cupy` a module of NumPy's functions, without a class of its own for GPU arrays."""
    cupy = types.ModuleType("cupy")
    cupy.__getattr__ = lambda name: getattr(np, name)
    sys.modules["cupy"] = chainer.cuda.cupy = chainer.backends.cuda.cupy = cupy


def uninstalled():
    """Give programs that look up their installed version an empty one."""
    release = types.SimpleNamespace(version="")
    sys.modules["pkg_resources"] = types.SimpleNamespace(get_distribution=lambda name: release)


def double(run):
    """In double precision, replace functions that Chainer has in single precision only."""
    functions = chainer.functions
    if run.dtype == "float64":
        resize, cast = functions.resize_images, functions.cast
        functions.resize_images = lambda x, shape: cast(resize(cast(x, "f"), shape), "d")
        functions.batch_matmul = functions.matmul
