"""`mxnet.nd._internal`: operators under their private names, `_internal._plus(a, b)`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ._operator import operators
from ._scalars import SCALARS  # operators of an array and a number


def capitals(name: str) -> str:
    """A name with capitals as one with underscores: _RDivScalar is _rdiv_scalar."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower() if name[:1] == "_" else ""


def __getattr__(name: str) -> Callable[..., Any]:
    if name.startswith("_") and name in operators:
        return operators[name]
    if name.startswith("_") and not name.startswith("__"):
        for known in (name, capitals(name)):  # older names of some operators: _PlusScalar, _Greater_Equal
            found = operators.get(known) or SCALARS.get(known)
            if found is not None:
                return found
    from compatgrad.names.absent import no_attribute

    raise no_attribute(__name__, name)


def __dir__() -> list[str]:
    return sorted(name for name in operators if name.startswith("_"))
