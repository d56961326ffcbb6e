"""Shared by the models: sequences of blocks, trained weights, and parts of docstrings."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

from ...._docs import composed, parameters_of
from ....context import Context
from ....ndarray import NDArray
from ... import nn
from ...block import HybridBlock

_M = TypeVar("_M", bound=Callable[..., Any])

_WORDS = {
    "classes": "the number of classes.",
    "pretrained": "gives the parameters of the model that was trained on ImageNet, whose 1000 `classes` it needs; its\n"
                  "            file is read, or downloaded if it is missing.",
    "ctx": "the device, or a list of them, of these parameters; None is the CPU.",
    "root": "the directory of their file; None is `models` in the environment's MXNET_HOME, or in ~/.mxnet.",
}  # fmt: skip
_OF_CLASS = "`prefix` and `params`, as in HybridBlock."
_OF_FUNCTION = "`classes` and the other arguments of the model's class."
_NO_FILE = """TypeError: an argument is not known.
        FileNotFoundError: `pretrained`, and the file can be neither found nor downloaded."""


def documented(thing: _M) -> _M:
    """Completes the docstring of a model's class, or of a function that makes models."""
    is_class = isinstance(thing, type)
    names = parameters_of(thing.__init__)[1:] if is_class else parameters_of(thing)
    words = {name: ("", words) for name, words in _WORDS.items()}
    words["kwargs"] = ("", _OF_CLASS if is_class else _OF_FUNCTION)
    result = "A HybridBlock, which takes images (batch, 3, height, width) and gives (batch, classes)."
    raises = "TypeError: an argument is not known." if is_class else _NO_FILE
    module = sys.modules[thing.__module__]
    shown = getattr(module, "__all__", [thing.__name__])  # names that the package has too
    where = "" if thing.__name__ in shown else f"{module.__name__.rpartition('.')[2]}."
    source = f"mxnet.gluon.model_zoo.vision.{where}{thing.__name__}"
    thing.__doc__ = composed(thing.__doc__, names, source, "" if is_class else result, raises, {}, words)
    return thing


def sequence(*blocks: Any, prefix: str = "") -> nn.HybridSequential:
    """A HybridSequential of the blocks. With the empty prefix, their names belong to the surrounding scope."""
    made = nn.HybridSequential(prefix=prefix)
    made.add(*blocks)
    return made


class Classifier(HybridBlock):
    """A model of two parts: `features`, and `output`, which gives the classes."""

    def hybrid_forward(self, F: Any, x: NDArray) -> NDArray:
        return self.output(self.features(x))


def with_weights(
    net: HybridBlock, name: str, pretrained: bool, ctx: Context | list[Context] | None, root: str | None
) -> HybridBlock:
    """`net`; if `pretrained`, with the parameters of the trained model `name`."""
    if pretrained:
        from ..model_store import get_model_file

        net.load_parameters(get_model_file(name, root=root), ctx=ctx)
    return net


def named(make: Callable[..., HybridBlock], name: str, *args: Any, **fixed: Any) -> Callable[..., HybridBlock]:
    """A function `name` that takes keyword arguments and calls `make(*args, **kwargs, **fixed)`."""

    def model(**kwargs: Any) -> HybridBlock:
        return make(*args, **kwargs, **fixed)

    model.__name__ = model.__qualname__ = name
    given = ", ".join([*map(repr, args), *(f"{key}={value}" for key, value in fixed.items()), "**kwargs"])
    model.__doc__ = f"""`{make.__name__}({given})`.

    Args:
        **kwargs: `pretrained`, `ctx`, `root` and the other arguments of `{make.__name__}`.

    Example:
        >>> net = gluon.model_zoo.vision.{name}(classes=10)
        >>> isinstance(net, gluon.HybridBlock)
        True
    """
    return documented(model)
