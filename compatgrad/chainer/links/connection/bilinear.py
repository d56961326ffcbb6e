import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import initializers, link, variable


def _parameter(initial, shape):
    if isinstance(initial, chainer.get_array_types()):
        assert initial.shape == shape, f"the initial array must have shape {shape}, not {initial.shape}"
    return variable.Parameter(initializers._get_initializer(initial), shape)


class Bilinear(link.Link):
    """Bilinear layer: e1 W e2 + e1 V1 + e2 V2 + b, with W of shape (left_size, right_size, out_size).

    `initial_bias` is a tuple of initializers of V1, V2 and b (ValueError for anything else but None).
    """

    def __init__(self, left_size, right_size, out_size, nobias=False, initialW=None, initial_bias=None):
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        with self.init_scope():
            self.W = _parameter(initialW, (left_size, right_size, out_size))
            if not nobias:
                if initial_bias is None:
                    initial_bias = None, None, 0
                elif not isinstance(initial_bias, tuple):
                    raise ValueError(f"initial_bias must be tuple or None. Actual: {type(initial_bias).__name__}")
                V1, V2, b = initial_bias
                self.V1 = _parameter(V1, (left_size, out_size))
                self.V2 = _parameter(V2, (right_size, out_size))
                self.b = _parameter(b, (out_size,))

    def forward(self, e1, e2):
        """Applies the layer to (batch, left_size) and (batch, right_size)."""
        if self.nobias:
            return F.bilinear(e1, e2, self.W)
        return F.bilinear(e1, e2, self.W, self.V1, self.V2, self.b)

    def zero_grads(self):
        """Same as `zerograds`."""
        self.zerograds()
