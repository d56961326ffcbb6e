from __future__ import annotations

from typing import TYPE_CHECKING, Any

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, utils, variable
from compatgrad.chainer.links import _weights

if TYPE_CHECKING:
    from collections.abc import Iterator

    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class Linear(link.Link):
    """Fully connected layer: x W^T + b, with W of shape (out_size, in_size).

    `Linear(in_size, out_size)`, or `Linear(out_size)` or `in_size=None`, where the first input determines the size.

    `Linear(in_size, out_size)`, or `Linear(out_size)` or `in_size=None`, where the first input determines the size. W
    and b are the parameters; inputs are floating-point arrays of shape (batch, ...), whose axes after the batch are
    flattened into in_size elements.

    Args:
        in_size: elements of one sample; None takes them from the first input. Where `out_size` is left out, this
            argument means `out_size`.
        out_size: length of the output vectors.
        nobias: True leaves out the bias.
        initialW: initializer of W: a callable that fills an array, a number for all elements, or an array of W's shape.
            None is `LeCunNormal()`.
        initial_bias: initializer of b, in the forms of `initialW`; None is 0.

    Example:
        >>> layer = L.Linear(2, 3, initialW=np.array([[1, 0], [0, 1], [1, 1]], np.float32), initial_bias=0.5)
        >>> layer(np.array([[1, 2]], np.float32)).array
        array([[1.5, 2.5, 3.5]], dtype=float32)
        >>> L.Linear(5)(np.zeros((2, 4, 3), np.float32)).shape  # takes in_size = 12 from its first input
        (2, 5)

    Source: `chainer.links.Linear` of Chainer 7.8.1.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: int | None = None,
        nobias: bool = False,
        initialW: Initializer = None,
        initial_bias: Initializer = None,
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        _weights.register(self, initialW, in_size, nobias, initial_bias, out_size)

    def _initialize_params(self, in_size):
        self.W.initialize((self.out_size, in_size))

    @classmethod
    def from_params(cls, W: VariableOrArray, b: VariableOrArray | None = None, nobias: bool = False) -> Linear:
        """Makes the link from its arrays. Raises ValueError if the sizes of W and b differ."""
        out_size, in_size = W.shape
        _weights.check_bias_size(out_size, b, "out_size")
        W, b = variable.as_array(W), variable.as_array(b)
        return cls(in_size, out_size, nobias, initialW=W, initial_bias=b)

    @property
    def printable_specs(self) -> Iterator[tuple[str, Any]]:
        yield "in_size", self.in_size
        yield "out_size", self.out_size
        yield "nobias", self.b is None

    def forward(self, x: VariableOrArray, n_batch_axes: int = 1) -> Variable:
        """Applies the layer; axes from `n_batch_axes` on are flattened into one."""
        if self.W.tensor is None:
            self._initialize_params(utils.size_of_shape(x.shape[n_batch_axes:]))
        return F.linear(x, self.W, self.b, n_batch_axes=n_batch_axes)
