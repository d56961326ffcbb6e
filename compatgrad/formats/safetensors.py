"""The safetensors format: the length of a header (8 bytes, little endian), the header (JSON), and the tensors' bytes.

The header maps each name to a dtype, a shape and the range of its bytes in the rest of the file, which the tensors fill
without gaps.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

import torch

__all__ = ["prepare", "read", "write"]

DTYPES = {
    "BOOL": torch.bool,
    "U8": torch.uint8,
    "I8": torch.int8,
    "U16": torch.uint16,
    "I16": torch.int16,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "U32": torch.uint32,
    "I32": torch.int32,
    "F32": torch.float32,
    "U64": torch.uint64,
    "I64": torch.int64,
    "F64": torch.float64,
}
METADATA = "__metadata__"
MAX_HEADER = 100_000_000  # what the format's own package accepts
MAX_DIMS = 64  # what PyTorch's operations accept


def prepare(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """The beginning of a safetensors file, before the data: the length of the header, and the header. The names keep
    their order. The data are ordered by the size of their elements, the largest first, so that all of them are aligned
    and readers can map them.

    Args:
        tensors: the tensors by name.

    Returns:
        The bytes, a multiple of 8.

    Raises:
        ValueError: the format does not support a dtype, a name is reserved, or the header is too long.

    Example:
        >>> import torch
        >>> from compatgrad.formats import safetensors
        >>> safetensors.prepare({"x": torch.ones(2)})[8:]
        b'{"__metadata__":{"format":"pt"},"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}   '

    Source: `compatgrad/formats/safetensors.py`.
    """
    codes = {dtype: code for code, dtype in DTYPES.items()}
    places, end = {}, 0
    for name, tensor in _layout(tensors):
        begin, end = end, end + tensor.nbytes
        places[name] = [begin, end]
    header: dict[str, Any] = {METADATA: {"format": "pt"}}
    for name, tensor in tensors.items():
        if name == METADATA:
            raise ValueError(f"the name {METADATA!r} is reserved in safetensors files: rename that parameter")
        if tensor.dtype not in codes:
            raise ValueError(f"parameter {name!r}: safetensors has no type for {str(tensor.dtype)[6:]}")
        header[name] = {"dtype": codes[tensor.dtype], "shape": list(tensor.shape), "data_offsets": places[name]}
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MAX_HEADER:
        raise ValueError(f"the names and shapes take {len(text)} bytes, safetensors allows {MAX_HEADER}")
    return struct.pack("<Q", len(text)) + text


def write(file: BinaryIO, tensors: Mapping[str, torch.Tensor]) -> None:
    """Writes tensors as a safetensors file.

    Args:
        file: binary file, open for writing.
        tensors: dense tensors on the CPU, contiguous, by name.

    Raises:
        ValueError: the format does not support a dtype, a name is reserved, or the header is too long.

    Example:
        >>> import torch
        >>> import io
        >>> from compatgrad.formats import safetensors
        >>> file = io.BytesIO()
        >>> safetensors.write(file, {"x": torch.ones(2)})
        >>> len(file.getvalue()) % 8
        0

    Source: `compatgrad/formats/safetensors.py`.
    """
    file.write(prepare(tensors))
    for _, tensor in _layout(tensors):
        if tensor.numel():
            file.write(tensor.reshape(-1).view(torch.uint8).numpy().data)


def _layout(tensors: Mapping[str, torch.Tensor]) -> list[tuple[str, torch.Tensor]]:
    return sorted(tensors.items(), key=lambda pair: -pair[1].element_size())


def read(path: str) -> dict[str, torch.Tensor]:
    """The tensors in a safetensors file, by name, in the order of the file.

    Args:
        path: path of the file.

    Returns:
        A dict from names to tensors on the CPU.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not a safetensors file or is damaged.

    Example:
        >>> import torch
        >>> import os, tempfile
        >>> from compatgrad.formats import safetensors
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "x.safetensors")
        ...     with open(path, "wb") as file:
        ...         safetensors.write(file, {"x": torch.ones(2)})
        ...     safetensors.read(path)
        {'x': tensor([1., 1.])}

    Source: `compatgrad/formats/safetensors.py`.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = file.read(8)
        if len(start) < 8:
            raise ValueError(f"expected the 8 bytes of the header's length, found {len(start)}")
        (length,) = struct.unpack("<Q", start)
        if length > min(size - 8, MAX_HEADER):
            raise ValueError(f"expected a header of {length} bytes (at most {MAX_HEADER}), found {size - 8}")
        header = json.loads(file.read(length), object_pairs_hook=_without_doubles)
        if not isinstance(header, dict):
            raise ValueError(f"expected a header with names, found a {type(header).__name__}")
        header.pop(METADATA, None)
        places = {name: _place(name, entry) for name, entry in header.items()}
        at = 0
        for name, (_, _, begin, end) in sorted(places.items(), key=lambda pair: pair[1][2:]):
            if begin != at:
                raise ValueError(f"expected the data of {name!r} to begin at byte {at}, found {begin}")
            at = end
        if at != size - 8 - length:
            raise ValueError(f"expected {at} bytes of data, found {size - 8 - length}")
        out = {}
        for name, (dtype, shape, begin, end) in places.items():
            file.seek(8 + length + begin)
            tensor = torch.empty(shape, dtype=dtype)
            if end > begin:
                got = file.readinto(tensor.view(-1).view(torch.uint8).numpy().data)
                if got != end - begin:
                    raise ValueError(f"expected {end - begin} bytes of {name!r}, could read {got}")
            out[name] = tensor
        return out


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the header has {name!r} twice")
        found[name] = value
    return found


def _is_size(n: Any) -> bool:
    return type(n) is int and 0 <= n < 2**62


def _place(name: str, entry: Any) -> tuple[torch.dtype, list[int], int, int]:
    """Dtype, shape, begin and end of a tensor's data."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"expected dtype, shape and data_offsets of {name!r}, found {str(entry)[:100]}")
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES:
        raise ValueError(f"expected the type of {name!r} to be one of {', '.join(DTYPES)}, found {str(code)[:100]}")
    if not isinstance(shape, list) or len(shape) > MAX_DIMS or not all(map(_is_size, shape)):
        raise ValueError(f"expected the shape of {name!r}, at most {MAX_DIMS} sizes, found {str(shape)[:100]}")
    if not isinstance(offsets, list) or len(offsets) != 2 or not all(map(_is_size, offsets)):
        raise ValueError(f"expected where the data of {name!r} begin and end, found {str(offsets)[:100]}")
    begin, end = offsets
    needed = math.prod(shape) * DTYPES[code].itemsize
    if end - begin != needed:
        raise ValueError(f"expected {needed} bytes for {name!r} of type {code} and shape {shape}, found {end - begin}")
    return DTYPES[code], shape, begin, end
