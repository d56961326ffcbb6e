"""Functions with which operators check and convert axes, indices, shapes and dtypes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from compatgrad import _C

from ..base import MXNetError
from ._late import keep
from ._operator import op, operators
from .ndarray import NDArray


def public_names(scope: dict[str, Any], *functions: str) -> list[str]:
    """The `__all__` of a module of operators, and `functions`; also defines the operators' aliases in the module."""
    mine = {name: f for name, f in operators.items() if f.__module__ == scope["__name__"]}
    scope.update(mine)
    return sorted(name for name in mine if not name.startswith("_")) + list(functions)


def as_ints(name: str, argument: str, value: Any, booleans: bool = False) -> list[int]:
    """An integer, or a tuple of integers, as a list. True and False are errors unless `booleans` is set: MXNet's
    operators get arguments as text, and cannot read them as integers.
    """
    if isinstance(value, Iterable) and not isinstance(value, str):
        values = list(value)
    else:
        values = [value]
    try:
        if booleans or bool not in map(type, values):
            return [v.__index__() for v in values]
    except AttributeError:
        pass
    raise MXNetError(f"{name}: {argument} must be an int or a tuple of ints, got {value!r}")


def axis_in(name: str, axis: int, ndim: int, argument: str = "axis") -> int:
    """An axis counted from the front."""
    if not -ndim <= axis < ndim:
        raise MXNetError(f"{name}: {argument} {axis} exceeds the input dimension of {ndim}")
    return axis + ndim if axis < 0 else axis


def axes_in(name: str, axes: Any, ndim: int, argument: str = "axis") -> list[int]:
    """Distinct axes counted from the front, in their order."""
    result = [axis_in(name, a, ndim, argument) for a in as_ints(name, argument, axes)]
    if len(set(result)) < len(result):
        raise MXNetError(f"{name}: {argument} has duplicates: {tuple(result)}")
    return result


def constant(value: torch.Tensor, data: NDArray) -> NDArray:
    """A result without a gradient. As in MXNet it is in the graph if `data`, from which it was computed, is."""
    y = NDArray(value)
    return op.constant_of(data, y) if _C.in_graph(data) else y


def vector(y: Any) -> Any:
    """The result; a single number gets the shape (1,), because MXNet has no arrays without axes here."""
    return y if y.tensor.dim() else op.reshape(y, (1,))


def require_shape(name: str, argument: str, shape: tuple, expected: tuple) -> None:
    if tuple(shape) != tuple(expected):
        raise MXNetError(f"{name}: {argument} must have the shape {tuple(expected)}, got {tuple(shape)}")


def check_reach(name: str, data: NDArray, kernel: Sequence[int], dilate: Sequence[int], pad: Sequence[int]) -> None:
    """Raises MXNetError if a kernel is larger than the padded data, whose axes follow those of batch and channels."""
    for n, k, d, p in zip(data.shape[2:], kernel, dilate, pad, strict=True):
        if d * (k - 1) + 1 > n + 2 * p:
            raise MXNetError(
                f"{name}: kernel {kernel} with dilate {dilate} exceeds data of shape {data.shape} with pad {pad}"
            )


def require_ndim(name: str, argument: str, array: Any, *allowed: int) -> None:
    if array.tensor.dim() not in allowed:
        wanted = " or ".join(f"{n}-D" for n in allowed)
        raise MXNetError(f"{name}: {argument} must be {wanted}, got the shape {array.shape}")


