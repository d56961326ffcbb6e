"""Bilinear product."""

from compatgrad.chainer.functions import _composed
from compatgrad.chainer.functions.array.reshape import reshape
from compatgrad.chainer.functions.math.matmul import matmul
from compatgrad.chainer.utils import size_of_shape, type_check


class BilinearFunction(_composed.ComposedFunction):
    def check_type_forward(self, in_types):
        n_in = type_check.eval(in_types.size())
        if n_in not in (3, 6):
            raise type_check.InvalidType("in_types.size() == 3 or in_types.size() == 6", f"size: {n_in}")
        e1, e2, W = in_types[:3]
        size = type_check.make_variable(size_of_shape, "size")
        for t in in_types:
            type_check.expect(t.dtype == "float32")
        type_check.expect(
            e1.ndim >= 2,
            e2.ndim >= 2,
            e1.shape[0] == e2.shape[0],
            W.ndim == 3,
            size(e1.shape[1:]) == W.shape[0],
            size(e2.shape[1:]) == W.shape[1],
        )
        if n_in == 6:
            for i, V in enumerate(in_types[3:5]):
                type_check.expect(V.ndim == 2, V.shape[0] == W.shape[i], V.shape[1] == W.shape[2])
            type_check.expect(in_types[5].ndim == 1, in_types[5].shape[0] == W.shape[2])

    def compose(self, e1, e2, W, V1=None, V2=None, b=None):
        batch, (j, k, out) = len(e1), W.shape
        e1, e2 = reshape(e1, (batch, j)), reshape(e2, (batch, k))
        # The sum over e1's elements first: products of the two would be the largest array of all.
        e1_W = reshape(matmul(e1, reshape(W, (j, k * out))), (batch, k, out))
        y = reshape(matmul(reshape(e2, (batch, 1, k)), e1_W), (batch, out))
        return y if V1 is None else y + matmul(e1, V1) + matmul(e2, V2) + b


def bilinear(e1, e2, W, V1=None, V2=None, b=None):
    """`y[i, l] = sum_jk e1[i, j] e2[i, k] W[j, k, l]`, plus `e1 V1 + e2 V2 + b` where these are given.

    e1 and e2 are flattened to (batch, J) and (batch, K); W (J, K, L), V1 (J, L), V2 (K, L), b (L,). All are
    float32, else InvalidType. ValueError where only some of V1, V2 and b are given.
    """
    linear = (V1, V2, b)
    if all([v is None for v in linear]):
        return BilinearFunction().apply((e1, e2, W))[0]
    if any([v is None for v in linear]):
        raise ValueError("All coefficients and bias for bilinear() must be None, if at least one of them is None.")
    return BilinearFunction().apply((e1, e2, W, *linear))[0]
