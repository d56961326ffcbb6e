"""Arithmetic of two arrays, of many arrays, and of an array and a number.

Binary functions broadcast by nnabla's rule: both inputs have the same number of axes, and lengths differ only
where one is 1; anything else is a RuntimeError. `inplace` is accepted and has no effect, as in nnabla.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from compatgrad.nnabla._declare import function, op
from compatgrad.nnabla.functions._checks import check_broadcast, check_same_shape
from compatgrad.nnabla.functions._sections import OPERANDS

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = [
    "add2",
    "add_n",
    "add_scalar",
    "atan2",
    "batch_matmul",
    "bc_add2",
    "bit_shift",
    "div2",
    "maximum2",
    "maximum_scalar",
    "minimum2",
    "minimum_scalar",
    "mod2",
    "mul2",
    "mul_n",
    "mul_scalar",
    "pow2",
    "pow_scalar",
    "r_div_scalar",
    "r_pow_scalar",
    "r_sub_scalar",
    "sub2",
]


@function("Add2", "x0, x1", primitive=True, shared=(OPERANDS,))
def add2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 + x1, element-wise.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.add2(array(np.array([[1.0, 2.0], [3.0, 4.0]])), array(np.array([[10.0, 20.0]]))).data
        array([[11., 22.],
               [13., 24.]], dtype=float32)
    """
    check_broadcast("add2", x0, x1)
    return op.add(x0, x1)


@function("BcAdd2", "x0, x1", primitive=True, shared=(OPERANDS,))
def bc_add2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 + x1; another name of `add2`, with the same rules.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.bc_add2(array(np.array([[1.0, 2.0]])), array(np.array([[10.0], [20.0]]))).data
        array([[11., 12.],
               [21., 22.]], dtype=float32)
    """
    check_broadcast("bc_add2", x0, x1)
    return op.add(x0, x1)


@function("Sub2", "x0, x1", primitive=True, shared=(OPERANDS,))
def sub2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 - x1, element-wise.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.sub2(array(np.array([5.0, 7.0])), array(np.array([1.0, 2.0]))).data
        array([4., 5.], dtype=float32)
    """
    check_broadcast("sub2", x0, x1)
    return op.sub(x0, x1)


@function("Mul2", "x0, x1", primitive=True, shared=(OPERANDS,))
def mul2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 * x1, element-wise.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.mul2(array(np.array([[1.0, 2.0]])), array(np.array([[3.0], [4.0]]))).data
        array([[3., 6.],
               [4., 8.]], dtype=float32)
    """
    check_broadcast("mul2", x0, x1)
    return op.mul(x0, x1)


@function("Div2", "x0, x1", primitive=True, shared=(OPERANDS,))
def div2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 / x1, element-wise; infinite or NaN where x1 is 0.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.div2(array(np.array([1.0, 3.0])), array(np.array([2.0, 0.0]))).data
        array([0.5, inf], dtype=float32)
    """
    check_broadcast("div2", x0, x1)
    return op.div(x0, x1)


@function("Pow2", "x0, x1", primitive=True, shared=(OPERANDS,))
def pow2(x0: Array, x1: Array, inplace: bool = False) -> Array:
    """x0 ** x1, element-wise. The gradient of x1 needs x0 > 0: it contains log(x0).

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.pow2(array(np.array([2.0, 9.0])), array(np.array([3.0, 0.5]))).data
        array([8., 3.], dtype=float32)
    """
    check_broadcast("pow2", x0, x1)
    return op.pow(x0, x1)


@function("Mod2", "x0, x1", primitive=True, dtypes="any")
def mod2(x0: Array, x1: Array, fmod: bool = False) -> Array:
    """Remainder of x0 / x1, element-wise.

    For floats, and for integers with `fmod`, it has the sign of x0, otherwise that of x1. The gradient of x0 is 1 and
    that of x1 is -trunc(x0 / x1); nnabla's backward pass raises an error.

    Args:
        x0: any shape, floating point or integer.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.
        fmod: whether the remainder of integers has the sign of `x0`.

    Returns:
        Array of the dtype of `x0` and the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.mod2(array(np.array([-7.0, 7.0])), array(np.array([3.0, 3.0]))).data
        array([-1.,  1.], dtype=float32)
        >>> F.mod2(array(np.array([-7, 7])), array(np.array([3, 3]))).data
        array([2, 1])
    """
    check_broadcast("mod2", x0, x1)
    return op.mod(x0, x1, fmod=bool(fmod))


