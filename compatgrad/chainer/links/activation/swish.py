import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable


class Swish(link.Link):
    """x * sigmoid(beta * x) with a learnt beta; `beta_shape=None` takes the shape of the first input."""

    def __init__(self, beta_shape, beta_init=1.0):
        super().__init__()
        with self.init_scope():
            if beta_shape is not None:
                self.beta = variable.Parameter(beta_init, beta_shape)
            else:
                self.beta = variable.Parameter(initializers.Constant(beta_init))

    def forward(self, x):
        """Applies the function elementwise."""
        if self.beta.tensor is None:
            self.beta.initialize(x.shape[1:])
        return F.swish(x, self.beta)
