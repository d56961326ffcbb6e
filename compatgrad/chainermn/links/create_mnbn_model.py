"""Batch normalisation of whole networks by the statistics of all processes."""

import copy

import compatgrad.chainer as chainer
from compatgrad.chainermn.links.batch_normalization import MultiNodeBatchNormalization


def _convert(link, comm, backend):
    new = MultiNodeBatchNormalization(
        link.avg_mean.shape, comm, decay=link.decay, eps=link.eps, dtype=link.avg_mean.dtype,
        use_gamma=hasattr(link, "gamma"), use_beta=hasattr(link, "beta"), communication_backend=backend,
    )  # fmt: skip
    new.copyparams(link)
    for name in link._persistent:
        new.__dict__[name] = copy.deepcopy(link.__dict__[name])
    return new


def create_mnbn_model(link, comm, communication_backend="auto"):
    """A copy of `link` in which `MultiNodeBatchNormalization` stands for every `BatchNormalization`, with its
    parameters and statistics.
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
