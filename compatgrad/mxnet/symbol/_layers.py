"""Which operators of a graph are layers that programs for inference compute, and their parameters as numbers."""

from __future__ import annotations

from collections.abc import Sequence

from compatgrad import _C

from ..ndarray._operator import parse
from ._facts import flag
from ._graph import Node

__all__ = ["activation", "axis", "is_convolution", "is_norm", "is_transposed", "moves", "place"]


def is_convolution(node: Node) -> bool:
    """Whether a layer of `fixed_layers` computes the convolution: over two axes, with channels before them, and without
    windows that lie in the padding alone.
    """
    if node.op != "Convolution" or node.params.get("layout", "None") not in ("NCHW", "None"):
        return False
    kernel, pad, dilate = (parse(node.params.get(k, "None")) for k in ("kernel", "pad", "dilate"))
    return len(kernel) == 2 and not _C.holds_window(kernel, pad or (0, 0), dilate or (1, 1))


def is_transposed(node: Node) -> bool:
    """Whether the operator is a transposed convolution over two axes whose result ends with the last window."""
    p = {k: parse(v) for k, v in node.params.items()} if node.op == "Deconvolution" else {}
    return (
        len(p.get("kernel", ())) == 2
        and p.get("layout") in (None, "NCHW")
        and not any((*(p.get("adj") or ()), *(p.get("target_shape") or ())))
        and {*(p.get("dilate") or (1,)), p.get("num_group", 1)} == {1}
    )


def moves(node: Node) -> tuple[list[int], list[int]]:
    """The strides and the padding of a convolution over two axes."""
    p = {k: parse(v) for k, v in node.params.items()}
    return list(p.get("stride") or (1, 1)), list(p.get("pad") or (0, 0))


def place(node: Node) -> tuple[Sequence[int], Sequence[int], Sequence[int], int]:
    """Strides, padding and dilation of a convolution over two axes, and its groups."""
    p = {k: parse(v) for k, v in node.params.items()}
    return p.get("stride") or (1, 1), p.get("pad") or (0, 0), p.get("dilate") or (1, 1), p.get("num_group", 1)


def is_norm(node: Node) -> bool:
    return node.op == "BatchNorm" and not flag(node.params, "output_mean_var")


def axis(node: Node) -> int:
    return int(parse(node.params.get("axis", "1")))


def activation(node: Node) -> tuple[str, tuple[float, ...]] | None:
    """(name, numbers) of an activation that a layer can include."""
    p = node.params
    if node.op == "relu" or (node.op == "Activation" and p.get("act_type") == "relu"):
        return "relu", ()
    if node.op == "clip":
        return "hardtanh", (float(p["a_min"]), float(p["a_max"]))
    if node.op == "LeakyReLU" and p.get("act_type", "leaky") == "leaky":
        return "leaky_relu", (float(p.get("slope", 0.25)),)
    return None
