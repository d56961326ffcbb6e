"""The gradient of concatenation."""

from __future__ import annotations

from compatgrad.nnabla.backward_function._linear import Gradient
from compatgrad.nnabla.functions.arrays import concatenate

__all__ = ["ConcatenateDataGrad"]


class ConcatenateDataGrad(Gradient, of="Concatenate", forward=concatenate):
    """The gradients of `concatenate` with respect to all inputs. A call takes dy.

    Attributes:
        xshapes: the shapes of the inputs, which must be set before a call.

    Example:
        >>> from compatgrad.nnabla.backward_function.concatenate import ConcatenateDataGrad
        >>> f = ConcatenateDataGrad(None, axis=1)
        >>> f.xshapes = [(2, 3), (2, 1)]
        >>> [x.shape for x in f(nn.Variable((2, 4)))]
        [(2, 3), (2, 1)]
    """

    remembers = "xshapes"
