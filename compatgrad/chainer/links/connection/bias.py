import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
from compatgrad.chainer import link, variable


class Bias(link.Link):
    """Adds along `axis`: the parameter b where `shape` is given, else a second argument."""

    def __init__(self, axis=1, shape=None):
        super().__init__()
        if shape is not None:
            with self.init_scope():
                self.b = variable.Parameter(0, shape)
        self.axis = axis

    def forward(self, *xs):
        """`forward(x)` with the parameter, `forward(x, y)` without."""
        learnt = hasattr(self, "b")
        if chainer.is_debug():
            assert len(xs) == (1 if learnt else 2), f"{1 if learnt else 2} arguments were expected, not {len(xs)}"
        x, b = (*xs, self.b) if learnt else xs
        return F.bias(x, b, self.axis)
