"""Creates functions from Function messages."""

from __future__ import annotations

from typing import Any

from ..context import Context
from ..core._networks import ProtoFunction, arguments_of
from ..function import _OfType

__all__: list[str] = []


def _create_function_instance(ctx: Context, func: Any) -> _OfType:
    """A callable that applies the function described by the Function message `func` in the context `ctx`.

    Raises ValueError for an unknown type.
    """
    function = ProtoFunction.from_proto(func)
    spec, values = arguments_of(function, 1)
    return _OfType(ctx, function.type, (), dict(zip(spec.args, values, strict=True)))
