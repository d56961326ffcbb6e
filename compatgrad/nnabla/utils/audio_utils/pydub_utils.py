"""Reads and writes sounds by pydub."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .common import _check_resized, _check_saved, _check_source, _placed

with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)  # pydub warns without ffmpeg, which .wav files do not need
    from pydub import AudioSegment

__all__ = ["auread", "auresize", "ausave"]


def _array(segment: Any) -> np.ndarray:
    return np.array(segment.get_array_of_samples()).reshape(-1, segment.channels)


def _segment(array: np.ndarray, frame_rate: int = 48000) -> Any:
    return AudioSegment(
        array.tobytes(), frame_rate=frame_rate, sample_width=array.dtype.itemsize, channels=array.shape[1]
    )


def auread(source: Any, channel_first: bool = False, raw_format_param: dict[str, int] | None = None) -> np.ndarray:
    """Reads a sound by pydub.

    Args:
        source: a `ResourceFileReader` of a file.
        channel_first: whether the channels are the first axis of the result.
        raw_format_param: for a .raw file: its "sample_width" (bytes), "frame_rate" (Hz) and "channels".

    Returns:
        Array (samples, channels) of integers.

    Raises:
        ValueError: as in `audio_utils.auread`.

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> audio_utils.set_backend("pydub")
        >>> audio_utils.ausave("one.wav", np.array([[1], [2]], np.int16))
        >>> audio_utils.auread("one.wav").shape
        (2, 1)

    Source: `nnabla.utils.audio_utils.pydub_utils.auread` of nnabla 1.39.0.
    """
    _check_source(source, raw_format_param)
    with source.open() as file:
        segment = AudioSegment.from_file(file, format=source.ext[1:], **(raw_format_param or {}))
    array = _array(segment)
    if array.dtype.itemsize == 1 and source.ext == ".wav":
        array = array.astype(np.uint8)
    return _placed(array, channel_first)


def ausave(path: Any, audio_arr: np.ndarray, channel_first: bool = False, frame_rate: int = 48000) -> None:
    """Writes a sound to a .wav file by pydub.

    Args:
        path: the name of the file, or a file that is open for writing bytes.
        audio_arr: array (samples, channels) of integers of up to 4 bytes.
        channel_first: whether the channels are the first axis of `audio_arr`.
        frame_rate: samples per second.

    Raises:
        ValueError: as in `audio_utils.ausave`.

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> audio_utils.set_backend("pydub")
        >>> audio_utils.ausave("one.wav", np.array([[1], [2]], np.int16))
        >>> audio_utils.auread("one.wav").shape
        (2, 1)

    Source: `nnabla.utils.audio_utils.pydub_utils.ausave` of nnabla 1.39.0.
    """
    _segment(_check_saved(path, audio_arr, channel_first), frame_rate).export(path, format="wav")


def auresize(audio_arr: np.ndarray, size: tuple[int, int] | list[int], channel_first: bool = False) -> np.ndarray:
    """Changes the numbers of samples and channels of a sound by pydub, which changes the frame rate for this.

    Args:
        audio_arr: array (samples, channels).
        size: (samples, channels) of the result; pydub may return one sample less.
        channel_first: whether the channels are the first axis of `audio_arr`.

    Returns:
        Array (samples, channels).

    Raises:
        ValueError: as in `audio_utils.auresize`.

    Example:
        >>> from compatgrad.nnabla.utils import audio_utils
        >>> audio_utils.set_backend("pydub")
        >>> audio_utils.auresize(np.zeros((50, 2), np.int16), (50, 1)).shape
        (50, 1)

    Source: `nnabla.utils.audio_utils.pydub_utils.auresize` of nnabla 1.39.0.
    """
    array = _check_resized(audio_arr, size, channel_first)
    rate = math.floor(48000 * size[0] / array.shape[0] + 1)
    return _array(_segment(array).set_frame_rate(rate).set_channels(size[1]).get_sample_slice(0, size[0]))
