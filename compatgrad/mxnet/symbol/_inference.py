"""Graphs of networks with fixed parameters as programs on torch tensors, for inference on the CPU.

A convolution becomes one step with the operators that follow it: batch normalization (in its weight), an addition, an
activation. An attention becomes one step. Arrays in other shapes or orders of axes are views where they can be.
Operators without a step of their own run by the functions of `mx.nd`, as in `_evaluate`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch

from compatgrad import _C
from compatgrad import ops as op
from compatgrad.core import fixed_layers

from .. import autograd
from ..ndarray._operator import parse
from ..ndarray.ndarray import NDArray
from . import _attention, _layers
from ._facts import flag
from ._fused import normalized
from ._graph import Entry, Node, order
from ._growth import LARGE_SQUARES, moderate, unsafe
from ._parts import PART, apart
from ._run import run_node

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
# Those whose results are new arrays that functions of the engine compute from the inputs, without values in between
# that Python would read.
_RECORDED = frozenset("""
    Deconvolution InstanceNorm GroupNorm L2Normalization LRN _contrib_AdaptiveAvgPooling2D UpSampling
    _contrib_BilinearResize2D dot batch_dot Activation LeakyReLU SoftmaxActivation softmax log_softmax sigmoid
    hard_sigmoid tanh softsign exp log sqrt rsqrt square abs negative erf add_n elemwise_add elemwise_sub elemwise_mul
    elemwise_div broadcast_add broadcast_sub broadcast_mul broadcast_div broadcast_maximum broadcast_minimum
    broadcast_power _contrib_div_sqrt_dim _plus_scalar _minus_scalar _rminus_scalar _mul_scalar _div_scalar _rdiv_scalar
    _power_scalar _maximum_scalar _minimum_scalar mean sum max min
