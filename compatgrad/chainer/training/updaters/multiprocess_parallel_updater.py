"""The updater of several processes with a GPU each: only its helpers are here."""

import numpy as np

from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training.updaters import standard_updater


class MultiprocessParallelUpdater(standard_updater.StandardUpdater):
    """Not available: raises RuntimeError. `ParallelUpdater` uses several GPUs in one process."""

    def __init__(self, iterators, optimizer, converter=convert.concat_examples, devices=None, auto_new_epoch=True):
        raise RuntimeError(
            "NCCL is not enabled. MultiprocessParallelUpdater requires NCCL, which compatgrad "
            "does not use. ParallelUpdater trains on several GPUs in one process."
        )

    @staticmethod
    def available():
        """False."""
        return False


def _get_arrays(link, attribute):
    for _, param in sorted(link.namedparams()):
        if param.size > 0:
            yield param, getattr(param, attribute)


def _gather(link, attribute, name):
    if link.xp is np:
        raise RuntimeError(f"{name} works only on GPU.")
    xp = link.xp
    return xp.concatenate(
        [
            xp.zeros(param.size, xp.float32) if array is None else array.ravel().astype(xp.float32)
            for param, array in _get_arrays(link, attribute)
        ]
    )


def _scatter(link, array, attribute):
    offset = 0
    for param, _ in _get_arrays(link, attribute):
        part = array[offset : offset + param.size].reshape(param.shape).astype(param.dtype)
        offset += param.size
        setattr(param, attribute, part)


def gather_grads(link):
    """Return the gradients of a link on a GPU as one float32 vector, by names; RuntimeError on the CPU."""
    return _gather(link, "grad", "gather_grads")


def gather_params(link):
    """Return the parameters of a link on a GPU as one float32 vector, by names; RuntimeError on the CPU."""
    return _gather(link, "data", "gather_params")


def scatter_grads(link, array):
    """Set the gradients of a link from what `gather_grads` returned."""
    _scatter(link, array, "grad")


def scatter_params(link, array):
    """Set the parameters of a link from what `gather_params` returned."""
    _scatter(link, array, "data")
