"""Densely connected networks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....context import Context
from ... import nn
from ...block import HybridBlock
from ...contrib.nn import HybridConcurrent, Identity
from ._parts import Classifier, documented, named, sequence, with_weights

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201"]

# depth -> channels of the stem, channels that each layer adds, numbers of layers
_SPECS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}


def _normalized(*blocks):
    return sequence(nn.BatchNorm(), nn.Activation("relu"), *blocks)


def _layer(growth_rate, bn_size, dropout):
    # created in this order, because automatic names are numbered: each BatchNorm before its convolution
    new = _normalized()
    new.add(nn.Conv2D(bn_size * growth_rate, 1, use_bias=False), nn.BatchNorm(), nn.Activation("relu"))
    new.add(nn.Conv2D(growth_rate, 3, padding=1, use_bias=False))
    if dropout:
        new.add(nn.Dropout(dropout))
    both = HybridConcurrent(axis=1, prefix="")
    both.add(Identity(), new)
    return both


@documented
class DenseNet(Classifier):
    """Stages of layers, each of which adds channels to its input, with transitions between the stages.

    Call: `net(x)`, x floating point, shape (batch, 3, height, width); the result has shape (batch, classes). Images are
    usually 224 by 224 pixels.

    Args:
        num_init_features: the number of channels of the first convolution.
        growth_rate: the number of channels that each layer adds.
        block_config: how many layers the stages have.
        bn_size: a layer's inner channels, in multiples of `growth_rate`.
        dropout: the probability with which an element of a layer's result becomes 0.

    Example:
        >>> gluon.model_zoo.vision.DenseNet(8, 4, [2, 2], classes=10).output
        Dense(None -> 10, linear)
    """

    def __init__(
        self, num_init_features: int, growth_rate: int, block_config: Sequence[int], bn_size: int = 4,
        dropout: float = 0, classes: int = 1000, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        with self.name_scope():
            self.features = sequence(nn.Conv2D(num_init_features, 7, 2, 3, use_bias=False))
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D(3, 2, 1))
            channels = num_init_features
            for i, number in enumerate(block_config):
                stage = nn.HybridSequential(prefix=f"stage{i + 1}_")
                with stage.name_scope():
                    stage.add(*[_layer(growth_rate, bn_size, dropout) for _ in range(number)])
                self.features.add(stage)
                channels += number * growth_rate
                if i != len(block_config) - 1:
                    channels //= 2
                    transition = _normalized()
                    transition.add(nn.Conv2D(channels, 1, use_bias=False), nn.AvgPool2D(2, 2))
                    self.features.add(transition)
            self.features.add(nn.BatchNorm(), nn.Activation("relu"), nn.AvgPool2D(7), nn.Flatten())
            self.output = nn.Dense(classes)


@documented
def get_densenet(
    num_layers: int,
    pretrained: bool = False,
    ctx: Context | list[Context] | None = None,
    root: str | None = None,
    **kwargs: Any,
) -> HybridBlock:
    """A densely connected network (Huang, Liu, van der Maaten, Weinberger, 2017) by its depth.

    Args:
        num_layers: the number of layers: 121, 161, 169 or 201.

    Raises:
        KeyError: `num_layers` has another value.
        TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded.

    Example:
        >>> gluon.model_zoo.vision.densenet.get_densenet(121, classes=10).output
        Dense(None -> 10, linear)
    """
    return with_weights(DenseNet(*_SPECS[num_layers], **kwargs), f"densenet{num_layers}", pretrained, ctx, root)


densenet121 = named(get_densenet, "densenet121", 121)
densenet161 = named(get_densenet, "densenet161", 161)
densenet169 = named(get_densenet, "densenet169", 169)
densenet201 = named(get_densenet, "densenet201", 201)
