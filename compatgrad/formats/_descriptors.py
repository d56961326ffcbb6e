"""Descriptors of messages for Google's protobuf package, for programs that pass messages to its modules.

`google.protobuf.text_format` reads and writes messages of any class that has a descriptor.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["file_descriptor"]


def file_descriptor(classes: Mapping[str, Any], module: str, syntax: str) -> Any:
    """The FileDescriptor of a module's message classes, by name. Without protobuf, ImportError that says what to
    install."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool
    except ImportError as e:
        raise ImportError("descriptors of messages need protobuf: pip install protobuf") from e

    file = descriptor_pb2.FileDescriptorProto(name=f"{module}.proto", syntax=syntax)
    for name, kind in classes.items():
        _describe(file.message_type.add(name=name), name, kind._fields.values(), descriptor_pb2.FieldDescriptorProto)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    return pool.FindFileByName(file.name)


def _describe(message: Any, name: str, fields: Any, types: Any) -> None:
    groups: list[str] = []
    for field in fields:
        made = message.field.add(name=field.name, number=field.number)
        made.label = types.LABEL_REPEATED if field.many else types.LABEL_OPTIONAL
        if field.group:
            if field.group not in groups:
                groups.append(field.group)
                message.oneof_decl.add(name=field.group)
            made.oneof_index = groups.index(field.group)
        if field.scalar:
            made.type = getattr(types, f"TYPE_{field.kind.upper()}")
            if field.optional and field.default and not field.many:
                made.default_value = str(field.default).lower()
            continue
        made.type, made.type_name = types.TYPE_MESSAGE, f".{field.kind}"
        if field.many == "%":
            title = "".join(part.capitalize() for part in field.name.split("_")) + "Entry"
            entry = message.nested_type.add(name=title)
            entry.options.map_entry = True
            key = entry.field.add(name="key", number=1, label=types.LABEL_OPTIONAL)
            key.type = types.TYPE_STRING
            value = entry.field.add(name="value", number=2, label=types.LABEL_OPTIONAL, type_name=made.type_name)
            value.type = types.TYPE_MESSAGE
            made.type_name = f".{name}.{title}"
