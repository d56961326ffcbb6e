"""Parameters that keep their values."""

from __future__ import annotations

import warnings
from typing import Any

from .. import ndarray as nd
from .. import numpy as mx_np
from ..util import is_np_array
from ._parameter import Parameter

__all__ = ["Constant"]


class Constant(Parameter):
    """A parameter that keeps its value: it has no gradient and is not trained.

    Args:
        name: the name, unique in a model.
        value: the value, an NDArray or what `nd.array` takes.

    Raises:
        TypeError: `value` has something else than numbers.

    Example:
        >>> c = gluon.Constant("c", [1.0, 2.0])
        >>> c.initialize()
        >>> c.data().asnumpy(), c.grad_req
        (array([1., 2.], dtype=float32), 'null')

    Source: `mxnet.gluon.Constant` of MXNet 1.9.1.
    """

    def __init__(self, name: str, value: Any) -> None:
        if not isinstance(value, nd.NDArray):
            if is_np_array():
                value = mx_np.array(value)
            else:
                value = nd.array(value)
        self.value = value
        super().__init__(
            name, grad_req="null", shape=value.shape, dtype=value.dtype, init=f"Constant_{name}_{id(self)}"
        )

    def _first_value(self, init, default_init):
        return self.value

    @property
    def grad_req(self) -> str:
        """Always "null"; setting another value warns."""
        return "null"

    @grad_req.setter
    def grad_req(self, req: str) -> str:
        self._grad_req = "null"
        if req != "null":
            warnings.warn(
                f'Constant parameter "{self.name}" does not support grad_req other than "null", '
                f'and new value "{req}" is ignored.',
                stacklevel=2,
            )
