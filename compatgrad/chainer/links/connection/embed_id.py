import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable


class EmbedID(link.Link):
    """Rows of W, of shape (in_size, out_size), by integer; zeros for `ignore_label`."""

    ignore_label = None

    def __init__(self, in_size, out_size, initialW=None, ignore_label=None):
        super().__init__()
        self.ignore_label = ignore_label
        with self.init_scope():
            if initialW is None:
                initialW = initializers.Normal(1.0)
            self.W = variable.Parameter(initialW, (in_size, out_size))

    @classmethod
    def from_params(cls, W, ignore_label=None):
        """Makes the link from its array."""
        in_size, out_size = W.shape
        return cls(in_size, out_size, initialW=variable.as_array(W), ignore_label=ignore_label)

    def forward(self, x):
        """The rows that the integers `x` name."""
        return F.embed_id(x, self.W, ignore_label=self.ignore_label)
