"""Automatic mixed precision: accepted, and everything stays in float32, so that losses need no scaling."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["init", "init_trainer", "scale_loss", "unscale"]

_said = False


def init(
    target_dtype: str = "float16",
    target_precision_ops: Any = None,
    conditional_fp32_ops: Any = None,
    fp32_ops: Any = None,
) -> None:
    """Accepted, with a warning the first time; ValueError for a dtype that the original does not take."""
    global _said
    if target_dtype not in ("float16", "bfloat16"):
        raise ValueError(f"amp.init: target_dtype must be 'float16' or 'bfloat16', got {target_dtype!r}")
    if not _said:
        _said = True
        warnings.warn(
            "amp.init: mixed precision is not used here, operators run in the type of their inputs", stacklevel=2
        )


def init_trainer(optimizer_or_trainer: Any) -> None:
    """Accepted."""


@contextmanager
def scale_loss(loss: Any, optimizer_or_trainer: Any) -> Iterator[Any]:
    """A scope with the loss as it is."""
    yield loss


def unscale(optimizer_or_trainer: Any) -> None:
    """Accepted: gradients are not scaled."""
