"""Classes by name: `register`, `alias` and `create` functions for a family of classes (initializers, metrics)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

_C = TypeVar("_C", bound=type)

_REGISTRY: dict[type, dict[str, type]] = {}


def get_registry(base_class: type) -> dict[str, type]:
    """A copy of the table of names of `base_class`'s subclasses; names are in lower case."""
    return _REGISTRY.setdefault(base_class, {}).copy()


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The decorator `register(klass, name=None)` for subclasses of `base_class`.

    AssertionError for another class; a UserWarning where the name is taken.
    """
    table = _REGISTRY.setdefault(base_class, {})

    def register(klass: _C, name: str | None = None) -> _C:
        assert isinstance(klass, type) and issubclass(klass, base_class), (
            f"Can only register subclass of {base_class.__name__}"
        )
        key = (name or klass.__name__).lower()
        old = table.get(key)
        if old is not None:
            warnings.warn(
                f"New {nickname} {klass.__module__}.{klass.__name__} registered with name {key} is overriding "
                f"existing {nickname} {old.__module__}.{old.__name__}",
                UserWarning,
                stacklevel=2,
            )
        table[key] = klass
        return klass

    register.__doc__ = f"Makes a class known to the {nickname} factory."
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The decorator factory `alias(*names)`, which registers a class under further names."""
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[_C], _C]:
        def under_all(klass: _C) -> _C:
            for name in aliases:
                register(klass, name)
            return klass

        return under_all

    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The function `create(name, *args, **kwargs)` that makes an instance.

    `name`: a registered name, a dict with the name under `nickname` and the arguments, JSON of such a dict or of a
    list [name, arguments], or an instance, which is returned. AssertionError for anything else.
    """
    table = _REGISTRY.setdefault(base_class, {})

    def create(*args: Any, **kwargs: Any) -> Any:
        name, args = (args[0], args[1:]) if args else (kwargs.pop(nickname), args)
        given = bool(args or kwargs)
        if isinstance(name, base_class):
            assert not given, f"{nickname} is already an instance. Additional arguments are invalid"
            return name
        if isinstance(name, dict):
            return create(**name)
        assert isinstance(name, str), f"{nickname} must be of string type, got {type(name).__name__}"
        if name[:1] in ("[", "{"):
            assert not given, f"{nickname} is given as JSON. Additional arguments are invalid"
            config = json.loads(name)
            return create(config[0], **config[1]) if isinstance(config, list) else create(**config)
        key = name.lower()
        assert key in table, (
            f"{key} is not registered. Please register with {nickname}.register first. "
            f"Registered are: {', '.join(sorted(table))}"
        )
        return table[key](*args, **kwargs)

    create.__doc__ = f"An instance of a registered {nickname}, from its name or configuration."
    return create
