"""Methods of NDArray that need modules which import NDArray: differentiation, storage types, pickling."""

from __future__ import annotations

from typing import Any

from compatgrad import _C

from .._attach import method_of
from ..autograd import backward as _backward
from ._params_file import packed, unpacked
from .ndarray import NDArray
from .sparse import cast_storage


@method_of(NDArray)
def backward(
    self: NDArray, out_grad: NDArray | None = None, retain_graph: bool = False, train_mode: bool = True
) -> None:
    """`autograd.backward` from this array; `out_grad` is its own gradient, ones unless given."""
    _backward(self, out_grad, retain_graph, train_mode)


@method_of(NDArray)
def tostype(self: NDArray, stype: str) -> NDArray:
    """A copy in a storage type: "default", "row_sparse" or "csr"."""
    if stype == "csr" and self.ndim != 2:
        raise ValueError(f"tostype: only an array with 2 dimensions can become csr, not one of shape {self.shape}")
    return cast_storage(self, stype)


@method_of(NDArray, "__reduce__")
def _reduced(self: NDArray) -> tuple[Any, ...]:
    return type(self), (None,), {"handle": packed(self), "context": self._ctx}


@method_of(NDArray, "__setstate__")
def _restore(self: NDArray, state: dict[str, Any]) -> None:
    """Restores an array from the state of a pickle; pickles of the original have the same state."""
    if state.get("handle") is not None:
        _C.Variable.__init__(self, unpacked(state["handle"]), False)
    if state.get("context") is not None:
        self._ctx = state["context"]
