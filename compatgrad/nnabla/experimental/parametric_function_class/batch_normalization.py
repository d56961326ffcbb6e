"""The batch normalization layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import functions as F
from ...initializer import ConstantInitializer
from .module import Module, make_parameter

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    import numpy as np

    from ...variable import Variable

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "BatchNormalization"]


class BatchNormalization(Module):
    """A batch normalization, `functions.batch_normalization`, with parameters beta, gamma, mean and var.

    A call takes test=True for the running statistics.

    Args:
        n_features: the number of features or channels.
        n_dims: the number of axes of an input.
        axes: a sequence with the axis of the features.
        decay_rate: weight of the old value when the running statistics are updated.
        eps: is added to the variance.
        batch_stat: without effect; a call's `test` decides.
        output_stat: whether a call also returns mean and variance of the batch.
        fix_parameters: whether beta and gamma need no gradient.
        param_init: initializers or arrays for some of the parameters, by name.

    Raises:
        AssertionError: `axes` has more than one element.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> layer = PC.BatchNormalization(3, n_dims=4)
        >>> layer(nn.Variable((2, 3, 8, 8)), test=True).shape, layer.gamma.shape
        ((2, 3, 8, 8), (1, 3, 1, 1))

    Source: `nnabla.experimental.parametric_function_class.batch_normalization.BatchNormalization` of nnabla 1.39.0;
    Ioffe and Szegedy, 2015.
    """

    def __init__(
        self,
        n_features: int,
        n_dims: int,
        axes: Sequence[int] = (1,),
        decay_rate: float = 0.9,
        eps: float = 1e-5,
        batch_stat: bool = True,
        output_stat: bool = False,
        fix_parameters: bool = False,
        param_init: Mapping[str, Callable[..., Any] | np.ndarray] | None = None,
    ) -> None:
        assert len(axes) == 1, f"BatchNormalization: expected one axis, got axes={axes}"
        shape = [1] * n_dims
        shape[axes[0]] = n_features
        given = param_init or {}

        def make(name, value, fixed):
            return make_parameter(tuple(shape), given.get(name, ConstantInitializer(value)), fixed)

        self.beta = make("beta", 0, fix_parameters)
        self.gamma = make("gamma", 1, fix_parameters)
        self.mean = make("mean", 0, True)
        self.var = make("var", 1, True)
        self.axes = list(axes)
        self.decay_rate = decay_rate
        self.eps = eps
        self.output_stat = output_stat

    def __call__(self, inp: Variable, test: bool = False) -> Variable | tuple[Variable, ...]:
        return F.batch_normalization(
            inp,
            self.beta,
            self.gamma,
            self.mean,
            self.var,
            self.axes,
            self.decay_rate,
            self.eps,
            not test,
            self.output_stat,
        )


class BatchNorm1d(BatchNormalization):
    """`BatchNormalization` of arrays with three axes.

    Args:
        n_features: the number of features or channels.
        *args: further arguments of `BatchNormalization`, from `axes` on.
        **kwargs: the same arguments by name.

    Raises:
        AssertionError: `axes` has more than one element.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> PC.BatchNorm1d(3, eps=1e-3)(nn.Variable((2, 3, 8))).shape
        (2, 3, 8)

    Source: `nnabla.experimental.parametric_function_class.batch_normalization.BatchNorm1d` of nnabla 1.39.0.
    """

    def __init__(self, n_features: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(n_features, 3, *args, **kwargs)


class BatchNorm2d(BatchNormalization):
    """`BatchNormalization` of arrays with four axes.

    Args:
        n_features: the number of features or channels.
        *args: further arguments of `BatchNormalization`, from `axes` on.
        **kwargs: the same arguments by name.

    Raises:
        AssertionError: `axes` has more than one element.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> PC.BatchNorm2d(3, eps=1e-3)(nn.Variable((2, 3, 8, 8))).shape
        (2, 3, 8, 8)

    Source: `nnabla.experimental.parametric_function_class.batch_normalization.BatchNorm2d` of nnabla 1.39.0.
    """

    def __init__(self, n_features: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(n_features, 4, *args, **kwargs)


class BatchNorm3d(BatchNormalization):
    """`BatchNormalization` of arrays with five axes.

    Args:
        n_features: the number of features or channels.
        *args: further arguments of `BatchNormalization`, from `axes` on.
        **kwargs: the same arguments by name.

    Raises:
        AssertionError: `axes` has more than one element.

    Example:
        >>> import compatgrad.nnabla.experimental.parametric_function_classes as PC
        >>> PC.BatchNorm3d(3, eps=1e-3)(nn.Variable((2, 3, 4, 8, 8))).shape
        (2, 3, 4, 8, 8)

    Source: `nnabla.experimental.parametric_function_class.batch_normalization.BatchNorm3d` of nnabla 1.39.0.
    """

    def __init__(self, n_features: int, *args: Any, **kwargs: Any) -> None:
        super().__init__(n_features, 5, *args, **kwargs)
