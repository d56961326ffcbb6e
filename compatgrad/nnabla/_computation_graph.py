"""Passes over several Variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad import _C
from compatgrad.nnabla import callback
from compatgrad.nnabla.variable import Variable

__all__ = ["forward_all"]


def forward_all(
    variables: Sequence[Variable],
    clear_buffer: bool = False,
    clear_no_need_grad: bool = False,
    function_pre_hook: Any = None,
    function_post_hook: Any = None,
) -> None:
    """Computes all `variables`; each function runs once. They keep their data whatever is cleared."""
    variables = list(variables)
    old = [v.persistent for v in variables]
    try:
        for v in variables:
            v.persistent = True
        _C.deferred_forward(
            variables,
            clear_buffer,
            clear_no_need_grad,
            callback.before(function_pre_hook),
            callback.after(function_post_hook),
            callback.done(),
        )
    finally:
        for v, persistent in zip(variables, old, strict=True):
            v.persistent = persistent
