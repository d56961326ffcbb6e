"""Batch normalization of whole networks by the statistics of all processes."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import compatgrad.chainer as chainer
from compatgrad.chainermn.links.batch_normalization import MultiNodeBatchNormalization

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _convert(link, comm, backend):
    new = MultiNodeBatchNormalization(
        link.avg_mean.shape, comm, decay=link.decay, eps=link.eps, dtype=link.avg_mean.dtype,
        use_gamma=hasattr(link, "gamma"), use_beta=hasattr(link, "beta"), communication_backend=backend,
    )  # fmt: skip
    new.copyparams(link)
    for name in link._persistent:
        new.__dict__[name] = copy.deepcopy(link.__dict__[name])
    return new


def create_mnbn_model(link: Any, comm: CommunicatorBase, communication_backend: str = "auto") -> Any:
    """Copies a network and replaces every `BatchNormalization` by a `MultiNodeBatchNormalization` with the same
    parameters and statistics.

    Args:
        link: the network.
        comm: the communicator.
        communication_backend: "mpi", "nccl" or "auto": see `MultiNodeBatchNormalization`.

    Returns:
        The copy.

    Raises:
        ValueError: another `communication_backend`, or "nccl" with a communicator other than "pure_nccl".

    Example:
        >>> net = chainer.Sequential(L.Linear(2, 3), L.BatchNormalization(3))
        >>> new = chainermn.links.create_mnbn_model(net, chainermn.create_communicator("naive"))
        >>> [type(layer).__name__ for layer in new]
        ['Linear', 'MultiNodeBatchNormalization']

    Source: `chainermn.links.create_mnbn_model` of Chainer 7.8.1.
    """
    if isinstance(link, chainer.links.BatchNormalization):
        return _convert(link, comm, communication_backend)
    new = copy.deepcopy(link)
    if isinstance(link, chainer.Chain):
        for name in link._children:
            new.__dict__[name] = create_mnbn_model(link.__dict__[name], comm, communication_backend)
    elif isinstance(link, chainer.Sequential):
        for i, layer in enumerate(link):
            if isinstance(layer, chainer.Link):
                new[i] = create_mnbn_model(layer, comm, communication_backend)
    elif isinstance(link, chainer.ChainList):
        new._children[:] = [create_mnbn_model(child, comm, communication_backend) for child in link]
    return new
