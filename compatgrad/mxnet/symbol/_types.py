"""Infers the dtypes in a graph: known dtypes are propagated forward and backward until nothing new is found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._custom_op import prop_of
from ..base import MXNetError
from ..ndarray._operator import parse
from ._facts import FUSED, flag, is_variadic, needed_inputs
from ._fused import type_of_result
from ._graph import Node, auxiliary, inner_inputs
from ._shape_rules import RULES

__all__ = ["infer_type"]

_NUMBERS = {0: "float32", 1: "float64", 2: "float16", 3: "uint8", 4: "int32", 5: "int8", 6: "int64", 7: "bool"}
_PARAMETERS = ("gamma", "beta", "moving_mean", "moving_var")
# inputs that may have another dtype than the other inputs
_FREE = {
    "take": ("indices",), "pick": ("index",), "gather_nd": ("indices",), "scatter_nd": ("indices",),
    "where": ("condition",), "CTCLoss": ("label", "data_lengths", "label_lengths"), "softmax": ("length",),
    "_contrib_boolean_mask": ("index",), "slice_like": ("shape_like",), "broadcast_like": ("rhs",),
    "reshape_like": ("rhs",), "one_hot": ("indices",), "Embedding": ("data",), "_contrib_SparseEmbedding": ("data",),
    "_contrib_index_copy": ("index_vector",), "_sparse_retain": ("indices",), "batch_take": ("indices",),
}  # fmt: skip
# operators with a parameter for the dtype of the result -> its default; None: the dtype of the data
_GIVEN: dict[str, str | None] = {
    "Cast": "float32", "amp_cast": "float32", "one_hot": "float32", "Embedding": "float32", "argsort": "float32",
    "_contrib_SparseEmbedding": "float32", "softmax": None, "log_softmax": None, "softmin": None, "_np_cumsum": None,
    "_zeros": "float32", "_ones": "float32", "_full": "float32", "_arange": "float32", "_eye": "float32",
    "_linspace": "float32", "_random_randint": "int32", "_sample_multinomial": "int32",
}  # fmt: skip
_FIXED = {"shape_array": "int64", "size_array": "int64"}
_LOOSE = ("Custom", "amp_multicast", "_foreach", "_while_loop", "_cond", "fill_element_0index")


def _type(name: Any) -> type:
    return np.dtype(name).type


_INTEGERS = ("int8", "uint8")
# types of the arrays that come before the ends of ranges, of quantized operators; () for any type
_OF_BYTES: dict[str, tuple[tuple[str, ...], ...]] = {
    "_contrib_quantize": (("float32",),), "_contrib_quantize_v2": (("float32", *_INTEGERS),),
    "_contrib_quantize_asym": (("float32",),), "_contrib_requantize": (("int32",),),
    "_contrib_dequantize": ((*_INTEGERS, "int32"),), "_contrib_quantized_conv": ((), ("int8",), ("int8",)),
    "_contrib_quantized_fully_connected": ((), ("int8",), ("int8",)), "_contrib_quantized_embedding": ((), ("int8",)),
    "_contrib_quantized_pooling": ((),), "_contrib_quantized_flatten": ((),), "_contrib_quantized_act": ((),),
    "_contrib_quantized_elemwise_add": (_INTEGERS, _INTEGERS), "_contrib_quantized_elemwise_mul": ((), ()),
    "_contrib_quantized_concat": (), "_contrib_quantized_batch_norm": (_INTEGERS, *(("float32",),) * 4),
}  # fmt: skip


def _type_of_bytes(node: Node, found: list[type | None]) -> Any:
    """The type of a quantized operator's result, from the types of its arrays; None while it is unknown."""
    op, p = node.op or "", node.params
    ends = [parse(p.get(k)) for k in ("min_calib_range", "max_calib_range")]
    given = None not in ends
    if op in ("_contrib_quantize", "_contrib_quantize_v2", "_contrib_requantize"):
        out_type = p.get("out_type", "uint8" if op == "_contrib_quantize" else "int8")
        return out_type if out_type != "auto" else "uint8" if given and ends[0] >= 0 else "int8"
    if op in ("_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul") and not given:
        return "float32" if flag(p, "enable_float_output") else "int32"
    if op in ("_contrib_quantized_elemwise_add", "_contrib_quantized_concat"):
        return np.int8 if np.int8 in found else None if None in found else np.uint8
    if op == "_contrib_quantized_elemwise_mul":
        return "float32" if flag(p, "enable_float_output") else "int8"
    fixed = {"_contrib_dequantize": "float32", "_contrib_quantize_asym": "uint8", "_contrib_quantized_conv": "int32",
             "_contrib_quantized_fully_connected": "int32", "_contrib_quantized_batch_norm": "int8",
             "_contrib_quantized_embedding": "int8"}  # fmt: skip
    return fixed.get(op)


