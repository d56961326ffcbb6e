"""Fourier transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.utils import type_check

if TYPE_CHECKING:
    from collections.abc import Sequence

    from compatgrad.chainer._typing import VariablesOrArrays
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.variable import Variable


class FFT(function_node.FunctionNode):
    """The node of `chainer.functions.fft` and `ifft` in the graph, their results' `creator`.

    Args:
        method: "fft" or "ifft".

    Example:
        >>> F.math.fft.FFT("fft").apply((np.array([1.0, 0.0]), np.zeros(2)))[0].array
        array([1., 1.])

    Source: `chainer.functions.math.fft.FFT` of Chainer 7.8.1.
    """

    def __init__(self, method: str) -> None:
        self._method = method

    @type_check._expects
    def check_type_forward(self, real, imag):
        return real.dtype.kind == "f", real.ndim > 0, real.shape == imag.shape, real.dtype == imag.dtype

    def forward(self, inputs: tuple[NdArray, ...]) -> tuple[NdArray, ...]:
        real, imag = inputs
        y = getattr(backend.get_array_module(real).fft, self._method)(real + imag * 1j)
        return y.real.astype(real.dtype, copy=False), y.imag.astype(imag.dtype, copy=False)

    def backward(self, indexes: Sequence[int], grad_outputs: Sequence[Variable | None]) -> tuple[Variable | None, ...]:
        gr, gi = grad_outputs
        xp = backend.get_array_module(gi if gr is None else gr)
        if gr is None:
            gr = xp.zeros_like(gi.array)
        if gi is None:
            gi = xp.zeros_like(gr.array)
        # the transform's matrix is symmetric, so its adjoint is the transform with a conjugation before and after;
        # exchanging real and imaginary parts before and after does the same
        gxi, gxr = FFT(self._method).apply((gi, gr))
        return gxr, gxi


def fft(x: VariablesOrArrays) -> tuple[Variable, Variable]:
    """The Fourier transform along the last axis.

    Args:
        x: a pair of the real and the imaginary part, floating, of one dtype and shape, at least 1 axis.

    Returns:
        Pair of Variables of the shape and dtype of the parts.

    Raises:
        ValueError: `x` is not a pair.
        chainer.utils.type_check.InvalidType: the parts are not floating-point, have no axis, or differ in dtype or
            shape.

    Example:
        >>> real, imaginary = F.fft((np.array([1.0, 0.0, -1.0, 0.0]), np.zeros(4)))
        >>> real.array
        array([0., 2., 0., 2.])

    Source: `chainer.functions.fft` of Chainer 7.8.1.
    """
    real, imag = x
    return FFT("fft").apply((real, imag))


def ifft(x: VariablesOrArrays) -> tuple[Variable, Variable]:
    """The inverse Fourier transform along the last axis.

    Args:
        x: a pair of the real and the imaginary part, floating, of one dtype and shape, at least 1 axis.

    Returns:
        Pair of Variables of the shape and dtype of the parts.

    Raises:
        ValueError: `x` is not a pair.
        chainer.utils.type_check.InvalidType: the parts are not floating-point, have no axis, or differ in dtype or
            shape.

    Example:
        >>> real, imaginary = F.ifft((np.array([0.0, 2.0, 0.0, 2.0]), np.zeros(4)))
        >>> real.array
        array([ 1.,  0., -1.,  0.])

    Source: `chainer.functions.ifft` of Chainer 7.8.1.
    """
    real, imag = x
    return FFT("ifft").apply((real, imag))
