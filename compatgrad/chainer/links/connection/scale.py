import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable
from compatgrad.chainer.links.connection.bias import Bias


class Scale(link.Chain):
    """Multiplies along `axis`: by the parameter W where `W_shape` is given, else by a second argument.

    `bias_term` adds a bias; ValueError where neither `W_shape` nor `bias_shape` gives its shape.
    """

    def __init__(self, axis=1, W_shape=None, bias_term=False, bias_shape=None):
        super().__init__()
        self.axis = axis
        with self.init_scope():
            if W_shape is not None:
                self.W = variable.Parameter(1, W_shape)
            if bias_term:
                shape = bias_shape if W_shape is None else W_shape
                if shape is None:
                    raise ValueError("bias_shape should be given if W is not learnt parameter and bias_term is True.")
                self.bias = Bias(axis, shape)

    def forward(self, *xs):
        """`forward(x)` with the parameter, `forward(x, y)` without."""
        learnt = hasattr(self, "W")
        if chainer.is_debug():
            assert len(xs) == (1 if learnt else 2), f"{1 if learnt else 2} arguments were expected, not {len(xs)}"
        x, y = (*xs, self.W) if learnt else xs
        z = F.scale(x, y, self.axis)
        return self.bias(z) if hasattr(self, "bias") else z
