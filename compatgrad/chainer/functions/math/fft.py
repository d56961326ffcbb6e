"""Fourier transforms."""

from compatgrad.chainer import backend, function_node
from compatgrad.chainer.utils import type_check


class FFT(function_node.FunctionNode):
    """The transform of complex numbers, given and returned as real and imaginary parts."""

    def __init__(self, method):
        self._method = method

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("real", "imag"))
        r, i = in_types
        type_check.expect(r.dtype.kind == "f", r.ndim > 0, r.shape == i.shape, r.dtype == i.dtype)

    def forward(self, inputs):
        real, imag = inputs
        y = getattr(backend.get_array_module(real).fft, self._method)(real + imag * 1j)
        return y.real.astype(real.dtype, copy=False), y.imag.astype(imag.dtype, copy=False)

    def backward(self, indexes, grad_outputs):
        gr, gi = grad_outputs
        xp = backend.get_array_module(gi if gr is None else gr)
        if gr is None:
            gr = xp.zeros_like(gi.array)
        if gi is None:
            gi = xp.zeros_like(gr.array)
        # the transform is symmetric: its adjoint conjugates before and after, as exchanging the parts does
        gxi, gxr = FFT(self._method).apply((gi, gr))
        return gxr, gxi


def fft(x):
    """The Fourier transform along the last axis of `x`, a pair (real, imaginary); gives such a pair."""
    real, imag = x
    return FFT("fft").apply((real, imag))


def ifft(x):
    """The inverse Fourier transform along the last axis of `x`, a pair (real, imaginary); gives a pair."""
    real, imag = x
    return FFT("ifft").apply((real, imag))
