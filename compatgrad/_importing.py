"""What the frontends do while their modules are imported."""

from __future__ import annotations

import gc


class CollectorPause:
    """Python's cyclic garbage collector waits as long as this object exists.

    Importing a frontend makes many objects that stay, and a full collection in between takes as long as the import
    itself, because it visits all objects of torch. If an import fails, the object disappears with the module's names.

    Example:
        >>> import gc
        >>> from compatgrad._importing import CollectorPause
        >>> pause = CollectorPause()
        >>> gc.isenabled()
        False
        >>> del pause
        >>> gc.isenabled()
        True

    Source: `compatgrad/_importing.py`.
    """

    def __init__(self) -> None:
        self._collects = gc.isenabled()
        gc.disable()

    def __del__(self) -> None:
        if self._collects:
            gc.enable()
