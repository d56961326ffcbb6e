"""Wraps the operators of `mx.nd` and `mx.sym` in functions that cast their inputs first."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ... import ndarray as nd
from ... import symbol
from ...ndarray import NDArray
from ...symbol import Symbol
from ...symbol._facts import aux_inputs

__all__ = ["wrap_losses", "wrap_operators"]

_GROUPS = {"_contrib_": "contrib", "_linalg_": "linalg", "_sparse_": "sparse", "_image_": "image", "_random_": "random"}
_FLOATS = (np.float16, np.float32)


def _takes_half(x: NDArray) -> bool:
    """Whether to cast arrays on this device: not on the CPU, where float16 is slower than float32."""
    return x.context.device_type == "gpu"


def _cast(x: Any, dtype: Any) -> Any:
    if isinstance(x, NDArray) and x.dtype != dtype and x.dtype in _FLOATS and _takes_half(x):
        return nd.amp_cast(x, dtype=dtype)
    return x


def _each(f: Callable[[Any], Any], args: Any, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    def one(x: Any) -> Any:
        return [f(v) for v in x] if isinstance(x, list) else f(x)

    return [one(x) for x in args], {k: v if k == "out" else one(v) for k, v in kwargs.items()}


def _arrays_in(f: Callable[..., Any], dtype: Any, condition: Any) -> Callable[..., Any]:
    """Wraps `f`: arrays are cast to `dtype` first. condition: (name, values); casts only if the keyword argument
    has one of the values.
    """

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if condition is None or kwargs.get(condition[0]) in condition[1]:
            args, kwargs = _each(lambda x: _cast(x, dtype), args, kwargs)  # type: ignore[assignment]
        return f(*args, **kwargs)

    return call


def _arrays_in_widest(f: Callable[..., Any], half: Any) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        flat: list[Any] = []
        _each(flat.append, args, kwargs)
        if any(isinstance(x, NDArray) and x.dtype == np.float32 for x in flat):
            args, kwargs = _each(  # type: ignore[assignment]
                lambda x: _cast(x, np.float32) if isinstance(x, NDArray) and x.dtype == half else x, args, kwargs
            )
        return f(*args, **kwargs)

    return call


def _symbols_in(f: Callable[..., Any], dtype: Any, condition: Any) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        if isinstance(out, Symbol) and (condition is None or kwargs.get(condition[0]) in condition[1]):
            node = out._outputs[0][0]  # only this call has seen the node, so that its inputs may be changed
            states = aux_inputs(node.op or "", node.params)
            node.inputs = [
                e if i in states else symbol.amp_cast(Symbol([e]), dtype=np.dtype(dtype).name)._outputs[0]
                for i, e in enumerate(node.inputs)
            ]
        return out

    return call


def _symbols_in_widest(f: Callable[..., Any], half: Any) -> Callable[..., Any]:
    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = f(*args, **kwargs)
        if isinstance(out, Symbol):
            node = out._outputs[0][0]
            if len(node.inputs) > 1:
                same = symbol.amp_multicast(*[Symbol([e]) for e in node.inputs], num_outputs=len(node.inputs))
                node.inputs = list(same._outputs)
        return out

    return call


def _replace(module: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wraps the function `name`, if it exists in the module or in the submodule of the name's prefix."""
    for prefix, part in _GROUPS.items():
        if name.startswith(prefix):
            module, name = getattr(module, part, None), name[len(prefix) :]
            break
    if isinstance(module, ModuleType) or module is not None:
        try:
            found = getattr(module, name)
        except AttributeError:  # the lists also name operators that are not public functions
            return
        if callable(found):
            setattr(module, name, wrap(found))


def wrap_operators(half: Any, lists: dict[str, Any]) -> None:
    """Wraps the operators of `mx.nd` and `mx.sym` that the lists name: "half", "single" and "widest" hold names,
    "conditional" holds (name, keyword argument, values).
    """
    for module, plain, widest in (
        (nd, _arrays_in, _arrays_in_widest),
        (symbol, _symbols_in, _symbols_in_widest),
    ):
        for name in lists["half"]:
            _replace(module, name, functools.partial(plain, dtype=half, condition=None))
        for name in lists["single"]:
            _replace(module, name, functools.partial(plain, dtype=np.float32, condition=None))
        for name, key, values in lists["conditional"]:
            _replace(module, name, functools.partial(plain, dtype=np.float32, condition=(key, values)))
        for name in lists["widest"]:
            _replace(module, name, functools.partial(widest, half=half))


def wrap_losses(names: Any, scaler: Any) -> None:
    """Wraps the losses that compute their own gradient, so that it is multiplied by the scaler's factor."""

    def scaled(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            return f(*args, **{**kwargs, "grad_scale": kwargs.get("grad_scale", 1.0) * scaler.loss_scale})

        return call

    def warned(f: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(f)
        def call(*args: Any, **kwargs: Any) -> Any:
            logging.warning("%s does not support dynamic loss scaling in symbolic execution.", f.__name__)
            return f(*args, **kwargs)

        return call

    for name in names:
        _replace(nd, name, scaled)
        _replace(symbol, name, warned)
