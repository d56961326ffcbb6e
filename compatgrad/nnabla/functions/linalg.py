"""Batches of matrices, and Einstein's summation."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from compatgrad.nnabla._declare import function, op

if TYPE_CHECKING:
    from compatgrad.nnabla._typing import Array

__all__ = ["batch_cholesky", "batch_det", "batch_inv", "batch_logdet", "einsum"]

# The shared sections of the docstrings of functions of one batch of matrices.
_SHARED = """
Args:
    x: square matrices (batch, n, n), computed in float32.

Raises:
    RuntimeError: `x` has another shape.
"""


def _check_square(name: str, x: Any) -> None:
    if x.ndim != 3 or x.shape[1] != x.shape[2]:
        raise RuntimeError(
            f"{name}: input must be a batch of square matrices (B, N, N), not the shape {tuple(x.shape)}."
        )


@function("BatchDet", "x", primitive=True, shared=(_SHARED,))
def batch_det(x: Array) -> Array:
    """The determinants of a batch of matrices.

    Returns:
        Array (batch,).

    Example:
        >>> F.batch_det(nn.NdArray.from_numpy_array(np.array([[[2.0, 1.0], [1.0, 3.0]]]))).data
        array([5.], dtype=float32)
    """
    _check_square("batch_det", x)
    return op.det(x)


@function("BatchInv", "x", primitive=True, shared=(_SHARED,))
def batch_inv(x: Array) -> Array:
    """The inverses of a batch of matrices.

    Returns:
        Array (batch, n, n), not finite where a matrix has no inverse.

    Example:
        >>> F.batch_inv(nn.NdArray.from_numpy_array(np.array([[[2.0, 0.0], [0.0, 4.0]]]))).data
        array([[[0.5 , 0.  ],
                [0.  , 0.25]]], dtype=float32)
    """
    _check_square("batch_inv", x)
    return op.inverse(x)


@function("BatchLogdet", "x", primitive=True, shared=(_SHARED,))
def batch_logdet(x: Array) -> Array:
    """The logarithms of the absolute determinants of a batch of matrices.

    Returns:
        Array (batch,).

    Example:
        >>> F.batch_logdet(nn.NdArray.from_numpy_array(np.array([[[0.0, 1.0], [-1.0, 0.0]]]))).data
        array([0.], dtype=float32)
    """
    _check_square("batch_logdet", x)
    return op.log_abs_det(x)


@function("BatchCholesky", "x", primitive=True, shared=(_SHARED,))
def batch_cholesky(x: Array, upper: bool = False) -> Array:
    """The triangular factors l of a batch of positive definite matrices, which are l l^T, or u^T u for `upper`.

    Args:
        upper: whether to return the upper triangular factors instead of the lower ones.

    Returns:
        Array (batch, n, n).

    Example:
        >>> F.batch_cholesky(nn.NdArray.from_numpy_array(np.array([[[4.0, 2.0], [2.0, 10.0]]]))).data
        array([[[2., 0.],
                [1., 3.]]], dtype=float32)
    """
    _check_square("batch_cholesky", x)
    return op.cholesky(x, upper=bool(upper))


def _explicit_equation(equation: str, ndims: list[int]) -> str:
    """The equation with letters only: ellipses are replaced by letters, and the output is made explicit. Raises
    RuntimeError for an invalid equation."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(ndims):
        raise RuntimeError(f"einsum: the equation needs one term for each input: '{equation}' for {len(ndims)} inputs.")
    used = set(left + right)
    free = [c for c in string.ascii_letters if c not in used]
    counts = [n - len(t.replace("...", "")) for t, n in zip(terms, ndims, strict=True)]
    wrong = [i for i, (t, c) in enumerate(zip(terms, counts, strict=True)) if c < 0 or (c and "..." not in t)]
    if wrong or not used <= set(string.ascii_letters + ",."):
        raise RuntimeError(f"einsum: the equation '{equation}' does not fit inputs of {ndims} dimensions.")
    most = max((c for t, c in zip(terms, counts, strict=True) if "..." in t), default=0)
    spelled = "".join(free[:most])
    terms = [t.replace("...", spelled[most - c :]) for t, c in zip(terms, counts, strict=True)]
    if not arrow:  # after the ellipsis, the letters that occur once, in alphabetical order
        letters = "".join(terms)
        right = spelled + "".join(sorted(c for c in set(letters) - set(spelled) if letters.count(c) == 1))
    right = right.replace("...", spelled)
    if len(set(right)) != len(right) or not set(right) <= set("".join(terms)):
        raise RuntimeError(
            f"einsum: the output of the equation '{equation}' must name letters of the inputs, once each."
        )
    return ",".join(terms) + "->" + right


@function("Einsum", "*x", primitive=True)
def einsum(*x: Array, equation: str = "") -> Array:
    """Einstein's summation: products of the inputs, summed over the letters that the output does not name.

    Args:
        *x: any shapes, computed in float32.
        equation: the axes of the inputs and of the output as letters, such as "ij,jk->ik". "..." stands for any number
            of further axes, which broadcast. Without "->" the output has the letters that appear once, in the order of
            the alphabet.

    Returns:
        Array with the axes of the output.

    Raises:
        AssertionError: there is no input.
        RuntimeError: the equation does not fit the inputs.

    Example:
        >>> x = nn.NdArray.from_numpy_array(np.arange(6.0).reshape(2, 3))
        >>> F.einsum(x, x, equation="ij,kj->ik").data
        array([[ 5., 14.],
               [14., 50.]], dtype=float32)
    """
    return op.einsum(list(x), equation=_explicit_equation(equation, [a.ndim for a in x]))
