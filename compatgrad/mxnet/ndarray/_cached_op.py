"""CachedOp: a symbol as a function of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compatgrad.core.entering import entered

from .._frontend import fe
from ..base import MXNetError
from .ndarray import NDArray

__all__ = ["CachedOp"]


class CachedOp:
    """A symbol as a function of arrays, in the order of its `list_inputs()`; it is recorded like operators.

    Args:
        sym: the symbol.
        flags: pairs of names and values, options of the original's compiler, which change nothing here.
        thread_safe: without effect: calls from several threads are always safe.

    Raises:
        mxnet.base.MXNetError: in a call, the number of arrays is not that of the inputs, or an operator refuses them.

    Example:
        >>> a, b = mx.sym.Variable("a"), mx.sym.Variable("b")
        >>> nd.CachedOp(a * b + 1)(nd.array([2.0]), nd.array([3.0])).asnumpy()
        array([7.], dtype=float32)

    Source: `mxnet.nd.CachedOp` of MXNet 1.9.1.
    """

    def __init__(self, sym: Any, flags: Sequence[tuple[str, Any]] = (), thread_safe: bool = False) -> None:
        self._symbol = sym
        self._names = sym.list_inputs()
        self.flags = list(flags)

    def __call__(self, *args: NDArray, out: Any = None) -> Any:
        """The outputs, a list where there are several; with `out`, they are written there. MXNetError for a wrong
        number of arrays.
        """
        if len(args) != len(self._names):
            raise MXNetError(f"CachedOp: expected {len(self._names)} arrays for {self._names}, got {len(args)}")
        args = entered(fe, args)
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
