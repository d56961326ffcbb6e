"""What the frontends do while their modules are imported."""

from __future__ import annotations

import gc


class CollectorPause:
    """Python's cyclic garbage collector waits as long as this object exists, or for a block: `with CollectorPause():`.

    Importing a frontend makes many objects that stay, and a full collection in between takes as long as the import
    itself, because it visits all objects of torch. A frontend uses the block: the names of a module whose import fails
    are in cycles, which only the collector frees, so an object among them would keep it waiting for good.

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

    def _end(self) -> None:
        if self._collects:
            self._collects = False
            gc.enable()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self._end()

    def __del__(self) -> None:
        self._end()
