"""The engine's side of mxnet: its frontend object and the ops under it."""

from __future__ import annotations

from typing import Any

from compatgrad import _C

fe = _C.Frontend("mxnet", "numpy")
fe.on_request = True  # recorded inside autograd.record() only


class Ops:
    """Every op of the engine as a function of NDArrays: `op.sin(x)`."""

    def __init__(self) -> None:
        for name in _C.op_names():
            setattr(self, name, fe.bind(name, None, "any", name))
        # arrays of integers have gradients: no operator but the remainder stops them
        self.cast_floats, self.cast = self.cast, self.convert

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the engine has no op '{name}'")


op = Ops()
