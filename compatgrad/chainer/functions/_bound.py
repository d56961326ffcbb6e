"""The engine's ops as functions of Chainer's Variables and arrays of any dtype, without Chainer's checks:
`from compatgrad.chainer.functions._bound import mul` binds the op `mul`."""

from __future__ import annotations

from typing import Any

from compatgrad import ops
from compatgrad.chainer._frontend import frontend


def __getattr__(name: str) -> Any:
    if name.startswith("__") or not hasattr(ops, name):
        raise AttributeError(f"there is no op {name!r}")
    bound = globals()[name] = frontend.bind(name, dtype="any")
    return bound
