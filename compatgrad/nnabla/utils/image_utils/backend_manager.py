"""Selects the image library that reads, writes or resizes an image."""

import importlib

from .._file_readers import get_file_extension
from .backend_events.common import ImageUtilsBackend, Unsupported

__all__ = ["ImageUtilsBackend", "backend_manager"]

_MODULES = ("pil_backend", "cv2_backend", "pypng_backend")


class _Manager:
    def __init__(self):
        self._backends = {}
        for name in _MODULES:
            try:
                module = importlib.import_module(f".backend_events.{name}", __package__)
            except ImportError:  # the backend's library is not installed
                continue
            backend = self._backends[module.Backend.__name__] = module.Backend()
            backend._manager = self
        self._default = None
        self._last = None

    def get_best_backend(self, path, operator):
        """The backend for `operator` ("load", "save" or "resize") on `path`.

        Raises RuntimeError if no image library is installed, and ValueError if none of the installed ones supports the
        file.
        """
        if self._default is not None:
            return self._default
        if not self._backends:
            raise RuntimeError("image_utils needs Pillow: pip install pillow")
        found = self.candidates(path, operator)
        if not found:
            raise ValueError(f"image_utils: no backend can {operator} {path!r}")
        self._last = found[0]
        return _Chain(found)

    def candidates(self, path, operator):
        """All backends that support `operator` on `path`, the recommended ones first."""
        ext = get_file_extension(path)
        answers = [(backend.accept(path, ext, operator), backend) for backend in self._backends.values()]
        return [b for answer in ("Recommended", "OK") for a, b in answers if a == answer]

    def get_backend(self):
        """The name of the backend set by `set_backend`, else of the last one used, else ""."""
        backend = self._default or self._last
        return type(backend).__name__ if backend else ""

    def set_backend(self, name):
        """Uses the backend `name` for every image; an unknown name restores the selection per image."""
        self._default = self._backends.get(name)

    def get_available_backends(self):
        """The names of the backends whose libraries are installed."""
        return list(self._backends)

    def get_backend_from_name(self, name):
        """The backend `name`, or None."""
        return self._backends.get(name)


class _Chain:
    # calls the backends in turn until one supports the image
    def __init__(self, backends):
        self._backends = backends

    def __getattr__(self, name):
        def call(*args, **kwargs):
            for backend in self._backends[:-1]:
                try:
                    return getattr(backend, name)(*args, **kwargs)
                except Unsupported:
                    pass
            return getattr(self._backends[-1], name)(*args, **kwargs)

        return call


backend_manager = _Manager()
