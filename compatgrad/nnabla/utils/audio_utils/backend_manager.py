"""The selection of the library that reads and writes sounds."""

from __future__ import annotations

import importlib
from types import ModuleType

__all__ = ["backend_manager"]


class AudioUtilsBackendManager:
    """Manages the installed libraries and the selected one, which initially is pydub if that is installed, else "wave".

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils.backend_manager import AudioUtilsBackendManager
        >>> manager = AudioUtilsBackendManager()
        >>> manager.backend = "wave"
        >>> hasattr(manager.module, "auread")
        True

    Source: `nnabla.utils.audio_utils.backend_manager` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        self.backends: dict[str, ModuleType] = {}
        for name, module in (("pydub", "pydub_utils"), ("wave", "_wave_utils")):
            try:
                self.backends[name] = importlib.import_module(f"{__package__}.{module}")
            except ImportError:
                continue  # the library is not installed
        self._backend = next(iter(self.backends))

    def get_available_backends(self) -> list[str]:
        """The libraries that are installed."""
        return list(self.backends)

    @property
    def backend(self) -> str:
        """The selected library. Setting one that is not installed raises ValueError."""
        return self._backend

    @backend.setter
    def backend(self, backend: str) -> None:
        if backend not in self.backends:
            raise ValueError(f"audio backend {backend!r} is not installed; available: {', '.join(self.backends)}")
        self._backend = backend

    @property
    def module(self) -> ModuleType:
        """The module that implements the selected backend."""
        return self.backends[self._backend]


backend_manager = AudioUtilsBackendManager()
