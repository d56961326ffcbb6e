import compatgrad.chainer.functions as F
from compatgrad.chainer import link
from compatgrad.chainer.links.connection.linear import Linear


class Highway(link.Chain):
    """Highway layer (https://arxiv.org/abs/1505.00387): a gate mixes `activate(linear(x))` and x."""

    def __init__(
        self,
        in_out_size,
        nobias=False,
        activate=F.relu,
        init_Wh=None,
        init_Wt=None,
        init_bh=None,
        init_bt=-1,
    ):
        super().__init__()
        self.activate = activate
        size = (in_out_size, in_out_size, nobias)
        with self.init_scope():
            self.plain = Linear(*size, initialW=init_Wh, initial_bias=init_bh)
            self.transform = Linear(*size, initialW=init_Wt, initial_bias=init_bt)

    def forward(self, x):
        """Applies the layer to (batch, in_out_size)."""
        plain = self.activate(self.plain(x))
        gate = F.sigmoid(self.transform(x))
        return plain * gate + x * (1 - gate)
