"""Protocol buffer messages, as far as files of nnabla and Caffe use them, without a further package.

`define` makes classes from a schema. Messages have attributes for their fields, `SerializeToString` and
`ParseFromString` for the binary format, and `str` writes the text format, which `prototext` reads. Repeated numbers are
written packed, and read packed or not. docs/formats.md says why Google's package is not used.
"""

from __future__ import annotations

import functools
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from ._message_docs import Documented
from ._message_text import lines
from ._wire import MAX_DEPTH, SCALARS, DecodeError, decode, encoded

__all__ = ["MAX_DEPTH", "DecodeError", "Field", "Message", "define", "joined"]


class Field(NamedTuple):
    """A field of a message.

    Args:
        name: its name.
        number: its number in the binary format.
        kind: type of a scalar, or the name of a message class.
        many: "" for one value, "*" for a list, "%" for a mapping from strings to messages.
        group: name of the oneof to which it belongs, or "".
        classes: the message classes of the schema, by name.
        default: the value of an omitted scalar.
        optional: whether a scalar that is set to `default` differs from an omitted one, as in proto2.

    Example:
        >>> from compatgrad.formats.protobuf import define
        >>> message = define("Shape: dim:int64*=1", "example")["Shape"](dim=[2])
        >>> [(field.name, field.kind) for field, value in message.ListFields()]
        [('dim', 'int64')]

    Source: `compatgrad/formats/protobuf.py`.
    """

    name: str
    number: int
    kind: str  # the type of a scalar, or the name of the message class
    many: str  # "" for one, "*" for a list, "%" for a mapping from strings to messages
    group: str  # the name of the oneof it belongs to, or ""
    classes: dict[str, type[Message]]  # of the schema, by name
    default: Any  # the value of an omitted scalar
    optional: bool  # whether a scalar set to `default` differs from an omitted one

    @property
    def scalar(self) -> bool:
        """Whether it is a number, a bool or a text, and not a message."""
        return self.kind in SCALARS

    def __getattr__(self, name: str) -> Any:
        """Other attributes, from Google's descriptor of the field."""
        if name.startswith("__"):
            raise AttributeError(name)
        owner = next(kind for kind in self.classes.values() if kind._fields.get(self.name) is self)
        return getattr(owner.DESCRIPTOR.fields_by_name[self.name], name)


class _Numbers(array):  # type: ignore[type-arg]  # Python 3.10 and 3.11 have no array[...]
    """The numbers of a repeated field. Slices are lists, as in other protobuf libraries."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return list(found) if isinstance(index, slice) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index, array(self.typecode, value) if isinstance(index, slice) else value)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, array)) else NotImplemented

    __hash__ = None


class _Messages(list["Message"]):
    """The messages of a repeated field."""

    def __init__(self, kind: type[Message]) -> None:
        super().__init__()
        self._kind = kind

    def add(self, **values: Any) -> Message:
        """Appends a new message and returns it."""
        self.append(self._kind(**values))
        return self[-1]


class _MessageMap(dict[str, "Message"]):
    """The messages of a map field; a look-up creates a missing message."""

    def __init__(self, kind: type[Message]) -> None:
        super().__init__()
        self._kind = kind

    def __missing__(self, key: str) -> Message:
        self[key] = self._kind()
        return self[key]


class _Described:
    """The attribute DESCRIPTOR of message classes: their descriptor in Google's package."""

    def __init__(self, classes: dict[str, type[Message]], module: str, syntax: str) -> None:
        self._arguments = classes, module, syntax

    @functools.cached_property
    def _file(self) -> Any:
        from ._descriptors import file_descriptor

        return file_descriptor(*self._arguments)

    def __get__(self, message: Any, kind: type) -> Any:
        return self._file.message_types_by_name[kind.__name__]