""".split())  # fmt: skip
LARGE = 1 << 18  # elements of a matrix; a product by an ordered one that is smaller takes no less time
_HIDING = ("relu", "hardtanh")  # activations that make a number of NaN where oneDNN computes them
_ROWS = 64  # of a product, below which an ordered matrix gains less than a plan's checks take
_CHANNELS = 16  # of a block, for which max pooling of images with channels last takes a third of the time of torch's
_linear: Callable[..., Any] = _C.op("linear")
Step = tuple[Callable[..., torch.Tensor], tuple[int, ...], int, tuple[int, ...]]


class Program(NamedTuple):
    """Steps that compute a graph's outputs from its inputs; the values of the parameters are in it."""

    steps: list[Step]  # function, places of its inputs, place of its result, places that no later step reads
    compiled: object  # what runs the steps
    packed: int  # the number of convolutions, products of many rows with ordered weights, and attentions
    unread: set[str]  # names of parameters whose values have no effect

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
        """The outputs, contiguous; None where an input is not moderate or an output not finite: oneDNN's relu makes 0
        of NaN, which must stay visible, also where a layer inside makes it.
        """
        return _C.run_program(self.compiled, inputs, LARGE_SQUARES)


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
        self.known = self.constants()  # by id of a node, values of parameters and of what depends on them alone
        self.unsafe = unsafe(self.nodes, self.known)
        self.done: set[int] = set()  # nodes whose steps are made, or that are part of the step of another
        self.attentions: dict[int, _attention.Attention] = {}  # by id of the last operator
        # convolutions that an addition reads, by id of the last operator of each: how to make the layer, its input,
        # and whether it keeps NaN
        self.waiting: dict[int, tuple[Callable[..., Any], Node, bool]] = {}
        # normalizations that a convolution computes, by id of the last operator: what they are, and their input
        self.before: dict[int, tuple[fixed_layers.Before, Node]] = {}
        self.place: dict[int, int] = {}  # by id of a node
        self.places: list[Any] = []  # values of parameters
        self.values: list[Any] = []
        self.left: list[float] = []  # by place, how often later steps read it
        self.fresh: list[bool] = []  # by place, whether no other place shares its memory
        self.given: set[int] = set()  # places of inputs and parameters
        self.views: dict[int, int] = {}  # places of views: the place of what they are views of
        self.steps: list[Step] = []
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
                self.given.add(self.new(node, self.known[id(node)], False, fixed=True))
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
        by_name = {node.name: self.place[id(node)] for node in self.nodes if node.op is None}
        if any(name not in by_name for name in self.inputs):
            raise _Unsuitable
        heads = [self.place[id(node)] for node, _ in self.heads]
        if len({*heads}) < len(heads) or self.given.intersection(heads):
            raise _Unsuitable  # arrays that share memory wherever an input's order of axes needs no copy
        outputs = [self.output(node) for node, _ in self.heads]
        readers = {node.name: len(self.readers.get(id(node), ())) for node in self.nodes if node.op is None}
        unread = {name for name, count in self.unread.items() if count == readers[name]}
        inputs = [by_name[name] for name in self.inputs]
        made = _C.program(self.steps, self.places, inputs, outputs)
        program = Program(self.steps, made, self.packed, unread)
        return program, [self.values[i].contiguous() for i in outputs]

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
                    value = _run(node, *[known[id(n)] for n, _ in node.inputs])
                    if moderate(value):
                        known[id(node)] = value
        return known

    def output(self, node: Node) -> int:
        """The place of a result, which is copied if it may be a view of an input, a parameter or another result."""
        place = self.place[id(node)]
        if place not in self.views or (len(self.heads) == 1 and self.views[place] not in self.given):
            return place
        self.step(Node("_copy", node.name), _torch("clone", ...), [node])
        return len(self.values) - 1

    # ---- places ----

    def new(self, node: Node, value: Any, fresh: bool, fixed: bool = False) -> int:
        place = self.place[id(node)] = len(self.values)
        self.values.append(value)
        self.places.append(value if fixed else None)
        kept = fixed or node.op is None or id(node) in self.shown
        self.left.append(math.inf if kept else len(self.readers.get(id(node), ())) or math.inf)
        self.fresh.append(fresh)
        return place

    def variable(self, node: Node) -> None:
        if node.name in self.inputs:
            self.given.add(self.new(node, self.inputs[node.name], False))
        elif node.name in self.parameters:
            self.given.add(self.new(node, self.parameters[node.name], False, fixed=True))
        else:
            raise _Unsuitable

    def value(self, node: Node) -> Any:
        return self.values[self.place[id(node)]]

    def fixed(self, node: Node) -> list[torch.Tensor] | None:
        """The values of all inputs but the first of an operator, if they are known."""
        sources = [id(n) for n, _ in node.inputs[1:]]
        return None if any(i not in self.known for i in sources) else [self.known[i] for i in sources]

    def step(self, last: Node, function: Callable[..., Any], sources: Sequence[Node], view: bool = False) -> None:
        """Adds a step, which gives the result of `last` and reads those of `sources`, and runs it."""
        reads = tuple(self.place[id(node)] for node in sources)
        value = function(*[self.values[i] for i in reads])
        for i in reads:
            self.left[i] -= 1
            self.fresh[i] = self.fresh[i] and not view
        dead = tuple(i for i in dict.fromkeys(reads) if self.left[i] <= 0)
        place = self.new(last, value, not view)
        self.steps.append((function, reads, place, dead))
        for i in dead:
            self.values[i] = None

    def same(self, node: Node) -> None:
        """An operator that changes nothing: its result is in the place of its input."""
        place = self.place[id(node)] = self.place[id(node.inputs[0][0])]
        self.left[place] += (math.inf if id(node) in self.shown else len(self.readers[id(node)])) - 1

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
        place, size = _place(node), self.value(data).shape
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
        self.step(last, make(name, numbers), [data])

    def sum(self, node: Node) -> None:
        """An addition to the result of a convolution, which overwrites the other input if nothing else reads that."""
        first, second = (n for n, _ in node.inputs)
        if id(second) not in self.waiting:
            first, second = second, first
        if id(first) in self.waiting:
            make, data, _ = self.waiting.pop(id(first))
            self.step(first, make(), [data])
        make, data, keeps_nan = self.waiting.pop(id(second))
        last, relu = self.rectified(node, keeps_nan)
        self.step(last, make("relu" if relu else "none", overwrite=self.spare(first)), [first, data])

    def norm(self, node: Node) -> None:
        """A normalization and the relu after it: part of the convolution that alone reads it, if possible."""
        source = node.inputs[0][0]
        x = self.value(source)
        axis = _layers.axis(node)
        factor, addend = self.folded(node, torch.ones(x.shape[axis]), None)
        last, relu = self.rectified(node, True)
        after = self.only_reader(last)
        if after is not None and axis == 1 and _layers.is_convolution(after) and after.inputs[0][0] is last:
            fixed = self.fixed(after)
            if fixed is not None and fixed_layers.is_direct(fixed[0], _place(after), x.shape):
                self.before[id(last)] = fixed_layers.Before(factor, addend, relu), source
                return
        shape = [1] * x.dim()
        shape[axis] = -1
        self.step(last, fixed_layers.affine(factor.reshape(shape), addend.reshape(shape), relu), [source])

    def dense(self, node: Node) -> None:
        data = node.inputs[0][0]
        weight, bias = (*(self.fixed(node) or ()), None)[:2]
        x, flat = self.value(data), flag(node.params, "flatten", True)
        rows = x.shape[0] if flat else x.shape[:-1].numel()
        last, relu = self.rectified(node, fixed_layers.is_direct_product(weight, rows))
        if flat and _is_last(x):  # the channels' numbers of a pixel stay side by side
            weight = weight.unflatten(1, x.shape[1:]).permute(0, 2, 3, 1).flatten(1)
        layer = fixed_layers.dense(weight.contiguous(), bias, rows, relu)
        self.packed += rows >= _ROWS
        self.step(last, _of_rows(layer, x, flat), [data])

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
        self.step(last, self.transposed_layer(node, weight, bias, relu), [data])

    def transposed_layer(
        self, node: Node, weight: torch.Tensor, bias: torch.Tensor | None, relu: bool
    ) -> Callable[..., torch.Tensor]:
        stride, pad = _layers.moves(node)
        if stride == list(weight.shape[2:]) and not any(pad):  # windows that touch and do not overlap
            return fixed_layers.tiling(weight, bias, self.value(node.inputs[0][0]).shape, relu)
        return partial(_transposed, weight=weight.contiguous(), bias=bias, stride=stride, pad=pad, rectify=relu)

    # ---- attention ----

    def attention(self, node: Node, found: _attention.Attention) -> None:
        """One step for the attention, or one for each of its operators where its arrays have unusual shapes."""
        parts = [found.q, found.k, found.v]
        if found.splits:
            sources = [n.inputs[0][0] for n in found.splits]
            values = [self.value(n) for n in sources]
            if _attention.split_shapes(values, [_run(n, x).shape for n, x in zip(found.splits, values, strict=True)]):
                parts = sources
            else:
                for n in found.splits:
                    self.other(n)
        q, k, v = (self.value(n) for n in parts)
        rows = k.transpose(-1, -2) if found.turned else k
        mask = None if found.mask is None else self.value(found.mask)
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
        self.step(node, function, [*parts, *masks])

    # ---- other operators ----

    def other(self, node: Node) -> None:
        sources = [n for n, _ in node.inputs]
        if node.op in ("Dropout", "BlockGrad", "_copy"):
            if node.op == "Dropout" and node.params.get("mode", "training") != "training":
                raise _Unsuitable
            self.same(node)
        elif _layers.is_norm(node) and self.fixed(node) is not None:
            self.norm(node)
        elif node.op == "Flatten" and self.flattened(node):
            self.same(node)
        elif node.op == "FullyConnected" and self.is_ordered(node):
            self.dense(node)
        elif node.op == "FullyConnected":
            last, relu = self.rectified(node, True)
            self.step(last, partial(_dense, flag(node.params, "flatten", True), relu), sources)
        elif node.op in _attention.SUMS and len({self.value(n).shape for n in sources}) == 1:
            self.plain_sum(node)
        else:
            inputs = [self.value(n) for n in sources]
            function = _simple(node, inputs)
            if function is not None:
                self.step(node, function, sources)
                return
            function = _view(node, inputs)
            self.step(node, function or partial(_run, node), sources, view=True)
            if function is not None:
                source = self.place[id(sources[0])]
                self.views[self.place[id(node)]] = self.views.get(source, source)

    def is_ordered(self, node: Node) -> bool:
        """Whether a dense layer's matrix is known, and gains by being arranged for a library or kernel."""
        fixed = self.fixed(node)
        if fixed is None:
            return False
        x = self.value(node.inputs[0][0])
        rows = x.shape[0] if flag(node.params, "flatten", True) else x.shape[:-1].numel()
        return fixed[0].numel() >= LARGE or fixed_layers.is_direct_product(fixed[0], rows)

    def flattened(self, node: Node) -> bool:
        """Whether a dense layer that alone reads a flattened array flattens it itself."""
        after = self.only_reader(node)
        return after is not None and after.op == "FullyConnected" and flag(after.params, "flatten", True)

    def plain_sum(self, node: Node) -> None:
        """A sum, which overwrites one of two arrays if nothing else reads it."""
        first, second = (n for n, _ in node.inputs)
        if not self.spare(first):
            first, second = second, first
        self.step(node, _torch("add_" if self.spare(first) else "add", ..., ..., overload="Tensor"), [first, second])

    def spare(self, node: Node) -> bool:
        """Whether the next step may overwrite the result of `node`, because it alone reads it."""
        place = self.place[id(node)]
        return self.fresh[place] and self.left[place] == 1


