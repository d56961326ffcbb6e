"""AlexNet."""

from ... import nn
from ._parts import Classifier, sequence, with_weights

__all__ = ["AlexNet", "alexnet"]


class AlexNet(Classifier):
    """Five convolutions and three Dense layers, the last of `classes` units."""

    def __init__(self, classes=1000, **kwargs):
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


def alexnet(pretrained=False, ctx=None, root=None, **kwargs):
    """AlexNet; pretrained=True reads or downloads the file in `root` (see model_store)."""
    return with_weights(AlexNet(**kwargs), "alexnet", pretrained, ctx, root)
