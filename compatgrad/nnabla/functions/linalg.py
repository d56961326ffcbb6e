"""Batches of matrices, and Einstein's summation."""

from __future__ import annotations

import string
from typing import Any

from compatgrad.nnabla._declare import function, op

__all__ = ["batch_cholesky", "batch_det", "batch_inv", "batch_logdet", "einsum"]


def _check_square(name: str, x: Any) -> None:
    if x.ndim != 3 or x.shape[1] != x.shape[2]:
        raise RuntimeError(
            f"{name}: input must be a batch of square matrices (B, N, N), not the shape {tuple(x.shape)}."
        )


@function("BatchDet", "x", primitive=True)
def batch_det(x: Any) -> Any:
    """The determinants of x, (B, N, N): (B,). RuntimeError for other shapes."""
    _check_square("batch_det", x)
    return op.det(x)


@function("BatchInv", "x", primitive=True)
def batch_inv(x: Any) -> Any:
    """The inverses of x, (B, N, N); not finite where there is none. RuntimeError for other shapes."""
    _check_square("batch_inv", x)
    return op.inverse(x)


@function("BatchLogdet", "x", primitive=True)
def batch_logdet(x: Any) -> Any:
    """log|det| of x, (B, N, N): (B,). RuntimeError for other shapes."""
    _check_square("batch_logdet", x)
    return op.log_abs_det(x)


@function("BatchCholesky", "x", primitive=True)
def batch_cholesky(x: Any, upper: bool = False) -> Any:
    """Lower (or upper) triangular factors of positive definite x, (B, N, N). RuntimeError for other shapes."""
    _check_square("batch_cholesky", x)
    return op.cholesky(x, upper=bool(upper))


def explicit_equation(equation: str, ndims: list[int]) -> str:
    """The equation with letters only: ellipses spelled out, the output written down. RuntimeError where it is wrong."""
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
    if not arrow:  # what appears once, in order, after the ellipsis
        letters = "".join(terms)
        right = spelled + "".join(sorted(c for c in set(letters) - set(spelled) if letters.count(c) == 1))
    right = right.replace("...", spelled)
    if len(set(right)) != len(right) or not set(right) <= set("".join(terms)):
        raise RuntimeError(
            f"einsum: the output of the equation '{equation}' must name letters of the inputs, once each."
        )
    return ",".join(terms) + "->" + right


@function("Einsum", "*x", primitive=True)
def einsum(*x: Any, equation: str = "") -> Any:
    """Einstein's summation: products of the inputs, summed over the letters that the output does not name.

    equation: such as "ij,jk->ik", with "..." for further axes, which broadcast; without "->" the output has the
    letters that appear once. RuntimeError where it does not fit the inputs.
    """
    return op.einsum(list(x), equation=explicit_equation(equation, [a.ndim for a in x]))
