"""Sounds as arrays (samples, channels), from .wav files and to them.

Where pydub is installed it reads and writes them, as in nnabla; else Python's own reader of .wav files does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._file_readers import ResourceFileReader
from .backend_manager import backend_manager
from .common import check_scaled, rescale_intensity

__all__ = [
    "auload",
    "auread",
    "auresize",
    "ausave",
    "auwrite",
    "get_available_backends",
    "get_backend",
    "minmax_auto_scale",
    "rescale_intensity",
    "set_backend",
]


def set_backend(backend: str) -> None:
    """Chooses the library that reads and writes: "pydub" or "wave". ValueError for one that is not installed."""
    backend_manager.backend = backend


def get_backend() -> str:
    """The name of the library in use, "pydub" or "wave"."""
    return backend_manager.backend


def get_available_backends() -> list[str]:
    """The names of the libraries that are installed."""
    return backend_manager.get_available_backends()


def minmax_auto_scale(audio_arr: np.ndarray, out_datatype: Any) -> np.ndarray:
    """The sound as `out_datatype`, its least and greatest value being those of that type.

    ValueError for what is no array or no type, or for types of more than 4 bytes.
    """
    check_scaled(audio_arr, out_datatype)
    dtype = np.dtype(out_datatype)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return rescale_intensity(audio_arr, audio_arr.min(), audio_arr.max(), limits.min, limits.max, out_datatype)


def auread(path: Any, channel_first: bool = False, raw_format_param: Any = None, **kwargs: Any) -> np.ndarray:
    """The sound of a .wav or .raw file, a name or an open one, as an array (samples, channels) of its integers.

    channel_first: as (channels, samples). raw_format_param: for .raw, a dictionary with "sample_width" (in bytes),
    "frame_rate" and "channels". ValueError for other formats.
    """
    source = ResourceFileReader(path)
    return backend_manager.module.auread(source, channel_first, raw_format_param, **kwargs)


def ausave(
    path: Any, audio_arr: np.ndarray, channel_first: bool = False, frame_rate: int = 48000, **kwargs: Any
) -> None:
    """Writes a sound (samples, channels) of integers of up to 4 bytes to a .wav file; ValueError for others."""
    backend_manager.module.ausave(path, audio_arr, channel_first=channel_first, frame_rate=frame_rate, **kwargs)


def auresize(audio_arr: np.ndarray, size: Any, channel_first: bool = False, **kwargs: Any) -> np.ndarray:
    """The sound with other numbers of samples and channels, `size`; from one channel to many or from many to one.

    The result is (samples, channels). ValueError for other changes of channels.
    """
    return backend_manager.module.auresize(audio_arr, size, channel_first=channel_first, **kwargs)


auwrite = ausave
auload = auread
