"""Functions under the snake-case names of their types, without the wrappers of `nnabla.functions`."""

from __future__ import annotations

from typing import Any

from compatgrad.nnabla import functions as functions  # declares them
from compatgrad.nnabla._declare import specs

_by_name = {spec.name.lstrip("_"): spec for spec in specs.values()}


def __getattr__(name: str) -> Any:
    spec = _by_name.get(name)
    if spec is None:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    globals()[name] = spec.made
    return spec.made


def __dir__() -> list[str]:
    return sorted({*globals(), *_by_name})
