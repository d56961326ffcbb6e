"""Classes by name: `register`, `alias` and `create` functions for a family of classes (initializers, metrics)."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

_C = TypeVar("_C", bound=type)

_REGISTRY: dict[type, dict[str, type]] = {}


def _shown(base_class: type) -> str:
    # the module of a class in examples: "mx." and so on
    return base_class.__module__.replace("compatgrad.mxnet", "mx")


def get_registry(base_class: type) -> dict[str, type]:
    """The registered subclasses of a class.

    Args:
        base_class: the class.

    Returns:
        A copy of the table from names, in lower case, to subclasses; empty if nothing is registered.

    Raises:
        TypeError: `base_class` cannot be hashed.

    Example:
        >>> mx.registry.get_registry(mx.initializer.Initializer)["zeros"]
        <class 'compatgrad.mxnet.initializer.Zero'>

    Source: `mxnet.registry.get_registry` of MXNet 1.9.1.
    """
    return _REGISTRY.setdefault(base_class, {}).copy()


def get_register_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The decorator `register(klass, name=None)` for subclasses of a class.

    Args:
        base_class: the class.
        nickname: what one of its subclasses is called in messages, such as "optimizer".

    Returns:
        The decorator. It raises AssertionError for what is no subclass, and warns if the name is taken.

    Raises:
        TypeError: `base_class` cannot be hashed.

    Example:
        >>> class Shape: pass
        >>> register = mx.registry.get_register_func(Shape, "shape")
        >>> @register
        ... class Circle(Shape): pass
        >>> list(mx.registry.get_registry(Shape))
        ['circle']

    Source: `mxnet.registry.get_register_func` of MXNet 1.9.1.
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

    shown = _shown(base_class)
    register.__doc__ = f"""Makes a subclass of {base_class.__name__} known by a name, also as a decorator.

    Args:
        klass: the class.
        name: the name, in any case; None for the class's own. Where it is taken, the class replaces the other one, with
            a UserWarning.

    Returns:
        `klass`.

    Raises:
        AssertionError: `klass` is no subclass of {base_class.__name__}.

    Example:
        >>> @{shown}.register
        ... class Known({shown}.{base_class.__name__}): pass
        >>> mx.registry.get_registry({shown}.{base_class.__name__})["known"] is Known
        True

    Source: `{shown.replace("mx.", "mxnet.")}.register` of MXNet 1.9.1.
    """
    return register


def get_alias_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The function `alias(*names)`, which gives a decorator that registers a subclass under further names.

    Args:
        base_class: the class.
        nickname: what one of its subclasses is called in messages, such as "optimizer".

    Returns:
        The function `alias`.

    Raises:
        TypeError: `base_class` cannot be hashed.

    Example:
        >>> class Shape: pass
        >>> alias = mx.registry.get_alias_func(Shape, "shape")
        >>> @alias("round", "disc")
        ... class Circle(Shape): pass
        >>> list(mx.registry.get_registry(Shape))
        ['round', 'disc']

    Source: `mxnet.registry.get_alias_func` of MXNet 1.9.1.
    """
    register = get_register_func(base_class, nickname)

    def alias(*aliases: str) -> Callable[[_C], _C]:
        def under_all(klass: _C) -> _C:
            for name in aliases:
                register(klass, name)
            return klass

        return under_all

    shown = _shown(base_class)
    alias.__doc__ = f"""The decorator that makes a subclass of {base_class.__name__} known by further names.

    Args:
        *aliases: the names, in any case.

    Returns:
        The decorator, which gives back the class.

    Raises:
        Nothing; the decorator raises AssertionError for what is no subclass of {base_class.__name__}.

    Example:
        >>> @{shown}.alias("renamed", "named_again")
        ... class Named({shown}.{base_class.__name__}): pass
        >>> mx.registry.get_registry({shown}.{base_class.__name__})["named_again"] is Named
        True

    Source: `{shown.replace("mx.", "mxnet.")}.alias` of MXNet 1.9.1.
    """
    return alias


def get_create_func(base_class: type, nickname: str) -> Callable[..., Any]:
    """The function `create(name, *args, **kwargs)` that makes an object of a registered subclass.

    Args:
        base_class: the class.
        nickname: what one of its subclasses is called, such as "optimizer".

    Returns:
        The function. Its first argument is a registered name, a dict with the name under `nickname` and the arguments,
            JSON of such a dict or of a list [name, arguments], or an object of the class, which is returned. It raises
            AssertionError for anything else.

    Raises:
        TypeError: `base_class` cannot be hashed.

    Example:
        >>> class Shape: pass
        >>> class Circle(Shape):
        ...     def __init__(self, radius): self.radius = radius
        >>> circle = mx.registry.get_register_func(Shape, "shape")(Circle)
        >>> mx.registry.get_create_func(Shape, "shape")('["circle", {"radius": 2}]').radius
        2

    Source: `mxnet.registry.get_create_func` of MXNet 1.9.1.
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

    shown = _shown(base_class)
    create.__doc__ = f"""An object of a registered subclass of {base_class.__name__}.

    Args:
        *args: first the name of the {nickname}, in any case, a dict with the name under "{nickname}" and the arguments,
            JSON of such a dict or of a list [name, arguments], or an object of the class, which is returned; then
            arguments of the class.
        **kwargs: arguments of the class; the name is under "{nickname}" where `args` is empty.

    Returns:
        The object.

    Raises:
        AssertionError: the name is not registered, or is no str; there are arguments beside an object or JSON.
        KeyError: there is no name.

    Example:
        >>> @{shown}.register
        ... class Created({shown}.{base_class.__name__}):
        ...     def __init__(self, size): self.size = size
        >>> {shown}.create("created", 3).size, {shown}.create('["created", {{"size": 4}}]').size
        (3, 4)

    Source: `{shown.replace("mx.", "mxnet.")}.create` of MXNet 1.9.1.
    """
    return create