class Message:
    """A protocol buffer message; subclasses, made by `define`, define its fields.

    Args:
        **values: fields by name; omitted fields have their defaults.

    Raises:
        AttributeError: a field does not exist.

    Example:
        >>> from compatgrad.nnabla.utils.nnabla_pb2 import Shape
        >>> data = Shape(dim=[2, 3]).SerializeToString()
        >>> read = Shape()
        >>> read.ParseFromString(data)
        4
        >>> list(read.dim)
        [2, 3]

    Source: compatgrad, with the interface of `google.protobuf.message.Message`.
    """

    __slots__ = ("_set", "_values")

    DESCRIPTOR: Any
    _fields: dict[str, Field] = {}
    _numbers: dict[int, Field] = {}

    def __init__(self, **values: Any) -> None:
        # set: whether the message is present although it is empty
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_set", False)
        for name, value in values.items():
            if isinstance(value, Message):
                getattr(self, name).CopyFrom(value)
            elif self._field(name).many:
                getattr(self, name).extend(value)
            else:
                setattr(self, name, value)

    @classmethod
    def _field(cls, name: str) -> Field:
        try:
            return cls._fields[name]
        except KeyError:
            raise AttributeError(f"message {cls.__name__} has no field {name!r}") from None

    def __reduce__(self) -> tuple[Any, ...]:
        return _parsed, (type(self), self.SerializeToString())

    def __getattr__(self, name: str) -> Any:
        field = self._field(name)
        values = self._values
        if name not in values:
            if field.scalar and not field.many:
                return field.default
            values[name] = _container(field)
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._field(name)
        if field.many or not field.scalar:
            raise AttributeError(f"field {name!r} of message {type(self).__name__} is changed in place, not set")
        self._values[name] = _checked(field, value)
        object.__setattr__(self, "_set", True)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return "".join(line + "\n" for line in lines(self, ""))

    __repr__ = __str__

    def ListFields(self) -> list[tuple[Field, Any]]:
        """Pairs of each field that has content and its content, ordered by number."""
        filled = ((self._fields[name], value) for name, value in self._values.items())
        return sorted(((f, v) for f, v in filled if _has_content(f, v)), key=lambda pair: pair[0].number)

    def HasField(self, name: str) -> bool:
        """Whether the field `name` is set."""
        field = self._field(name)
        return name in self._values and _has_content(field, self._values[name])

    def WhichOneof(self, group: str) -> str | None:
        """The name of the field of the oneof `group` that is set, or None."""
        found = [field.name for field, _ in self.ListFields() if field.group == group]
        return found[-1] if found else None

    def SetInParent(self) -> None:
        """Marks the message as present although it is empty."""
        object.__setattr__(self, "_set", True)

    def Clear(self) -> None:
        """Empties all fields."""
        self._values.clear()
        object.__setattr__(self, "_set", False)

    def ClearField(self, name: str) -> None:
        """Empties one field."""
        self._values.pop(self._field(name).name, None)

    def CopyFrom(self, other: Message) -> None:
        """Makes this message a copy of `other`."""
        if other is not self:
            self.Clear()
            self.MergeFrom(other)

    def MergeFrom(self, other: Message) -> None:
        """Merges the content of `other` into this message: values are replaced, lists are appended, messages are
        merged."""
        if type(other) is not type(self):
            raise TypeError(f"cannot merge {type(other).__name__} into {type(self).__name__}")
        self.SetInParent()
        for field, value in other.ListFields():
            if field.many == "%":
                for key, message in value.items():
                    getattr(self, field.name)[key].CopyFrom(message)
            elif field.many and not field.scalar:
                for message in value:
                    getattr(self, field.name).add().CopyFrom(message)
            elif field.many:
                getattr(self, field.name).extend(value)
            elif field.scalar:
                setattr(self, field.name, value)
            else:
                getattr(self, field.name).MergeFrom(value)

    def SerializeToString(self) -> bytes:
        """The message in the binary format."""
        return b"".join(encoded(self))

    def ParseFromString(self, data: bytes) -> int:
        """Replaces the content by the message in `data`, and returns the length of `data`.

        Raises DecodeError, and changes nothing, if `data` is not a message of this class.
        """
        parsed = type(self)()
        parsed.MergeFromString(data)
        object.__setattr__(self, "_values", parsed._values)
        self.SetInParent()
        return len(data)

    def MergeFromString(self, data: bytes) -> int:
        """Merges the message in `data` like `MergeFrom`, and returns the length of `data`. DecodeError if `data` is not
        a message of this class."""
        if self._values:
            other = type(self)()
            other.MergeFromString(data)
            self.MergeFrom(other)
        else:
            try:
                decode(self, memoryview(data), 0)
            except DecodeError as error:
                self.Clear()
                raise DecodeError(f"no message {type(self).__name__}: {error}") from None
        return len(data)


