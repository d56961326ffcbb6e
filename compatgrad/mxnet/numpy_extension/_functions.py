"""The functions of `mx.npx`: MXNet's operators, partly renamed, on arrays of `mx.np`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch

from compatgrad import _C

from .._docs import sharing
from ..base import MXNetError
from ..ndarray import contrib
from ..ndarray._declaration import Declaration, describe
from ..ndarray._operator import op, operators
from ..ndarray.ndarray import NDArray
from ..numpy import ndarray
from ..numpy._array import constant, finish, promoted
from ..numpy._docs import documented

__all__ = [
    "broadcast_like",
    "constraint_check",
    "gather_nd",
    "index_add",
    "index_update",
    "masked_log_softmax",
    "masked_softmax",
    "nonzero",
    "reshape",
    "shape_array",
]

_NAMES = {  # name here -> name of the operator
    "activation": "Activation", "arange_like": "arange_like", "batch_dot": "batch_dot", "batch_flatten": "flatten",
    "batch_norm": "BatchNorm", "cast": "cast", "convolution": "Convolution", "ctc_loss": "CTCLoss",
    "deconvolution": "Deconvolution", "dropout": "Dropout", "embedding": "Embedding", "erf": "erf", "erfinv": "erfinv",
    "fully_connected": "FullyConnected", "gamma": "gamma", "gammaln": "gammaln", "group_norm": "GroupNorm",
    "instance_norm": "InstanceNorm", "layer_norm": "LayerNorm", "leaky_relu": "LeakyReLU",
    "log_softmax": "log_softmax", "multibox_detection": "MultiBoxDetection", "multibox_prior": "MultiBoxPrior",
    "multibox_target": "MultiBoxTarget", "one_hot": "one_hot", "pick": "pick", "pooling": "Pooling", "relu": "relu",
    "reshape_like": "reshape_like", "rnn": "RNN", "roi_pooling": "ROIPooling", "sequence_mask": "SequenceMask",
    "sigmoid": "sigmoid", "slice": "slice", "smooth_l1": "smooth_l1", "softmax": "softmax",
    "stop_gradient": "stop_gradient", "topk": "topk", "digamma": "digamma", "softmin": "softmin",
}  # fmt: skip


# name here -> name of the operator in a graph
GRAPH_NAMES = {
    **{name: operator for name, operator in _NAMES.items() if name not in ("arange_like", "multibox_detection",
       "multibox_prior", "multibox_target")},
    "arange_like": "_contrib_arange_like", "multibox_detection": "_contrib_MultiBoxDetection",
    "multibox_prior": "_contrib_MultiBoxPrior", "multibox_target": "_contrib_MultiBoxTarget",
    "broadcast_like": "broadcast_like", "gather_nd": "gather_nd", "reshape": "_npx_reshape",
    "constraint_check": "_npx_constraint_check", "nonzero": "_npx_nonzero", "shape_array": "shape_array",
}  # fmt: skip


def _np(y: Any) -> Any:
    if isinstance(y, (list, tuple)):
        return type(y)(_np(v) for v in y)
    return ndarray._around(y) if isinstance(y, NDArray) else y


def around(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Wraps an operator, so that its results are arrays of `mx.np`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        out = kwargs.get("out")
        y = function(*args, **kwargs)
        return y if out is not None else _np(y)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = function.__doc__
    call.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    return call


def late_names() -> list[str]:
    """The names of the functions that are made when a program first asks for them."""
    return list(_NAMES)


def wrapped(name: str) -> Callable[..., Any] | None:
    """The function of `mx.npx` with a name, made from an operator; None if there is no such operator."""
    wanted = _NAMES.get(name)
    if wanted is None:
        return None
    function = operators.get(wanted) or operators.get(f"_contrib_{wanted}")
    if function is None:
        function = getattr(contrib, wanted, None)
    return None if function is None else around(function, name)


def _array(who: str, x: Any, name: str = "data") -> ndarray:
    if not isinstance(x, NDArray):
        raise AssertionError(f"{who}: argument {name} must have NDArray type, but got {type(x).__name__}")
    return ndarray._around(x)


@documented
def reshape(a: ndarray, newshape: int | Sequence[int], reverse: bool = False, order: str = "C") -> ndarray:
    """The same elements in another shape, in MXNet's notation.

    Args:
        newshape: lengths and codes. -1: inferred; -2: keeps an axis; -3: removes an axis of length 1; -4: keeps all
            remaining axes; -5: merges two axes; -6: splits an axis into the next two lengths, one of which may be -1.
        reverse: reads shape and codes from the right.

    Raises:
        AssertionError: `a` is no array.
        NotImplementedError: `order` is not "C".
        mxnet.base.MXNetError: a code does not fit the shape, or the number of elements differs.

    Example:
        >>> mx.npx.reshape(mx.np.ones((2, 3, 4)), (-2, -5)).shape
        (2, 12)
        >>> mx.npx.reshape(mx.np.ones((2, 6)), (-2, -6, 3, -1)).shape
        (2, 3, 2)
    """
    x = _array("reshape", a, "a")
    if order != "C":
        raise NotImplementedError(f"reshape: order must be 'C', got {order!r}")
    codes = [int(n) for n in (newshape if isinstance(newshape, (tuple, list)) else (newshape,))]
    if reverse:
        return _C.own(op.reshape(x, shape=tuple(_decoded(x.shape[::-1], _reversed(codes))[::-1])), x)
    return _C.own(op.reshape(x, shape=tuple(_decoded(x.shape, codes))), x)


def _reversed(codes: list[int]) -> list[int]:
    """The codes in reverse order; the two lengths of a split follow their code, exchanged."""
    groups, i = [], 0
    while i < len(codes):
        if codes[i] == -6:
            groups.append([-6, *codes[i + 1 : i + 3][::-1]])
            i += 3
        else:
            groups.append([codes[i]])
            i += 1
    return [c for g in reversed(groups) for c in g]


def _decoded(shape: tuple[int, ...], codes: list[int]) -> list[int]:
    def need(n: int, code: int) -> None:
        if at + n > len(shape):
            raise MXNetError(
                f"reshape: code {code} needs {n} more axes of shape {tuple(shape)}, {len(shape) - at} are left"
            )

    result: list[int] = []
    at = i = 0
    while i < len(codes):
        code = codes[i]
        if code >= -1:
            result.append(code)
            at += 1
        elif code == -2:
            need(1, code)
            result.append(shape[at])
            at += 1
        elif code == -3:
            need(1, code)
            if shape[at] != 1:
                raise MXNetError(f"reshape: code -3 leaves axis {at} out, whose length is {shape[at]} and not 1")
            at += 1
        elif code == -4:
            result += shape[at:]
            at = len(shape)
        elif code == -5:
            need(2, code)
            result.append(shape[at] * shape[at + 1])
            at += 2
        elif code == -6:
            need(1, code)
            if i + 2 >= len(codes):
                raise MXNetError("reshape: code -6 needs two lengths behind it")
            first, second = codes[i + 1 : i + 3]
            if -1 in (first, second):
                known = second if first == -1 else first
                first, second = (shape[at] // known if n == -1 else n for n in (first, second))
            if first * second != shape[at]:
                raise MXNetError(
                    f"reshape: code -6 cannot split an axis of length {shape[at]} into {first} and {second}"
                )
            result += [first, second]
            at += 1
            i += 2
        else:
            raise MXNetError(f"reshape: {code} is no length and no code")
        i += 1
    total = 1
    for n in shape:
        total *= n
    known = 1
    for n in result:
        known *= 1 if n == -1 else n
    if result.count(-1) > 1 or (known and total % known) or (-1 not in result and known != total):
        raise MXNetError(f"reshape: cannot reshape an array of shape {tuple(shape)} into {tuple(result)}")
    return [total // known if n == -1 and known else n for n in result]


@documented
def shape_array(
    data: ndarray | None = None, out: ndarray | None = None, name: str | None = None, **kwargs: Any
) -> ndarray:
    """The lengths of all axes, as an array.

    Args:
        **kwargs: attributes of graphs, which change nothing here.

    Returns:
        ndarray, int64, without a gradient.

    Example:
        >>> mx.npx.shape_array(mx.np.ones((2, 3)))
        array([2, 3], dtype=int64)
    """
    return finish(constant(torch.tensor(_array("shape_array", data).shape, dtype=torch.int64)), out)


@documented
def nonzero(a: ndarray) -> ndarray:
    """The positions of elements that differ from 0, one row for each; an array without axes counts as a vector.

    Returns:
        ndarray, int64, of shape (positions, axes), without a gradient.

    Example:
        >>> mx.npx.nonzero(mx.np.array([[0, 1], [2, 0]]))
        array([[0, 1],
               [1, 0]], dtype=int64)
    """
    t = _array("nonzero", a, "a").tensor
    return constant((t if t.dim() else t.reshape(1)).nonzero())


@documented
def constraint_check(x: ndarray, msg: str) -> ndarray:
    """Checks that all elements of an array are true.

    Args:
        x: ndarray of booleans.
        msg: the words of the error.

    Returns:
        ndarray, True, without axes.

    Raises:
        AssertionError: `x` is no array.
        ValueError: an element is false.

    Example:
        >>> x = mx.np.array([1.0, 2.0])
        >>> mx.npx.constraint_check(x > 0, "x must be positive")
        array(True)
    """
    t = _array("constraint_check", x, "x").tensor
    if not bool(t.all()):
        raise ValueError(msg)
    return constant(torch.ones((), dtype=torch.bool, device=t.device))


@documented
def gather_nd(
    data: ndarray | None = None,
    indices: ndarray | None = None,
    out: ndarray | None = None,
    name: str | None = None,
    **kwargs: Any,
) -> ndarray:
    """The elements, or slices, at positions that the columns of an array give.

    Args:
        indices: ndarray of integers, with a row for each of the first axes of `data`.
        **kwargs: attributes of graphs, which change nothing here.

    Returns:
        ndarray of the dtype of `data`, of shape (*indices.shape[1:], *data.shape[len(indices):]).

    Raises:
        AssertionError: `data` or `indices` is no array.
        mxnet.base.MXNetError: `indices` has too many rows, or is out of bounds.

    Example:
        >>> x = mx.np.array([[1, 2], [3, 4]])
        >>> mx.npx.gather_nd(x, mx.np.array([[0, 1], [1, 0]]))
        array([2., 3.])
    """
    x = _array("gather_nd", data)
    _array("gather_nd", indices, "indices")
    at = tuple(i for i in indices.tensor.detach().to(torch.int64))
    if len(at) > x.ndim:
        raise MXNetError(f"gather_nd: indices have {len(at)} rows, data has {x.ndim} axes")
    for axis, i in enumerate(at):
        n = x.shape[axis]
        if i.numel() and (int(i.min()) < -n or int(i.max()) >= n):
            raise MXNetError(f"gather_nd: indices are out of bounds for axis {axis} of length {n}")
    return finish(op.get_item(x, index=at), out)


@documented
def broadcast_like(
    lhs: ndarray, rhs: ndarray, lhs_axes: Sequence[int] | None = None, rhs_axes: Sequence[int] | None = None
) -> ndarray:
    """An array repeated until it has the shape of another one, or the lengths of some of its axes.

    Args:
        lhs: ndarray of any shape and dtype.
        rhs: ndarray, whose lengths are taken.
        lhs_axes: the axes that are stretched; None is all.
        rhs_axes: the axes of `rhs` whose lengths they get.

    Raises:
        AssertionError: an argument is no array.
        mxnet.base.MXNetError: `lhs` does not broadcast, an axis is out of bounds, or one of both sequences is missing.

    Example:
        >>> mx.npx.broadcast_like(mx.np.array([1, 2]), mx.np.ones((2, 2)))
        array([[1., 2.],
               [1., 2.]])
    """
    x, like = _array("broadcast_like", lhs, "lhs"), _array("broadcast_like", rhs, "rhs").shape
    if (lhs_axes is None) != (rhs_axes is None):
        raise MXNetError("broadcast_like: lhs_axes and rhs_axes must be given together")
    try:
        if lhs_axes is None:
            shape = like
        else:
            lengths = list(x.shape)
            for i, j in zip(lhs_axes, rhs_axes, strict=True):
                lengths[i] = like[j]
            shape = tuple(lengths)
        return _C.own(op.broadcast_to(x, shape=tuple(shape)), x)
    except (IndexError, ValueError, RuntimeError):
        axes = "" if lhs_axes is None else f", axes {lhs_axes} and {rhs_axes}"
        raise MXNetError(f"broadcast_like: shape {x.shape} does not broadcast like {like}{axes}") from None


def _masked(who: str, body: Any, data: Any, mask: Any, axis: int, temperature: float | None, fill: float) -> Any:
    x = _array(who, data)
    if temperature not in (None, 1.0, 1):
        x = x / temperature
    if not -x.ndim <= axis < x.ndim:
        raise MXNetError(f"{who}: axis {axis} is out of bounds for an array of {x.ndim} dimensions")
    if mask is None:
        return body(x, axis=axis)
    where = _array(who, mask, "mask").tensor.bool()
    if where.dim() > x.ndim or any(m not in (1, n) for m, n in zip(where.shape[::-1], x.shape[::-1], strict=False)):
        raise MXNetError(f"{who}: a mask of shape {mask.shape} does not broadcast to data of shape {x.shape}")
    wide = constant(torch.broadcast_to(where, x.shape))
    low = constant(torch.full_like(x.tensor.detach(), -1e30 if x.tensor.dtype != torch.float16 else -6e4))
    return op.where(wide, body(op.where(wide, x, low), axis=axis), constant(torch.full_like(low.tensor, fill)))


_MASKED = """
    Args:
        data: floating-point ndarray of any shape.
        mask: ndarray that broadcasts to `data`; elements count where it differs from 0. None is everywhere.
        temperature: `data` is divided by it before; None is 1.
        normalize: without effect.

    Raises:
        AssertionError: `data` or `mask` is no array.
        mxnet.base.MXNetError: the axis is out of bounds, or `mask` does not broadcast.
    """


@documented
@sharing(_MASKED)
def masked_softmax(
    data: ndarray, mask: ndarray | None = None, axis: int = -1, temperature: float | None = 1.0, normalize: bool = True
) -> ndarray:
    """Softmax along an axis over the elements that a mask names; 0 at the other ones.

    Example:
        >>> mx.npx.masked_softmax(mx.np.array([1, 1, 5]), mx.np.array([1, 1, 0]))
        array([0.5, 0.5, 0. ])
    """
    return _masked("masked_softmax", op.softmax, data, mask, axis, temperature, 0.0)


@documented
@sharing(_MASKED)
def masked_log_softmax(
    data: ndarray, mask: ndarray | None = None, axis: int = -1, temperature: float | None = 1.0, normalize: bool = True
) -> ndarray:
    """The logarithm of softmax along an axis over the elements that a mask names; -inf at the other ones.

    Example:
        >>> mx.npx.masked_log_softmax(mx.np.array([1, 1, 5]), mx.np.array([1, 1, 0]))
        array([-0.6931472, -0.6931472,       -inf])
    """
    return _masked("masked_log_softmax", op.log_softmax, data, mask, axis, temperature, -float("inf"))


def _indexed(who: str, a: Any, ind: Any, val: Any) -> tuple[Any, tuple[torch.Tensor, ...], Any]:
    x, v = promoted(who, _array(who, a, "a"), val)
    at = tuple(i for i in torch.atleast_2d(_array(who, ind, "ind").tensor.detach().to(torch.int64)))
    if len(at) > x.ndim:
        raise MXNetError(f"{who}: ind has {len(at)} rows, a has {x.ndim} axes")
    for axis, i in enumerate(at):
        if i.numel() and (int(i.min()) < -x.shape[axis] or int(i.max()) >= x.shape[axis]):
            raise MXNetError(f"{who}: ind is out of bounds for axis {axis} of length {x.shape[axis]}")
    return x, at, v if isinstance(v, NDArray) else constant(x.tensor.new_tensor(v))


_INDEXED = """
    Args:
        ind: ndarray of integers, with a row for each of the first axes of `a`.
        val: ndarray that broadcasts to what is at the positions, or a number.

    Returns:
        ndarray of the wider dtype of `a` and `val`.

    Raises:
        AssertionError: `a` or `ind` is no array.
        mxnet.base.MXNetError: `ind` has too many rows, or is out of bounds, or `val` does not broadcast.
    """


@documented
@sharing(_INDEXED)
def index_add(a: ndarray, ind: ndarray, val: ndarray | float) -> ndarray:
    """An array with numbers added at positions that the columns of an array give; several at one position add up.

    Example:
        >>> mx.npx.index_add(mx.np.zeros((2, 2)), mx.np.array([[0, 0], [1, 1]]), 3)
        array([[0., 6.],
               [0., 0.]])
    """
    x, at, v = _indexed("index_add", a, ind, val)
    shape = x.tensor[at].shape
    try:
        v = op.broadcast_to(v, shape=tuple(shape))
    except (ValueError, RuntimeError):
        raise MXNetError(f"index_add: val of shape {v.shape} does not broadcast to {tuple(shape)}") from None
    flat = torch.arange(x.size, device=x.tensor.device).reshape(x.shape)[at].reshape(-1)
    added = op.scatter_add_along(op.reshape(x, shape=(-1,)), constant(flat), op.reshape(v, shape=(-1,)), axis=0)
    return op.reshape(added, shape=x.shape)


@documented
@sharing(_INDEXED)
def index_update(a: ndarray, ind: ndarray, val: ndarray | float) -> ndarray:
    """An array with other numbers at positions that the columns of an index array give.

    Example:
        >>> mx.npx.index_update(mx.np.zeros((2, 2)), mx.np.array([[0, 1], [1, 1]]), 3)
        array([[0., 3.],
               [0., 3.]])
    """
    x, at, v = _indexed("index_update", a, ind, val)
    mask = torch.ones_like(x.tensor.detach())
    mask[at] = 0
    return index_add(op.mul(x, constant(mask)), ind, v)


for _name, _operator in _NAMES.items():  # graphs have these operators as `_npx_NAME`
    _found = operators.get(_operator) or operators.get(f"_contrib_{_operator}")
    if _found is not None:
        operators.setdefault(f"_npx_{_name}", _found)
operators.setdefault("_npx_nonzero", nonzero)


def _checked(input: Any, msg: str = "Constraint violated.", out: Any = None, name: Any = None) -> Any:
    return constraint_check(input, msg)


describe(_checked, Declaration("input"))
operators.setdefault("_npx_constraint_check", _checked)
