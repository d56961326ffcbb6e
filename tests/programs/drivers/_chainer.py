"""What drivers of Chainer programs share."""

import sys
import types

import chainer
import numpy as np


def arrays(*models):
    """The arrays of all parameters that have one."""
    return [p.array for model in models for _, p in sorted(model.namedparams()) if p.array is not None]


def number(value):
    return float(np.asarray(getattr(value, "array", value)))


def updates(updater, *models):
    """Step an updater; yield what it and its models report."""
    reporter = chainer.Reporter()
    for i, model in enumerate(models):
        reporter.add_observer(f"model{i}", model)
    while True:
        observation = {}
        with reporter.scope(observation):
            updater.update()
        yield {key: number(value) for key, value in observation.items()}


class Narrow:
    """`chainer.links`, but with `by` times fewer channels where there are 32 or more: a wide network's steps get short.

    A program's module is given it as its `L`.
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
    """Programs that name CuPy get NumPy's functions under its name: they do not take NumPy's arrays for the GPU's."""
    cupy = types.ModuleType("cupy")
    cupy.__getattr__ = lambda name: getattr(np, name)
    sys.modules["cupy"] = chainer.cuda.cupy = chainer.backends.cuda.cupy = cupy


def uninstalled():
    """Programs that ask for the version under which they were installed get none."""
    release = types.SimpleNamespace(version="")
    sys.modules["pkg_resources"] = types.SimpleNamespace(get_distribution=lambda name: release)


def double(run):
    """In double precision, other ways to what Chainer has in single precision only."""
    functions = chainer.functions
    if run.dtype == "float64":
        resize, cast = functions.resize_images, functions.cast
        functions.resize_images = lambda x, shape: cast(resize(cast(x, "f"), shape), "d")
        functions.batch_matmul = functions.matmul
