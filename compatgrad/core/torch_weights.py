"""Names and layouts of torch's layers for the parameters in a file; the rules are in each frontend.

A layout is text: "same"; "t", transposed; "view:OLD/NEW", the same elements in another shape; "units:ORDER", rows that
are the gates of each unit in turn, which become blocks of gates in this order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

__all__ = ["Place", "Weights", "grouped", "put", "take"]


@dataclass(frozen=True)
class Place:
    """Where a tensor of torch comes from.

    Args:
        names: legacy names; the tensors of several are joined along the first axis.
        layout: how the legacy tensor becomes torch's.

    Example:
        >>> from compatgrad.core.torch_weights import Place
        >>> Place(("l1/W",)).layout
        'same'

    Source: `compatgrad/core/torch_weights.py`.
    """

    names: tuple[str, ...]
    layout: str = "same"


@dataclass
class Weights:
    """What is known of the parameters in a file.

    Args:
        places: for each torch name its place.
        zeros: torch tensors that the legacy layer does not have and that are zeros there, with their shapes.
        kept: legacy names for which no layer of torch is known, with the reason.

    Example:
        >>> from compatgrad.core.torch_weights import Weights
        >>> found = Weights()
        >>> found.put("l1/W", "l1.weight")
        >>> found.places["l1.weight"].names
        ('l1/W',)

    Source: `compatgrad/core/torch_weights.py`.
    """

    places: dict[str, Place] = field(default_factory=dict)
    zeros: dict[str, tuple[int, ...]] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)

    def put(self, legacy: str, name: str, layout: str = "same") -> None:
        """Gives a parameter torch's name, unless another one has it."""
        self.join([legacy], name, layout)

    def join(self, legacy: Sequence[str], name: str, layout: str = "same") -> None:
        """Gives several parameters, joined, torch's name."""
        if name in self.places:
            for own in legacy:
                self.keep(own, f"{name} is the name of {', '.join(self.places[name].names)} already")
        else:
            self.places[name] = Place(tuple(legacy), layout)

    def keep(self, legacy: str, why: str) -> None:
        """Leaves a parameter as it is."""
        self.kept[legacy] = why


def grouped(names: Mapping[str, object], separators: str) -> dict[str, dict[str, str]]:
    """Names by their owners: for each owner a dict from the last part of a name to the name.

    Args:
        names: the names.
        separators: characters between parts.

    Returns:
        The groups, in the order of the names.

    Raises:
        Nothing.

    Example:
        >>> from compatgrad.core.torch_weights import grouped
        >>> grouped({"l1/W": 0, "l1/b": 0}, "/")
        {'l1': {'W': 'l1/W', 'b': 'l1/b'}}

    Source: `compatgrad/core/torch_weights.py`.
    """
    found: dict[str, dict[str, str]] = {}
    for name in names:
        cut = max(name.rfind(c) for c in separators)
        found.setdefault(name[: max(cut, 0)], {})[name[cut + 1 :]] = name
    return found


def _order(layout: str) -> list[int]:
    return [int(n) for n in layout.partition(":")[2].split(",")]


def put(place: Place, tensors: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """torch's tensor.

    Args:
        place: its place.
        tensors: the legacy tensors by name.

    Returns:
        A tensor that may share memory with a legacy one.

    Raises:
        KeyError: a legacy tensor is missing.

    Example:
        >>> import torch
        >>> from compatgrad.core.torch_weights import Place, put
        >>> put(Place(("W",), "t"), {"W": torch.ones(2, 3)}).shape
        torch.Size([3, 2])

    Source: `compatgrad/core/torch_weights.py`.
    """
    parts = [tensors[name] for name in place.names]
    t = parts[0] if len(parts) == 1 else torch.cat(parts)
    how, _, rest = place.layout.partition(":")
    if how == "t":
        return t.t()
    if how == "view":
        return t.reshape([int(n) for n in rest.split("/")[1].split(",") if n])
    if how == "units":
        order = _order(place.layout)
        return t.reshape(-1, len(order), *t.shape[1:]).transpose(0, 1)[order].reshape(t.shape)
    return t


def take(place: Place, t: torch.Tensor, shapes: Mapping[str, Sequence[int]]) -> dict[str, torch.Tensor]:
    """The legacy tensors of a tensor of torch.

    Args:
        place: its place.
        t: torch's tensor.
        shapes: the shapes of the legacy tensors by name.

    Returns:
        The legacy tensors by name.

    Raises:
        ValueError: `t` has another number of elements.

    Example:
        >>> import torch
        >>> from compatgrad.core.torch_weights import Place, take
        >>> take(Place(("W",), "t"), torch.ones(3, 2), {"W": (2, 3)})["W"].shape
        torch.Size([2, 3])

    Source: `compatgrad/core/torch_weights.py`.
    """
    how = place.layout.partition(":")[0]
    if how == "t":
        t = t.t()
    elif how == "units":
        order = _order(place.layout)
        back = [order.index(k) for k in range(len(order))]
        t = t.reshape(len(order), -1, *t.shape[1:])[back].transpose(0, 1).reshape(t.shape)
    own = [tuple(shapes[name]) for name in place.names]
    expected = own[0] if len(own) == 1 else (sum(s[0] for s in own), *own[0][1:])
    if how == "view":
        if t.numel() != torch.Size(expected).numel():
            raise ValueError(f"expected {torch.Size(expected).numel()} elements, found shape {tuple(t.shape)}")
        t = t.reshape(expected)
    if tuple(t.shape) != expected:
        raise ValueError(f"expected shape {expected} in the original's layout, found {tuple(t.shape)}")
    parts = t.split([s[0] for s in own]) if len(own) > 1 else [t]
    return dict(zip(place.names, parts, strict=True))
