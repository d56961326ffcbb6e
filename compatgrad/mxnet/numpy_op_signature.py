"""`mxnet.numpy_op_signature`: the functions of `mx.np` and `mx.npx` for operators named `_np_...` and `_npx_...`."""

from __future__ import annotations

from typing import Any

from . import numpy, numpy_extension

__all__: list[str] = []


def _get_builtin_op(op_name: str) -> Any:
    """The function of `mx.np` or `mx.npx` for an operator; None for other operators, ValueError for unknown ones."""
    for prefix, module in (("_np_", numpy), ("_npx_", numpy_extension)):
        if op_name.startswith(prefix):
            name = op_name.removeprefix(prefix)
            for part in ("_image_", "_random_", "_linalg_"):
                if name.startswith(part):
                    module, name = getattr(module, part.strip("_")), name.removeprefix(part)
            found = getattr(module, name, None)
            if found is None:
                raise ValueError(f"Cannot find operator {name} in module {module.__name__}")
            return found
    return None
