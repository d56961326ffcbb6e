"""The embedding layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import functions as F
from ...initializer import UniformInitializer
from .module import Module, make_parameter

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import numpy as np

    from ...variable import Variable

__all__ = ["Embed"]


class Embed(Module):
    """An embedding, `functions.embed`: rows of the parameter W (n_inputs, n_features), selected by integers.

    Args:
        n_inputs: the number of rows.
        n_features: the number of features of a row.
        w_init: initializer or array for W; None for uniform random numbers of variance 1.
        fix_parameters: whether W needs no gradient.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> PC.Embed(10, 4)(nn.Variable((2, 3))).shape
        (2, 3, 4)

    Source: `nnabla.experimental.parametric_function_class.embed.Embed` of nnabla 1.39.0.
    """

    def __init__(
        self,
        n_inputs: int,
        n_features: int,
        w_init: Callable[..., Any] | np.ndarray | None = None,
        fix_parameters: bool = False,
    ) -> None:
        if w_init is None:
            w_init = UniformInitializer((-(3.0**0.5), 3.0**0.5))
        self.W = make_parameter((n_inputs, n_features), w_init, fix_parameters)

    def __call__(self, inp: Variable) -> Variable:
        return F.embed(inp, self.W)
