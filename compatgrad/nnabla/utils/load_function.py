"""Functions from messages."""

from __future__ import annotations

from typing import Any

from ..auto_forward import auto_forward as auto_forwarding
from ..context import Context, context_scope
from ..core.networks import ProtoFunction, apply_function

__all__: list[str] = []


class _Function:
    """A function of a message, called with Variables."""

    def __init__(self, ctx: Context, message: Any) -> None:
        self._function = ProtoFunction.from_proto(message)
        self.context = ctx
        self.name = self.type_name = message.type
        self.args = self.arguments = self._function.args

    def __call__(self, *inputs: Any, n_outputs: int = -1, auto_forward: bool = False, outputs: Any = None) -> Any:
        with context_scope(self.context), auto_forwarding(auto_forward):
            results = apply_function(self._function, list(inputs), 1)
        return results[0] if len(results) == 1 else results


def _create_function_instance(ctx: Context, func: Any) -> _Function:
    """What applies the function that the Function message `func` describes, in the context `ctx`."""
    return _Function(ctx, func)
