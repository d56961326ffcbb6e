"""`mx.np.fallback`: functions that NumPy computes, on copies and without gradients."""

from __future__ import annotations

from typing import Any

from ._of_numpy import NAMES
from ._protocols import of_name


def __getattr__(name: str) -> Any:
    if name == "__all__":  # only names that the installed NumPy has
        return [n for n in NAMES if of_name(n) is not None]
    found = of_name(name) if name in NAMES else None
    if found is None:
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    return found
