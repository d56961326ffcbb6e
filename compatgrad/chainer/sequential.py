"""Sequential: a list of callables applied one after another."""

from __future__ import annotations

import copy
import inspect
from typing import TYPE_CHECKING, Any

from compatgrad.chainer import link as _link
from compatgrad.core import foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def _type_name(layer):
    return type(layer).__name__ if isinstance(layer, _link.Link) else layer.__name__


def _is_lambda(layer):
    return getattr(layer, "__name__", None) == "<lambda>"


class Sequential(_link.ChainList):
    """A list of layers that are applied in order; where a layer returns a tuple, its elements are the arguments of the
    next layer.

    Args:
        *layers: Links or any other callables.

    Raises:
        ValueError: a layer is not callable.

    Example:
        >>> model = chainer.Sequential(L.Linear(2, 3), F.relu, L.Linear(3, 1))
        >>> model(np.zeros((5, 2), np.float32)).shape, len(model), len(list(model.children()))
        ((5, 1), 3, 2)

    Source: `chainer.Sequential` of Chainer 7.8.1.
    """

    def __init__(self, *layers: Callable[..., Any]) -> None:
        super().__init__()
        self._layers = []
        for layer in layers:
            self.append(layer)

    def __len__(self):
        return len(self._layers)

    def __getitem__(self, i):
        return self._layers[i]

    def __setitem__(self, i, layer):
        if i >= len(self):
            raise ValueError(f"{i} should be less than {len(self)}")
        if not callable(layer):
            raise ValueError(
                f"All elements of a Sequential class should be callable. But given {layer} is not callable."
            )
        if self._layers[i] is not layer:
            del self[i]
            self.insert(i, layer)

    def __delitem__(self, i):
        layer = self._layers.pop(i)
        if isinstance(layer, _link.Link):
            for position, child in enumerate(self._children):
                if child.name == layer.name:
                    del self._children[position]
                    break
            self._rename_children()

    def __iter__(self):
        return iter(self._layers)

    def __reversed__(self):
        return reversed(self._layers)

    def __contains__(self, item):
        return item in self._layers

    @staticmethod
    def _check_addend(other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add (+) operator supports only objects of Sequential class, but {type(other)} is given.")

    def __add__(self, other):
        self._check_addend(other)
        return Sequential(*self, *other)

    def __iadd__(self, other):
        self._check_addend(other)
        for layer in other:
            self.append(layer)
        return self

    def forward(self, *x: Any) -> Any:
        """Calls the layers in order. Raises RuntimeError if there is none."""
        if not self._layers:
            raise RuntimeError("Sequential does not have any layer.")
        for layer in self._layers:
            x = layer(*x) if isinstance(x, tuple) else layer(x)
        return x

    def __reduce__(self):
        if any(callable(layer) and _is_lambda(layer) for layer in self._layers):
            raise ValueError(
                "This Sequential object has a lambda function as its component, which cannot be pickled. Use "
                "functools.partial instead, or the package dill, which pickles lambda functions too."
            )
        return super().__reduce__()

    def __str__(self):
        layers = (
            inspect.getsource(layer).strip().rstrip(",") if _is_lambda(layer) else layer for layer in self._layers
        )
        return _link._block_str(self, enumerate(layers))

    def append(self, layer: Callable[..., Any]) -> None:
        """Adds a layer at the end. Raises ValueError if the layer is not callable."""
        self.insert(len(self), layer)

    def extend(self, sequential: Iterable[Callable[..., Any]]) -> None:
        """Adds all layers of an iterable at the end."""
        for layer in sequential:
            self.append(layer)

    def insert(self, i: int, layer: Callable[..., Any]) -> None:
        """Puts a layer before position `i`. Raises IndexError for a position outside the Sequential, and ValueError if
        the layer is not callable. A torch module or another framework's network with parameters raises TypeError."""
        n = len(self._layers)
        if not -n <= i <= n:
            raise IndexError(f"Index out of range: {i}")
        if i < 0:
            i += n
        if not callable(layer):
            raise ValueError(f"All elements of the argument should be callable. But given {layer} is not callable.")
        foreign.refuse(layer, "chainer", f"{type(self).__name__}[{i}]")
        self._layers.insert(i, layer)
        if isinstance(layer, _link.Link):
            # The child goes after the first link, not after the last link before it: Chainer numbers the children in
            # this way, and these numbers are the names under which parameters are saved.
            first = next((j for j in range(i) if isinstance(self._layers[j], _link.Link)), 0)
            self._children.insert(first + 1 if i else 0, layer)
            self._rename_children()

    def remove(self, layer: Callable[..., Any]) -> None:
        """Deletes the first occurrence of `layer`. Raises ValueError if there is none."""
        if layer not in self:
            raise ValueError(f"There is no layer object that is same as {layer}")
        del self[self.index(layer)]

    def remove_by_layer_type(self, type_name: str) -> None:
        """Deletes every link whose class, and every function whose name, is `type_name`."""
        for layer in [layer for layer in self if _type_name(layer) == type_name]:
            self.remove(layer)

    def pop(self, i: int = -1) -> Callable[..., Any]:
        """Deletes the layer at position `i` and returns it."""
        layer = self._layers[i]
        del self[i]
        return layer

    def clear(self) -> None:
        """Deletes all layers."""
        self._children.clear()
        self._layers = []

    def index(self, layer: Callable[..., Any], start: int | None = None, end: int | None = None) -> int:
        """The position of `layer` among the layers from `start` to `end`, counted from `start`."""
        return self._layers[start:end].index(layer)

    def count(self, layer: Callable[..., Any]) -> int:
        """The number of occurrences of `layer`."""
        return self._layers.count(layer)

    def count_by_layer_type(self, type_name: str) -> int:
        """The number of links whose class, and of functions whose name, is `type_name`."""
        return sum(_type_name(layer) == type_name for layer in self._layers)

    def copy(self, mode: str = "share") -> Sequential:
        """A Sequential of copies: links by `Link.copy(mode)`, other layers by `copy.copy`."""
        layers = (layer.copy(mode) if isinstance(layer, _link.Link) else copy.copy(layer) for layer in self)
        return Sequential(*layers)

    def copyparams(self, link: Sequential, copy_persistent: bool = True) -> None:
        """Copies parameter values from another Sequential, layer by layer. Raises ValueError for another type."""
        if not isinstance(link, Sequential):
            raise ValueError(
                "Objects other than Sequential object cannot be copied to a Sequential object. "
                f"Actual: {type(link).__name__}"
            )
        for i, child in enumerate(self):
            if isinstance(child, _link.Link):
                child.copyparams(link[i], copy_persistent)

    def flatten(self) -> Sequential:
        """A Sequential in which nested ones are replaced with their layers."""
        ret = Sequential()
        for layer in self:
            if isinstance(layer, Sequential):
                ret.extend(layer.flatten())
            else:
                ret.append(layer)
        return ret
