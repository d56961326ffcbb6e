"""Statistics of layers, made the mean of all processes'."""

from compatgrad.chainer import Link
from compatgrad.chainer.training import extension


def _namedpersistents(model):
    if not isinstance(model, Link):
        raise AssertionError(f"expected a link, got {model!r}")
    for path, link in model.namedlinks():
        for name in link._persistent:
            yield f"{path}/{name}", link.__dict__[name]


class AllreducePersistent(extension.Extension):
    """Once an epoch, makes the arrays among the persistent values of `model` the mean of all processes'."""

    trigger = (1, "epoch")
    priority = extension.PRIORITY_WRITER + 1

    def __init__(self, model, comm):
        self.model, self.comm = model, comm

    def __call__(self, trainer=None):
        for _, value in sorted(_namedpersistents(self.model), key=lambda pair: pair[0]):
            if hasattr(value, "dtype"):
                self.comm._multi_node_mean(None, value)