def _torch(name: str, *arguments: Any, overload: str = "") -> Callable[..., torch.Tensor]:
    """An operator of torch as a step; `...` among the arguments stands for the next input."""
    return _C.torch_step(f"aten::{name}", overload, arguments)


def _place(node: Node) -> tuple[Sequence[int], Sequence[int], Sequence[int], int]:
    """Strides, padding and dilation of a convolution over two axes, and its groups."""
    p = {k: parse(v) for k, v in node.params.items()}
    return p.get("stride") or (1, 1), p.get("pad") or (0, 0), p.get("dilate") or (1, 1), p.get("num_group", 1)


def _run(node: Node, *inputs: torch.Tensor) -> torch.Tensor:
    """The result of an operator by its function of `mx.nd`."""
    results = run_node(node, [NDArray(x.contiguous()) for x in inputs])
    y: torch.Tensor = results[int(node.attrs.get(PART, 0))].tensor
    return y


def _recorded(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """The functions of the engine that an operator's function of `mx.nd` calls; None where these do not suffice."""
    arrays = [NDArray(x.contiguous()) for x in inputs]
    for x in arrays:
        x.attach_grad()
    with autograd.record(train_mode=False):
        step = _C.recorded_step(run_node(node, arrays)[0], arrays)
    if step is None:
        return None
    for given in (inputs, [0.5 * x + 0.25 for x in inputs]):
        y, expected = step(*given), _run(node, *given)
        if _C.sharing([y], given) >= 0 or not torch.allclose(y, expected, equal_nan=True):
            return None
    return step


def _transposed(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: list[int],
    pad: list[int],
    rectify: bool,
) -> torch.Tensor:
    y: torch.Tensor = op.deconvolution(x, weight, bias, stride=stride, pad=pad).tensor
    return y.relu_() if rectify else y


def _simple(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """A function of torch with the results of an operator, for inputs in any order of memory; None for others."""
    found = _layers.activation(node)
    if found is not None:
        name, numbers = found
        return _torch("clamp" if name == "hardtanh" else name, ..., *numbers)
    if node.op == "Pooling" and inputs[0].dim() == 4:
        return _pooling({k: parse(v) for k, v in node.params.items()}, inputs[0])
    if node.op == "UpSampling" and len(inputs) == 1 and node.params.get("sample_type") == "nearest":
        scale = int(parse(node.params["scale"]))
        if scale & (scale - 1) == 0:  # torch divides places by other scales with an error by rounding
            return _torch("upsample_nearest2d", ..., [n * scale for n in inputs[0].shape[2:]])
    if node.op == "LayerNorm" and not flag(node.params, "output_mean_var"):
        axis = int(parse(node.params.get("axis", "-1")))
        if axis in (-1, inputs[0].dim() - 1):
            return _torch("layer_norm", ..., inputs[1].shape, ..., ..., float(node.params.get("eps", "1e-5")))
    if node.op == "Concat" and all(x.dim() == 4 for x in inputs):
        return _torch("cat", [...], int(parse(node.params.get("dim", "1"))))
    return _recorded(node, inputs) if node.op in _RECORDED else None


def _view(node: Node, inputs: Sequence[torch.Tensor]) -> Callable[..., torch.Tensor] | None:
    """A function with the results of an operator that moves no numbers, as views where they can be; None for others."""
    p = {k: parse(v) for k, v in node.params.items()}
    if node.op in ("Reshape", "expand_dims", "squeeze", "Flatten"):
        return _torch("reshape", ..., _run(node, *inputs).shape)
    if node.op == "transpose":
        return _torch("permute", ..., p.get("axes") or tuple(reversed(range(inputs[0].dim()))))
    if node.op == "SliceChannel":
        axis, part = p.get("axis", 1), int(node.attrs[PART])
        size = inputs[0].shape[axis] // p["num_outputs"]
        if size == 1 and p.get("squeeze_axis"):
            return _torch("select", ..., axis, part, overload="int")
        return _torch("slice", ..., axis, part * size, (part + 1) * size, overload="Tensor")
    return None


def _pooling(p: dict[str, Any], x: torch.Tensor) -> Callable[..., torch.Tensor] | None:
    kind, first = p.get("pool_type", "max"), p.get("layout") in (None, "NCHW")
    if not first or kind not in ("max", "avg"):
        return None
    if p.get("global_pool"):
        return _torch("amax", ..., (2, 3), True) if kind == "max" else _torch("mean", ..., (2, 3), True, overload="dim")
    kernel, stride, pad = p["kernel"], p.get("stride") or (1, 1), p.get("pad") or (0, 0)
    if p.get("pooling_convention", "valid") != "valid" or any(2 * n > k for n, k in zip(pad, kernel, strict=True)):
        return None  # torch has no such windows
    if kind == "max":
        if x.is_contiguous(memory_format=torch.channels_last) and x.shape[1] % _CHANNELS == 0:
            return _C.channels_last_step(_C.max_pool_step((*kernel, *stride, *pad)), False)
        return _torch("max_pool2d", ..., kernel, stride, pad)
    counted = p.get("count_include_pad") is not False
    return _torch("avg_pool2d", ..., kernel, stride, pad, False, counted)


def _of_rows(layer: Callable[..., torch.Tensor], x: torch.Tensor, flat: bool) -> Callable[..., torch.Tensor]:
    """A dense layer of rows, which are flattened images or the last axis of x."""
    if flat and _is_last(x):
        steps = [_torch("permute", ..., (0, 2, 3, 1)), _torch("reshape", ..., (x.shape[0], -1)), layer]
    elif flat:
        steps = [_torch("reshape", ..., (x.shape[0], -1)), layer] if x.dim() != 2 else [layer]
    else:
        steps = [_torch("reshape", ..., (-1, x.shape[-1])), layer, _torch("view", ..., (*x.shape[:-1], -1))]
    return _C.chain_step(steps)


def _is_last(x: torch.Tensor) -> bool:
    """Whether x is an image whose channels are last in memory, and not only because it has one channel or pixel."""
    return x.dim() == 4 and x.is_contiguous(memory_format=torch.channels_last) and not x.is_contiguous()


def _dense(
    flat: bool, rectify: bool, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """A dense layer with a weight that is not ordered, then relu if `rectify`."""
    rows = x.reshape(x.shape[0], -1) if flat else x.reshape(-1, x.shape[-1])
    y: torch.Tensor = _linear(rows, weight, bias).tensor
    if rectify:
        y.relu_()
    return y if flat else y.view(*x.shape[:-1], -1)
