"""Reads and writes sounds, arrays (samples, channels), as .wav files. Where pydub is installed, it is used, as in
nnabla; otherwise Python's module `wave`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._file_readers import ResourceFileReader
from .backend_manager import backend_manager
from .common import _check_scaled, rescale_intensity

if TYPE_CHECKING:
    from typing import BinaryIO

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
    """Selects the library that reads, writes and resizes sounds.

    Args:
        backend: "pydub" or "wave", Python's own module.

    Raises:
        ValueError: the library is not installed.

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> audio_utils.set_backend("wave")
        >>> audio_utils.get_backend()
        'wave'

    Source: `nnabla.utils.audio_utils.set_backend` of nnabla 1.39.0.
    """
    backend_manager.backend = backend


def get_backend() -> str:
    """The name of the library that reads, writes and resizes sounds.

    Returns:
        "pydub" or "wave".

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> audio_utils.get_backend() in audio_utils.get_available_backends()
        True

    Source: `nnabla.utils.audio_utils.get_backend` of nnabla 1.39.0.
    """
    return backend_manager.backend


def get_available_backends() -> list[str]:
    """The libraries that are installed.

    Returns:
        Their names; "wave" is always among them, as it is part of Python.

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> "wave" in audio_utils.get_available_backends()
        True

    Source: `nnabla.utils.audio_utils.get_available_backends` of nnabla 1.39.0.
    """
    return backend_manager.get_available_backends()


def minmax_auto_scale(audio_arr: np.ndarray, out_datatype: type | np.dtype[Any]) -> np.ndarray:
    """Maps a sound linearly onto the range of a type, from the smallest value of that type to the largest.

    Args:
        audio_arr: integers or floats, usually (samples, channels).
        out_datatype: the type of the result, of at most 4 bytes.

    Returns:
        Array of the shape of `audio_arr` and of `out_datatype`.

    Raises:
        ValueError: `audio_arr` is no array, `out_datatype` is not a type (a name is not accepted), or it has more than
            4 bytes.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import minmax_auto_scale
        >>> minmax_auto_scale(np.array([[-1.0], [1.0], [3.0]]), np.uint8)
        array([[  0],
               [127],
               [255]], dtype=uint8)

    Source: `nnabla.utils.audio_utils.minmax_auto_scale` of nnabla 1.39.0.
    """
    _check_scaled(audio_arr, out_datatype)
    dtype = np.dtype(out_datatype)
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    return rescale_intensity(audio_arr, audio_arr.min(), audio_arr.max(), limits.min, limits.max, out_datatype)


def auread(
    path: str | BinaryIO,
    channel_first: bool = False,
    raw_format_param: dict[str, int] | None = None,
    **kwargs: Any,
) -> np.ndarray:
    """Reads a sound.

    Args:
        path: the name of a .wav or .raw file, or such a file that is open for reading bytes.
        channel_first: whether the channels are the first axis of the result.
        raw_format_param: for a .raw file, which has no header: a dict of its "sample_width" (bytes), "frame_rate" (Hz)
            and "channels".
        **kwargs: options of the library; none exist.

    Returns:
        Array (samples, channels) of the file's integers: uint8, int16 or int32 for 1, 2, and 3 or 4 bytes; int8 for a
        .raw file of 1 byte.

    Raises:
        ValueError: the extension is neither .wav nor .raw, a .raw file has no `raw_format_param`, or, with "wave", the
            file is no .wav file.
        FileNotFoundError: there is no such file.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import auread, ausave
        >>> ausave("tone.wav", np.array([[0, 100], [-200, 300]], np.int16))
        >>> auread("tone.wav")
        array([[   0,  100],
               [-200,  300]], dtype=int16)

    Source: `nnabla.utils.audio_utils.auread` of nnabla 1.39.0.
    """
    source = ResourceFileReader(path)
    return backend_manager.module.auread(source, channel_first, raw_format_param, **kwargs)


def ausave(
    path: str | BinaryIO,
    audio_arr: np.ndarray,
    channel_first: bool = False,
    frame_rate: int = 48000,
    **kwargs: Any,
) -> None:
    """Writes a sound to a .wav file, and makes the folder if it does not exist.

    Args:
        path: the name of the file, or a file open for writing bytes that has such a name.
        audio_arr: array (samples, channels) of integers of up to 4 bytes.
        channel_first: whether the channels are the first axis of `audio_arr`.
        frame_rate: samples per second.
        **kwargs: options of the library; none exist.

    Raises:
        ValueError: `audio_arr` is no array, does not have two axes, or has floats or larger integers; or the extension
            is not .wav.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import auread, ausave
        >>> ausave("tone.wav", np.array([[0, 100, 200]], np.int16), channel_first=True, frame_rate=16000)
        >>> auread("tone.wav").shape
        (3, 1)

    Source: `nnabla.utils.audio_utils.ausave` of nnabla 1.39.0.
    """
    backend_manager.module.ausave(path, audio_arr, channel_first=channel_first, frame_rate=frame_rate, **kwargs)


def auresize(
    audio_arr: np.ndarray,
    size: tuple[int, int] | list[int],
    channel_first: bool = False,
    **kwargs: Any,
) -> np.ndarray:
    """Changes the numbers of samples and channels of a sound. Samples are interpolated. One channel is copied to
    several; several channels are averaged to one.

    Args:
        audio_arr: array (samples, channels); types other than uint8 and int16 become float32.
        size: (samples, channels) of the result.
        channel_first: whether the channels are the first axis of `audio_arr`.
        **kwargs: options of the library; none exist.

    Returns:
        Array (samples, channels), also with `channel_first`.

    Raises:
        ValueError: `audio_arr` is no array, does not have two axes or is empty, `size` is no pair of positive numbers,
            or several channels would be changed to another number greater than one.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import auresize, set_backend
        >>> set_backend("wave")
        >>> auresize(np.array([[0, 10], [20, 30], [40, 50], [60, 70]], np.int16), (2, 1))
        array([[ 5],
               [45]], dtype=int16)

    Source: `nnabla.utils.audio_utils.auresize` of nnabla 1.39.0.
    """
    return backend_manager.module.auresize(audio_arr, size, channel_first=channel_first, **kwargs)


auwrite = ausave
auload = auread
