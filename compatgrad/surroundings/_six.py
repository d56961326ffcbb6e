"""What programs use of `six`, for Python 3."""

from __future__ import annotations

import builtins
import io
import operator
import sys
from collections.abc import Callable, Iterator
from functools import wraps as wraps
from typing import Any

from compatgrad.surroundings import _six_moves as moves  # noqa: F401

__version__ = "1.16.0"

PY2, PY3, PY34 = False, True, True
MAXSIZE = sys.maxsize

string_types = (str,)
integer_types = (int,)
class_types = (type,)
text_type = str
binary_type = bytes

BytesIO, StringIO = io.BytesIO, io.StringIO
print_ = builtins.print
exec_ = builtins.exec
next = advance_iterator = builtins.next
callable = builtins.callable
unichr, int2byte = chr, lambda number: bytes((number,))
byte2int, indexbytes, iterbytes = operator.itemgetter(0), operator.getitem, iter

get_method_function = operator.attrgetter("__func__")
get_method_self = operator.attrgetter("__self__")
get_function_code = operator.attrgetter("__code__")
get_function_closure = operator.attrgetter("__closure__")
get_function_defaults = operator.attrgetter("__defaults__")
get_function_globals = operator.attrgetter("__globals__")


def b(s: str) -> bytes:
    return s.encode("latin-1")


def u(s: str) -> str:
    return s


def iterkeys(d: Any, **options: Any) -> Iterator[Any]:
    return iter(d.keys(**options))


def itervalues(d: Any, **options: Any) -> Iterator[Any]:
    return iter(d.values(**options))


def iteritems(d: Any, **options: Any) -> Iterator[Any]:
    return iter(d.items(**options))


def iterlists(d: Any, **options: Any) -> Iterator[Any]:
    return iter(d.lists(**options))


viewkeys = operator.methodcaller("keys")
viewvalues = operator.methodcaller("values")
viewitems = operator.methodcaller("items")


def create_bound_method(function: Any, instance: Any) -> Any:
    return function.__get__(instance)


def get_unbound_function(function: Any) -> Any:
    return function


def reraise(kind: type[BaseException], value: BaseException | None, traceback: Any = None) -> None:
    try:
        raise (kind() if value is None else value).with_traceback(traceback)
    finally:
        value = traceback = None


def raise_from(value: BaseException, cause: BaseException | None) -> None:
    raise value from cause


def with_metaclass(meta: type, *bases: type) -> type:
    """A base class that makes the class which derives from it one of `meta`, derived from `bases`."""

    class Between(type):
        def __new__(cls, name: str, _: Any, namespace: dict[str, Any]) -> Any:
            return meta(name, bases, namespace)

        @classmethod
        def __prepare__(cls, name: str, _: Any, /, **options: Any) -> Any:
            return meta.__prepare__(name, bases)

    return type.__new__(Between, "between", (), {})


def add_metaclass(metaclass: type) -> Callable[[type], type]:
    def decorate(cls: type) -> type:
        namespace = dict(vars(cls))
        slots = namespace.get("__slots__", ())
        for name in ("__dict__", "__weakref__", *((slots,) if isinstance(slots, str) else slots)):
            namespace.pop(name, None)
        return metaclass(cls.__name__, cls.__bases__, namespace)

    return decorate


def python_2_unicode_compatible(cls: type) -> type:
    return cls


def ensure_binary(s: Any, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    if isinstance(s, (str, bytes)):
        return s.encode(encoding, errors) if isinstance(s, str) else s
    raise TypeError(f"not expecting type '{type(s)}'")


def ensure_text(s: Any, encoding: str = "utf-8", errors: str = "strict") -> str:
    if isinstance(s, (str, bytes)):
        return s.decode(encoding, errors) if isinstance(s, bytes) else s
    raise TypeError(f"not expecting type '{type(s)}'")


ensure_str = ensure_text
