"""Dropout."""

import torch

from compatgrad import _C
from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import as_variable


class Dropout(_native.NativeFunction):
    """Product with a mask of zeros and 1 / (1 - ratio), drawn from the global stream."""

    op = "dropout_mask"
    mask = None

    def __init__(self, dropout_ratio, mask=None, return_mask=False):
        if not 0.0 <= dropout_ratio < 1.0:
            raise ValueError(f"dropout_ratio must be in the range [0, 1). Actual: {dropout_ratio}")
        super().__init__()
        self.dropout_ratio = dropout_ratio
        self.mask = mask
        self.return_mask = return_mask

    def check_type_forward(self, in_types):
        _native.expect_floats(in_types, ("x",))

    def _run_bound(self, inputs):
        x = inputs[0]
        if self.mask is None:
            self.mask = self._draw(x)
        return self._bound._apply_as(self, x, self.mask)

    def _draw(self, x):
        scale = x.dtype.type(1.0 / (1 - self.dropout_ratio))
        if torch._C._len_torch_dispatch_stack():  # somebody traces, and shall see a call that draws
            return float(scale) * (torch.rand(x.shape, device=x.tensor.device) >= self.dropout_ratio).to(x.tensor.dtype)
        xp = backend.get_array_module(x)
        return scale * (xp.random.rand(*x.shape) >= self.dropout_ratio)


def dropout(x, ratio=0.5, **kwargs):
    """`x` with elements set to 0 with probability `ratio`, the rest scaled by 1 / (1 - ratio); in training.

    `mask`: the mask to use instead of a drawn one. `return_mask`: give (y, mask), mask None in test mode.
    The mask is drawn by numpy.random.rand (Srivastava et al. 2014).
    """
    mask, return_mask = None, False
    if kwargs:
        mask, return_mask = argument.parse_kwargs(
            kwargs, ("mask", mask), ("return_mask", return_mask),
            train="train argument is not supported anymore. Use chainer.using_config",
        )  # fmt: skip
    if configuration.config.train:
        function = Dropout(ratio, mask, return_mask)
        checked = isinstance(x, _C.Variable) and x.dtype.kind == "f"
        y = function._run_bound((x,)) if checked else function.apply((x,))[0]
        mask = function.mask
    else:
        y, mask = as_variable(x), None
    return (y, mask) if return_mask else y