@function("BitShift", "x, shift", primitive=True, dtypes="any")
def bit_shift(x: Array, shift: Array, direction: Literal["LEFT", "RIGHT"] = "LEFT") -> Array:
    """Moves the bits of x by `shift` places; bits that leave the integer are lost, and a shift of all bits gives 0. Not
    differentiable.

    Args:
        x: unsigned integers, any shape.
        shift: unsigned integers, as many axes as `x`, each of its length or 1.
        direction: "LEFT" multiplies by 2 for each place, "RIGHT" divides.

    Returns:
        Array of the dtype of `x` and the shape that both broadcast to.

    Raises:
        RuntimeError: the direction has another value, an input is not of unsigned integers, or the shapes do not
            broadcast.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.bit_shift(array(np.array([1, 12], np.uint8)), array(np.array([3, 1], np.uint8))).data
        array([ 8, 24], dtype=uint8)
    """
    check_broadcast("bit_shift", x, shift)
    if direction not in ("LEFT", "RIGHT"):
        raise RuntimeError(f"bit_shift: unsupported direction: {direction}; it must be LEFT or RIGHT.")
    return op.bit_shift(x, shift, direction=direction)


@function("ATan2", "x0, x1", primitive=True)
def atan2(x0: Array, x1: Array) -> Array:
    """Angle of the point (x1, x0) in [-pi, pi], element-wise.

    Args:
        x0: ordinates, any shape, computed in float32.
        x1: abscissas, as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.atan2(array(np.array([1.0, 0.0])), array(np.array([1.0, -1.0]))).data
        array([0.7853982, 3.1415927], dtype=float32)
    """
    check_broadcast("atan2", x0, x1)
    return op.arctan2(x0, x1)


@function("Maximum2", "x0, x1", primitive=True)
def maximum2(x0: Array, x1: Array) -> Array:
    """The larger of x0 and x1, element-wise; where they are equal the gradient goes to x1.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.maximum2(array(np.array([1.0, 5.0])), array(np.array([3.0, 2.0]))).data
        array([3., 5.], dtype=float32)
    """
    check_broadcast("maximum2", x0, x1)
    return op.maximum_last(x0, x1)


@function("Minimum2", "x0, x1", primitive=True)
def minimum2(x0: Array, x1: Array) -> Array:
    """The smaller of x0 and x1, element-wise; where they are equal the gradient goes to x1.

    Args:
        x0: any shape, computed in float32.
        x1: as many axes as `x0`, each of its length or 1; `x0` may have lengths 1 too.

    Returns:
        Array of the shape that both broadcast to.

    Raises:
        RuntimeError: the numbers of axes differ, or lengths differ and neither is 1.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.minimum2(array(np.array([1.0, 5.0])), array(np.array([3.0, 2.0]))).data
        array([1., 2.], dtype=float32)
    """
    check_broadcast("minimum2", x0, x1)
    return op.minimum_last(x0, x1)


@function("AddN", "*x", primitive=True)
def add_n(*x: Array) -> Array:
    """Sum of one or more tensors of one shape.

    Args:
        *x: the summands, of one shape, computed in float32.

    Returns:
        Array of that shape.

    Raises:
        AssertionError: there is no input.
        RuntimeError: shapes differ.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.add_n(array(np.array([1.0, 2.0])), array(np.array([10.0, 20.0])), array(np.array([100.0, 200.0]))).data
        array([111., 222.], dtype=float32)
    """
    _check_many("add_n", x)
    return op.add_active(list(x), active=_active(x))


@function("MulN", "*x", primitive=True)
def mul_n(*x: Array) -> Array:
    """Product of one or more tensors of one shape.

    The gradient is correct where factors are 0, unlike nnabla's, which divides the product by the factor.

    Args:
        *x: the factors, of one shape, computed in float32.

    Returns:
        Array of that shape.

    Raises:
        AssertionError: there is no input.
        RuntimeError: shapes differ.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> F.mul_n(array(np.array([1.0, 2.0])), array(np.array([3.0, 4.0])), array(np.array([5.0, 6.0]))).data
        array([15., 48.], dtype=float32)
    """
    _check_many("mul_n", x)
    return op.mul_active(list(x), active=_active(x))


def _active(xs: Any) -> torch.Tensor:
    """A tensor of flags that say which inputs take part: all, until `Function.set_active_input_mask` changes it."""
    return torch.ones(len(xs), dtype=torch.int64)


def _check_many(name: str, xs: Any) -> None:
    if not xs:
        raise RuntimeError(f"{name}: at least one input should be given.")
    for x in xs[1:]:
        check_same_shape(name, xs[0], x)


@function("AddScalar", "x", primitive=True)
def add_scalar(x: Array, val: float = 1, inplace: bool = False) -> Array:
    """x + val, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the summand.
        inplace: accepted, without effect, as in nnabla.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.add_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0])), 0.5).data
        array([1.5, 2.5], dtype=float32)
    """
    return op.add_scalar(x, value=float(val))


@function("MulScalar", "x", primitive=True)
def mul_scalar(x: Array, val: float = 1, inplace: bool = False) -> Array:
    """x * val, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the factor.
        inplace: accepted, without effect, as in nnabla.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.mul_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 2.0])), 0.5).data
        array([0.5, 1. ], dtype=float32)
    """
    return op.mul_scalar(x, value=float(val))


