from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.backends import cuda

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Array
    from compatgrad.chainer.variable import Variable


class Parameter(link.Link):
    """A link with one array as its parameter W, for weights that belong to no layer. Calling the link without arguments
    returns W as a Variable.

    Args:
        array: first value of W, floating-point, any shape; W keeps this array.

    Example:
        >>> link = L.Parameter(np.array([1, 2], np.float32))
        >>> link().array
        array([1., 2.], dtype=float32)

    Source: `chainer.links.Parameter` of Chainer 7.8.1.
    """

    def __init__(self, array: Array) -> None:
        super().__init__()
        self.add_param("W", array.shape, dtype=array.dtype)
        self.W.array = array
        if isinstance(array, cuda.ndarray):
            self.to_gpu(cuda.get_device_from_array(array))

    def forward(self, volatile: Any = "off") -> Variable:
        """A Variable computed from W by the identity."""
        return F.identity(F.identity(self.W))  # two functions, because Chainer's graph has two here