def _parsed(kind: type[Message], data: bytes) -> Message:
    message = kind()
    message.ParseFromString(data)
    return message


def _container(field: Field) -> Any:
    if field.scalar:
        code = SCALARS[field.kind][1]
        return _Numbers(code) if code else []
    kind = field.classes[field.kind]
    if not field.many:
        return kind()
    return _Messages(kind) if field.many == "*" else _MessageMap(kind)


def _has_content(field: Field, value: Any) -> bool:
    if isinstance(value, Message):
        return value._set or any(_has_content(value._fields[n], v) for n, v in value._values.items())
    if field.many:
        return len(value) > 0
    return bool(field.optional or value != field.default)


def _checked(field: Field, value: Any) -> Any:
    """`value` in the field's type; TypeError or ValueError if it cannot be converted."""
    if field.kind == "string":
        if isinstance(value, bytes):
            return value.decode()
        if not isinstance(value, str):
            raise TypeError(f"field {field.name!r} takes a string, not {type(value).__name__}")
        return value
    if field.kind == "bool":
        return bool(value)
    code = SCALARS[field.kind][1]
    assert code is not None
    try:
        return array(code, [value])[0]
    except (TypeError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"field {field.name!r} takes a value of type {field.kind}, not {value!r}") from None


def define(schema: str, module: str, syntax: str = "proto3", source: str = "") -> dict[str, type[Message]]:
    """Makes the message classes of a schema. A line `Shape: dim:int64*=1` defines a message with a repeated field whose
    number is 1; further fields follow, on the same line or on lines that start with a space. `%` instead of `*` defines
    a map, `@group` at the end a member of a oneof. `axis:int32=2=1` is a field with number 2 whose default is 1.

    Args:
        schema: the schema.
        module: name of the module of the classes.
        syntax: "proto2" or "proto3".
        source: the origin of the messages, for their docstrings, with {name} for a message's name.

    Returns:
        The classes by name.

    Raises:
        ValueError: a line of the schema cannot be read.

    Example:
        >>> from compatgrad.formats.protobuf import define
        >>> Shape = define("Shape: dim:int64*=1", "example")["Shape"]
        >>> print(Shape(dim=[2, 3]))
        dim: 2
        dim: 3

    Source: `compatgrad/formats/protobuf.py`.
    """
    classes: dict[str, type[Message]] = {}
    described = _Described(classes, module, syntax)
    for line in joined(schema.splitlines()):
        name, _, words = line.partition(":")
        fields = [_parsed_field(word, classes, syntax == "proto2") for word in words.split()]
        tables = {"_fields": {f.name: f for f in fields}, "_numbers": {f.number: f for f in fields}}
        members = {"DESCRIPTOR": described, "__module__": module, "__slots__": (), **tables}
        if source:
            members["__doc__"] = Documented(source)
        classes[name] = type(name, (Message,), members)
    return classes


def joined(lines: Iterable[str]) -> Iterator[str]:
    """Joins lines that start with a space to the previous line.

    Args:
        lines: the lines.

    Yields:
        The joined lines.

    Raises:
        AttributeError: a line is not a string.

    Example:
        >>> from compatgrad.formats.protobuf import joined
        >>> list(joined(["a", " b", "c"]))
        ['a b', 'c']

    Source: `compatgrad/formats/protobuf.py`.
    """
    whole = ""
    for line in lines:
        if line.startswith(" "):
            whole += line
            continue
        if whole:
            yield whole
        whole = line
    if whole:
        yield whole


def _parsed_field(word: str, classes: dict[str, type[Message]], optional: bool) -> Field:
    word, _, group = word.partition("@")
    name, _, rest = word.partition(":")
    kind, number, *default = rest.split("=")
    many = kind[-1] if kind[-1] in "*%" else ""
    kind = kind.rstrip("*%")
    field = Field(name, int(number), kind, many, group, classes, SCALARS.get(kind, (0, None, None))[2], optional)
    if default:
        field = field._replace(default=_checked(field, (float if kind in ("float", "double") else int)(default[0])))
    return field
