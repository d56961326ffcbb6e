"""Reads and writes sounds by Python's module `wave`."""

from __future__ import annotations

import wave
from contextlib import nullcontext
from typing import Any

import numpy as np

from compatgrad.core.files import replacing

from ...core._file_errors import reading
from .common import _check_resized, _check_saved, _check_source, _placed

__all__ = ["auread", "auresize", "ausave"]

_TYPES = {1: np.uint8, 2: np.int16, 4: np.int32}


def _typed(data: bytes, width: int, channels: int) -> np.ndarray:
    if width == 3:  # 3 bytes become 4, of which the lowest is 0
        padded = np.zeros((len(data) // 3, 4), np.uint8)
        padded[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return padded.view("<i4").reshape(-1, channels)
    return np.frombuffer(data, np.dtype(_TYPES[width]).newbyteorder("<")).astype(_TYPES[width]).reshape(-1, channels)


def auread(source: Any, channel_first: bool = False, raw_format_param: Any = None) -> np.ndarray:
    _check_source(source, raw_format_param)
    with source.open() as file, reading(getattr(file, "name", source), source.ext):
        if source.ext == ".raw":
            array = _typed(file.read(), raw_format_param["sample_width"], raw_format_param["channels"])
            array = array.view(np.int8) if array.dtype == np.uint8 else array
        else:
            with wave.open(file, "rb") as sound:
                data = sound.readframes(sound.getnframes())
                array = _typed(data, sound.getsampwidth(), sound.getnchannels())
    return _placed(array, channel_first)


def ausave(path: Any, audio_arr: np.ndarray, channel_first: bool = False, frame_rate: int = 48000) -> None:
    array = _check_saved(path, audio_arr, channel_first)
    with replacing(path) if isinstance(path, str) else nullcontext(path) as file, wave.open(file, "wb") as sound:
        sound.setnchannels(array.shape[1])
        sound.setsampwidth(array.dtype.itemsize)
        sound.setframerate(frame_rate)
        sound.writeframes(np.ascontiguousarray(array).tobytes())


def auresize(audio_arr: np.ndarray, size: Any, channel_first: bool = False) -> np.ndarray:
    array = _check_resized(audio_arr, size, channel_first)
    samples, channels = size
    at = np.arange(samples) * (array.shape[0] / samples)
    known = np.arange(array.shape[0])
    result = np.stack([np.interp(at, known, array[:, c]) for c in range(array.shape[1])], axis=1)
    if channels != array.shape[1]:
        result = np.repeat(result.mean(axis=1, keepdims=True), channels, axis=1)
    if array.dtype.kind in "iu":
        result = np.round(result)
    return result.astype(array.dtype)
