"""Base classes of serializers."""

from __future__ import annotations

from typing import Any

from compatgrad.chainer._loading import all_or_nothing


class AbstractSerializer:
    """Saves or loads values by name.

    `value = serializer(key, value)` saves or loads a value, `serializer[key]` is the serializer of a child. A subclass
    defines both.

    Example:
        >>> isinstance(chainer.serializers.DictionarySerializer({}), chainer.AbstractSerializer)
        True

    Source: `chainer.AbstractSerializer` of Chainer 7.8.1.
    """

    def __getitem__(self, key):
        """The serializer of a child."""
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __call__(self, key, value):
        """Saves `value`, or returns what was saved.

        A deserializer copies into `value` where it is an array, and otherwise converts to the type of `value`. With
        None as `value` it returns the saved value unchanged, and it returns None if None was saved.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class Serializer(AbstractSerializer):
    """Base class of serializers that save. A subclass defines `__call__` and `__getitem__`.

    Example:
        >>> class Printing(chainer.Serializer):
        ...     def __init__(self, path=""):
        ...         self.path = path
        ...     def __getitem__(self, key):
        ...         return Printing(f"{self.path}{key}/")
        ...     def __call__(self, key, value):
        ...         print(self.path + key, np.shape(value))
        ...         return value
        >>> Printing().save(L.Linear(2, 3, nobias=True))
        W (3, 2)

    Source: `chainer.Serializer` of Chainer 7.8.1.
    """

    def save(self, obj: Any) -> None:
        """Saves `obj`: calls ``obj.serialize(self)``."""
        obj.serialize(self)


class Deserializer(AbstractSerializer):
    """Base class of serializers that load. A subclass defines `__call__` and `__getitem__`.

    Example:
        >>> class Ones(chainer.Deserializer):
        ...     def __getitem__(self, key):
        ...         return self
        ...     def __call__(self, key, value):
        ...         value[...] = 1
        ...         return value
        >>> layer = L.Linear(2, 1)
        >>> Ones().load(layer)
        >>> layer.W.array, layer.b.array
        (array([[1., 1.]], dtype=float32), array([1.], dtype=float32))

    Source: `chainer.Deserializer` of Chainer 7.8.1.
    """

    def load(self, obj: Any) -> None:
        """Loads into `obj`: calls ``obj.serialize(self)``. Where that fails, the deserializers of `chainer.serializers`
        leave `obj` unchanged."""
        with all_or_nothing():
            obj.serialize(self)
