"""Checks and conversions for both libraries."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

__all__ = [
    "normalize_intensity",
    "rescale_intensity",
]


def normalize_intensity(audio_arr: np.ndarray, input_low: float, input_high: float) -> np.ndarray:
    """Maps values from `input_low` to `input_high` linearly to 0 to 1.

    Args:
        audio_arr: numbers of any shape.
        input_low, input_high: the range. Where both are equal, values are divided by this number, or unchanged if it is
            0.

    Returns:
        Array of the shape of `audio_arr`, of floats where it was mapped.

    Raises:
        TypeError: `audio_arr` is a list.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils.common import normalize_intensity
        >>> normalize_intensity(np.array([0, 5, 10]), 0, 10)
        array([0. , 0.5, 1. ])

    Source: `nnabla.utils.audio_utils.common.normalize_intensity` of nnabla 1.39.0.
    """
    if input_high != input_low:
        return (audio_arr - input_low) / (input_high - input_low)
    return audio_arr / input_low if input_low else audio_arr


def rescale_intensity(
    audio_arr: np.ndarray,
    input_low: float = 0,
    input_high: float = 255,
    output_low: float = 0,
    output_high: float = 255,
    output_type: Any = None,
) -> np.ndarray:
    """Maps values from `input_low` to `input_high` linearly to `output_low` to `output_high`.

    Args:
        audio_arr: numbers of any shape; values outside the range are mapped by the same linear function.
        input_low, input_high: the range of `audio_arr`.
        output_low, output_high: the range of the result.
        output_type: the result's dtype, by default that of `audio_arr`.

    Returns:
        Array of the shape of `audio_arr`.

    Raises:
        ValueError: `audio_arr` is no array.

    Example:
        >>> from compatgrad.nnabla.utils.audio_utils import rescale_intensity
        >>> rescale_intensity(np.array([0, 50, 100], np.int16), 0, 100, -1, 1, np.float32)
        array([-1.,  0.,  1.], dtype=float32)

    Source: `nnabla.utils.audio_utils.common.rescale_intensity` of nnabla 1.39.0.
    """
    if not isinstance(audio_arr, np.ndarray):
        raise ValueError(f"rescale_intensity takes an array, not {type(audio_arr).__name__}")
    output_type = audio_arr.dtype if output_type is None else output_type
    low, high, out_low, out_high = (np.float64(v) for v in (input_low, input_high, output_low, output_high))
    if low == out_low == out_high:
        return np.asarray(audio_arr, output_type)
    return (normalize_intensity(audio_arr, low, high) * (out_high - out_low) + out_low).astype(output_type)


def _check_scaled(audio_arr: Any, datatype: Any) -> None:
    if not isinstance(audio_arr, np.ndarray):
        raise ValueError(f"a sound must be an array, not {type(audio_arr).__name__}")
    if not isinstance(datatype, (np.dtype, type)):
        raise ValueError(f"out_datatype must be a type, not {datatype!r}")
    if np.dtype(datatype).itemsize > 4:
        raise ValueError(f"out_datatype must have up to 4 bytes: {np.dtype(datatype)} has more")


def _check_source(source: Any, raw_format_param: Any) -> None:
    if source.ext not in (".wav", ".raw"):
        raise ValueError(f"sounds can be read from .wav and .raw files only, not {source.ext!r}")
    if source.ext == ".raw" and raw_format_param is None:
        raise ValueError("a .raw file needs raw_format_param: sample_width, frame_rate and channels")


def _placed(audio: np.ndarray, channel_first: bool) -> np.ndarray:
    return audio.transpose(1, 0) if channel_first and audio.ndim == 2 else audio


def _check_saved(path: Any, audio_arr: Any, channel_first: bool) -> np.ndarray:
    """Checks a sound and returns the array (samples, channels) to write; makes the folder."""
    if not isinstance(audio_arr, np.ndarray):
        raise ValueError(f"a sound must be an array, not {type(audio_arr).__name__}")
    if audio_arr.ndim != 2:
        raise ValueError(f"a sound must have the shape (samples, channels), not {audio_arr.shape}")
    name = path if isinstance(path, str) else path.name
    if os.path.splitext(name)[1] != ".wav":
        raise ValueError(f"sounds can be saved as .wav only, not as {name!r}")
    if audio_arr.dtype.itemsize > 4:
        raise ValueError(f"sounds can be saved with up to 4 bytes: {audio_arr.dtype} has more")
    if audio_arr.dtype.kind == "f":
        raise ValueError("sounds can be saved as integers only, not as float values")
    os.makedirs(os.path.dirname(os.path.abspath(name)), exist_ok=True)
    return _placed(audio_arr, channel_first)


def _check_resized(audio_arr: Any, size: Any, channel_first: bool) -> np.ndarray:
    """Checks the arguments and returns the array (samples, channels) to resize."""
    if not isinstance(audio_arr, np.ndarray):
        raise ValueError(f"a sound must be an array, not {type(audio_arr).__name__}")
    if audio_arr.ndim != 2:
        raise ValueError(f"a sound must have the shape (samples, channels), not {audio_arr.shape}")
    if not isinstance(size, (list, tuple)) or len(size) != 2:
        raise ValueError(f"size must be (samples, channels), not {size!r}")
    if size[0] < 1 or size[1] < 1 or 0 in audio_arr.shape:
        raise ValueError(f"a sound of shape {audio_arr.shape} cannot become one of {tuple(size)}")
    if audio_arr.dtype not in (np.uint8, np.int16):
        audio_arr = np.asarray(audio_arr, np.float32)
    audio_arr = _placed(audio_arr, channel_first)
    if audio_arr.shape[1] != size[1] and 1 not in (audio_arr.shape[1], size[1]):
        raise ValueError(f"{audio_arr.shape[1]} channels cannot become {size[1]}, only one to many, or many to one")
    return audio_arr
