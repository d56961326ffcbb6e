"""Models of images: AlexNet, DenseNet, Inception, MobileNet, ResNet, SqueezeNet and VGG.

They expect batches (N, 3, H, W) of RGB images.
"""

# ruff: noqa: F403
from __future__ import annotations

from typing import Any

from ...block import HybridBlock
from . import alexnet as _alexnet
from . import densenet as _densenet
from . import inception as _inception
from . import mobilenet as _mobilenet
from . import resnet as _resnet
from . import squeezenet as _squeezenet
from . import vgg as _vgg
from .alexnet import *
from .densenet import *
from .inception import *
from .mobilenet import *
from .resnet import *
from .squeezenet import *
from .vgg import *

_MODELS = {
    name: function
    for module in (_alexnet, _densenet, _inception, _mobilenet, _resnet, _squeezenet, _vgg)
    for name, function in vars(module).items()
    if name in module.__all__ and name.islower() and not name.startswith("get_")
}
# models whose names have a dot where the functions' names have "_", such as "mobilenet0.5" of mobilenet0_5
_DOTTED = ("squeezenet", "mobilenet", "mobilenet_v2_")


def _public_name(name):
    for stem in sorted(_DOTTED, key=len, reverse=True):
        rest = name.removeprefix(stem)
        if rest != name and rest[0].isdigit():
            return stem.replace("_v2_", "v2_") + rest.replace("_", ".")
    return name.replace("inception_v3", "inceptionv3")


_MODELS = {_public_name(name): function for name, function in _MODELS.items()}


def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A model by its name.

    Args:
        name: the name, such as "resnet18_v1" or "mobilenet0.5"; upper and lower case are alike.
        **kwargs: `classes`, `pretrained`, `ctx`, `root` and the other arguments of the model's function.

    Returns:
        A HybridBlock, which takes images (batch, 3, height, width) and gives (batch, classes).

    Raises:
        ValueError: there is no such model; the error lists the models.
        TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded.

    Example:
        >>> gluon.model_zoo.get_model("resnet18_v1", classes=10).output
        Dense(512 -> 10, linear)

    Source: `mxnet.gluon.model_zoo.vision.get_model` of MXNet 1.9.1.
    """
    name = name.lower()
    if name not in _MODELS:
        options = "\n\t".join(sorted(_MODELS))
        raise ValueError(f"Model {name} is not supported. Available options are\n\t{options}")
    return _MODELS[name](**kwargs)
