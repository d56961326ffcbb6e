"""DeCov penalty."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.loss.cross_covariance import covariance, reduced
from compatgrad.chainer.utils import type_check


class DeCov(_composed.CallableFunction):
    def __init__(self, reduce="half_squared_sum"):
        super().__init__()
        _composed.check_reduce(reduce, "half_squared_sum", "no")
        self.reduce = reduce

    def check_type_forward(self, in_types):
        type_check._argname(in_types, ("h",))
        type_check.expect(in_types[0].dtype.kind == "f", in_types[0].ndim == 2)

    def compose(self, h):
        off_diagonal = 1 - h.xp.eye(h.shape[1], dtype=h.dtype)
        return reduced(covariance(h, h) * off_diagonal, self.reduce)


def decov(h, reduce="half_squared_sum"):
    """Half the sum of squares of the covariance of the columns of h (N, K), without its diagonal.

    `reduce="no"`: the covariance (K, K), with zeros on the diagonal; ValueError for another. InvalidType
    where h is not floating or not of two axes. Cogswell et al. 2015.
    """
    return DeCov(reduce)(h)
