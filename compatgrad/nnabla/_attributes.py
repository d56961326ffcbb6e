"""Objects that take no attributes but their own, as the original's, which are compiled."""

from __future__ import annotations

from typing import Any


def refuse_others(cls: Any) -> Any:
    """Lets objects of this very class refuse names that it lacks: a misspelt one would be without effect.

    Subclasses, which programs write, take any.
    """
    plain = cls.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls and not hasattr(cls, name):
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        plain(self, name, value)

    cls.__setattr__ = __setattr__
    return cls
