from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link  # noqa: F401  programs find it here, as in Chainer
from compatgrad.chainer.links.normalization.batch_normalization import _highprec_parameter
from compatgrad.chainer.links.normalization.layer_normalization import _ScaledAndShifted

if TYPE_CHECKING:
    from compatgrad.chainer._typing import Initializer, VariableOrArray
    from compatgrad.chainer.variable import Variable


class GroupNormalization(_ScaledAndShifted):
    """Normalization of each sample within `groups` of its channels: gamma * (x - mean) / sqrt(var + eps) + beta, with
    mean and variance over a group's channels and all positions. Inputs are floating-point arrays of shape (batch,
    size, ...).

    Args:
        groups: number of groups; it must divide the channels.
        size: number of channels, the length of gamma and beta; None takes it from the first input.
        eps: added to the variance, so that nothing is divided by zero.
        initial_gamma: initializer of gamma; None is 1.
        initial_beta: initializer of beta; None is 0.

    Raises:
        ValueError: the first input has fewer than two axes (when the link is called).

    Example:
        >>> link = L.GroupNormalization(2, eps=0)
        >>> link(np.array([[1, 3, 10, 30]], np.float32)[:, :, None]).array[0, :, 0]
        array([-1.,  1., -1.,  1.], dtype=float32)

    Source: `chainer.links.GroupNormalization` of Chainer 7.8.1; Wu and He, 2018.
    """

    def __init__(
        self,
        groups: int,
        size: int | None = None,
        eps: float = 1e-5,
        initial_gamma: Initializer = None,
        initial_beta: Initializer = None,
    ) -> None:
        super().__init__()
        dtype = chainer.get_dtype(None, map_mixed16=numpy.float32)
        self.groups = groups
        gamma = _highprec_parameter(initial_gamma, 1, dtype)
        beta = _highprec_parameter(initial_beta, 0, dtype)
        self._set_parameters(gamma, beta, eps, size)

    def forward(self, x: VariableOrArray) -> Variable:
        """Normalizes the groups of each sample of `x`."""
        if self.gamma.tensor is None:
            if x.ndim < 2:
                raise ValueError(
                    "Input dimension must be at least 2, including batch size dimension (first dimension)."
                )
            self._initialize_params(x.shape[1])
        return F.group_normalization(x, self.groups, self.gamma, self.beta, self.eps)
