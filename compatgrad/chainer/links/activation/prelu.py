import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable


class PReLU(link.Link):
    """Leaky ReLU whose slope W, of `shape`, is learnt (https://arxiv.org/abs/1502.01852)."""

    def __init__(self, shape=(), init=0.25):
        super().__init__()
        with self.init_scope():
            self.W = variable.Parameter(init, shape)

    def forward(self, x):
        """Applies the function elementwise."""
        return F.prelu(x, self.W)
