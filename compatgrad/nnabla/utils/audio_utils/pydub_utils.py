"""Sounds by pydub."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from .common import check_resized, check_saved, check_source, placed

with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)  # where ffmpeg is not installed: .wav needs none
    from pydub import AudioSegment

__all__ = ["auread", "auresize", "ausave"]


def _array(segment: Any) -> np.ndarray:
    return np.array(segment.get_array_of_samples()).reshape(-1, segment.channels)


def _segment(array: np.ndarray, frame_rate: int = 48000) -> Any:
    return AudioSegment(
        array.tobytes(), frame_rate=frame_rate, sample_width=array.dtype.itemsize, channels=array.shape[1]
    )


def auread(source: Any, channel_first: bool = False, raw_format_param: Any = None) -> np.ndarray:
    check_source(source, raw_format_param)
    with source.open() as file:
        segment = AudioSegment.from_file(file, format=source.ext[1:], **(raw_format_param or {}))
    array = _array(segment)
    if array.dtype.itemsize == 1 and source.ext == ".wav":
        array = array.astype(np.uint8)
    return placed(array, channel_first)


def ausave(path: Any, audio_arr: np.ndarray, channel_first: bool = False, frame_rate: int = 48000) -> None:
    _segment(check_saved(path, audio_arr, channel_first), frame_rate).export(path, format="wav")


def auresize(audio_arr: np.ndarray, size: Any, channel_first: bool = False) -> np.ndarray:
    array = check_resized(audio_arr, size, channel_first)
    rate = math.floor(48000 * size[0] / array.shape[0] + 1)
    return _array(_segment(array).set_frame_rate(rate).set_channels(size[1]).get_sample_slice(0, size[0]))
