"""Activations as layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import initializer
from .._layer_docs import layer
from ..block import HybridBlock

if TYPE_CHECKING:
    from ...ndarray import NDArray
    from .._typing import Init

__all__ = ["Activation", "LeakyReLU", "PReLU", "ELU", "SELU", "Swish", "GELU"]


@layer
class Activation(HybridBlock):
    """A function of each element.

    Call: `layer(x)`, x floating point, any shape.

    Args:
        activation: the function: "relu", "sigmoid", "tanh", "softrelu" (log(1 + exp(x))) or "softsign" (x / (1 + |x|)).

    Raises:
        TypeError: an argument is not known.
        mxnet.base.MXNetError: in a call, `activation` has another value.

    Example:
        >>> gluon.nn.Activation("relu")(nd.array([-1.0, 2.0])).asnumpy()
        array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: str, **kwargs: Any) -> None:
        self._act_type = activation  # before super().__init__, which makes the prefix of it
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


class _LeakyKind(HybridBlock):
    """An activation that the operator LeakyReLU computes."""

    def _leaky(self, F, x, act_type, **attributes):
        return F.LeakyReLU(x, act_type=act_type, name="fwd", **attributes)


@layer
class LeakyReLU(_LeakyKind):
    """x where it is positive, else `alpha` * x.

    Call: `layer(x)`, x floating point, any shape.

    Args:
        alpha: the slope of negative numbers, not negative.

    Raises:
        AssertionError: `alpha` is negative.
        TypeError: an argument is not known.

    Example:
        >>> gluon.nn.LeakyReLU(0.1)(nd.array([-1.0, 2.0])).asnumpy()
        array([-0.1,  2. ], dtype=float32)
    """

    def __init__(self, alpha: float, **kwargs: Any) -> None:
        assert alpha >= 0, "Slope coefficient for LeakyReLU must be no less than 0."
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "leaky", slope=self._alpha)

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


@layer
class PReLU(_LeakyKind):
    """x where it is positive, else x times a slope that is trained, for each channel (axis 1) or for all.

    Call: `layer(x)`, x floating point, shape (batch, channels, ...).

    Args:
        alpha_initializer: the initializer of the slopes, or its name; None is 0.25.
        in_channels: the number of channels; 1 is one slope for all of them.

    Example:
        >>> layer = gluon.nn.PReLU()
        >>> layer.initialize()
        >>> layer(nd.array([[-1.0, 2.0]])).asnumpy()
        array([[-0.25,  2.  ]], dtype=float32)
    """

    def __init__(self, alpha_initializer: Init | None = None, in_channels: int = 1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if alpha_initializer is None:
            alpha_initializer = initializer.Constant(0.25)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: NDArray, alpha: NDArray) -> Any:
        return self._leaky(F, x, "prelu", gamma=alpha)


@layer
class ELU(_LeakyKind):
    """x where it is positive, else `alpha` * (exp(x) - 1).

    Call: `layer(x)`, x floating point, any shape.

    Args:
        alpha: the factor of negative numbers.

    Example:
        >>> gluon.nn.ELU()(nd.array([-1.0, 2.0])).asnumpy()
        array([-0.63212055,  2.        ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "elu", slope=self._alpha)


@layer
class SELU(_LeakyKind):
    """The scaled exponential linear unit: 1.0507 * x where x is positive, else 1.7581 * (exp(x) - 1).

    Call: `layer(x)`, x floating point, any shape.

    Example:
        >>> gluon.nn.SELU()(nd.array([-1.0, 2.0])).asnumpy()
        array([-1.1113307,  2.101402 ], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "selu")


@layer
class GELU(_LeakyKind):
    """x times the normal distribution function of x.

    Call: `layer(x)`, x floating point, any shape.

    Example:
        >>> gluon.nn.GELU()(nd.array([-1.0, 2.0])).asnumpy()
        array([-0.15865526,  1.9544997 ], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return self._leaky(F, x, "gelu")


@layer
class Swish(HybridBlock):
    """x * sigmoid(beta * x).

    Call: `layer(x)`, x floating point, any shape.

    Args:
        beta: the factor inside.

    Example:
        >>> gluon.nn.Swish()(nd.array([-1.0, 2.0])).asnumpy()
        array([-0.26894143,  1.761594  ], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: NDArray) -> Any:
        return x * F.sigmoid(self._beta * x)
