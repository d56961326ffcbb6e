"""The engine's side of mxnet: its frontend object and the ops under it."""

from __future__ import annotations

from compatgrad import _C
from compatgrad.core.declarations import Ops

fe = _C.Frontend("mxnet", "numpy")
fe.on_request = True  # recorded inside autograd.record() only

op = Ops(fe)
# arrays of integers have gradients: no operator but the remainder stops them
op.cast_floats, op.cast = op.cast, op.convert
