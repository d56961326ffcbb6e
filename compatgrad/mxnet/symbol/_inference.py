"""Graphs of networks with fixed parameters as programs on torch tensors, for inference on the CPU.

A convolution becomes one step with the operators that follow it: batch normalization (in its weight), an addition, an
activation. An attention becomes one step. Arrays in other shapes or orders of axes are views where they can be.
Operators without a step of their own run by the functions of `mx.nd`, as in `_evaluate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from compatgrad.core import fixed_layers

from . import _attention, _layers, _node_steps
from ._facts import flag
from ._fused import normalized
from ._graph import Entry, Node, order
from ._growth import moderate, unsafe
from ._parts import apart
from ._program import Program, Steps

__all__ = ["LARGE", "Program", "compiled"]

# Operators of which a program may consist: their results depend on inputs and parameters alone, and nothing else
# changes.
_KNOWN = frozenset("""
    Convolution Deconvolution BatchNorm LayerNorm InstanceNorm GroupNorm L2Normalization LRN FullyConnected Pooling
    _contrib_AdaptiveAvgPooling2D UpSampling _contrib_BilinearResize2D Dropout BlockGrad _copy Embedding dot batch_dot
    Activation LeakyReLU SoftmaxActivation SoftmaxOutput softmax log_softmax relu sigmoid hard_sigmoid tanh softsign
    clip exp log sqrt rsqrt square abs negative add_n elemwise_add elemwise_sub elemwise_mul elemwise_div
    broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_maximum broadcast_minimum broadcast_power
    _contrib_div_sqrt_dim _contrib_interleaved_matmul_selfatt_qk _contrib_interleaved_matmul_selfatt_valatt
    _contrib_interleaved_matmul_encdec_qk _contrib_interleaved_matmul_encdec_valatt _contrib_arange_like erf
    SequenceMask broadcast_lesser
    _plus_scalar _minus_scalar _rminus_scalar _mul_scalar _div_scalar _rdiv_scalar _power_scalar _maximum_scalar
    _minimum_scalar mean sum max min Flatten Reshape reshape_like transpose SwapAxis expand_dims squeeze slice
    slice_axis slice_like broadcast_like broadcast_to broadcast_axis tile repeat Pad Crop Concat stack
    depth_to_space space_to_depth SliceChannel
