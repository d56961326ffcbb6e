"""Notes of changes to blocks, parameters and shared memory, for code that keeps what it has read of them."""

from __future__ import annotations

__all__ = ["Changes"]


class Changes:
    """Two objects that are replaced by new ones after changes.

    `last` is replaced after each change of a Gluon block (of an attribute, a child or a hook), after each change of a
    parameter's arrays, and when the memory of a tensor is given to other code. `arrays` is replaced only after changes
    of parameters' arrays. Code that keeps what it reads stores `last` or `arrays` before it reads, and reads again when
    the attribute is another object. Objects and not a counter, because two threads that add 1 at once would count one
    change.

    Example:
        >>> from compatgrad.core.changes import Changes
        >>> last, arrays = Changes.last, Changes.arrays
        >>> Changes.note()
        >>> Changes.last is last, Changes.arrays is arrays
        (False, True)

    Source: `compatgrad/core/changes.py`.
    """

    last = arrays = object()

    @staticmethod
    def note() -> None:
        """Notes a change that does not concern parameters' arrays."""
        Changes.last = object()

    @staticmethod
    def note_arrays() -> None:
        """Notes a change of a parameter's arrays."""
        Changes.last = Changes.arrays = object()
