"""nnabla's names of the ops of which operators and gradients consist."""

from __future__ import annotations

from typing import Any

import torch

from compatgrad import _C
from compatgrad.nnabla._declare import Info
from compatgrad.nnabla.context import context_on

# op -> (function type, dict from nnabla's argument names to the op's, or to constants)
_TYPES: dict[str, tuple[str, dict[str, Any]]] = {
    "add": ("Add2", {"inplace": False}),
    "sub": ("Sub2", {"inplace": False}),
    "mul": ("Mul2", {"inplace": False}),
    "div": ("Div2", {"inplace": False}),
    "pow": ("Pow2", {"inplace": False}),
    "add_scalar": ("AddScalar", {"val": "value", "inplace": False}),
    "mul_scalar": ("MulScalar", {"val": "value", "inplace": False}),
    "rsub_scalar": ("RSubScalar", {"val": "value"}),
    "rdiv_scalar": ("RDivScalar", {"val": "value"}),
    "pow_scalar": ("PowScalar", {"val": "exponent", "inplace": False}),
    "rpow_scalar": ("RPowScalar", {"val": "base"}),
    "add_n": ("AddN", {}),
    "exp": ("Exp", {}),
    "log": ("Log", {}),
    "sin": ("Sin", {}),
    "cos": ("Cos", {}),
    "tanh": ("Tanh", {}),
    "abs": ("Abs", {}),
    "identity": ("Identity", {}),
}


def info_of(function: Any) -> Info:
    """The type name and the arguments of a function, made when they are first read."""
    info = _C.function_info(function)
    if info is None:
        info = _info_of_op(function)
        info.context = context_on(torch.device(_C.function_device(function)))
    elif isinstance(info, tuple):  # quick calls (`_declare._QUICK`, chains) store these instead of an Info
        spec, args, context = info
        shown = [list(a) if type(a) is list else a for a in args]  # all calls of a chain share one list: copy it
        info = Info(spec.type_name, dict(zip(spec.args, shown, strict=True)))
        info.context = context
    else:
        return info
    _C.set_function_info(function, info)
    return info


def _info_of_op(function: Any) -> Info:
    """The type name and arguments of a function that no function of `nnabla.functions` made."""
    name = function.op_name or "Constant"
    params = function.op_params or {}
    if name in _TYPES:
        type_name, args = _TYPES[name]
        return Info(type_name, {k: params[v] if isinstance(v, str) else v for k, v in args.items()})
    if name == "neg":
        return Info("MulScalar", {"val": -1.0, "inplace": False})
    return Info("".join(part.capitalize() for part in name.split("_")), dict(params))