def one_of(name: str, argument: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise MXNetError(f"{name}: invalid input {value!r} for {argument}, valid values are {allowed}")
    return value


# The words that a parameter of an operator may be, by operator. MXNet checks them when it makes a node.
CHOICES: dict[str, dict[str, tuple[Any, ...]]] = {
    "Activation": {"act_type": ("relu", "sigmoid", "softrelu", "softsign", "tanh")},
    "CTCLoss": {"blank_label": ("first", "last")},
    "Convolution": {"layout": (None, "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC")},
    "Deconvolution": {"layout": (None, "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC")},
    "Dropout": {"mode": ("training", "always")},
    "GridGenerator": {"transform_type": ("affine", "warp")},
    "L2Normalization": {"mode": ("instance", "channel", "spatial")},
    "LeakyReLU": {"act_type": ("leaky", "prelu", "elu", "selu", "gelu", "rrelu")},
    "MakeLoss": {"normalization": ("null", "batch", "valid")},
    "Pooling": {
        "layout": (None, "NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"),
        "pool_type": ("max", "avg", "sum", "lp"),
        "pooling_convention": ("valid", "full", "same"),
    },
    "RNN": {"mode": ("rnn_relu", "rnn_tanh", "lstm", "gru")},
    "SoftmaxActivation": {"mode": ("instance", "channel")},
    "SoftmaxOutput": {"normalization": ("null", "batch", "valid")},
    "SpatialTransformer": {"transform_type": ("affine",), "sampler_type": ("bilinear",)},
    "UpSampling": {"sample_type": ("nearest", "bilinear"), "multi_input_mode": ("concat", "sum")},
    "pad": {"mode": ("constant", "edge", "reflect")},
    "pick": {"mode": ("clip", "wrap")},
    "take": {"mode": ("clip", "wrap", "raise")},
    "topk": {"ret_typ": ("both", "indices", "mask", "value")},
}


def choice(name: str, argument: str, value: Any) -> Any:
    """The value of a parameter of an operator in `CHOICES`."""
    return one_of(name, argument, value, CHOICES[name][argument])


def fraction(name: str, argument: str, value: Any) -> Any:
    """A number between 0 and 1; like MXNet, it refuses True."""
    try:
        if type(value) is not bool and 0 <= value <= 1:
            return value
    except TypeError:
        pass
    raise MXNetError(f"{name}: {argument} must be between 0 and 1, got {value}")


def as_index(array: Any) -> torch.Tensor:
    """Whole numbers of an array of indices, which are mostly floats."""
    return array.tensor.to(torch.int64)


def clipped(index: torch.Tensor, size: int) -> torch.Tensor:
    """Indices, of which those below the axis become its first element, and those beyond it its last one."""
    return index.clamp(0, max(size - 1, 0))


def bounded(name: str, index: torch.Tensor, size: int, mode: str) -> torch.Tensor:
    """Indices brought into an axis: "clip", "wrap", or "raise", which raises at the next wait if one is outside."""
    if mode == "wrap":
        return index.remainder(size)
    if mode == "raise" and index.numel() and not (0 <= int(index.min()) and int(index.max()) < size):
        keep(
            MXNetError(
                f"{name}: indices out of bound: they reach from {int(index.min())} to {int(index.max())}, "
                f"the axis has the size {size}"
            )
        )
    return clipped(index, size)


def within(name: str, index: torch.Tensor, shape: tuple) -> torch.Tensor:
    """Checks indices (axes, ...) into an array of `shape`; negative ones count from the end. IndexError if one is
    out of bounds.
    """
    for axis, (rows, n) in enumerate(zip(index, shape, strict=False)):
        if rows.numel():
            low, high = int(rows.min()), int(rows.max())
            if low < -n or high >= n:
                wrong = high if high >= n else low
                raise IndexError(f"{name}: index {wrong} is out of bounds for axis {axis} with size {n}")
    return index


def check_bias(name: str, bias: Any, no_bias: bool, size: int) -> None:
    """MXNetError if `bias` contradicts `no_bias`, or has another shape than (size,)."""
    if (bias is None) != bool(no_bias):
        given = "none" if bias is None else "one"
        raise MXNetError(f"{name}: bias: no_bias={bool(no_bias)} needs {'no bias' if no_bias else 'one'}, got {given}")
    if bias is not None and bias.shape != (size,):
        raise MXNetError(f"{name}: bias must have the shape ({size},), got {bias.shape}")


def required(name: str, argument: str, value: Any) -> Any:
    """The value of an argument that has no default."""
    if value is None:
        raise MXNetError(f"{name}: required argument {argument} is missing")
    return value


def whole(name: str, argument: str, value: Any) -> int:
    """An argument that has no default and must be an integer."""
    read = getattr(required(name, argument, value), "__index__", None)
    if read is None or type(value) is bool:  # 4.0 equals 4, and True 1, but MXNet cannot read them as integers
        raise MXNetError(f"{name}: {argument} must be an int, got {value!r}")
    return read()


def slices(x: NDArray, axis: int) -> list[NDArray]:
    """All slices along an axis, without that axis."""
    y = op.unstack(x, axis=axis)
    return [y] if isinstance(y, NDArray) else list(y)


def pair(name: str, argument: str, value: Any) -> tuple[int, int]:
    """Height and width; MXNetError for anything but two positive integers."""
    result = tuple(as_ints(name, argument, required(name, argument, value)))
    if len(result) != 2 or min(result) <= 0:
        raise MXNetError(f"{name}: {argument} must be two positive integers, got {value!r}")
    return result


def dtype_name(a: NDArray) -> str:
    return str(a.tensor.dtype).removeprefix("torch.")


def one_dtype(name: str, arrays: Sequence[NDArray]) -> None:
    """MXNetError if arrays differ in dtype."""
    first = arrays[0].tensor.dtype
    for i, a in enumerate(arrays):
        if a.tensor.dtype != first:
            raise MXNetError(
                f"{name}: all inputs must have one dtype, got {dtype_name(arrays[0])} for input 0 and "
                f"{dtype_name(a)} for input {i}"
            )


def write_at(old: NDArray, indices: torch.Tensor, new: NDArray) -> NDArray:
    """A copy of `old` with `new` at indices (axes, n)."""
    one_dtype("writing elements", (old, new))
    return op.scatter_nd(new, NDArray(indices), op.copy(old), shape=old.shape)
