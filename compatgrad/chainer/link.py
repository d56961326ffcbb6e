"""Chain and ChainList: links with child links, by name or in a list. `Link` can be imported from here too."""

from __future__ import annotations

import collections.abc
import contextlib  # noqa: F401  programs find it here, as in Chainer
import copy  # noqa: F401  programs find it here, as in Chainer
import warnings  # noqa: F401  programs find it here, as in Chainer
from typing import TYPE_CHECKING

import numpy  # noqa: F401  programs find it here, as in Chainer

from compatgrad.chainer import (  # noqa: F401  programs find them here, as in Chainer
    backend,
    device_resident,
    initializers,
    link_hook,
    variable,
)
from compatgrad.chainer._link import (
    Link,
    _is_shape,  # noqa: F401  programs find it here, as in Chainer
    _Self,
)
from compatgrad.core import foreign

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatgrad.chainer.device_resident import DeviceResidentsVisitor
    from compatgrad.chainer.serializer import AbstractSerializer
    from compatgrad.chainer.variable import Parameter

Link.__module__ = __name__  # where programs know it from


def _block_str(link, named_children):
    lines = []
    for name, child in named_children:
        lines += [f"  {line}\n" for line in f"({name}): {child},".splitlines()]
    body = "\n" + "".join(lines) if lines else ""
    return f"{type(link).__name__}({body})"


