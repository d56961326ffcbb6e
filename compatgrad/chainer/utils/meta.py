"""Methods that subclasses must not or should not override."""

from __future__ import annotations

import warnings
from typing import Any


def final(*args: Any, action: type = TypeError) -> Any:
    """Decorator of a method that subclasses must not override. It works in classes that are derived from a result of
    `enable_final`. With or without arguments.

    Args:
        *args: the method, if the decorator has no arguments.
        action: class of the exception that overriding raises, or of the warning that it issues.

    Returns:
        The method, or a decorator if the method is not given.

    Raises:
        ValueError: more than one positional argument is given.

    Example:
        >>> class Base(chainer.utils.enable_final()):
        ...     @chainer.utils.final
        ...     def run(self):
        ...         return 1
        >>> class Derived(Base):
        ...     def run(self):
        ...         return 2
        Traceback (most recent call last):
          ...
        TypeError: method 'run' is final.

    Source: `chainer.utils.final` of Chainer 7.8.1.
    """

    def mark(f):
        f._override_action = action
        return f

    if not args:
        return mark
    (f,) = args
    return mark(f)


class _EnableFinal(type):
    def __new__(cls, name, bases, namespace):
        for key in namespace:
            for base in bases:
                action = getattr(getattr(base, key, None), "_override_action", None)
                if action is None:
                    continue
                if not issubclass(action, Warning):
                    raise action(f"method {key!r} is final.")
                warnings.warn(f"Overriding method {key!r}.", action, stacklevel=2)
        return super().__new__(cls, name, bases, namespace)


def enable_final(base: Any = (), meta_base: Any = ()) -> type:
    """Makes a base class for classes in which `final` has an effect.

    Args:
        base: class from which it is derived, or a tuple or list of classes.
        meta_base: class from which its metaclass is derived, or a tuple or list of classes.

    Returns:
        The class.

    Raises:
        TypeError: `base` or `meta_base` is no class, or the metaclasses of the bases do not fit together.

    Example:
        >>> class Base(chainer.utils.enable_final(base=dict)):
        ...     pass
        >>> Base(a=1)
        {'a': 1}

    Source: `chainer.utils.enable_final` of Chainer 7.8.1.
    """
    base = tuple(base) if isinstance(base, (list, tuple)) else (base,)
    meta_base = tuple(meta_base) if isinstance(meta_base, (list, tuple)) else (meta_base,)
    metaclass = type("base_metaclass", (_EnableFinal, *meta_base), {})
    return metaclass("enable_final_base", base, {})
