"""Looking things up in NNablaProtoBuf messages, and the functions that there are."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = [
    "calc_shape_size",
    "func_set_import_nnp",
    "func_set_nnabla_support",
    "search_network",
    "select_executor",
]


def select_executor(nnp: Any, name: str | None = None) -> Any:
    """The executor of that name, or the first; None if there is none."""
    return next((e for e in nnp.executor if name is None or e.name == name), None)


def search_network(nnp: Any, name: str) -> Any:
    """The network of that name, or None."""
    return next((n for n in nnp.network if n.name == name), None)


def func_set_nnabla_support() -> set[str]:
    """The types of functions that files hold; gradients that the package registers beside them are none."""
    from ..._declare import specs
    from ...functions import __name__ as package

    return {name for name, spec in specs.items() if spec.body.__module__.startswith(package)}


def func_set_import_nnp(nnp: Any) -> set[str]:
    """The types of the functions in all networks of what `NnpImporter` read."""
    return {function.type for network in nnp.protobuf.network for function in network.function}


def calc_shape_size(shape: Any, batch_size: int) -> int:
    """How many elements a Shape message stands for, with `batch_size` in place of -1."""
    return int(np.prod([batch_size if n < 0 else n for n in shape.dim], dtype=np.int64))
