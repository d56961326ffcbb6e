"""Fourier transforms of whole signals, and short-time Fourier transforms."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["fft", "ifft", "istft", "stft"]

# The shared sections of docstrings: of transforms of whole signals, and of transforms of frames.
_SIGNALS = """
Args:
    x: (*batch, *signal, 2), real and imaginary part last, computed in float32.
    signal_ndim: the number of axes of the signal.
    normalized: whether `fft` and `ifft` both divide by the square root of the number of elements.

Returns:
    Array of the shape of `x`.

Raises:
    RuntimeError: `x` has another shape.
"""
_FRAMES = """
Args:
    window_size: the number of samples of a window.
    stride: the distance between frames.
    fft_size: the number of samples of a frame, which is the window padded by zeros.
    window_type: "hanning", "hamming", "rectangular" or None for "rectangular".
    center: whether to pad the signal by half a frame at both ends, so that the first frame is centred at the first
        sample.
"""


def _check_complex(name, x, signal_ndim):
    if x.ndim <= signal_ndim or x.shape[-1] != 2:
        raise RuntimeError(
            f"{name}: x must have {signal_ndim} axes of signals and a last axis of 2 for real and "
            f"imaginary part, not shape {tuple(x.shape)}"
        )


@function("FFT", "x", primitive=True, shared=(_SIGNALS,))
def fft(x: Array, signal_ndim: int, normalized: bool = False) -> Array:
    """The Fourier transform.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[1.0, 0.0], [3.0, 0.0]]))
        >>> F.fft(x.view((1, 2, 2)), signal_ndim=1).data
        array([[[ 4.,  0.],
                [-2.,  0.]]], dtype=float32)
    """
    _check_complex("fft", x, signal_ndim)
    return op.fourier_transform(x, ndim=signal_ndim, norm="ortho" if normalized else "backward")


@function("IFFT", "x", primitive=True, shared=(_SIGNALS,))
def ifft(x: Array, signal_ndim: int, normalized: bool = False) -> Array:
    """The inverse Fourier transform; it divides by the number of elements, or by its square root if `normalized`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.array([[[4.0, 0.0], [-2.0, 0.0]]]))
        >>> F.ifft(x, signal_ndim=1).data
        array([[[1., 0.],
                [3., 0.]]], dtype=float32)
    """
    _check_complex("ifft", x, signal_ndim)
    return op.fourier_transform(x, ndim=signal_ndim, inverse=True, norm="ortho" if normalized else "backward")


@lru_cache(64)
def _window(window_type, window_size, fft_size):
    """The window, padded by zeros at both ends to fft_size."""
    if window_type == "rectangular":
        window = np.ones(window_size)
    else:
        window = {"hanning": np.hanning, "hamming": np.hamming}[window_type](window_size + 1)[:-1]
    more = fft_size - window_size
    return np.pad(window, (more // 2, more - more // 2))


def _check_frames(name, window_size, fft_size, window_type):
    if window_type not in ("hanning", "hamming", "rectangular"):
        raise RuntimeError(
            f"{name}: unknown window_type {window_type!r}; it must be 'hanning', 'hamming' or 'rectangular'"
        )
    if fft_size < window_size:
        raise RuntimeError(f"{name}: fft_size ({fft_size}) must be at least as large as window_size ({window_size})")


@lru_cache(64)
def _check_overlap(name, frames, window_size, stride, fft_size, window_type, center):
    """Raises RuntimeError if frames cannot be overlapped: fft_size is not a multiple of stride, or no window covers
    a sample."""
    if stride < 1 or fft_size % stride:
        raise RuntimeError(f"{name}: fft_size ({fft_size}) must be a multiple of stride ({stride})")
    squares = _window(window_type, window_size, fft_size) ** 2
    total = np.zeros((frames - 1) * stride + fft_size)
    for i in range(frames):
        total[i * stride : i * stride + fft_size] += squares
    border = fft_size // 2 if center else 0
    for i in range(border, len(total) - border):
        if total[i] < 1e-11:
            raise RuntimeError(
                f"{name}: NOLA(Nonzero Overlap Add) condition is not met: the squared windows at "
                f"sample {i} sum up to {total[i]}"
            )


@function("STFT", "x", primitive=True)
def _stft(
    x, window_size, stride, fft_size, window_type="hanning", center=True, pad_mode="reflect", as_istft_backward=False
):
    """`stft` as one function of the graph."""
    _check_frames("stft", window_size, fft_size, window_type)
    if pad_mode not in ("constant", "reflect"):
        raise RuntimeError(f"stft: pad_mode must be 'constant' or 'reflect', not {pad_mode!r}")
    border = fft_size // 2 if center else 0
    if x.ndim != 2 or x.shape[1] + 2 * border < fft_size:
        raise RuntimeError(
            f"stft: x must be (batch, samples) with a frame of {fft_size} samples at least, not of "
            f"shape {tuple(x.shape)}"
        )
    if as_istft_backward:
        if pad_mode != "constant":
            raise RuntimeError("stft: pad_mode must be 'constant' with as_istft_backward=True: istft does not pad")
        frames = (x.shape[1] + 2 * border - fft_size) // stride + 1
        _check_overlap("stft", frames, window_size, stride, fft_size, window_type, center)
    return op.stft(
        x,
        window_size=window_size,
        stride=stride,
        fft_size=fft_size,
        window_type=window_type,
        center=center,
        pad_mode=pad_mode,
        transposed=as_istft_backward,
    )


@documented(_FRAMES)
def stft(
    x: Array,
    window_size: int,
    stride: int,
    fft_size: int,
    window_type: str | None = "hanning",
    center: bool = True,
    pad_mode: str = "reflect",
    as_istft_backward: bool = False,
) -> tuple[Array, Array]:
    """The short-time Fourier transform.

    Args:
        x: signals (batch, samples), computed in float32.
        pad_mode: mode of the padding: "reflect", or "constant" for zeros.
        as_istft_backward: whether to compute the gradient of `istft` from that of its result.

    Returns:
        Real and imaginary part, (batch, fft_size // 2 + 1, frames) each.

    Raises:
        RuntimeError: a window or mode is unknown, a window is longer than a frame, or a frame longer than the
            signal.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.ones((1, 6)))
        >>> real, imaginary = F.stft(x, window_size=4, stride=2, fft_size=4, window_type="rectangular")
        >>> real.data
        array([[[4., 4., 4., 4.],
                [0., 0., 0., 0.],
                [0., 0., 0., 0.]]], dtype=float32)
    """
    return _stft(
        x,
        window_size,
        stride,
        fft_size,
        "rectangular" if window_type is None else window_type,
        center,
        pad_mode,
        as_istft_backward,
    )


@function("ISTFT", "y_r, y_i", primitive=True)
def _istft(
    y_r,
    y_i,
    window_size,
    stride,
    fft_size,
    window_type="hanning",
    center=True,
    pad_mode="reflect",
    as_stft_backward=False,
):
    """`istft` as one function of the graph."""
    _check_frames("istft", window_size, fft_size, window_type)
    shape = tuple(y_r.shape)
    if len(shape) != 3 or shape[1] != fft_size // 2 + 1 or tuple(y_i.shape) != shape:
        raise RuntimeError(
            f"istft: y_r and y_i must be (batch, {fft_size // 2 + 1}, frames), not of shapes {shape} "
            f"and {tuple(y_i.shape)}"
        )
    if not as_stft_backward:
        if pad_mode != "constant":
            raise RuntimeError(
                "istft: pad_mode must be 'constant' unless as_stft_backward is True, because it would have "
                f"no effect; it is {pad_mode!r}"
            )
        _check_overlap("istft", shape[2], window_size, stride, fft_size, window_type, center)
    return op.istft(
        y_r,
        y_i,
        window_size=window_size,
        stride=stride,
        fft_size=fft_size,
        window_type=window_type,
        center=center,
        pad_mode=pad_mode,
        transposed=as_stft_backward,
    )


@documented(_FRAMES)
def istft(
    y_r: Array,
    y_i: Array,
    window_size: int,
    stride: int,
    fft_size: int,
    window_type: str | None = "hanning",
    center: bool = True,
    pad_mode: str = "reflect",
    as_stft_backward: bool = False,
) -> Array:
    """The inverse short-time Fourier transform: overlapped frames, divided by the sum of their squared windows.

    Args:
        y_r: the real part, (batch, fft_size // 2 + 1, frames), computed in float32.
        y_i: the imaginary part, of the shape of `y_r`.
        pad_mode: must be "constant", which is not the default, unless `as_stft_backward` is set.
        as_stft_backward: whether to compute the gradient of `stft` from those of its results.

    Returns:
        Array (batch, samples).

    Raises:
        RuntimeError: a window or mode is unknown, the shapes do not fit, no window covers a sample, or
            `stride` does not divide `fft_size`.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(1, 6))
        >>> real, imaginary = F.stft(x, window_size=4, stride=2, fft_size=4)
        >>> F.istft(real, imaginary, window_size=4, stride=2, fft_size=4, pad_mode="constant").data.round(3)
        array([[0., 1., 2., 3., 4., 5.]], dtype=float32)
    """
    return _istft(
        y_r,
        y_i,
        window_size,
        stride,
        fft_size,
        "rectangular" if window_type is None else window_type,
        center,
        pad_mode,
        as_stft_backward,
    )