@function("PowScalar", "x", primitive=True)
def pow_scalar(x: Array, val: float = 1, inplace: bool = False) -> Array:
    """x ** val, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the exponent; results are NaN where x < 0 and it is no integer.
        inplace: accepted, without effect, as in nnabla.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.pow_scalar(nn.NdArray.from_numpy_array(np.array([1.0, 4.0, -1.0])), 0.5).data
        array([ 1.,  2., nan], dtype=float32)
    """
    return op.pow_scalar(x, exponent=float(val))


@function("RSubScalar", "x", primitive=True)
def r_sub_scalar(x: Array, val: float = 1) -> Array:
    """val - x, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the minuend.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.r_sub_scalar(nn.NdArray.from_numpy_array(np.array([0.25, 0.75])), 1).data
        array([0.75, 0.25], dtype=float32)
    """
    return op.rsub_scalar(x, value=float(val))


@function("RDivScalar", "x", primitive=True)
def r_div_scalar(x: Array, val: float = 1) -> Array:
    """val / x, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the dividend.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.r_div_scalar(nn.NdArray.from_numpy_array(np.array([2.0, 4.0])), 1).data
        array([0.5 , 0.25], dtype=float32)
    """
    return op.rdiv_scalar(x, value=float(val))


@function("RPowScalar", "x", primitive=True)
def r_pow_scalar(x: Array, val: float = 1) -> Array:
    """val ** x, element-wise.

    Args:
        x: any shape, computed in float32.
        val: the base; it should be positive, as the gradient contains its logarithm.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.r_pow_scalar(nn.NdArray.from_numpy_array(np.array([3.0, -1.0])), 2).data
        array([8. , 0.5], dtype=float32)
    """
    return op.rpow_scalar(x, base=float(val))


@function("MaximumScalar", "x", primitive=True)
def maximum_scalar(x: Array, val: float = 1.0) -> Array:
    """max(x, val), element-wise; no gradient passes where the result is val.

    Args:
        x: any shape, computed in float32.
        val: the lower bound.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.maximum_scalar(nn.NdArray.from_numpy_array(np.array([-1.0, 2.0])), 0).data
        array([0., 2.], dtype=float32)
    """
    return op.maximum_scalar(x, value=float(val))


@function("MinimumScalar", "x", primitive=True)
def minimum_scalar(x: Array, val: float = 1.0) -> Array:
    """min(x, val), element-wise; no gradient passes where the result is val.

    Args:
        x: any shape, computed in float32.
        val: the upper bound.

    Returns:
        Array of the shape of `x`.

    Example:
        >>> F.minimum_scalar(nn.NdArray.from_numpy_array(np.array([-1.0, 2.0])), 0).data
        array([-1.,  0.], dtype=float32)
    """
    return op.minimum_scalar(x, value=float(val))


@function("BatchMatmul", "a, b", primitive=True)
def batch_matmul(a: Array, b: Array, transpose_a: bool = False, transpose_b: bool = False) -> Array:
    """Matrix products of a and b, whose last two axes are those of the matrices.

    Args:
        a: (..., P, Q), of three or more axes; (..., Q, P) with `transpose_a`.
        b: (..., Q, R), of as many axes as `a`; (..., R, Q) with `transpose_b`. The leading lengths are `a`'s or 1.
        transpose_a: whether the matrices of `a` are transposed first.
        transpose_b: whether the matrices of `b` are transposed first.

    Returns:
        Array of shape (..., P, R).

    Raises:
        RuntimeError: shapes do not fit, or there are fewer than three axes.

    Example:
        >>> array = nn.NdArray.from_numpy_array
        >>> a, b = array(np.arange(4.0).reshape(1, 2, 2)), array(np.ones((1, 2, 1)))
        >>> F.batch_matmul(a, b).data
        array([[[1.],
                [5.]]], dtype=float32)
    """
    for i, x in enumerate((a, b)):
        if x.ndim < 3:
            raise RuntimeError(f"batch_matmul: input must be >=3 dimensions. (Given {x.ndim} at input {i})")
    inner = a.shape[-2 if transpose_a else -1], b.shape[-1 if transpose_b else -2]
    if inner[0] != inner[1]:
        raise RuntimeError(
            f"batch_matmul: reduction sizes mismatch ({inner[0]} != {inner[1]}) "
            f"in inputs of shape {tuple(a.shape)} and {tuple(b.shape)}."
        )
    if a.ndim != b.ndim:
        raise RuntimeError(f"batch_matmul: ndim of inputs[0] ({a.ndim}) must be ndim of inputs[1] ({b.ndim}).")
    for i, (m, n) in enumerate(zip(a.shape[:-2], b.shape[:-2], strict=True)):
        if m != n and 1 not in (m, n):
            raise RuntimeError(
                f"batch_matmul: shape[{i}] of inputs[0] ({m}) and of inputs[1] ({n}) must be equal or 1."
            )
    return op.matmul(a, b, transa=bool(transpose_a), transb=bool(transpose_b))
