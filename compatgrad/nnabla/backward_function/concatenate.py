"""The gradient of concatenation."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import Gradient
from compatgrad.nnabla.functions.arrays import concatenate

__all__ = ["ConcatenateDataGrad"]


class ConcatenateDataGrad(Gradient, of="Concatenate", forward=concatenate):
    """Called with dy: the gradients of all inputs, whose shapes must be set as `xshapes` before."""

    remembers = "xshapes"
