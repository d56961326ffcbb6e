"""`mx.np._internal`: the operators of `mx.np`, such as `_internal.add(a, b)`, which graphs have too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..ndarray._declaration import Declaration, describe
from ..ndarray._operator import operators, write
from ..ndarray.ndarray import NDArray
from ._array import ndarray


def declare(name: str, run: Callable[..., Any], inputs: tuple[str, ...], optional: tuple[str, ...] = (),
             visible: Any = 1, variadic: bool = False) -> None:  # fmt: skip
    """Registers an operator: names of its inputs, of the optional ones, and the number of results that users see."""
    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"The operator {name} of `mx.sym.np`."
    run.any_parameters = True  # type: ignore[attr-defined]
    text = "*data" if variadic else ", ".join(f"{n}?" if n in optional else n for n in inputs)
    describe(run, Declaration(text, visible))
    operators.setdefault(name, run)


def _assigned(data: Any, mask: Any, value: Any, start_axis: Any, out: Any) -> Any:
    """A copy of `data` with `value` where `mask`, which applies from `start_axis` on, is True."""
    t = data.tensor.detach().clone()
    at = (slice(None),) * int(start_axis)
    t[(*at, mask.tensor.to(torch.bool))] = value.tensor.to(t.dtype) if isinstance(value, NDArray) else float(value)
    y = ndarray(t)
    return y if out is None else write(out, y)


def _boolean_mask_assign_scalar(data, mask, value=0.0, start_axis=0, out=None, name=None):
    return _assigned(data, mask, value, start_axis, out)


def _boolean_mask_assign_tensor(data, mask, value, start_axis=0, out=None, name=None):
    return _assigned(data, mask, value, start_axis, out)


declare("_npi_boolean_mask_assign_scalar", _boolean_mask_assign_scalar, ("data", "mask"))
declare("_npi_boolean_mask_assign_tensor", _boolean_mask_assign_tensor, ("data", "mask", "value"))


def __getattr__(name: str) -> Callable[..., Any]:
    found = operators.get(f"_npi_{name}")
    if found is None:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    return found


def __dir__() -> list[str]:
    return sorted(name.removeprefix("_npi_") for name in operators if name.startswith("_npi_"))
