"""The affine layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ... import functions as F
from ...initializer import UniformInitializer, calc_uniform_lim_glorot
from .module import Module, make_parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ...variable import Variable

__all__ = ["Affine", "Linear"]


class Affine(Module):
    """An affine layer, `functions.affine`, with parameters W (n_inmaps, n_outmaps) and b (n_outmaps,).

    Args:
        n_inmaps: the number of input features.
        n_outmaps: the number of output features; for a shape, the product of its lengths.
        base_axis: the number of leading axes that count samples.
        w_init: initializer or array for W; None for uniform random numbers after Glorot and Bengio (2010).
        b_init: initializer or array for b; None for zeros.
        fix_parameters: whether the parameters need no gradient.
        rng: generator of the random numbers of W; None for nnabla's own.
        with_bias: whether the layer has the parameter b.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> layer = PC.Affine(3, 4)
        >>> layer(nn.Variable((2, 3))).shape, layer.W.shape
        ((2, 4), (3, 4))

    Source: `nnabla.experimental.parametric_function_class.affine.Affine` of nnabla 1.39.0.
    """

    def __init__(
        self,
        n_inmaps: int,
        n_outmaps: int | Sequence[int],
        base_axis: int = 1,
        w_init: Callable[..., Any] | np.ndarray | None = None,
        b_init: Callable[..., Any] | np.ndarray | None = None,
        fix_parameters: bool = False,
        rng: np.random.RandomState | None = None,
        with_bias: bool = True,
    ) -> None:
        n_outmap = int(np.prod(n_outmaps))
        if w_init is None:
            w_init = UniformInitializer(calc_uniform_lim_glorot(n_inmaps, n_outmap), rng=rng)
        self.W = make_parameter((n_inmaps, n_outmap), w_init, fix_parameters)
        self.b = make_parameter((n_outmap,), b_init, fix_parameters) if with_bias else None
        self.base_axis = base_axis

    def __call__(self, inp: Variable) -> Variable:
        return F.affine(inp, self.W, self.b, self.base_axis)


Linear = Affine
