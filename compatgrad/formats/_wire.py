"""The binary format of protocol buffer messages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["MAX_DEPTH", "SCALARS", "DecodeError", "decode", "encoded"]

MAX_DEPTH = 100  # of nested messages, as in Google's readers
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

# kind -> wire type, type code of the array for repeated values, default of an omitted field
SCALARS: dict[str, tuple[int, str | None, Any]] = {
    "int64": (_VARINT, "q", 0),
    "int32": (_VARINT, "i", 0),
    "uint32": (_VARINT, "I", 0),
    "bool": (_VARINT, None, False),
    "float": (_FIXED32, "f", 0.0),
    "double": (_FIXED64, "d", 0.0),
    "string": (_BYTES, None, ""),
}
_ALL_ONES = (1 << 64) - 1
_FIXED = {"float": struct.Struct("<f"), "double": struct.Struct("<d")}


class DecodeError(ValueError):
    """The error for bytes or text that are not a message of the expected class.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import DecodeError, Shape
        >>> try:
        ...     Shape().ParseFromString(b"no message")
        ... except DecodeError:
        ...     print("damaged")
        damaged

    Source: compatgrad, with the interface of `google.protobuf.message.DecodeError`.
    """


def _varint(value: int) -> bytes:
    value &= _ALL_ONES
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encoded(message: Any) -> Iterator[bytes]:
    """The bytes of a message, in parts."""
    for field, value in message.ListFields():
        tag = field.number << 3
        if not field.scalar:
            for part in _encoded_messages(field, value):
                yield _varint(tag | _BYTES) + _varint(len(part))
                yield part
        elif field.kind == "string":
            for text in value if field.many else [value]:
                part = text.encode()
                yield _varint(tag | _BYTES) + _varint(len(part)) + part
        elif field.many:
            if field.kind in _FIXED:
                part = np.asarray(value, "<f4" if field.kind == "float" else "<f8").tobytes()
            else:
                part = b"".join(_varint(int(number)) for number in value)
            yield _varint(tag | _BYTES) + _varint(len(part))
            yield part
        elif field.kind in _FIXED:
            yield _varint(tag | SCALARS[field.kind][0]) + _FIXED[field.kind].pack(value)
        else:
            yield _varint(tag | _VARINT) + _varint(int(value))


def _encoded_messages(field: Any, value: Any) -> Iterator[bytes]:
    if field.many == "%":
        for key, message in value.items():
            name, body = key.encode(), message.SerializeToString()
            yield b"\x0a" + _varint(len(name)) + name + b"\x12" + _varint(len(body)) + body
    else:
        for message in value if field.many else [value]:
            yield message.SerializeToString()


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data):
            raise DecodeError("the data end within a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _ALL_ONES, at
        shift += 7
        if shift > 63:
            raise DecodeError("a number is longer than 64 bits")


def _parts(data: memoryview) -> Iterator[tuple[int, int, Any]]:
    """The fields in `data`: number, wire type, and the integer or the bytes."""
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise DecodeError(f"{number} is not a valid field number")
        if wire == _VARINT:
            value, at = _read_varint(data, at)
            yield number, wire, value
            continue
        if wire == _BYTES:
            size, at = _read_varint(data, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise DecodeError(f"field {number} has the unknown wire type {wire}")
        if at + size > len(data):
            raise DecodeError(f"field {number} has {len(data) - at} of its {size} bytes")
        yield number, wire, data[at : at + size]
        at += size


def decode(message: Any, data: memoryview, depth: int) -> None:
    """Adds the fields in `data` to a message, which is nested `depth` deep."""
    if depth > MAX_DEPTH:
        raise DecodeError(f"messages are nested more than {MAX_DEPTH} deep")
    message.SetInParent()
    for number, wire, value in _parts(data):
        field = message._numbers.get(number)
        if field is None:  # a field of a newer version
            continue
        if not field.scalar:
            _expect(field, wire, _BYTES)
            _decode_message(message, field, value, depth + 1)
        elif field.many and field.kind != "string" and wire == _BYTES:
            _decode_packed(getattr(message, field.name), field, value)
        else:
            _expect(field, wire, SCALARS[field.kind][0])
            plain = _scalar(field, value)
            if field.many:
                getattr(message, field.name).append(plain)
            else:
                message._values[field.name] = plain


def _expect(field: Any, wire: int, wanted: int) -> None:
    if wire != wanted:
        raise DecodeError(f"field {field.name!r} has wire type {wire}, expected {wanted}")


def _decode_message(message: Any, field: Any, data: memoryview, depth: int) -> None:
    held = getattr(message, field.name)
    if field.many == "%":
        entry = {number: value for number, wire, value in _parts(data) if wire == _BYTES}
        decode(held[_text(field, entry.get(1, b""))], memoryview(entry.get(2, b"")), depth)
    else:
        decode(held.add() if field.many else held, data, depth)


def _decode_packed(values: Any, field: Any, data: memoryview) -> None:
    if field.kind in _FIXED:
        if len(data) % _FIXED[field.kind].size:
            raise DecodeError(f"field {field.name!r} has {len(data)} bytes, not a multiple of the size of a value")
        numbers = np.frombuffer(data, "<f4" if field.kind == "float" else "<f8")
        values.frombytes(numbers.astype(values.typecode, copy=False).view(np.uint8))
        return
    at = 0
    while at < len(data):
        number, at = _read_varint(data, at)
        values.append(_scalar(field, number))


def _text(field: Any, data: Any) -> str:
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        raise DecodeError(f"field {field.name!r} is not UTF-8 text") from None


def _scalar(field: Any, value: Any) -> Any:
    if field.kind == "string":
        return _text(field, value)
    if field.kind in _FIXED:
        return _FIXED[field.kind].unpack(value)[0]
    if field.kind == "bool":
        return bool(value)
    if field.kind == "int64":
        return value - (1 << 64) if value >> 63 else value
    value &= 0xFFFFFFFF
    return value - (1 << 32) if field.kind == "int32" and value >> 31 else value
