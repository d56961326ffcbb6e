"""Inception, version 3."""

from __future__ import annotations

from typing import Any

from ....context import Context
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent
from ._parts import Classifier, documented, sequence, with_weights

__all__ = ["Inception3", "inception_v3"]


def _conv(channels, size, stride=1, padding=0):
    return sequence(
        nn.Conv2D(channels, size, stride, padding, use_bias=False), nn.BatchNorm(epsilon=0.001), nn.Activation("relu")
    )


def _branch(*convolutions, pool=None):
    branch = sequence()
    if pool == "avg":
        branch.add(nn.AvgPool2D(3, 1, 1))
    elif pool == "max":
        branch.add(nn.MaxPool2D(3, 2))
    for arguments in convolutions:
        branch.add(_conv(*arguments))
    return branch


# Sizes 1 by n and n by 1 with the padding that keeps the shape.
def _wide(channels, n):
    return channels, (1, n), 1, (0, n // 2)


def _high(channels, n):
    return channels, (n, 1), 1, (n // 2, 0)


def _module(prefix, *branches):
    """Parallel branches: each is given as a function that makes it, or as the arguments of `_branch`."""
    module = HybridConcurrent(axis=1, prefix=prefix)
    with module.name_scope():
        for branch in branches:
            module.add(branch() if callable(branch) else _branch(*branch))
    return module


def _a(features, prefix):
    return _module(
        prefix,
        [(64, 1)],
        [(48, 1), (64, 5, 1, 2)],
        [(64, 1), (96, 3, 1, 1), (96, 3, 1, 1)],
        lambda: _branch((features, 1), pool="avg"),
    )


def _b(prefix):
    return _module(prefix, [(384, 3, 2)], [(64, 1), (96, 3, 1, 1), (96, 3, 2)], lambda: _branch(pool="max"))


def _c(n, prefix):
    return _module(
        prefix,
        [(192, 1)],
        [(n, 1), _wide(n, 7), _high(192, 7)],
        [(n, 1), _high(n, 7), _wide(n, 7), _high(n, 7), _wide(192, 7)],
        lambda: _branch((192, 1), pool="avg"),
    )


def _d(prefix):
    return _module(
        prefix,
        [(192, 1), (320, 3, 2)],
        [(192, 1), _wide(192, 7), _high(192, 7), (192, 3, 2)],
        lambda: _branch(pool="max"),
    )


def _forked(*convolutions):
    """Convolutions whose result is the input of two parallel convolutions."""

    def make():
        stem = _branch(*convolutions)
        fork = HybridConcurrent(axis=1, prefix="")
        fork.add(_branch(_wide(384, 3)), _branch(_high(384, 3)))
        return sequence(stem, fork)

    return make


def _e(prefix):
    return _module(
        prefix,
        [(320, 1)],
        _forked((384, 1)),
        _forked((448, 1), (384, 3, 1, 1)),
        lambda: _branch((192, 1), pool="avg"),
    )


@documented
class Inception3(Classifier):
    """Modules of branches of convolutions side by side.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 299 by 299 pixels.

    Example:
        >>> gluon.model_zoo.vision.Inception3(classes=10).output
        Dense(None -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = sequence(_conv(32, 3, 2), _conv(32, 3), _conv(64, 3, 1, 1), nn.MaxPool2D(3, 2))
            self.features.add(_conv(80, 1), _conv(192, 3), nn.MaxPool2D(3, 2))
            self.features.add(_a(32, "A1_"), _a(64, "A2_"), _a(64, "A3_"), _b("B_"))
            self.features.add(_c(128, "C1_"), _c(160, "C2_"), _c(160, "C3_"), _c(192, "C4_"))
            self.features.add(_d("D_"), _e("E1_"), _e("E2_"), nn.AvgPool2D(8), nn.Dropout(0.5))
            self.output = nn.Dense(classes)


@documented
def inception_v3(
    pretrained: bool = False, ctx: Context | list[Context] | None = None, root: str | None = None, **kwargs: Any
) -> HybridBlock:
    """Inception 3 (Szegedy, Vanhoucke, Ioffe, Shlens, Wojna, 2016), for images of 299 by 299 pixels.

    Example:
        >>> gluon.model_zoo.vision.inception_v3(classes=10).output
        Dense(None -> 10, linear)
    """
    return with_weights(Inception3(**kwargs), "inceptionv3", pretrained, ctx, root)
