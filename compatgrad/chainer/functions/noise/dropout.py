"""Dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from compatgrad import _C
from compatgrad.chainer import backend, configuration
from compatgrad.chainer.functions import _native
from compatgrad.chainer.utils import argument
from compatgrad.chainer.variable import as_variable

if TYPE_CHECKING:
    from compatgrad.chainer._typing import VariableOrArray
    from compatgrad.chainer.types import NdArray
    from compatgrad.chainer.utils import type_check
    from compatgrad.chainer.variable import Variable


class Dropout(_native.NativeFunction):
    """The node of `chainer.functions.dropout` in the graph, its result's `creator`.

    Args:
        dropout_ratio: probability of a zero, in [0, 1).
        mask: array by which the input is multiplied; None draws a mask of 0 and 1 / (1 - dropout_ratio).
        return_mask: kept as an attribute only; the mask is the attribute `mask`.

    Raises:
        ValueError: `dropout_ratio` is out of range.
        chainer.utils.type_check.InvalidType: the input is not floating-point.

    Example:
        >>> F.dropout(np.array([1.0, 2.0]), mask=np.array([0.0, 2.0])).creator.mask
        array([0., 2.])

    Source: `chainer.functions.noise.dropout.Dropout` of Chainer 7.8.1.
    """

    op = "dropout_mask"
    mask = None

    def __init__(self, dropout_ratio: float, mask: NdArray | None = None, return_mask: bool = False) -> None:
        if not 0.0 <= dropout_ratio < 1.0:
            raise ValueError(f"dropout_ratio must be in the range [0, 1). Actual: {dropout_ratio}")
        super().__init__()
        self.dropout_ratio = dropout_ratio
        self.mask = mask
        self.return_mask = return_mask

    def check_type_forward(self, in_types: type_check.TypeInfoTuple) -> None:
        _native.expect_floats(in_types, ("x",))

    def _run_bound(self, inputs):
        x = inputs[0]
        if self.mask is None:
            self.mask = self._draw(x)
        return self._bound._apply_as(self, x, self.mask)

    def _draw(self, x):
        scale = x.dtype.type(1.0 / (1 - self.dropout_ratio))
        if _C.traced():  # the traced program must draw a mask in each run
            return float(scale) * (torch.rand(x.shape, device=x.tensor.device) >= self.dropout_ratio).to(x.tensor.dtype)
        xp = backend.get_array_module(x)
        return scale * (xp.random.rand(*x.shape) >= self.dropout_ratio)


def dropout(x: VariableOrArray, ratio: float = 0.5, **kwargs: Any) -> Variable | tuple[Variable, NdArray | None]:
    """Elements become 0 with probability `ratio`, the others are scaled by 1 / (1 - ratio); in test mode `x` itself.

    The mask is drawn by `numpy.random.rand`, or CuPy's on a GPU. In test mode the configuration's `train` is False.

    Args:
        x: floating, any shape.
        ratio: in [0, 1).
        **kwargs: `mask` (None): an array to use instead of a drawn one; `return_mask` (False): True also returns the
            mask, None in test mode.

    Returns:
        Variable of the shape and dtype of `x`; with `return_mask` a pair of it and the mask.

    Raises:
        ValueError: `ratio` is out of range, `mask` has another shape, or a removed option of older Chainer versions is
            given.
        chainer.utils.type_check.InvalidType: `x` is not floating-point.
        TypeError: there is an unknown option.

    Example:
        >>> F.dropout(np.array([1.0, 2.0]), mask=np.array([0.0, 2.0])).array
        array([0., 4.])
        >>> with chainer.using_config("train", False):
        ...     F.dropout(np.array([1.0, 2.0])).array
        array([1., 2.])

    Source: `chainer.functions.dropout` of Chainer 7.8.1; Srivastava et al. 2014.
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
