"""`mx.npx.image`: the image operators of `mx.nd.image`, on arrays of `mx.np`."""

from __future__ import annotations

from inspect import isfunction
from typing import Any

from ..ndarray import image as _image
from ._functions import around as _around


def __getattr__(name: str) -> Any:
    if name.startswith("_") or not isfunction(getattr(_image, name, None)):
        raise AttributeError(f"module 'mxnet.numpy_extension.image' has no attribute '{name}'")
    found = globals()[name] = _around(getattr(_image, name), name)
    return found
