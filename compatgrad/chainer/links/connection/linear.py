import compatgrad.chainer.functions as F
from compatgrad.chainer import link, utils, variable
from compatgrad.chainer.links import _weights


class Linear(link.Link):
    """Fully connected layer: x W^T + b, with W of shape (out_size, in_size).

    `Linear(in_size, out_size)`, or `Linear(out_size)` or `in_size=None`, where the first input tells the
    size.
    """

    def __init__(self, in_size, out_size=None, nobias=False, initialW=None, initial_bias=None):
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        _weights.register(self, initialW, in_size, nobias, initial_bias, out_size)

    def _initialize_params(self, in_size):
        self.W.initialize((self.out_size, in_size))

    @classmethod
    def from_params(cls, W, b=None, nobias=False):
        """Makes the link from its arrays. ValueError where the sizes of W and b differ."""
        out_size, in_size = W.shape
        _weights.check_bias_size(out_size, b, "out_size")
        W, b = variable.as_array(W), variable.as_array(b)
        return cls(in_size, out_size, nobias, initialW=W, initial_bias=b)

    @property
    def printable_specs(self):
        yield "in_size", self.in_size
        yield "out_size", self.out_size
        yield "nobias", self.b is None

    def forward(self, x, n_batch_axes=1):
        """Applies the layer; axes from `n_batch_axes` on are flattened into one."""
        if self.W.tensor is None:
            self._initialize_params(utils.size_of_shape(x.shape[n_batch_axes:]))
        return F.linear(x, self.W, self.b, n_batch_axes=n_batch_axes)
