"""Reading the text format of protocol buffers."""

from __future__ import annotations

import re
from typing import Any

from compatgrad.formats.protobuf import MAX_DEPTH, DecodeError, Field, Message, _checked

__all__ = ["merge"]

_ESCAPES = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


_TOKEN = re.compile(
    r"""\s+ | \#[^\n]* | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
    | (?P<word>[+-]?\.?\w(?:[\w.]|(?<=[eE])[+-])*) | (?P<mark>[:{}<>\[\],;])""",
    re.VERBOSE,
)


class _Reader:
    """Reads the tokens of a text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.kind: str | None = None
        self.token = ""
        self.depth = 0
        self.next()

    def next(self) -> str:
        """Advances to the next token, and returns the current one."""
        token = self.token
        while True:
            self.start = self.at
            if self.at >= len(self.text):
                self.kind, self.token = None, ""
                return token
            match = _TOKEN.match(self.text, self.at)
            if match is None:
                raise self.error(f"unexpected {self.text[self.at]!r}")
            self.at = match.end()
            if match.lastgroup:
                self.kind, self.token = match.lastgroup, match.group()
                return token

    def accept(self, marks: str) -> str:
        """If the current token is one of `marks`, advances and returns it; otherwise returns ""."""
        return self.next() if self.kind == "mark" and self.token in marks else ""

    def error(self, what: str) -> DecodeError:
        return DecodeError(f"line {self.text.count(chr(10), 0, self.start) + 1}: {what}")


def merge(text: str, message: Message) -> Message:
    """Reads a message in the text format of protocol buffers.

    Args:
        text: the text.
        message: the message into which the content is merged.

    Returns:
        `message`.

    Raises:
        DecodeError: the text is not a message of this class; the error names the line. `message` is not changed.

    Example:
        >>> from compatgrad.formats import prototext
        >>> from compatgrad.formats.protobuf import define
        >>> Shape = define("Shape: dim:int64*=1", "example")["Shape"]
        >>> list(prototext.merge("dim: 2 dim: 3", Shape()).dim)
        [2, 3]

    Source: `compatgrad/formats/prototext.py`.
    """
    parsed = type(message)()
    reader = _Reader(text)
    _read_fields(reader, parsed, "")
    message.MergeFrom(parsed)
    return message


def _read_fields(reader: _Reader, message: Message, end: str) -> None:
    if reader.depth > MAX_DEPTH:
        raise reader.error(f"messages are nested more than {MAX_DEPTH} deep")
    reader.depth += 1
    message.SetInParent()
    while reader.kind is not None and not (end and reader.accept(end)):
        if reader.kind != "word":
            raise reader.error(f"expected the name of a field, got {reader.token!r}")
        field = message._fields.get(reader.token)
        if field is None:
            raise reader.error(f"message {type(message).__name__} has no field {reader.token!r}")
        reader.next()
        colon = reader.accept(":")
        if field.scalar and not colon:
            raise reader.error(f"a colon must follow {field.name!r}")
        if reader.accept("["):
            while not reader.accept("]"):
                _read_value(reader, message, field)
                reader.accept(",")
        else:
            _read_value(reader, message, field)
        reader.accept(",;")
        if end and reader.kind is None:
            raise reader.error(f"the text ends within a message {type(message).__name__}")
    reader.depth -= 1


def _read_value(reader: _Reader, message: Message, field: Field) -> None:
    held = getattr(message, field.name)
    if field.scalar:
        value = _read_scalar(reader, field)
        if field.many:
            held.append(value)
        else:
            setattr(message, field.name, value)
        return
    opening = reader.accept("{<")
    if not opening:
        raise reader.error(f"expected a message {field.kind}, got {reader.token!r}")
    end = "}" if opening == "{" else ">"
    if reader.kind is None:
        raise reader.error(f"the text ends within a message {field.kind}")
    if field.many == "%":
        _read_entry(reader, held, end)
    else:
        _read_fields(reader, held.add() if field.many else held, end)


def _read_entry(reader: _Reader, held: Any, end: str) -> None:
    key, value = "", held._kind()
    while not reader.accept(end):
        word = reader.next()
        reader.accept(":")
        if word == "key" and reader.kind == "string":
            key = _unquoted(reader)
        elif word == "value" and (opening := reader.accept("{<")):
            _read_fields(reader, value, "}" if opening == "{" else ">")
        else:
            raise reader.error("an entry of a map must have a key and a value")
    held[key] = value


_BOOLS = {
    "true": True,
    "True": True,
    "t": True,
    "1": True,
    "false": False,
    "False": False,
    "f": False,
    "0": False,
}


def _read_scalar(reader: _Reader, field: Field) -> Any:
    if field.kind == "string":
        if reader.kind != "string":
            raise reader.error(f"field {field.name!r} takes a quoted text, not {reader.token!r}")
        return _unquoted(reader)
    word = reader.token
    try:
        if field.kind == "bool":
            value: Any = _BOOLS[word]
        elif field.kind in ("float", "double"):
            value = float(word[:-1] if word[-1:] in "fF" and word[-2:-1].isdigit() else word)
        else:
            value = _checked(field, int(word, 0))
    except (KeyError, ValueError):
        raise reader.error(f"field {field.name!r} takes a value of type {field.kind}, not {word!r}") from None
    reader.next()
    return value


def _unquoted(reader: _Reader) -> str:
    """The text of the adjacent quoted strings at this position."""
    out = b""
    while reader.kind == "string":
        body = reader.next()[1:-1].encode()
        # escapes are bytes, several of which may form one character
        out += re.sub(rb"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|(.))", _unescaped, body)
    try:
        return out.decode()
    except UnicodeDecodeError:
        raise reader.error("the preceding string is not UTF-8") from None


def _unescaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, char = match.groups()
    if octal:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal:
        return bytes([int(hexadecimal, 16)])
    return _ESCAPES.get(char, char)
