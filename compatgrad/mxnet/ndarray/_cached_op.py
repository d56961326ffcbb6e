"""CachedOp: a symbol as a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base import MXNetError
from .ndarray import NDArray

__all__ = ["CachedOp"]


class CachedOp:
    """Runs the symbol `sym` on arrays in the order of its `list_inputs()`.

    flags: options of the original's compiler, which change nothing here.
    """

    def __init__(self, sym: Any, flags: Sequence[tuple[str, Any]] = (), thread_safe: bool = False) -> None:
        self._symbol = sym
        self._names = sym.list_inputs()
        self.flags = list(flags)

    def __call__(self, *args: NDArray, out: Any = None) -> Any:
        """The outputs, a list where there are several; `out`: written there. MXNetError for a wrong number."""
        if len(args) != len(self._names):
            raise MXNetError(f"CachedOp: expected {len(self._names)} arrays for {self._names}, got {len(args)}")
        ys = self._symbol.eval_imperative(dict(zip(self._names, args, strict=True)))
        if out is not None:
            targets = [out] if isinstance(out, NDArray) else list(out)
            for target, y in zip(targets, ys, strict=True):
                target[:] = y
            return out
        return ys[0] if len(ys) == 1 else ys

    def get_optimized_symbol(self) -> Any:
        """The symbol that is run."""
        return self._symbol
