"""Names in the source: attributes for legacy names, which may be any text."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Sequence

import torch

from compatgrad.interop.native._layers import Layer

__all__ = ["Places", "identifier", "shown"]

_TAKEN = {*dir(torch.nn.Module()), *keyword.kwlist, "self", "torch", "nn", "F", "math"}


def identifier(text: str, start: str = "layer") -> str:
    """An attribute name for a part of a legacy name."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or start
    if name[0].isdigit():
        name = f"{start}{name}"
    return f"{name}_" if name in _TAKEN else name


def class_name(text: str) -> str:
    """A class name for a part of a legacy name or the name of a class."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "Network"
    name = name if "_" not in name and name[0].isupper() else "".join(p[:1].upper() + p[1:] for p in name.split("_"))
    name = f"Net{name}" if name[0].isdigit() else name
    return f"{name}_" if name in {*keyword.kwlist, *dir(builtins), "F", "Text"} else name


def shown(name: str) -> str:
    """A legacy name for a comment."""
    return name if name.isprintable() and name.isascii() else repr(name)


# parts of names that only say what a layer is, below the part that names the layer
_KINDS = {"affine", "conv", "deconv", "bn", "embed", "prelu", "dw_conv", "depthwise_conv", "linear"}


# parts of names inside a recurrent layer
_INNER = {"_unfused", "l_cell", "r_cell"}


class Places:
    """The path of each layer and of each parameter that belongs to no layer, as tuples of attributes of modules.

    names: the legacy names of the whole state.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._leaves: dict[str, set[str]] = {}
        for name in names:
            owner, _, leaf = name.rpartition(".")
            self._leaves.setdefault(owner, set()).add(leaf)
        self._known: dict[tuple[str, ...], dict[str, str]] = {}  # parent -> legacy part -> attribute
        self._used: set[tuple[str, ...]] = set()
        self._layers: set[tuple[str, ...]] = set()

    def _attribute(self, parent: tuple[str, ...], part: str) -> str:
        known = self._known.setdefault(parent, {})
        if part not in known:
            name, k = identifier(part), 2
            while name in known.values():
                name = f"{identifier(part)}_{k}"
                k += 1
            known[part] = name
        return known[part]

    def _path(self, parts: Sequence[str]) -> tuple[str, ...]:
        path: tuple[str, ...] = ()
        for part in parts:
            path += (self._attribute(path, part),)
        return path

    def _has_more(self, owner: str) -> bool:
        return any(o.startswith(f"{owner}.") for o in self._leaves)

    def layer(self, layer: Layer) -> tuple[str, ...]:
        """A new path for a layer."""
        if layer.gathered:
            return self._whole(layer)
        if layer.kind == "kept":
            path = self._free(layer.arguments[0].split("."))
            self._layers.add(path)
            return path
        names = [legacy for _, legacy, _ in layer.state]
        owner = names[0].rpartition(".")[0]
        leaves = [n.rpartition(".")[2] for n in names if n.rpartition(".")[0] == owner]
        whole = bool(owner) and self._leaves.get(owner, set()) <= set(leaves) and not self._has_more(owner)
        parts = owner.split(".") if owner else []
        if not whole or self._path(parts) in self._used:
            stem = _common(leaves).rstrip("_-:/ ") if not whole else ""
            stem = re.sub(r"[_-](weight|gamma|beta|bias)$", "", stem)  # a layer with one parameter
            if not stem or stem in ("weight", "W", "w", "b", "bias", "gamma", "beta", "avg", "running", "moving"):
                stem = layer.kind.rpartition(".")[2].rstrip("0123456789d").lower() or "layer"
            parts = [*parts, stem]
        elif len(parts) > 1 and parts[-1] in _KINDS and self._alone(owner):
            parts = parts[:-1]
        path = self._free(parts)
        self._layers.add(path)
        return path

    def _whole(self, layer: Layer) -> tuple[str, ...]:
        """A new path for a recurrent layer, whose parameters several parts of the network may contain."""
        names = [name.split(".")[:-1] for _, g in layer.gathered for name in g.names]
        parts = list(names[0])
        for other in names:
            while other[: len(parts)] != parts:
                parts.pop()
        while parts and (parts[-1].isdigit() or parts[-1] in _INNER):
            parts.pop()
        owner = ".".join(parts)
        own = {n for _, g in layer.gathered for n in g.names}
        inside = {f"{o}.{leaf}" for o, leaves in self._leaves.items() for leaf in leaves
                  if o == owner or o.startswith(f"{owner}.")}  # fmt: skip
        if not parts or not inside <= own or self._path(parts) in self._used:
            parts.append(layer.kind.rpartition(".")[2].lower())
        elif len(parts) > 1 and parts[-1] in _KINDS and self._alone(owner):
            parts.pop()
        path = self._free(parts)
        self._layers.add(path)
        return path

    def _free(self, parts: Sequence[str]) -> tuple[str, ...]:
        """A new path for these parts, which no layer contains."""
        parts = list(parts)
        while any(self._path(parts[:k]) in self._layers for k in range(1, len(parts))):
            parts[-2:] = [f"{parts[-2]}_{parts[-1]}"]
        path, k = self._path(parts), 2
        while path in self._used:
            path = self._path([*parts[:-1], f"{parts[-1]}_{k}"])
            k += 1
        self._used.add(path)
        return path

    def _alone(self, owner: str) -> bool:
        """Whether the part of the network that contains a layer contains nothing else."""
        parent = owner.rpartition(".")[0]
        return all(o == owner or not (o == parent or o.startswith(f"{parent}.")) for o in self._leaves)

    def parameter(self, name: str) -> tuple[str, ...]:
        """A new path for a parameter or buffer of no layer."""
        return self._free(name.split("."))


def _common(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    k = 0
    while k < min(len(first), len(last)) and first[k] == last[k]:
        k += 1
    return first[:k]
