"""Base classes of serializers."""


class AbstractSerializer:
    """Saves or loads values by name: ``value = serializer(key, value)``, ``serializer[key]`` for a child's
    values.
    """

    def __getitem__(self, key):
        """The serializer of a child."""
        raise NotImplementedError(f"{type(self).__name__} does not define __getitem__")

    def __call__(self, key, value):
        """Saves `value`, or returns what was saved.

        A loader copies into `value` where it is an array and otherwise converts to its type; None as
        `value` gives what was saved, and None that was saved gives None.
        """
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")


class Serializer(AbstractSerializer):
    """Base class of what saves."""

    def save(self, obj):
        """Saves `obj`: calls ``obj.serialize(self)``."""
        obj.serialize(self)


class Deserializer(AbstractSerializer):
    """Base class of what loads."""

    def load(self, obj):
        """Loads into `obj`: calls ``obj.serialize(self)``."""
        obj.serialize(self)
