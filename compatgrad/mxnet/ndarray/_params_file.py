"""Reads and writes `.params` files, with MXNet's errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch

from compatgrad.formats import params
from compatgrad.formats.params import Stored, dense, read_array, write_array

from ..base import MXNetError
from ..context import cpu, gpu, num_gpus
from ..util import is_np_shape, np_shape
from ._sparse_arrays import BaseSparseNDArray, _wrap
from .ndarray import NDArray

__all__ = ["array_of", "arrays_and_names", "named", "packed", "read_params", "stored_of", "unpacked", "write_params"]

SPARSE = 1 << 31  # the bytes to which a sparse array may be expanded, unless 16 times its bytes in the file are more


def read_params(source: str | bytes, name: str | None = None) -> tuple[list[Stored], list[str]]:
    """The arrays and names in a file or a buffer of bytes; MXNetError names the fault and its position."""
    try:
        return params.read(source, name)
    except params.ParamsError as e:
        raise MXNetError(str(e)) from None
    except OSError as e:
        raise MXNetError(f'load: cannot open "{source!s}": {e.strerror or e}') from None


def write_params(path: str, arrays: Sequence[Stored], names: Sequence[str]) -> None:
    """Writes a file that the original reads; MXNetError if the path cannot be written."""
    try:
        params.write(path, arrays, names)
    except OSError as e:
        raise MXNetError(f'save: cannot write "{path}": {e.strerror or e}') from None


def stored_of(x: NDArray, np_shape: bool = False) -> Stored:
    """The contents of an array in the form of a file."""
    where = (x.context.device_typeid, x.context.device_id)
    if isinstance(x, BaseSparseNDArray):
        return Stored(x.shape, x._values(), x.stype, list(x._indices()), context=where)
    return Stored(x.shape, x.tensor, np_shape=np_shape, context=where)


NOT_NUMPY_SHAPES = "the arrays were not saved under NumPy's shape semantics"


def array_of(a: Stored, wrap: Callable[[Any], NDArray] = NDArray, name: str = "the buffer") -> NDArray | None:
    """The array from a file, on its GPU if the machine has that GPU, else on the CPU; None for an array without a
    value.
    """
    if a.np_shape and not is_np_shape():
        raise MXNetError(
            f"load: {name}: the arrays were saved under NumPy's shape semantics; load them with mx.npx.load after "
            "npx.set_np(), or inside `with mx.util.np_shape(True)`"
        )
    if is_np_shape() and not a.np_shape and a.stype == "default":  # a length of 0 meant "unknown" there
        raise MXNetError(
            f"load: {name}: {NOT_NUMPY_SHAPES}; load them with mx.nd.load without "
            "npx.set_np(), or inside `with mx.util.np_shape(False)`"
        )
    if a.shape is None or a.data is None:
        return None
    kind, number = a.context
    on_gpu = kind == 2 and 0 <= number < num_gpus()
    if a.stype == "default":
        return wrap(a.data.to(gpu(number).torch_device) if on_gpu else a.data)
    target = gpu(number) if on_gpu else cpu()
    needed = math.prod(a.shape) * a.data.dtype.itemsize
    if needed > max(SPARSE, 16 * a.data.numel() * a.data.dtype.itemsize):
        raise MXNetError(
            f"load: {name}: a {a.stype} array of shape {a.shape} is kept dense here and would need {needed} bytes, "
            f"more than {SPARSE} and 16 times its bytes in the file"
        )
    values = dense(a)
    assert values is not None
    aux = tuple(t.to(torch.int64) for t in a.aux)
    if not aux[0].numel() and a.stype == "csr":
        aux = (torch.zeros(a.shape[0] + 1, dtype=torch.int64), aux[1])
    device = target.torch_device
    return _wrap(values.to(device), a.stype, target, tuple(t.to(device) for t in aux))


def arrays_and_names(who: str, data: Any, kind: type[NDArray]) -> tuple[list[NDArray], list[str]]:
    """The arrays and names that `save` was given; ValueError or TypeError for what cannot be saved."""
    if isinstance(data, kind):
        data = [data]
    if isinstance(data, dict):
        arrays, names = list(data.values()), list(data)
    elif isinstance(data, list):
        arrays, names = data, []
    else:
        raise ValueError(
            f"{who}: data must be an array, a list of arrays or a dict from str to arrays, got {type(data)}"
        )
    for i, x in enumerate(arrays):
        where = f"data[{names[i]!r}]" if names else f"data[{i}]"
        if not isinstance(x, kind):
            raise TypeError(
                f"{who}: only accepts dict str->{kind.__name__} or list of {kind.__name__}; {where}: {type(x)}"
            )
        if x._zero_dim and not kind._zero_dim:
            raise TypeError(f"{who}: {where} is an mxnet.numpy.ndarray; save it with mxnet.npx.save")
    if not all(isinstance(n, str) for n in names):
        raise TypeError(f"{who}: only accepts dict str->{kind.__name__}, got the keys {names}")
    return arrays, names


def named(arrays: Sequence[Any], names: Sequence[str]) -> Any:
    """A dict if there are names, else a list."""
    return dict(zip(names, arrays, strict=True)) if names else list(arrays)


def packed(x: NDArray) -> bytearray:
    """The bytes of an array, as pickles of the original hold them."""
    out = bytearray()
    write_array(SimpleNamespace(write=out.extend), stored_of(x, x._zero_dim))
    return out


def unpacked(handle: bytes | bytearray) -> torch.Tensor:
    """The tensor of an array from the bytes of `packed`; MXNetError for damaged bytes."""
    try:
        stored = read_array(handle, "a pickled NDArray")
    except params.ParamsError as e:
        raise MXNetError(str(e)) from None
    with np_shape(stored.np_shape) if stored.np_shape != is_np_shape() else nullcontext():
        x: Any = array_of(stored, wrap=_unwrapped)
    assert x is not None
    return x.tensor if isinstance(x, NDArray) else x


def _unwrapped(t: Any) -> Any:
    return t
