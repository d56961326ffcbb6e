"""Classes whose objects refuse unknown attributes, as nnabla's compiled classes do."""

from __future__ import annotations

from typing import Any


def refuse_others(cls: Any) -> Any:
    """Makes objects of exactly this class refuse attributes that the class lacks: setting a misspelt attribute would
    have no effect. Objects of subclasses, which programs define, take any attribute.
    """
    plain = cls.__setattr__

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls and not hasattr(cls, name):
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
        plain(self, name, value)

    cls.__setattr__ = __setattr__
    return cls
