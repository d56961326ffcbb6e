"""Activations as layers."""

from ... import initializer
from ..block import HybridBlock

__all__ = ["Activation", "LeakyReLU", "PReLU", "ELU", "SELU", "Swish", "GELU"]


class Activation(HybridBlock):
    """The activation `activation`: "relu", "sigmoid", "log_sigmoid", "tanh", "softrelu", "softsign" or "mish"."""

    def __init__(self, activation, **kwargs):
        self._act_type = activation  # the prefix comes from it
        super().__init__(**kwargs)

    def _alias(self):
        return self._act_type

    def hybrid_forward(self, F, x):
        return F.Activation(x, act_type=self._act_type, name="fwd")

    def __repr__(self):
        return f"{type(self).__name__}({self._act_type})"


class _LeakyKind(HybridBlock):
    """An activation that is a kind of the operator LeakyReLU."""

    def _leaky(self, F, x, act_type, **attributes):
        return F.LeakyReLU(x, act_type=act_type, name="fwd", **attributes)


class LeakyReLU(_LeakyKind):
    """x where positive, else alpha * x; AssertionError for a negative alpha (float)."""

    def __init__(self, alpha, **kwargs):
        assert alpha >= 0, "Slope coefficient for LeakyReLU must be no less than 0."
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return self._leaky(F, x, "leaky", slope=self._alpha)

    def __repr__(self):
        return f"{type(self).__name__}({self._alpha})"


class PReLU(_LeakyKind):
    """LeakyReLU with a trained slope per channel (axis 1), or one for all with in_channels=1.

    alpha_initializer: the slope's, 0.25 by default.
    """

    def __init__(self, alpha_initializer=None, in_channels=1, **kwargs):
        super().__init__(**kwargs)
        if alpha_initializer is None:
            alpha_initializer = initializer.Constant(0.25)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F, x, alpha):
        return self._leaky(F, x, "prelu", gamma=alpha)


class ELU(_LeakyKind):
    """x where positive, else alpha * (exp(x) - 1)."""

    def __init__(self, alpha=1.0, **kwargs):
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F, x):
        return self._leaky(F, x, "elu", slope=self._alpha)


class SELU(_LeakyKind):
    """The scaled exponential linear unit."""

    def hybrid_forward(self, F, x):
        return self._leaky(F, x, "selu")


class GELU(_LeakyKind):
    """x times the normal distribution function of x."""

    def hybrid_forward(self, F, x):
        return self._leaky(F, x, "gelu")


class Swish(HybridBlock):
    """x * sigmoid(beta * x)."""

    def __init__(self, beta=1.0, **kwargs):
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F, x):
        return x * F.sigmoid(self._beta * x)
