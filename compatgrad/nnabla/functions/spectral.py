"""Fourier transforms, of whole signals and of frames."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from compatgrad.nnabla._declare import function, op

__all__ = ["fft", "ifft", "istft", "stft"]


def _check_complex(name, x, signal_ndim):
    if x.ndim <= signal_ndim or x.shape[-1] != 2:
        raise RuntimeError(
            f"{name}: x must have {signal_ndim} axes of signals and a last axis of 2 for real and "
            f"imaginary part, not shape {tuple(x.shape)}"
        )


@function("FFT", "x", primitive=True)
def fft(x, signal_ndim, normalized=False):
    """The Fourier transform over the `signal_ndim` axes before the last, which holds real and imaginary part.

    x: (*batch, *signal, 2); the result has its shape. normalized: it is divided by the square root of the number of
    elements. RuntimeError where x has another shape.
    """
    _check_complex("fft", x, signal_ndim)
    return op.fourier_transform(x, ndim=signal_ndim, norm="ortho" if normalized else "backward")


@function("IFFT", "x", primitive=True)
def ifft(x, signal_ndim, normalized=False):
    """The inverse of `fft`: divided by the number of elements or, `normalized`, by its square root."""
    _check_complex("ifft", x, signal_ndim)
    return op.fourier_transform(x, ndim=signal_ndim, inverse=True, norm="ortho" if normalized else "backward")


@lru_cache(64)
def _window(window_type, window_size, fft_size):
    """The analysis window between zeros that fill fft_size."""
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
    """RuntimeError where frames cannot be put together: their stride, or samples that no window covers."""
    if fft_size % stride:
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
            raise RuntimeError("stft: pad_mode must be 'constant' with as_istft_backward=True, for istft does not pad")
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


def stft(
    x, window_size, stride, fft_size, window_type="hanning", center=True, pad_mode="reflect", as_istft_backward=False
):
    """The short-time Fourier transform: real and imaginary part.

    x: (batch, samples); the parts: (batch, fft_size // 2 + 1, frames), a frame beginning every `stride` samples.
    window_type: 'hanning', 'hamming', 'rectangular' or None (as 'rectangular'). center: x is padded by half a frame on
    both sides, by reflection or ('constant') zeros. as_istft_backward: gives the gradient of `istft` from that of its
    result. RuntimeError for an unknown window, or one longer than fft_size.
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
                "istft: pad_mode must be 'constant' unless as_stft_backward is True, for it would have "
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


def istft(
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
    """The signal of a short-time Fourier transform: overlapping frames over the sum of their squared windows.

    y_r, y_i: (batch, fft_size // 2 + 1, frames), real and imaginary part; gives (batch, samples). The other arguments
    are those of the `stft`; pad_mode must be 'constant' (not the default), except with as_stft_backward, which gives
    the gradient of `stft` from those of its results. RuntimeError where some sample is covered by no window, or stride
    does not divide fft_size.
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