""".split())  # fmt: skip
LARGE = 1 << 18  # elements of a matrix; a product by an ordered one that is smaller takes no less time
_HIDING = ("relu", "hardtanh")  # activations that make a number of NaN where oneDNN computes them
_ROWS = 64  # of a product, below which an ordered matrix gains less than a plan's checks take


class _Unsuitable(Exception):
    """The graph has a node of which no program can consist."""


def compiled(
    heads: Sequence[Entry], inputs: Mapping[str, torch.Tensor], parameters: Mapping[str, torch.Tensor]
) -> tuple[Program, list[torch.Tensor]] | None:
    """The program of a graph and its outputs; None for graphs with operators that are not known to depend on their
    inputs alone.

    inputs: values of the variables that are no parameters, by name in the order of `Program.run`. The program is for
    inputs of their shapes.
    """
    try:
        return _Compiler(heads, inputs, parameters).program()
    except _Unsuitable:
        return None


class _Compiler:
    """Makes the steps of a program and runs each at once, so that the next knows the shapes of its inputs."""

    def __init__(
        self, heads: Sequence[Entry], inputs: Mapping[str, torch.Tensor], parameters: Mapping[str, torch.Tensor]
    ) -> None:
        self.heads, self.inputs, self.parameters = apart(heads), inputs, parameters
        self.nodes = order(self.heads)
        self.readers: dict[int, list[Node]] = {}  # by id of a node, the operators that read its result
        for node in self.nodes:
            if node.op is not None and (node.op not in _KNOWN or node.subgraphs):
                raise _Unsuitable
            for source, i in node.inputs:
                if i:
                    raise _Unsuitable
                self.readers.setdefault(id(source), []).append(node)
        if any(i for _, i in self.heads):
            raise _Unsuitable
        self.shown = {id(node) for node, _ in self.heads}
        self.steps = Steps(self.readers, self.shown)
        self.known = self.constants()  # by id of a node, values of parameters and of what depends on them alone
        self.unsafe = unsafe(self.nodes, self.known)
        self.done: set[int] = set()  # nodes whose steps are made, or that are part of the step of another
        self.attentions: dict[int, _attention.Attention] = {}  # by id of the last operator
        # convolutions that an addition reads, by id of the last operator of each: how to make the layer, its input,
        # and whether it keeps NaN
        self.waiting: dict[int, tuple[Callable[..., Any], Node, bool]] = {}
        # normalizations that a convolution computes, by id of the last operator: what they are, and their input
        self.before: dict[int, tuple[fixed_layers.Before, Node]] = {}
        self.packed = 0
        self.unread: dict[str, int] = {}  # how many operators do not read a parameter that is their input

    def program(self) -> tuple[Program, list[torch.Tensor]]:
        for node in self.nodes:
            found = _attention.find(node, self.only_reader)
            # the scores of one attention may be the result of another, which then is a step itself
            if found is not None and not any(id(n) in self.attentions for n in found.between):
                self.attentions[id(node)] = found
                self.done.update(id(n) for n in (*found.between, *found.splits))
        for node in self.nodes:
            if node.op is not None and id(node) in self.known:
                self.steps.give(node, self.known[id(node)], fixed=True)
            elif id(node) in self.done:
                continue
            elif node.op is None:
                self.variable(node)
            elif id(node) in self.attentions:
                self.attention(node, self.attentions[id(node)])
            elif _layers.is_convolution(node) and self.fixed(node) is not None:
                self.convolution(node)
            elif _layers.is_transposed(node) and self.fixed(node) is not None:
                self.transposed(node)
            elif node.op == "elemwise_add" and any(id(n) in self.waiting for n, _ in node.inputs):
                self.sum(node)
            else:
                self.other(node)
        by_name = {node.name: node for node in self.nodes if node.op is None}
        if any(name not in by_name for name in self.inputs):
            raise _Unsuitable
        made = self.steps.finish([by_name[name] for name in self.inputs], [node for node, _ in self.heads])
        if made is None:
            raise _Unsuitable
        readers = {name: len(self.readers.get(id(node), ())) for name, node in by_name.items()}
        unread = {name for name, count in self.unread.items() if count == readers[name]}
        return Program(self.steps.steps, made[0], self.packed, unread), made[1]

    def constants(self) -> dict[int, torch.Tensor]:
        """The values of parameters, and of operators that read nothing else: a weight that is normalized or masked is
        computed once. Outputs are computed in each call, because the caller may write to them, and so are values that
        may be NaN, which layers with relu hide.
        """
        known: dict[int, torch.Tensor] = {}
        for node in self.nodes:
            if node.op is None:
                if node.name in self.parameters:
                    known[id(node)] = self.parameters[node.name]
            elif node.op != "Dropout" and node.inputs and id(node) not in self.shown:
                if all(id(n) in known for n, _ in node.inputs):
                    value = _node_steps.run(node, *[known[id(n)] for n, _ in node.inputs])
                    if moderate(value):
                        known[id(node)] = value
        return known

    def variable(self, node: Node) -> None:
        if node.name in self.inputs:
            self.steps.give(node, self.inputs[node.name], fixed=False)
        elif node.name in self.parameters:
            self.steps.give(node, self.parameters[node.name], fixed=True)
        else:
            raise _Unsuitable

    def fixed(self, node: Node) -> list[torch.Tensor] | None:
        """The values of all inputs but the first of an operator, if they are known."""
        sources = [id(n) for n, _ in node.inputs[1:]]
        return None if any(i not in self.known for i in sources) else [self.known[i] for i in sources]

    # ---- convolutions and what follows them ----

    def only_reader(self, node: Node) -> Node | None:
        """The one operator that reads the result of `node`, if there is one."""
        readers = self.readers.get(id(node), [])
        return readers[0] if len(readers) == 1 and id(node) not in self.shown else None

    def norm_after(self, node: Node) -> Node | None:
        after = self.only_reader(node)
        if after is None or not _layers.is_norm(after) or after.inputs[0][0] is not node or _layers.axis(after) != 1:
            return None
        return None if self.fixed(after) is None else after

    def folded(self, norm: Node, weight: torch.Tensor, bias: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """The weight and the bias of a convolution together with the normalization after it."""
        gamma = norm.inputs[1][0]
        if gamma.op is None and flag(norm.params, "fix_gamma", True):
            name = gamma.name
            self.unread[name] = self.unread.get(name, 0) + 1
        return normalized(norm, weight, bias, self.fixed(norm) or ())

    def activation_after(self, node: Node, keeps_nan: bool) -> tuple[Node, str, tuple[float, ...]]:
        """The activation that alone reads `node`, its name and its numbers; without one `node` and "none".

        keeps_nan: whether the layer that includes the activation keeps NaN.
        """
        after = self.only_reader(node)
        found = None if after is None else _layers.activation(after)
        if after is None or found is None or (not keeps_nan and id(node) in self.unsafe and found[0] in _HIDING):
            return node, "none", ()
        return after, *found

    def rectified(self, node: Node, keeps_nan: bool) -> tuple[Node, bool]:
        """The relu that alone reads `node` and gets no step of its own, and True; without one `node` and False."""
        last, name, _ = self.activation_after(node, keeps_nan)
        if name != "relu":
            last = node
        self.done.add(id(last))
        return last, name == "relu"

    def convolution(self, node: Node) -> None:
        data, last = node.inputs[0][0], node
        weight, bias = (*(self.fixed(node) or ()), None)[:2]
        before, data = self.before.pop(id(data), (None, data))
        norm = self.norm_after(node)
        if norm is not None:
            weight, bias = self.folded(norm, weight, bias)
            last = norm
        place, size = _layers.place(node), self.steps.value(data).shape
        keeps_nan = fixed_layers.keeps_nan(weight, place, size)
        make = partial(fixed_layers.convolution, weight, bias, place, size, before=before)
        self.packed += 1
        self.done.add(id(last))
        after = self.only_reader(last)
        # not a sum of scores and a mask: that is part of an attention, which reads the convolution's result
        if after is not None and after.op == "elemwise_add" and id(after) not in self.done:
            self.waiting[id(last)] = make, data, keeps_nan
            return
        last, name, numbers = self.activation_after(last, keeps_nan)
        self.done.add(id(last))
        self.steps.add(last, make(name, numbers), [data])

    def sum(self, node: Node) -> None:
        """An addition to the result of a convolution, which overwrites the other input if nothing else reads that."""
        first, second = (n for n, _ in node.inputs)
        if id(second) not in self.waiting:
            first, second = second, first
        if id(first) in self.waiting:
            make, data, _ = self.waiting.pop(id(first))
            self.steps.add(first, make(), [data])
        make, data, keeps_nan = self.waiting.pop(id(second))
        last, relu = self.rectified(node, keeps_nan)
        self.steps.add(last, make("relu" if relu else "none", overwrite=self.steps.spare(first)), [first, data])

    def norm(self, node: Node) -> None:
        """A normalization and the relu after it: part of the convolution that alone reads it, if possible."""
        source = node.inputs[0][0]
        x = self.steps.value(source)
        axis = _layers.axis(node)
        factor, addend = self.folded(node, torch.ones(x.shape[axis]), None)
        last, relu = self.rectified(node, True)
        after = self.only_reader(last)
        if after is not None and axis == 1 and _layers.is_convolution(after) and after.inputs[0][0] is last:
            fixed = self.fixed(after)
            if fixed is not None and fixed_layers.is_direct(fixed[0], _layers.place(after), x.shape):
                self.before[id(last)] = fixed_layers.Before(factor, addend, relu), source
                return
        shape = [1] * x.dim()
        shape[axis] = -1
        self.steps.add(last, fixed_layers.affine(factor.reshape(shape), addend.reshape(shape), relu), [source])

    def dense(self, node: Node) -> None:
        data = node.inputs[0][0]
        weight, bias = (*(self.fixed(node) or ()), None)[:2]
        x, flat = self.steps.value(data), flag(node.params, "flatten", True)
        rows = x.shape[0] if flat else x.shape[:-1].numel()
        last, relu = self.rectified(node, fixed_layers.is_direct_product(weight, rows))
        self.packed += rows >= _ROWS
        self.steps.add(last, fixed_layers.dense_of_array(weight, bias, x, flat, relu), [data])

    def transposed(self, node: Node) -> None:
        """A transposed convolution with the normalization and the relu after it."""
        data, last = node.inputs[0][0], node
        weight, bias = (*(self.fixed(node) or ()), None)[:2]
        norm = self.norm_after(node)
        if norm is not None:
            weight, bias = self.folded(norm, weight.transpose(0, 1), bias)
            weight, last = weight.transpose(0, 1), norm
        self.done.add(id(last))
        last, relu = self.rectified(last, False)
        self.packed += 1
        self.steps.add(last, self.transposed_layer(node, weight, bias, relu), [data])

    def transposed_layer(
        self, node: Node, weight: torch.Tensor, bias: torch.Tensor | None, relu: bool
    ) -> Callable[..., torch.Tensor]:
        stride, pad = _layers.moves(node)
        if stride == list(weight.shape[2:]) and not any(pad):  # windows that touch and do not overlap
            return fixed_layers.tiling(weight, bias, self.steps.value(node.inputs[0][0]).shape, relu)
        return partial(
            _node_steps.transposed, weight=weight.contiguous(), bias=bias, stride=stride, pad=pad, rectify=relu
        )

    # ---- attention ----

    def attention(self, node: Node, found: _attention.Attention) -> None:
        """One step for the attention, or one for each of its operators where its arrays have unusual shapes."""
        parts = [found.q, found.k, found.v]
        if found.splits:
            sources = [n.inputs[0][0] for n in found.splits]
            values = [self.steps.value(n) for n in sources]
            if _attention.split_shapes(
                values, [_node_steps.run(n, x).shape for n, x in zip(found.splits, values, strict=True)]
            ):
                parts = sources
            else:
                for n in found.splits:
                    self.other(n)
        q, k, v = (self.steps.value(n) for n in parts)
        rows = k.transpose(-1, -2) if found.turned else k
        mask = None if found.mask is None else self.steps.value(found.mask)
        flat = parts != [found.q, found.k, found.v]
        if not _attention.fits(q, rows, v, mask, flat):
            if flat:
                for n in found.splits:
                    self.other(n)
            for n in (*found.between, node):
                self.other(n)
            return
        self.packed += 1
        masks = [] if found.mask is None else [found.mask]
        function = partial(_attention.attend, found.scale(q.shape[-1], rows.shape[-2]), found.turned, flat)
        self.steps.add(node, function, [*parts, *masks])

    # ---- other operators ----

    def other(self, node: Node) -> None:
        sources = [n for n, _ in node.inputs]
        if node.op in ("Dropout", "BlockGrad", "_copy"):
            if node.op == "Dropout" and node.params.get("mode", "training") != "training":
                raise _Unsuitable
            self.steps.same(node)
        elif _layers.is_norm(node) and self.fixed(node) is not None:
            self.norm(node)
        elif node.op == "Flatten" and self.flattened(node):
            self.steps.same(node)
        elif node.op == "FullyConnected" and self.is_ordered(node):
            self.dense(node)
        elif node.op == "FullyConnected":
            last, relu = self.rectified(node, True)
            self.steps.add(last, partial(_node_steps.dense, flag(node.params, "flatten", True), relu), sources)
        elif node.op in _attention.SUMS and len({self.steps.value(n).shape for n in sources}) == 1:
            self.plain_sum(node)
        else:
            inputs = [self.steps.value(n) for n in sources]
            function = _node_steps.simple(node, inputs)
            if function is not None:
                self.steps.add(node, function, sources)
                return
            function = _node_steps.view(node, inputs)
            if function is not None:
                self.steps.add_view(node, function, sources[0])
            else:
                self.steps.add(node, partial(_node_steps.run, node), sources, view=True)

    def is_ordered(self, node: Node) -> bool:
        """Whether a dense layer's matrix is known, and gains by being arranged for a library or kernel."""
        fixed = self.fixed(node)
        if fixed is None:
            return False
        x = self.steps.value(node.inputs[0][0])
        rows = x.shape[0] if flag(node.params, "flatten", True) else x.shape[:-1].numel()
        return fixed[0].numel() >= LARGE or fixed_layers.is_direct_product(fixed[0], rows)

    def flattened(self, node: Node) -> bool:
        """Whether a dense layer that alone reads a flattened array flattens it itself."""
        after = self.only_reader(node)
        return after is not None and after.op == "FullyConnected" and flag(after.params, "flatten", True)

    def plain_sum(self, node: Node) -> None:
        """A sum, which overwrites one of two arrays if nothing else reads it."""
        first, second = (n for n, _ in node.inputs)
        if not self.steps.spare(first):
            first, second = second, first
        self.steps.add(
            node,
            _node_steps.torch_step("add_" if self.steps.spare(first) else "add", ..., ..., overload="Tensor"),
            [first, second],
        )
