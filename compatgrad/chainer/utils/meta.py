"""Methods that subclasses must not, or should no longer, override."""

import warnings


def final(*args, action=TypeError):
    """Decorator: overriding the method raises `action`, or warns if it is a class of warnings.

    It works in classes that `enable_final` made. With or without arguments.
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


def enable_final(base=(), meta_base=()):
    """A base class (derived from `base`, its metaclass from `meta_base`) in which `final` has its effect."""
    base = tuple(base) if isinstance(base, (list, tuple)) else (base,)
    meta_base = tuple(meta_base) if isinstance(meta_base, (list, tuple)) else (meta_base,)
    metaclass = type("base_metaclass", (_EnableFinal, *meta_base), {})
    return metaclass("enable_final_base", base, {})
