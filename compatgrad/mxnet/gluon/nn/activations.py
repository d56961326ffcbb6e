"""Activations as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import initializer
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Init

__all__ = ["Activation", "LeakyReLU", "PReLU", "ELU", "SELU", "Swish", "GELU"]


class Activation(HybridBlock):
    """The activation `activation`: "relu", "sigmoid", "log_sigmoid", "tanh", "softrelu", "softsign" or "mish"."""

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation  # the prefix comes from it
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


class _LeakyKind(HybridBlock):
    """An activation that is a kind of the operator LeakyReLU."""

    def _leaky(self, F, x, act_type, **attributes):
        return F.LeakyReLU(x, act_type=act_type, name="fwd", **attributes)


class LeakyReLU(_LeakyKind):
    """x where positive, else alpha * x; AssertionError for a negative alpha (float)."""

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        assert alpha >= 0, "Slope coefficient for LeakyReLU must be no less than 0."
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "leaky", slope=self._alpha)

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class PReLU(_LeakyKind):
    """LeakyReLU with a trained slope per channel (axis 1), or one for all with in_channels=1.

    alpha_initializer: the slope's, 0.25 by default.
    """

    def __init__(self, alpha_initializer: Init | None = None, in_channels: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if alpha_initializer is None:
            alpha_initializer = initializer.Constant(0.25)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, alpha: NDArray) -> Any:
        return self._leaky(F, x, "prelu", gamma=alpha)


class ELU(_LeakyKind):
    """x where positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "elu", slope=self._alpha)


class SELU(_LeakyKind):
    """The scaled exponential linear unit."""

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "selu")


class GELU(_LeakyKind):
    """x times the normal distribution function of x."""

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "gelu")


class Swish(HybridBlock):
    """x * sigmoid(beta * x)."""

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return x * F.sigmoid(self._beta * x)
