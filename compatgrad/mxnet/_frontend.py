"""The engine's side of mxnet: its frontend object and the ops under it."""

from __future__ import annotations

from typing import Any

from compatgrad import _C
from compatgrad.core.declarations import Ops

fe = _C.Frontend("mxnet", "numpy")
fe.on_request = True  # recorded inside autograd.record() only


def as_np_ndarrays(value: Any) -> Any:
    """NDArrays, also in lists and tuples, as arrays of mx.np."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(as_np_ndarrays, value))
    return value.as_np_ndarray() if hasattr(value, "as_np_ndarray") else value


op = Ops(fe)
# In MXNet, arrays of integers have gradients too: a cast to integers must pass the gradient on, as `convert` does.
op.cast_floats, op.cast = op.cast, op.convert
