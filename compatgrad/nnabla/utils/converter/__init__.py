"""nnabla's converters between file formats of networks. They are not part of compatgrad."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise NotImplementedError(f"nnabla.utils.converter.{name}: converting network files is not supported by compatgrad")