class Chain(Link):
    """A link with named children, registered by assignment inside `init_scope()` or given as keyword arguments.

    Args:
        **links: child links by name.

    Example:
        >>> class MLP(chainer.Chain):
        ...     def __init__(self):
        ...         super().__init__()
        ...         with self.init_scope():
        ...             self.l1, self.l2 = L.Linear(4, 8), L.Linear(8, 2)
        ...     def forward(self, x):
        ...         return self.l2(F.relu(self.l1(x)))
        >>> sorted(name for name, _ in MLP().namedparams())
        ['/l1/W', '/l1/b', '/l2/W', '/l2/b']

    Source: `chainer.Chain` of Chainer 7.8.1.
    """

    def __init__(self, **links: Link) -> None:
        super().__init__()
        self._children = set()
        for name, link in links.items():
            self.add_link(name, link)

    def __str__(self):
        return _block_str(self, ((child.name, child) for child in self.children()))

    def __getitem__(self, name):
        return getattr(self, name)

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, Link):
            if hasattr(self, name):
                raise AttributeError(f"cannot register a new link {name}: attribute exists")
            value.name = name
            self._children.add(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        self._children.discard(name)
        super().__delattr__(name)

    def add_link(self, name: str, link: Link) -> None:
        """Registers a child. Raises AttributeError if the attribute exists, and TypeError for an object that is not a
        Link."""
        if name in self.__dict__:
            raise AttributeError(f"cannot register a new link {name}: attribute exists")
        if not isinstance(link, Link):
            kind = type(link).__name__ + foreign.advice(link, "chainer")
            raise TypeError(f"cannot register a non-link object as a child: {name} is a {kind}")
        with self.init_scope():
            setattr(self, name, link)

    def copy(self: _Self, mode: str = "share") -> _Self:
        ret = super().copy(mode)
        ret._children = set(ret._children)
        d = ret.__dict__
        for name in ret._children:
            d[name] = d[name].copy(mode)
            d[name].name = name
        return ret

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        d = self.__dict__
        for name in self._children:
            d[name].device_resident_accept(visitor)

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        yield from super().params(include_uninit)
        d = self.__dict__
        for name in sorted(self._children):
            yield from d[name].params(include_uninit)

    params._walks_children = "named"

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from super().namedparams(include_uninit)
        d = self.__dict__
        for name in sorted(self._children):
            for path, param in d[name].namedparams(include_uninit):
                yield f"/{name}{path}", param

    def links(self, skipself: bool = False) -> Iterator[Link]:
        yield from super().links(skipself)
        for child in Chain.children(self):
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        yield from super().namedlinks(skipself)
        d = self.__dict__
        for name in sorted(self._children):
            yield "/" + name, d[name]
            for path, link in d[name].namedlinks(True):
                yield f"/{name}{path}", link

    def children(self) -> Iterator[Link]:
        d = self.__dict__
        for name in sorted(self._children):
            yield d[name]

    def copyparams(self, link: Link, copy_persistent: bool = True) -> None:
        super().copyparams(link, copy_persistent)
        src = link.__dict__
        dst = self.__dict__
        for name in self._children:
            dst[name].copyparams(src[name], copy_persistent)

    def addgrads(self, link: Link) -> None:
        super().addgrads(link)
        src = link.__dict__
        dst = self.__dict__
        for name in self._children:
            dst[name].addgrads(src[name])

    def serialize(self, serializer: AbstractSerializer) -> None:
        super().serialize(serializer)
        d = self.__dict__
        for name in self._children:
            d[name].serialize(serializer[name])


class ChainList(Link, collections.abc.MutableSequence):
    """A link whose children are a list; their names are their positions.

    Args:
        *links: child links.

    Example:
        >>> links = chainer.ChainList(L.Linear(2, 3), L.Linear(3, 1))
        >>> links.append(L.Linear(1, 1))
        >>> len(links), links[0].W.shape, [path for path, link in links.namedlinks(skipself=True)]
        (3, (3, 2), ['/0', '/1', '/2'])

    Source: `chainer.ChainList` of Chainer 7.8.1.
    """

    def __init__(self, *links: Link) -> None:
        super().__init__()
        self._children = []
        for link in links:
            self.add_link(link)

    def __str__(self):
        return _block_str(self, enumerate(self._children))

    def __setattr__(self, name, value):
        if self._within_init_scope and isinstance(value, Link):
            raise TypeError('cannot register a new link within a "with chainlist.init_scope():" block.')
        super().__setattr__(name, value)

    def _rename_children(self):
        for i, child in enumerate(self._children):
            child.name = str(i)

    def __setitem__(self, index, value):
        for child in value if isinstance(index, slice) else [value]:
            foreign.refuse(child, "chainer", f"{type(self).__name__}[{index}]")
        if isinstance(index, int):
            value.name = str(index)
            self._children[index] = value
        elif isinstance(index, slice):
            self._children[index] = value
            self._rename_children()
        else:
            raise TypeError(f"ChainList indices must be integers or slices, not {type(index).__name__}")

    def __getitem__(self, index):
        return self._children[index]

    def __delitem__(self, index):
        del self._children[index]
        self._rename_children()

    def insert(self, index: int, link: Link) -> None:
        """Puts a child before position `index`. Raises TypeError for a torch module or another framework's network."""
        foreign.refuse(link, "chainer", f"{type(self).__name__}[{index}]")
        if index == len(self._children):
            self._children.append(link)
            link.name = str(index)
        else:
            self._children.insert(index, link)
            self._rename_children()

    def __iter__(self):
        return iter(self._children)

    def __len__(self):
        return len(self._children)

    def add_link(self, link: Link) -> None:
        """Appends a child."""
        self.append(link)

    def copy(self: _Self, mode: str = "share") -> _Self:
        ret = super().copy()  # this link's own parameters are shared in every mode, as in the original
        ret._children = [child.copy(mode) for child in ret._children]
        ret._rename_children()
        return ret

    def device_resident_accept(self, visitor: DeviceResidentsVisitor) -> None:
        super().device_resident_accept(visitor)
        for link in self._children:
            link.device_resident_accept(visitor)

    def params(self, include_uninit: bool = True) -> Iterator[Parameter]:
        yield from super().params(include_uninit)
        for link in self._children:
            yield from link.params(include_uninit)

    params._walks_children = "listed"

    def namedparams(self, include_uninit: bool = True) -> Iterator[tuple[str, Parameter]]:
        yield from super().namedparams(include_uninit)
        for i, link in enumerate(self._children):
            for path, param in link.namedparams(include_uninit):
                yield f"/{i}{path}", param

    def links(self, skipself: bool = False) -> Iterator[Link]:
        yield from super().links(skipself)
        for child in self._children:
            yield from child.links()

    def namedlinks(self, skipself: bool = False) -> Iterator[tuple[str, Link]]:
        yield from super().namedlinks(skipself)
        for i, child in enumerate(self._children):
            yield f"/{i}", child
            for path, link in child.namedlinks(True):
                yield f"/{i}{path}", link

    def children(self) -> Iterator[Link]:
        yield from self._children

    def copyparams(self, link: Link, copy_persistent: bool = True) -> None:
        super().copyparams(link, copy_persistent)
        for i, child in enumerate(self._children):
            child.copyparams(link[i], copy_persistent)

    def addgrads(self, link: Link) -> None:
        super().addgrads(link)
        for i, child in enumerate(self._children):
            child.addgrads(link[i])

    def serialize(self, serializer: AbstractSerializer) -> None:
        super().serialize(serializer)
        for i, child in enumerate(self._children):
            child.serialize(serializer[str(i)])
