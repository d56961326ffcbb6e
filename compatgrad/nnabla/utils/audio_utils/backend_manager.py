"""Which library reads and writes sounds."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["backend_manager"]


class AudioUtilsBackendManager:
    """The libraries that are installed, and the one that is used."""

    def __init__(self) -> None:
        self.backends: dict[str, ModuleType] = {}
        for name in ("pydub", "wave"):
            try:
                self.backends[name] = importlib.import_module(f"{__package__}.{name}_utils")
            except ImportError:
                continue  # it is not installed
        self._backend = next(iter(self.backends))

    def get_available_backends(self) -> list[str]:
        """The libraries that are installed."""
        return list(self.backends)

    @property
    def backend(self) -> str:
        """The library that is used. ValueError when set to one that is not installed."""
        return self._backend

    @backend.setter
    def backend(self, backend: str) -> None:
        if backend not in self.backends:
            raise ValueError(f"audio backend {backend!r} is not there; {', '.join(self.backends)} are")
        self._backend = backend

    @property
    def module(self) -> ModuleType:
        """The module that does the work."""
        return self.backends[self._backend]


backend_manager = AudioUtilsBackendManager()
