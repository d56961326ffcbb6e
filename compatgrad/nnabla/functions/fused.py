"""Functions that fuse several layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla import _declare
from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla._documents import documented
from compatgrad.nnabla.functions import activation
from compatgrad.nnabla.functions._images import CONVOLUTION, placement, spatial_axes
from compatgrad.nnabla.functions.arrays import pad as pad_edges
from compatgrad.nnabla.functions.convolution import _convolution

if TYPE_CHECKING:
    from compatgrad.nnabla._nd_array import NdArray
    from compatgrad.nnabla._typing import Array

__all__ = ["fused_convolution"]

_ACTIVATIONS: dict[str, Callable[..., Any]] = {
    "": lambda h: h,
    "identity": lambda h: h,
    "relu": activation.relu.body,
    "sigmoid": activation.sigmoid.body,
    "tanh": activation.tanh.body,
    "relu6": activation.relu6.body,
    "leaky_relu": activation.leaky_relu.body,
    "elu": activation.elu.body,
}
_WITH_NUMBER = ("leaky_relu", "elu")


@function("FusedConvolution", "x, weight, bias?, beta?, gamma?, mean?, variance?, z?", effects=True)
def _fused_convolution(
    x,
    weight,
    bias=None,
    beta=None,
    gamma=None,
    mean=None,
    variance=None,
    z=None,
    base_axis=1,
    pad=None,
    stride=None,
    dilation=None,
    group=1,
    channel_last=False,
    decay_rate=0.9,
    eps=1e-05,
    batch_stat=True,
    nonlinearity="relu",
    nonlinearity_args=(),
    pad_mode="constant",
    constant_value=0,
):
    """`fused_convolution` as one function of the graph."""
    n = spatial_axes(x, base_axis)
    h = x
    if len(pad) != n or pad_mode != "constant" or constant_value != 0:
        widths = pad if len(pad) == 2 * n else tuple(p for p in pad for _ in (0, 1))
        h, pad = pad_edges.body(h, widths, pad_mode, constant_value), (0,) * n
    h = _convolution.body(
        h, weight, bias, base_axis, *placement(h, base_axis, pad, stride, dilation), group, channel_last
    )
    if beta is not None:
        axis = h.ndim - 1 if channel_last else base_axis % h.ndim
        h = op.batch_normalization_statistics(
            h,
            beta,
            gamma,
            mean,
            variance,
            axes=[axis],
            decay=decay_rate,
            eps=eps,
            batch_stat=batch_stat,
            update=_declare.updating,
        )
    if z is not None:
        h = h + z
    return _ACTIVATIONS[nonlinearity](h, *nonlinearity_args)


@documented(CONVOLUTION)
def fused_convolution(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    beta: Array | None = None,
    gamma: Array | None = None,
    mean: Array | None = None,
    variance: Array | None = None,
    z: Array | None = None,
    base_axis: int = 1,
    pad: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
    dilation: Sequence[int] | None = None,
    group: int = 1,
    channel_last: bool = False,
    decay_rate: float = 0.9,
    eps: float = 1e-05,
    batch_stat: bool = True,
    nonlinearity: str = "relu",
    nonlinearity_args: Sequence[float] | None = None,
    pad_mode: str = "constant",
    constant_value: float = 0,
    n_outputs: int = -1,
    outputs: Sequence[NdArray | None] | None = None,
) -> Array:
    """Padding, convolution, and optionally batch normalization, an addition and an activation, as one function.

    Args:
        beta, gamma, mean, variance: see `batch_normalization`; either all four are given or none.
        z: summand, added before the activation, of the shape of the result.
        pad: number of pixels added at both ends of each spatial axis, or two numbers for each axis, before and after;
            None: not at all.
        decay_rate: weight of the old value when a pass updates the running statistics.
        eps: a number that is added to the variance.
        batch_stat: whether to use the statistics of the batch instead of the running ones.
        nonlinearity: "identity", "relu", "sigmoid", "tanh", "relu6", "leaky_relu" or "elu".
        nonlinearity_args: the number that "leaky_relu" and "elu" need.
        pad_mode: mode of the padding: "constant", "reflect" or "repeat", see `pad`.
        constant_value: the value of the mode "constant".

    Raises:
        RuntimeError: the shapes do not fit, statistics are missing, or the activation is unknown or has another number
            of arguments.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(9.0).reshape(1, 1, 3, 3))
        >>> w = nn.NdArray.from_numpy_array(np.full((1, 1, 2, 2), -1.0))
        >>> F.fused_convolution(x, w, nonlinearity="leaky_relu", nonlinearity_args=[0.5]).data
        array([[[[ -4.,  -6.],
                 [-10., -12.]]]], dtype=float32)
    """
    n = spatial_axes(x, base_axis)
    pad = (0,) * n if pad is None else tuple(pad)
    args = tuple(nonlinearity_args or ())
    if len(pad) not in (n, 2 * n):
        raise RuntimeError(f"fused_convolution: pad must have {n} or {2 * n} entries, not {pad}")
    if sum(v is None for v in (beta, gamma, mean, variance)) not in (0, 4):
        raise RuntimeError("fused_convolution: beta, gamma, mean and variance must be given together")
    if nonlinearity not in _ACTIVATIONS:
        raise RuntimeError(
            f"fused_convolution: nonlinearity must be one of {sorted(_ACTIVATIONS)}, not {nonlinearity!r}"
        )
    if len(args) != (nonlinearity in _WITH_NUMBER):
        raise RuntimeError(
            f"fused_convolution: {nonlinearity} takes "
            f"{'one number' if nonlinearity in _WITH_NUMBER else 'nothing'} in nonlinearity_args, not "
            f"{list(args)}"
        )
    return _fused_convolution(
        x,
        weight,
        bias,
        beta,
        gamma,
        mean,
        variance,
        z,
        base_axis,
        pad,
        stride,
        dilation,
        group,
        channel_last,
        decay_rate,
        eps,
        batch_stat,
        nonlinearity,
        args,
        pad_mode,
        constant_value,
        n_outputs=n_outputs,
        outputs=outputs,
    )
