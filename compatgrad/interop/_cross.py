"""Variables of one frontend as Variables of another."""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad.core import bridge
from compatgrad.interop._frontends import FRONTENDS

__all__ = ["to"]


def to(frontend: str, x: Any) -> Any:
    """The Variable of `frontend` ("chainer", "nnabla", "mxnet", "compatgrad") with x's value and place in the graph.

    Functions of the frontends that run at once take each other's Variables as they are; this is for code that asks for
    a type. To and from nnabla a function stands between, which reads the value when its own graph runs; gradients of
    any order go through it. TypeError where x is no Variable, ValueError for an unknown frontend.
    """
    if not isinstance(x, _C.Variable):
        raise TypeError(f"interop.to: x: expected a Variable, got {type(x).__name__}")
    if frontend not in FRONTENDS:
        raise ValueError(f"interop.to: frontend: expected one of {', '.join(FRONTENDS)}, got {frontend!r}")
    own = x._frontend.name
    if own == frontend or own.startswith(f"{frontend}."):
        return x
    cls = FRONTENDS[frontend].variable_class()
    if frontend == "nnabla":
        return bridge.cross(x, cls._frontend)
    if isinstance(x, _C.DeferredVariable):
        return bridge.leave(x, cls._frontend)
    y = cls.__new__(cls)
    y.tensor = x.tensor
    _C.share_place(y, x)
    return y
