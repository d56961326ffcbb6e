"""Graphs of networks in which operators on 8-bit numbers replace convolutions, dense layers and what follows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..base import MXNetError
from ..symbol import Symbol
from ..symbol._graph import Entry, Node, copied, order

_LAYERS = {"Convolution": "_contrib_quantized_conv", "FullyConnected": "_contrib_quantized_fully_connected"}
_PASSED = {"Pooling": "_contrib_quantized_pooling", "Flatten": "_contrib_quantized_flatten",
           "Activation": "_contrib_quantized_act"}  # fmt: skip


def _list_of(who: str, value: Any) -> list[str]:
    value = [] if value is None else value
    if not isinstance(value, list):
        raise ValueError(f"{who} must be a list of strings, got {type(value)}")
    return value


def _fits(node: Node, excluded: set[str]) -> bool:
    """Whether there is an operator on 8-bit numbers for a node."""
    p = node.params
    if node.name in excluded or node.op in excluded:
        return False
    if node.op == "Pooling":
        return p.get("pool_type", "max") in ("max", "avg")
    if node.op == "Activation":
        return p.get("act_type") == "relu"
    if node.op == "Convolution":
        return p.get("layout") in (None, "None", "NCHW") and p.get("kernel", "").count(",") > 0
    return node.op in _LAYERS or node.op == "Flatten"


class _Change:
    """Builds the graph on 8-bit numbers. For each output of the old graph it keeps the entry in floating point
    (`plain`), the triple (8-bit numbers, smallest, largest), or both.
    """

    def __init__(self, dtype: str, offline: Iterable[str], heads: Sequence[Entry], fused: bool) -> None:
        self.dtype, self.offline, self.fused = dtype, set(offline), fused
        self.readers = Counter((id(n), i) for n, i in (*heads, *(e for node in order(heads) for e in node.inputs)))
        self.plain: dict[tuple[int, int], Entry] = {}
        self.triples: dict[tuple[int, int], list[Entry]] = {}
        self.calibrated: list[str] = []

    def number(self, entry: Entry) -> Entry:
        key = id(entry[0]), entry[1]
        if key not in self.plain:
            back = Node("_contrib_dequantize", f"{entry[0].name}_dequantize", self.triples[key])
            self.plain[key] = back, 0
        return self.plain[key]

    def triple(self, entry: Entry) -> list[Entry]:
        key, node = (id(entry[0]), entry[1]), entry[0]
        if key not in self.triples:
            if node.op is None and node.name in self.offline and node.name.endswith(("weight", "bias")):
                name = f"{node.name}_quantize"
                made = [(Node(None, n), 0) for n in (name, f"{name}_min", f"{name}_max")]
            else:
                output = node.output_names()[entry[1]]
                # uint8 is for the network's inputs; numbers between layers may be negative
                dtype = "auto" if self.dtype == "uint8" and node.op is not None else self.dtype
                made_node = Node("_contrib_quantize_v2", f"{output}_quantize", [self.number(entry)],
                                 {"out_type": dtype}, {"__calibrated__": output})  # fmt: skip
                self.calibrated.append(output)
                made = [(made_node, i) for i in range(3)]
            self.triples[key] = made
        return self.triples[key]

    def layer(self, node: Node) -> None:
        """Adds a convolution or dense layer, and the requantization of its int32 sums to int8."""
        kept = self.dtype
        first = self.triple(node.inputs[0])
        self.dtype = "int8"  # the dtype of weights, for any dtype of the data
        parts = [first, *(self.triple(e) for e in node.inputs[1:])]
        self.dtype = kept
        inputs = [p[0] for p in parts] + [e for p in parts for e in p[1:]]
        op = _LAYERS[node.op]  # type: ignore[index]
        made = Node(op, f"quantized_{node.name}", inputs, dict(node.params), dict(node.attrs))
        output = node.output_names()[0]
        again = Node("_contrib_requantize", f"requantize_{node.name}", [(made, i) for i in range(3)],
                     {"out_type": "int8"}, {"__calibrated__": output})  # fmt: skip
        self.triples[id(node), 0] = [(again, i) for i in range(3)]

    def passed(self, node: Node) -> None:
        key = id(node.inputs[0][0]), node.inputs[0][1]
        before = self.triples[key][0][0]
        if self.fused and node.op == "Activation" and before.op == "_contrib_requantize" and self.readers[key] == 1:
            before.attrs["__calibrated__"] = node.output_names()[0]
        op = _PASSED[node.op]  # type: ignore[index]
        inputs = self.triple(node.inputs[0])
        made = Node(op, f"quantized_{node.name}", inputs, dict(node.params), dict(node.attrs))
        self.triples[id(node), 0] = [(made, i) for i in range(3)]


def _quantize_symbol(
    sym: Symbol, ctx: Any = None, excluded_symbols: Any = None, excluded_operators: Any = None,
    offline_params: Any = None, quantized_dtype: str = "int8", quantize_mode: str = "smart",
    quantize_granularity: str = "tensor-wise", fused: bool = False,
) -> tuple[Symbol, list[str]]:  # fmt: skip
    """The graph on 8-bit numbers, and the names of the outputs whose ranges a calibration can set.

    As in MXNet only what is quantized from float32 takes its range from there; the results of layers have the range of
    each batch. `fused`: the results of layers are calibrated too, as in MXNet's fused operators. The range of a layer
    before relu is that of what relu returns. A layer whose results no operator on 8-bit numbers reads is not
    calibrated: MXNet's returns float32.
    """
    if quantize_granularity != "tensor-wise":
        raise NotImplementedError(
            "quantization: quantize_granularity 'channel-wise' is not supported, only 'tensor-wise'"
        )
    if quantize_mode not in ("smart", "full"):
        raise MXNetError(f"quantization: quantize_mode: unrecognized quantize mode: {quantize_mode!r}")
    excluded = {*_list_of("excluded_sym_names", excluded_symbols), *_list_of("excluded_op_names", excluded_operators)}
    change = _Change(quantized_dtype, offline_params or (), sym._outputs, fused)
    for node in order(sym._outputs):
        if node.op is None:
            change.plain[id(node), 0] = Node(None, node.name, attrs=dict(node.attrs)), 0
        elif node.op in _LAYERS and _fits(node, excluded):
            change.layer(node)
        elif _fits(node, excluded) and (id(node.inputs[0][0]), node.inputs[0][1]) in change.triples:
            change.passed(node)
        else:
            inputs = [change.number(e) for e in node.inputs]
            new = Node(node.op, node.name, inputs, dict(node.params), dict(node.attrs), node.subgraphs)
            for i in range(len(node.output_names())):
                change.plain[id(node), i] = new, i
    found = Symbol([change.number(e) for e in sym._outputs])
    nodes = order(found._outputs)
    read = {id(n) for node in nodes if node.op != "_contrib_dequantize" for n, _ in node.inputs}
    for node in nodes:
        if node.op == "_contrib_requantize":
            if not fused or id(node) in read:
                change.calibrated.append(node.attrs["__calibrated__"])
            if not fused or id(node) not in read:
                del node.attrs["__calibrated__"]
    return found, list(dict.fromkeys(change.calibrated))


def _calibrate_quantized_sym(qsym: Symbol, th_dict: dict[str, Any]) -> Symbol:
    """The graph with the ranges of `th_dict`; outputs that it does not name are quantized by each batch's range."""
    if not th_dict:
        return qsym
    new = copied(qsym._outputs)
    for node in order(new):
        ends = th_dict.get(node.attrs.get("__calibrated__", ""))
        if ends is not None:
            low, high = (float(np.asarray(v).reshape(-1)[0]) for v in ends)
            if low < 0 and node.params.get("out_type") == "uint8":
                raise MXNetError(f"quantization: {node.attrs['__calibrated__']} has numbers down to {low:g}, but "
                                 "quantized_dtype='uint8' has none below 0; use 'int8' or 'auto'")  # fmt: skip
            node.params |= {"min_calib_range": str(low), "max_calib_range": str(high)}
    return Symbol(new)
