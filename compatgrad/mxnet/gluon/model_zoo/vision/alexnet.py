"""AlexNet."""

from __future__ import annotations

from typing import Any

from ....context import Context
from ... import nn
from ...block import HybridBlock
from ._parts import Classifier, documented, sequence, with_weights

__all__ = ["AlexNet", "alexnet"]


@documented
class AlexNet(Classifier):
    """Five convolutions and three dense layers.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Example:
        >>> gluon.model_zoo.vision.AlexNet(classes=10).output
        Dense(None -> 10, linear)
    """

    def __init__(self, classes: int = 1000, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = sequence()
            for channels, size, stride, padding, pool in (
                (64, 11, 4, 2, True),
                (192, 5, 1, 2, True),
                (384, 3, 1, 1, False),
                (256, 3, 1, 1, False),
                (256, 3, 1, 1, True),
            ):
                self.features.add(nn.Conv2D(channels, size, stride, padding, activation="relu"))
                if pool:
                    self.features.add(nn.MaxPool2D(3, 2))
            self.features.add(nn.Flatten())
            for _ in range(2):
                self.features.add(nn.Dense(4096, activation="relu"))
                self.features.add(nn.Dropout(0.5))
            self.output = nn.Dense(classes)


@documented
def alexnet(
    pretrained: bool = False, ctx: Context | list[Context] | None = None, root: str | None = None, **kwargs: Any
) -> HybridBlock:
    """AlexNet (Krizhevsky, Sutskever, Hinton, 2012), in the form of Krizhevsky, 2014.

    Example:
        >>> gluon.model_zoo.vision.alexnet(classes=10).output
        Dense(None -> 10, linear)
    """
    return with_weights(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
