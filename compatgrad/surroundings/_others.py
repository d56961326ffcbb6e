"""What names that other packages removed did."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from compatgrad.surroundings._callers import calling_frame
from compatgrad.surroundings._row import Row
from compatgrad.surroundings._uses import is_given

# h5py

dataset_value = property(lambda dataset: dataset[()])


# librosa.output


def write_wav(path: Any, y: Any, sr: int, norm: bool = False) -> None:
    """Writes sound, one row a channel, to a WAVE file; scaled to the range from -1 to 1 if `norm`."""
    from scipy.io import wavfile

    sound = np.asarray(y)
    if norm and np.issubdtype(sound.dtype, np.floating):
        sound = sound / (np.abs(sound).max() or 1)
    wavfile.write(path, sr, sound.T if sound.ndim > 1 else sound)


# joblib


def old_memory(module: ModuleType, row: Row) -> Callable[[], None]:
    """Lets the program make a `joblib.Memory` with `cachedir`, which is called `location` today."""
    cls = vars(module)["Memory"]
    original = cls.__init__

    @functools.wraps(original)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        if "cachedir" in kwargs and not args and "location" not in kwargs and is_given(row, calling_frame()):
            kwargs["location"] = kwargs.pop("cachedir")
        original(self, *args, **kwargs)

    cls.__init__ = init
    return lambda: setattr(cls, "__init__", original)


# yaml


def old_load(module: ModuleType, row: Row) -> Callable[[], None]:
    """Lets the program call `yaml.load` without a loader: it gets the FullLoader, which builds no objects of the
    program's classes, where the loader of PyYAML before 5.1 could run any code."""
    original = module.load

    @functools.wraps(original)
    def load(*args: Any, **kwargs: Any) -> Any:
        if len(args) + len(kwargs) == 1 and "Loader" not in kwargs and is_given(row, calling_frame()):
            return original(*args, Loader=module.FullLoader, **kwargs)
        return original(*args, **kwargs)

    module.load = load  # type: ignore[attr-defined]
    return lambda: setattr(module, "load", original)
