"""Functions of MXNet 1.x that programs import: the division of a batch among contexts, a check of a symbol's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__: list[str] = []


def _split_input_slice(batch_size: int, work_load_list: Sequence[float]) -> list[slice]:
    """The part of a batch for each context in proportion to its load; ValueError if a part would be empty."""
    total = sum(work_load_list)
    sizes = [round(load * batch_size / total) for load in work_load_list]
    sizes[-1] += max(0, batch_size - sum(sizes))
    parts = []
    end = 0
    for size in sizes:
        begin, end = end, min(end + size, batch_size)
        if begin >= end:
            raise ValueError(f"Too many slices. Some splits are empty: a batch of {batch_size} for {len(sizes)}.")
        parts.append(slice(begin, end))
    return parts


def _check_arguments(symbol: Any) -> None:
    """ValueError if two arguments or two auxiliary states of a symbol have one name."""
    for kind, names in (("argument", symbol.list_arguments()), ("auxiliary param", symbol.list_auxiliary_states())):
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise ValueError(
                f'Find duplicated {kind} name "{twice}", please make the weight name non-duplicated(using name '
                f"arguments), arguments are {names}"
            )
