from __future__ import annotations

from typing import TYPE_CHECKING

import compatgrad.chainer.functions as F
from compatgrad.chainer import link, utils, variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Parameter, Variable


class _ScaledAndShifted(link.Link):
    """A normalization whose result is multiplied by gamma and added to beta, both of one size."""

    def _set_parameters(self, gamma: Parameter, beta: Parameter, eps: float, size: int | None) -> None:
        with self.init_scope():
            self.gamma = gamma
            self.beta = beta
            self.eps = eps
        if size is not None:
            self._initialize_params(size)

    def _initialize_params(self, size: int) -> None:
        self.gamma.initialize(size)
        self.beta.initialize(size)


class LayerNormalization(_ScaledAndShifted):
    """Normalization of each row: gamma * (x - mean) / sqrt(var + eps) + beta, with mean and variance over the row.
    Inputs are floating-point arrays of shape (batch, size).

    Args:
        size: length of the rows and of gamma and beta; None takes it from the first input.
        eps: added to the variance, so that nothing is divided by zero.
        initial_gamma: initializer of gamma; None is 1.
        initial_beta: initializer of beta; None is 0.

    Example:
        >>> L.LayerNormalization(eps=0)(np.array([[1, 3], [10, 30]], np.float32)).array
        array([[-1.,  1.],
               [-1.,  1.]], dtype=float32)

    Source: `chainer.links.LayerNormalization` of Chainer 7.8.1; Ba et al., 2016.
    """

    def __init__(
        self,
        size: int | None = None,
        eps: float = 1e-6,
        initial_gamma: Initializer = None,
        initial_beta: Initializer = None,
    ) -> None:
        super().__init__()
        gamma = variable.Parameter(1 if initial_gamma is None else initial_gamma)
        beta = variable.Parameter(0 if initial_beta is None else initial_beta)
        self._set_parameters(gamma, beta, eps, size)

    def forward(self, x: VariableOrArray) -> Variable:
        """Normalizes each row of `x`."""
        if self.gamma.tensor is None:
            self._initialize_params(utils.size_of_shape(x.shape[1:]))
        return F.layer_normalization(x, self.gamma, self.beta, self.eps)