class _Search:
    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = [n for n in nodes if n.op is not None]
        self.known: dict[tuple[int, int], type] = {}

    def _together(self, node: Node, keys: Iterable[tuple[int, int]]) -> bool:
        """Gives arrays one dtype; MXNetError if the known dtypes differ."""
        keys = list(keys)
        found = [self.known[k] for k in keys if k in self.known]
        if not found:
            return False
        if any(t is not found[0] for t in found):
            if node.op in RULES and not (node.op or "").startswith("_np"):
                raise MXNetError(
                    f"Error in operator {node.name}: Incompatible attr: expected {np.dtype(found[0]).name}, got "
                    f"{np.dtype(next(t for t in found if t is not found[0])).name}"
                )
            return False
        return any([self._set(k, found[0]) for k in keys])

    def _set(self, key: tuple[int, int], value: type) -> bool:
        if key in self.known:
            return False
        self.known[key] = value
        return True

    def visit(self, node: Node) -> bool:
        """Infer dtypes at an operator. Return whether one changed."""
        op = node.op or ""
        reads = [(id(n), i) for n, i in node.inputs]
        writes = [(id(node), i) for i in range(node.n_visible)]
        if op in _LOOSE:
            return self._loose(node, reads, writes)
        if op in FUSED:
            return self._fused(node, reads, writes)
        free = _FREE.get(op, ())
        named = (free or "BatchNorm" in op) and not is_variadic(op)  # otherwise no name makes a difference
        names = needed_inputs(op, node.params) if named else [""] * len(reads)
        news = False
        if op == "batch_take":
            news |= self._set(reads[1], np.int32)
        if op in _FIXED:
            return any([self._set(k, _type(_FIXED[op])) for k in writes])
        if op == "topk" and node.params.get("ret_typ", "indices") in ("indices", "both"):
            news |= self._set(writes[-1], _type(parse(node.params.get("dtype", "float32"))))
            return news | self._together(node, (*reads, *writes[:-1]))
        default = _GIVEN.get(op, "float32" if op.startswith(("_random_", "_sample_", "sample_")) else "")
        if default != "":
            dtype = parse(node.params.get("dtype", default))
            if dtype is not None:
                news |= any([self._set(k, _type(dtype)) for k in writes])
                if op in ("Embedding", "_contrib_SparseEmbedding"):
                    news |= self._set(reads[1], _type(dtype))
                return news
        if op in _OF_BYTES:
            return self._bytes(node, reads, writes)
        if "BatchNorm" in op:
            t = self.known.get(reads[0])
            if t is not None:
                inner = np.float32 if t is np.float16 else t
                news |= any([self._set(k, inner) for k, n in zip(reads, names, strict=False) if n in _PARAMETERS])
            return news | self._together(node, (reads[0], writes[0]))
        bound = [k for k, n in zip(reads, names, strict=False) if n not in free]
        return news | self._together(node, (*bound, *writes))

    def _bytes(self, node: Node, reads: list[tuple[int, int]], writes: list[tuple[int, int]]) -> bool:
        """Operators that quantize, compute on 8-bit numbers, or dequantize; the ends of ranges are float32."""
        op = node.op or ""
        rows = _OF_BYTES[op]
        if op == "_contrib_quantized_concat" or rows[1:2] == (("int8",),) and len(rows) == 3:
            rows = (rows or (_INTEGERS,) * len(reads))[: len(reads) // 3]
        news = False
        for key, allowed in zip(reads, (*rows, *[("float32",)] * len(reads)), strict=False):
            t = self.known.get(key)
            if t is None and (len(allowed) == 1 or op == "_contrib_quantize_v2"):
                news |= self._set(key, _type(allowed[0]))
            elif t is not None and allowed and np.dtype(t).name not in allowed:
                raise MXNetError(f"Error in operator {node.name}: Type inconsistent, Provided = {np.dtype(t).name}, "
                                 f"inferred type = {' or '.join(allowed)}")  # fmt: skip
        news |= any([self._set(k, np.float32) for k in writes[1:]])
        result = _type_of_bytes(node, [self.known.get(k) for k in reads[: len(rows)]])
        if op in ("_contrib_quantized_pooling", "_contrib_quantized_flatten", "_contrib_quantized_act"):
            return news | self._together(node, (reads[0], writes[0]))
        return news | (result is not None and self._set(writes[0], _type(result)))

    def _fused(self, node: Node, reads: list[tuple[int, int]], writes: list[tuple[int, int]]) -> bool:
        """Fused operators: data, an added array, and weight and bias of dense layers are 8-bit, all else float32."""
        if not flag(node.params, "quantized"):
            return self._together(node, (*reads, *writes))
        after = len(inner_inputs(node)[0][1])
        free = (reads[0], reads[after - 1]) if flag(node.params, "with_sum") else reads[:1]
        found = {k: np.float32 for k in (*reads, *writes[1:]) if k not in free}
        if node.op == "_sg_mkldnn_fully_connected" and not flag(node.params, "channel_wise_quantize"):
            found |= dict.fromkeys(reads[1:after], np.int8)
        return any([self._set(k, t) for k, t in {**found, writes[0]: _type(type_of_result(node))}.items()])

    def _loose(self, node: Node, reads: list[tuple[int, int]], writes: list[tuple[int, int]]) -> bool:
        if node.op != "Custom" or not all(k in self.known for k in reads):
            return False
        prop = prop_of(node.params)
        found = prop.infer_type([self.known[k] for k in reads[: len(prop.list_arguments())]])
        return any([self._set(k, _type(t)) for k, t in zip(writes, found[1], strict=False)])

    def search(self) -> None:
        """Forward and backward until nothing new is found. A node all of whose dtypes are known has no more to say."""
        order = self.nodes
        while [node for node in order if self.visit(node)]:
            order = [node for node in reversed(order) if not self._is_known(node)]

    def _is_known(self, node: Node) -> bool:
        own = ((id(node), i) for i in range(node.n_visible))
        return all((id(n), i) in self.known for n, i in node.inputs) and all(key in self.known for key in own)


def infer_type(symbol: Any, args: tuple[Any, ...], kwargs: dict[str, Any], partial: bool) -> tuple[Any, Any, Any]:
    """See Symbol.infer_type."""
    if args and kwargs:
        raise ValueError("infer_type: give types either by position or by name, not both")
    nodes = symbol._nodes()
    states = auxiliary(nodes)
    variables = [n for n in nodes if n.op is None]
    arguments = [n for n in variables if id(n) not in states]
    given = kwargs or dict(zip((n.name for n in arguments), args, strict=False))
    names = {n.name for n in variables}
    for k in given:
        if k not in names:
            raise MXNetError(f"infer_type: there is no argument {k}; the arguments are {[n.name for n in arguments]}")
    search = _Search(nodes)
    for n in variables:
        if given.get(n.name) is not None:
            search.known[id(n), 0] = _type(given[n.name])
        elif n.attrs.get("__dtype__", "-1") != "-1":
            search.known[id(n), 0] = _type(_NUMBERS[int(n.attrs["__dtype__"])])
    search.search()
    result = (
        [search.known.get((id(n), 0)) for n in arguments],
        [search.known.get((id(n), i)) for n, i in symbol._outputs],
        [search.known.get((id(n), 0)) for n in variables if id(n) in states],
    )
    if not partial and any(t is None for part in result for t in part):
        return None, None, None
    return result
