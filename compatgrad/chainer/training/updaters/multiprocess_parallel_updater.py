"""The updater of several processes with a GPU each, which is not available, and its helpers, which are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from compatgrad.chainer.dataset import convert
from compatgrad.chainer.training.updaters import standard_updater

if TYPE_CHECKING:
    from compatgrad.chainer.link import Link
    from compatgrad.chainer.types import NdArray


class MultiprocessParallelUpdater(standard_updater.StandardUpdater):
    """Updater of several processes with a GPU each. It is not available: making one raises RuntimeError.
    `ParallelUpdater` uses several GPUs in one process.

    Args:
        iterators: iterator of each process.
        optimizer: the optimizer.
        converter: makes arrays of a batch and a device.
        devices: the devices.
        auto_new_epoch: whether to call the optimizer's `new_epoch` after each epoch.

    Raises:
        RuntimeError: always.

    Example:
        >>> chainer.training.updaters.MultiprocessParallelUpdater.available()
        False

    Source: `chainer.training.updaters.MultiprocessParallelUpdater` of Chainer 7.8.1.
    """

    def __init__(
        self,
        iterators: Any,
        optimizer: Any,
        converter: Callable[..., Any] = convert.concat_examples,
        devices: Any = None,
        auto_new_epoch: bool = True,
    ) -> None:
        raise RuntimeError(
            "NCCL is not enabled. MultiprocessParallelUpdater requires NCCL, which compatgrad "
            "does not use. ParallelUpdater trains on several GPUs in one process."
        )

    @staticmethod
    def available() -> bool:
        """Whether it can be used: never."""
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


def gather_grads(link: Link) -> NdArray:
    """The gradients of a link on a GPU as one vector.

    Args:
        link: the link.

    Returns:
        float32 vector of the gradients in the order of the parameters' names; 0 where there is none.

    Raises:
        RuntimeError: the link is on the CPU.

    Example:
        grads = chainer.training.updaters.multiprocess_parallel_updater.gather_grads(model)

    Source: `chainer.training.updaters.multiprocess_parallel_updater.gather_grads` of Chainer 7.8.1.
    """
    return _gather(link, "grad", "gather_grads")


def gather_params(link: Link) -> NdArray:
    """The parameters of a link on a GPU as one vector.

    Args:
        link: the link.

    Returns:
        float32 vector of the parameters in the order of their names.

    Raises:
        RuntimeError: the link is on the CPU.

    Example:
        params = chainer.training.updaters.multiprocess_parallel_updater.gather_params(model)

    Source: `chainer.training.updaters.multiprocess_parallel_updater.gather_params` of Chainer 7.8.1.
    """
    return _gather(link, "data", "gather_params")


def scatter_grads(link: Link, array: NdArray) -> None:
    """Sets the gradients of a link from a vector.

    Args:
        link: the link.
        array: the result of `gather_grads`.

    Raises:
        ValueError: the vector is too short.

    Example:
        >>> link = L.Linear(1, 2)
        >>> array = np.array([1, 2, 3, 4], np.float32)
        >>> chainer.training.updaters.multiprocess_parallel_updater.scatter_grads(link, array)
        >>> link.W.grad, link.b.grad
        (array([[1.],
               [2.]], dtype=float32), array([3., 4.], dtype=float32))

    Source: `chainer.training.updaters.multiprocess_parallel_updater.scatter_grads` of Chainer 7.8.1.
    """
    _scatter(link, array, "grad")


def scatter_params(link: Link, array: NdArray) -> None:
    """Sets the parameters of a link from a vector.

    Args:
        link: the link.
        array: the result of `gather_params`.

    Raises:
        ValueError: the vector is too short.

    Example:
        >>> link = L.Linear(1, 2)
        >>> array = np.array([1, 2, 3, 4], np.float32)
        >>> chainer.training.updaters.multiprocess_parallel_updater.scatter_params(link, array)
        >>> link.W.array, link.b.array
        (array([[1.],
               [2.]], dtype=float32), array([3., 4.], dtype=float32))

    Source: `chainer.training.updaters.multiprocess_parallel_updater.scatter_params` of Chainer 7.8.1.
    """
    _scatter(link, array, "data")
