"""An extension that averages the statistics of layers over all processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import Link
from compatgrad.chainer.training import extension

if TYPE_CHECKING:
    from compatgrad.chainermn.communicators.communicator_base import CommunicatorBase


def _namedpersistents(model):
    if not isinstance(model, Link):
        raise AssertionError(f"expected a link, got {model!r}")
    for path, link in model.namedlinks():
        for name in link._persistent:
            yield f"{path}/{name}", link.__dict__[name]


class AllreducePersistent(extension.Extension):
    """Replaces, once an epoch, the arrays among the persistent values of `model` by their mean over all processes.

    Args:
        model: the link; the persistent values of its children are averaged too.
        comm: the communicator.

    Raises:
        AssertionError: when the extension is called, `model` is no link.
        ValueError: when the extension is called in debug mode, a number is not finite.

    Example:
        >>> model = L.BatchNormalization(1)
        >>> extension = chainermn.extensions.AllreducePersistent(model, chainermn.create_communicator("naive"))
        >>> extension()  # a trainer calls it
        >>> model.avg_var.tolist()
        [1.0]

    Source: `chainermn.extensions.AllreducePersistent` of Chainer 7.8.1.
    """

    trigger = (1, "epoch")
    priority = extension.PRIORITY_WRITER + 1

    def __init__(self, model: Link, comm: CommunicatorBase) -> None:
        self.model, self.comm = model, comm

    def __call__(self, trainer=None):
        for _, value in sorted(_namedpersistents(self.model), key=lambda pair: pair[0]):
            if hasattr(value, "dtype"):
                self.comm._multi_node_mean(None, value)
