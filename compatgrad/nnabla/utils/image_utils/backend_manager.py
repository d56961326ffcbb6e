"""Which backend does what."""

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
            except ImportError:  # the library is missing
                continue
            backend = self._backends[module.Backend.__name__] = module.Backend()
            backend._manager = self
        self._default = None
        self._last = None

    def get_best_backend(self, path, operator):
        """The backend for `operator` ("load", "save" or "resize") on `path`.

        RuntimeError where no image library is installed, ValueError where none of those knows the file.
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
        """All backends for that, the best first."""
        ext = get_file_extension(path)
        answers = [(backend.accept(path, ext, operator), backend) for backend in self._backends.values()]
        return [b for answer in ("Recommended", "OK") for a, b in answers if a == answer]

    def get_backend(self):
        """The name of the backend that is set, else of the one used last, else ""."""
        backend = self._default or self._last
        return type(backend).__name__ if backend else ""

    def set_backend(self, name):
        """Makes the backend `name` do everything; an unknown name brings the choice back."""
        self._default = self._backends.get(name)

    def get_available_backends(self):
        """The backends' names."""
        return list(self._backends)

    def get_backend_from_name(self, name):
        """The backend `name`, or None."""
        return self._backends.get(name)


class _Chain:
    # tries one backend after the other
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
