"""Looking things up in NNablaProtoBuf messages."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["calc_shape_size", "search_network", "select_executor"]


def select_executor(nnp: Any, name: str | None = None) -> Any:
    """The executor of that name, or the first; None if there is none."""
    return next((e for e in nnp.executor if name is None or e.name == name), None)


def search_network(nnp: Any, name: str) -> Any:
    """The network of that name, or None."""
    return next((n for n in nnp.network if n.name == name), None)


def calc_shape_size(shape: Any, batch_size: int) -> int:
    """How many elements a Shape message stands for, with `batch_size` in place of -1."""
    return int(np.prod([batch_size if n < 0 else n for n in shape.dim], dtype=np.int64))
