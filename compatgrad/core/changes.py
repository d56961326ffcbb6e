"""Whether what code has read of shared objects, and keeps, may have changed."""

from __future__ import annotations

__all__ = ["Changes"]


class Changes:
    """`last` is another object after each change of a Gluon block (of an attribute, a child or a hook) or of a
    parameter's arrays, and after each tensor whose memory is given to other code; `arrays` only after parameters'
    arrays have changed. Code that keeps what it has read notes one of the two before it reads, and looks again when
    that is another object. A number could miss changes by several threads.

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
        """Notes a change of other things than parameters' arrays."""
        Changes.last = object()

    @staticmethod
    def note_arrays() -> None:
        """Notes a change of a parameter's arrays."""
        Changes.last = Changes.arrays = object()
