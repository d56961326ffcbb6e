"""`mx.npx.image`: the image operators of `mx.nd.image`, on arrays of `mx.np`."""

from __future__ import annotations

from typing import Any

from ..ndarray import image as _image
from ..ndarray._operator import operators as _operators
from ._functions import around as _around


def __getattr__(name: str) -> Any:
    if f"_image_{name}" not in _operators or not hasattr(_image, name):
        from compatgrad.names.absent import no_attribute

        raise no_attribute(__name__, name)
    found = globals()[name] = _around(getattr(_image, name), name)
    return found


def __dir__() -> list[str]:
    late = (name.removeprefix("_image_") for name in _operators if name.startswith("_image_"))
    return sorted({*globals(), *(name for name in late if hasattr(_image, name))})
