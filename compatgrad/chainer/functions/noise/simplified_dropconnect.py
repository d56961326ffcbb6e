"""Linear layers without some of their weights."""

from compatgrad.chainer import backend, variable
from compatgrad.chainer._frontend import frontend
from compatgrad.chainer.functions import _native
from compatgrad.chainer.functions.array.cast import cast
from compatgrad.chainer.utils import type_check

_add = frontend.bind("add", dtype="any")
_matmul = frontend.bind("matmul", dtype="any")
_mul = frontend.bind("mul", dtype="any")
_reshape = frontend.bind("reshape", dtype="any")


class SimplifiedDropconnect(_native.NativeFunction):
    """A linear layer with a mask of its weights, drawn from the global stream for each sample or for all."""

    op = None

    def __init__(self, ratio, mask=None, use_batchwise_mask=True):
        super().__init__()
        self.ratio = ratio
        self.mask = mask
        self.use_batchwise_mask = use_batchwise_mask

    def check_type_forward(self, in_types):
        n_in = in_types.size()
        type_check.expect(2 <= n_in, n_in <= 3)
        x, w = in_types[:2]
        type_check._argname((x, w), ("x", "W"))
        type_check.expect(
            x.dtype.kind == "f", w.dtype.kind == "f", x.ndim >= 2, w.ndim == 2,
            type_check.prod(x.shape[1:]) == w.shape[1],
        )  # fmt: skip
        if type_check.eval(n_in) == 3:
            b = in_types[2]
            type_check._argname((b,), ("b",))
            type_check.expect(b.dtype == x.dtype, b.ndim == 1, b.shape[0] == w.shape[0])
        if self.mask is not None:
            if self.use_batchwise_mask:
                type_check.expect(self.mask.shape[0] == x.shape[0], self.mask.shape[1:] == w.shape)
            else:
                type_check.expect(self.mask.shape == w.shape)

    def _run_bound(self, inputs):
        x, w = inputs[:2]
        if self.mask is None:
            shape = (len(x), *w.shape) if self.use_batchwise_mask else w.shape
            self.mask = backend.get_array_module(w).random.rand(*shape) >= self.ratio
        elif isinstance(self.mask, variable.Variable):
            self.mask = self.mask.array
        scaled = self.mask.astype(w.dtype) * w.dtype.type(1.0 / (1 - self.ratio))
        w = cast(_mul(w, scaled), x.dtype)
        y = _matmul(w, _reshape(x, (len(x), -1, 1)))
        if len(inputs) == 2:
            return _reshape._apply_as(self, y, y.shape[:2])
        return _add._apply_as(self, _reshape(y, y.shape[:2]), inputs[2])


def simplified_dropconnect(x, W, b=None, ratio=0.5, train=True, mask=None, use_batchwise_mask=True):
    """`x W^T + b` with each weight set to 0 with probability `ratio` and the rest scaled (Wan et al. 2013).

    x (batch, …), W (out, in), b (out,). `mask`: (batch, out, in) where `use_batchwise_mask`, else (out, in);
    drawn by numpy.random.rand where None. `train=False`: ratio 0.
    """
    function = SimplifiedDropconnect(ratio if train else 0, mask, use_batchwise_mask)
    return function.apply((x, W) if b is None else (x, W, b))[0]
