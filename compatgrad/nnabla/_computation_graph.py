"""`forward_all`, a forward pass for several Variables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from compatgrad import _C
from compatgrad.nnabla import callback
from compatgrad.nnabla.variable import Variable

__all__ = ["forward_all"]


def forward_all(
    variables: Sequence[Variable],
    clear_buffer: bool = False,
    clear_no_need_grad: bool = False,
    function_pre_hook: Callable[[Any], Any] | None = None,
    function_post_hook: Callable[[Any], Any] | None = None,
) -> None:
    """Computes several Variables; each function runs once.

    Args:
        variables: the Variables. Their own arrays are never freed.
        clear_buffer: whether every array that is not persistent is freed after its last use.
        clear_no_need_grad: whether arrays are freed that no gradient needs.
        function_pre_hook: called with each function before it runs.
        function_post_hook: called with each function after it ran.

    Raises:
        TypeError: an element is no Variable.

    Example:
        >>> x = nn.Variable.from_numpy_array(np.array([1.0, 2.0]))
        >>> y, z = F.sum(x), F.exp(x)
        >>> nn.forward_all([y, z])
        >>> y.d, z.d
        (array(3., dtype=float32), array([2.7182817, 7.389056 ], dtype=float32))

    Source: `nnabla.forward_all` of nnabla 1.39.0.
    """
    variables = list(variables)
    for v in variables:
        if not isinstance(v, Variable):
            raise TypeError(f"forward_all: expected Variables, got {type(v).__name__}")
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
