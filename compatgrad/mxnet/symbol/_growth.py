"""Which values of a graph may be NaN or infinite although inputs and parameters are finite and of moderate size.

oneDNN's relu and clip return a number where their input is NaN. So they are computed together with a layer only if the
layer's inputs are finite for certain.
"""

from __future__ import annotations

import math
from collections.abc import Container, Sequence

import torch

from ..ndarray._operator import parse
from ._graph import Node

__all__ = ["LARGE_SQUARES", "moderate", "unsafe"]

LARGE_SQUARES = 1e24  # an array whose sum of squares is larger is not moderate, and the plan is not used
_HIGHEST = 2  # results that grow faster than this power of the inputs may overflow
_LARGE_FACTOR = 1e10  # a multiplication by a larger number may overflow; masks often multiply by -1e9
_PRODUCTS = frozenset("""
    Convolution Deconvolution FullyConnected BatchNorm dot batch_dot elemwise_mul broadcast_mul
    _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt
""".split())  # fmt: skip
_BOUNDED = frozenset("""
    sigmoid hard_sigmoid tanh softsign erf clip softmax SoftmaxActivation SoftmaxOutput LayerNorm InstanceNorm GroupNorm
""".split())  # fmt: skip
_QUOTIENTS = ("elemwise_div", "broadcast_div")
_UNDEFINED = frozenset("""
    log sqrt rsqrt exp broadcast_power _power_scalar _rdiv_scalar elemwise_div broadcast_div L2Normalization LRN
    SequenceMask
""".split())  # fmt: skip


def moderate(t: torch.Tensor) -> bool:
    """Whether all numbers are finite, and none is so large that sums of its products with others may overflow: infinite
    terms of both signs add up to NaN."""
    flat = t.reshape(-1)
    return float(torch.dot(flat, flat)) < LARGE_SQUARES


def unsafe(nodes: Sequence[Node], fixed: Container[int]) -> set[int]:
    """The ids of nodes, in the order of the graph, whose results may be NaN or infinite.

    fixed: ids of the nodes whose values are known, and moderate.
    """
    degrees: dict[int, float] = {}
    for node in nodes:
        sources = [degrees[id(n)] for n, _ in node.inputs]
        degree = 0 if id(node) in fixed else _degree(node, sources, fixed)
        degrees[id(node)] = degree if degree <= _HIGHEST else math.inf
    return {i for i, degree in degrees.items() if degree > _HIGHEST}


def _degree(node: Node, sources: list[float], fixed: Container[int]) -> float:
    """The degree in the inputs of the polynomial that bounds a result; infinite where there is none."""
    if node.op is None:
        return 1
    highest = max(sources, default=0)
    if math.isinf(highest):
        return highest
    if node.op in _QUOTIENTS and id(node.inputs[1][0]) in fixed:
        return highest
    if node.op in _UNDEFINED or _is_large_factor(node):
        return math.inf
    if node.op in _PRODUCTS:
        return sum(sources)
    if node.op == "square":
        return 2 * highest
    if node.op in _BOUNDED or node.params.get("act_type") in ("sigmoid", "tanh", "softsign"):
        return 0
    return highest


def _is_large_factor(node: Node) -> bool:
    if node.op not in ("_mul_scalar", "_div_scalar"):
        return False
    number = abs(float(parse(node.params["scalar"])))
    return number > _LARGE_FACTOR if node.op == "_mul_scalar" else number * _LARGE_FACTOR < 1
