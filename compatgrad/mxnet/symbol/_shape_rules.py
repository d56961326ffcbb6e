"""Rules that infer the shapes of an operator's inputs and results from each other. -1 stands for an unknown length,
None for an unknown shape.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..ndarray import _elementwise_table
from ..ndarray._scalars import PAIRS

__all__ = ["RULES", "Mismatch", "Shape", "is_known", "meet"]

Shape = tuple[int, ...]
Shapes = list[Shape | None]
Params = dict[str, Any]
Rule = Callable[[Shapes, Shapes, Params], None]  # writes what it infers into both lists


class Mismatch(Exception):
    """Two shapes of one array: the known one and the one that an operator asks for."""

    place: tuple[Shapes, int] | None = None  # the list of inputs or outputs, and the index in it

    def __init__(self, known: Shape, found: Shape) -> None:
        super().__init__(f"Shape inconsistent, Provided = {list(known)}, inferred shape={list(found)}")


def is_known(shape: Shape | None) -> bool:
    """Whether all lengths are known."""
    return shape is not None and (not shape or min(shape) >= 0)


def meet(a: Shape | None, b: Sequence[int] | None) -> Shape | None:
    """Merges two partly known shapes of one array; Mismatch if they differ."""
    if a is None or b is None:
        return a if b is None else tuple(b)
    if a == b:
        return a
    if len(a) != len(b) or any(m != n and m >= 0 and n >= 0 for m, n in zip(a, b, strict=True)):
        raise Mismatch(a, tuple(b))
    return tuple(n if m < 0 else m for m, n in zip(a, b, strict=True))


def _at(shapes: Shapes, i: int, found: Sequence[int] | None) -> None:
    if i < len(shapes):
        try:
            shapes[i] = meet(shapes[i], found)
        except Mismatch as e:
            e.place = shapes, i
            raise


def _size(lengths: Sequence[int]) -> int:
    return -1 if any(n < 0 for n in lengths) else math.prod(lengths)


def _tuple(value: Any, n: int) -> Shape:
    return (int(value),) * n if isinstance(value, int) else tuple(int(v) for v in value)


# ---- one shape for all -----------------------------------------------------------------------------------------------
def _same(ins: Shapes, outs: Shapes, p: Params) -> None:
    shape: Shape | None = None
    for s in (*ins, *outs):
        shape = meet(s, shape)
    for shapes in (ins, outs):
        shapes[:] = [shape] * len(shapes)


def _first(ins: Shapes, outs: Shapes, p: Params) -> None:
    """The result has the shape of the first input."""
    ins[0] = outs[0] = meet(ins[0], outs[0])


# ---- layers ----------------------------------------------------------------------------------------------------------
def _dense(ins: Shapes, outs: Shapes, p: Params) -> None:
    n, flat, d, out = int(p["num_hidden"]), p.get("flatten", True), ins[0], outs[0]
    if d is None:
        return
    if out is not None:
        if flat and len(out) == 2:
            d = meet(d, (out[0], *[-1] * (len(d) - 1)))
        elif not flat:
            d = meet(d, (*out[:-1], -1))
    assert d is not None
    _at(ins, 1, (n, _size(d[1:]) if flat else d[-1]))
    weight = ins[1]
    if weight is not None and weight[1] >= 0 and (not flat or len(d) == 2):
        d = (*d[:-1], weight[1])
    ins[0] = d
    if len(ins) > 2 and ins[2] != (n, 1):  # the original accepts a column too
        _at(ins, 2, (n,))
    _at(outs, 0, (d[0], n) if flat else (*d[:-1], n))


def _layout(p: Params, ndim: int) -> bool:
    """Whether channels are last."""
    return p.get("layout") is not None and str(p["layout"]).endswith("C") and ndim > 2


def _convolution(ins: Shapes, outs: Shapes, p: Params) -> None:
    d, out = ins[0], outs[0]
    if d is None:
        return
    n, groups, dims = int(p["num_filter"]), int(p.get("num_group", 1)), len(d) - 2
    kernel = _tuple(p["kernel"], dims)
    if len(kernel) != dims:
        return  # the operator's own error, when it runs, is clearer
    last = _layout(p, len(d))
    channels = d[-1] if last else d[1]
    per_group = channels // groups if channels >= 0 else -1
    inner = list(d[1:-1] if last else d[2:])
    stride, dilate, pad = (_tuple(p.get(k) or v, dims) for k, v in (("stride", 1), ("dilate", 1), ("pad", 0)))
    reach = [(k - 1) * e + 1 for k, e in zip(kernel, dilate, strict=True)]
    batch = d[0]
    if out is not None and len(out) == len(d):
        batch = out[0] if batch < 0 else batch
        seen = out[1:-1] if last else out[2:]
        inner = [
            o + r - 1 - 2 * a if m < 0 <= o and s == 1 else m
            for m, o, r, s, a in zip(inner, seen, reach, stride, pad, strict=True)
        ]
    ins[0] = (batch, *inner, channels) if last else (batch, channels, *inner)
    _at(ins, len(ins) - 1 if p.get("no_bias") else len(ins) - 2,
        (n, *kernel, per_group) if last else (n, per_group, *kernel))  # fmt: skip
    if not p.get("no_bias"):
        _at(ins, len(ins) - 1, (n,))
    lengths = [-1 if m < 0 else (m + 2 * a - r) // s + 1 for m, r, s, a in zip(inner, reach, stride, pad, strict=True)]
    if all(m == -1 or m > 0 for m in lengths):
        _at(outs, 0, (batch, *lengths, n) if last else (batch, n, *lengths))


def _deconvolution(ins: Shapes, outs: Shapes, p: Params) -> None:
    d = ins[0]
    if d is not None:
        n, groups = int(p["num_filter"]), int(p.get("num_group", 1))
        kernel = _tuple(p["kernel"], len(d) - 2)
        last = _layout(p, len(d))
        _at(ins, 1, (d[-1], *kernel, n // groups) if last else (d[1], n // groups, *kernel))
        _at(ins, 2, (n,))


def _layer_norm(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    if ins[0] is not None:
        for i in range(1, len(ins)):
            _at(ins, i, (ins[0][int(p.get("axis", -1))],))


def _normalization(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    if ins[0] is not None:
        ins[1:] = [(ins[0][int(p.get("axis", 1))],)] * (len(ins) - 1)


def _group_norm(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    if ins[0] is not None:
        ins[1:] = [(int(p.get("num_groups", 1)),)] * (len(ins) - 1)


# as in MXNet, the data of these operators determine the shapes of their parameters, whatever a variable declares
DECIDING = frozenset(
    ("BatchNorm", "BatchNorm_v1", "_contrib_SyncBatchNorm", "_contrib_BatchNormWithReLU", "InstanceNorm", "GroupNorm")
)


def _leaky(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    d = ins[0]
    if d is not None and len(ins) > 1 and ins[1] is None:
        ins[1] = (d[1] if len(d) > 1 else 1,)


def _embedding(ins: Shapes, outs: Shapes, p: Params) -> None:
    n = int(p["output_dim"])
    _at(ins, 1, (int(p["input_dim"]), n))
    if outs[0] is not None:
        _at(ins, 0, outs[0][:-1])
    if ins[0] is not None:
        _at(outs, 0, (*ins[0], n))


def _quantized_embedding(ins: Shapes, outs: Shapes, p: Params) -> None:
    _embedding(ins, outs, p)
    for i in (1, 2):  # the ends of the range
        _at(ins, i + 1, (1,))
        _at(outs, i, (1,))


def _of_bytes(rule: Rule) -> Rule:
    """The rule of a quantized operator from that of the plain one: the two ends of each array's range are added."""

    def found(ins: Shapes, outs: Shapes, p: Params) -> None:
        k = len(ins) // 3
        arrays, results = ins[:k], outs[:1]
        try:
            rule(arrays, results, p)
        except Mismatch as e:
            if e.place is not None:
                e.place = ins if e.place[0] is arrays else outs, e.place[1]
            raise
        ins[:k], outs[:1] = arrays, results
        for shapes, first in ((ins, k), (outs, 1)):
            for i in range(first, len(shapes)):
                _at(shapes, i, (1,))

    return found


def _ends_alone(ins: Shapes, outs: Shapes, p: Params) -> None:
    """Infer the shape of the result by running the operator."""


def _byte_norm(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    if ins[0] is not None:
        axis = int(p.get("axis", 1))
        if not -len(ins[0]) <= axis < len(ins[0]):
            return  # the operator's own error, when it runs, is clearer
        for i in range(1, 5):
            _at(ins, i, (ins[0][axis],))
    for shapes, first in ((ins, 5), (outs, 1)):
        for i in (first, first + 1):
            _at(shapes, i, (1,))


def _requantize(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    for shapes in (ins, outs):
        _at(shapes, 1, (1,))
        _at(shapes, 2, (1,))


def _sequence_last(ins: Shapes, outs: Shapes, p: Params) -> None:
    d, axis = ins[0], int(p.get("axis", 0))
    if d is not None:
        _at(outs, 0, (*d[:axis], *d[axis + 1 :]))
        _at(ins, 1, (d[1 - axis],))


def _rnn(ins: Shapes, outs: Shapes, p: Params) -> None:
    d = ins[0]
    if d is None or len(d) != 3:
        return
    hidden, layers, project = int(p["state_size"]), int(p["num_layers"]), int(p.get("projection_size") or 0)
    sides, gates = 2 if p.get("bidirectional") else 1, {"lstm": 4, "gru": 3}.get(p.get("mode", ""), 1)
    given, size = project or hidden, project * hidden * layers * sides
    for layer in range(layers):
        inputs = d[2] if layer == 0 else given * sides
        size += sides * gates * hidden * (inputs + given + 2)
    if d[2] >= 0:
        _at(ins, 1, (size,))
    _at(ins, 2, (layers * sides, d[1], given))
    if p.get("mode") == "lstm":
        _at(ins, 3, (layers * sides, d[1], hidden))


def _label(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    d = ins[0]
    if d is not None and not (ins[1] is not None and len(ins[1]) == len(d) and meet(ins[1], d)):
        if p.get("multi_output"):
            flat = (d[0], _size(d[2:]))
            if ins[1] is None or ins[1] not in (flat, (d[0], 1, *d[2:])):
                _at(ins, 1, (d[0], *d[2:]))
        else:
            _at(ins, 1, d[:-1])


def _target(ins: Shapes, outs: Shapes, p: Params) -> None:
    _first(ins, outs, p)
    d = ins[0]
    if is_known(d):
        assert d is not None
        if ins[1] is None:
            ins[1] = d[:1] if len(d) == 2 and d[1] == 1 else d
        elif math.prod(d) != _size(ins[1]) or d[0] != ins[1][0]:
            _at(ins, 1, d)


def _upsampling(ins: Shapes, outs: Shapes, p: Params) -> None:
    if p.get("sample_type") == "bilinear" and len(ins) == 2:
        scale = int(p["scale"])
        kernel = 2 * scale - scale % 2
        _at(ins, 1, (int(p["num_filter"]), 1, kernel, kernel))


# ---- products --------------------------------------------------------------------------------------------------------
def _dot(ins: Shapes, outs: Shapes, p: Params) -> None:
    a, b = ins
    if a is not None and b is not None and len(a) and len(b):
        left = a[1:] if p.get("transpose_a") else a[:-1]
        right = b[:-1] if p.get("transpose_b") else b[1:]
        inner = (a[:1] if p.get("transpose_a") else a[-1:]), (b[-1:] if p.get("transpose_b") else b[:1])
        meet(*inner)
        _at(outs, 0, (*left, *right) or (1,))


def _batch_dot(ins: Shapes, outs: Shapes, p: Params) -> None:
    a, b = ins
    if a is not None and b is not None and len(a) == len(b) == 3 and min(*a[1:], *b[1:]) >= 0:
        batch = meet(a[:1], b[:1]) or (-1,)
        ins[0], ins[1] = (*batch, *a[1:]), (*batch, *b[1:])
        meet((a[1 if p.get("transpose_a") else 2],), (b[2 if p.get("transpose_b") else 1],))
        _at(outs, 0, (*batch, a[2] if p.get("transpose_a") else a[1], b[1] if p.get("transpose_b") else b[2]))


# ---- axes ------------------------------------------------------------------------------------------------------------
def _concat(ins: Shapes, outs: Shapes, p: Params) -> None:
    known = next((s for s in (*outs, *ins) if s is not None), None)
    if known is None:
        return
    axis, shape = int(p.get("dim", 1)) % len(known), known
    for s in (*ins, *outs):
        if s is not None and len(s) == len(known):
            others = [-1 if i == axis else n for i, n in enumerate(s)]
            shape = meet([-1 if i == axis else n for i, n in enumerate(shape)], others) or shape  # type: ignore[arg-type]

    def with_length(n: int) -> Shape:
        return (*shape[:axis], n, *shape[axis + 1 :])

    lengths = [-1 if s is None else s[axis] for s in ins]
    total = -1 if outs[0] is None else outs[0][axis]
    if total >= 0 and lengths.count(-1) == 1:
        lengths[lengths.index(-1)] = total - sum(n for n in lengths if n >= 0)
    for i, n in enumerate(lengths):
        _at(ins, i, with_length(n))
    _at(outs, 0, with_length(-1 if -1 in lengths else sum(lengths)))


def _slice_channel(ins: Shapes, outs: Shapes, p: Params) -> None:
    n, squeeze, axis = int(p["num_outputs"]), bool(p.get("squeeze_axis")), int(p.get("axis", 1))
    part: Shape | None = None
    for s in outs:
        part = meet(s, part)
    if part is not None:
        if squeeze:
            axis = axis % (len(part) + 1)
            _at(ins, 0, (*part[:axis], n, *part[axis:]))
        else:
            _at(ins, 0, tuple(m * n if i == axis % len(part) and m >= 0 else m for i, m in enumerate(part)))
    d = ins[0]
    if d is not None and d[axis] % n == 0 or d is not None and d[axis] < 0:
        axis = axis % len(d)
        length = d[axis] // n if d[axis] >= 0 else -1
        part = (*d[:axis], *(() if squeeze else (length,)), *d[axis + 1 :])
        for i in range(len(outs)):
            _at(outs, i, part)


def _transpose(ins: Shapes, outs: Shapes, p: Params) -> None:
    known = ins[0] if ins[0] is not None else outs[0]
    if known is not None:
        axes = p.get("axes") or tuple(reversed(range(len(known))))
        axes = [int(a) % len(known) for a in axes]
        if ins[0] is not None and len(axes) == len(known):
            _at(outs, 0, [ins[0][a] for a in axes])
        if outs[0] is not None and len(axes) == len(known):
            back: list[int] = [0] * len(axes)
            for a, n in zip(axes, outs[0], strict=True):
                back[a] = n
            _at(ins, 0, back)


def _swap(ins: Shapes, outs: Shapes, p: Params) -> None:
    i, j = int(p.get("dim1", 0)), int(p.get("dim2", 0))

    def swapped(s: Shape | None) -> list[int] | None:
        if s is None:
            return None
        new = list(s)
        new[i], new[j] = new[j], new[i]
        return new

    _at(outs, 0, swapped(ins[0]))
    _at(ins, 0, swapped(outs[0]))


def _pick(ins: Shapes, outs: Shapes, p: Params) -> None:
    d, axis = ins[0], p.get("axis", -1)
    if d is not None and axis is not None:
        axis = int(axis) % len(d)
        if ins[1] is not None and len(ins[1]) == len(d) - 1:
            meet(ins[1], (*d[:axis], *d[axis + 1 :]))
        _at(outs, 0, (*d[:axis], *((1,) if p.get("keepdims") else ()), *d[axis + 1 :]) or (1,))


def _expand(ins: Shapes, outs: Shapes, p: Params) -> None:
    if ins[0] is not None:
        if not -len(ins[0]) - 1 <= int(p["axis"]) <= len(ins[0]):
            raise IndexError(f"axis: {p['axis']} is no place for an axis in shape {ins[0]}")
        axis = int(p["axis"]) % (len(ins[0]) + 1)
        _at(outs, 0, (*ins[0][:axis], 1, *ins[0][axis:]))
    if outs[0] is not None:
        axis = int(p["axis"]) % len(outs[0])
        _at(ins, 0, (*outs[0][:axis], *outs[0][axis + 1 :]))


def _flatten(ins: Shapes, outs: Shapes, p: Params) -> None:
    if ins[0] is not None:
        _at(outs, 0, (ins[0][0], _size(ins[0][1:])))


def _reshape(ins: Shapes, outs: Shapes, p: Params) -> None:
    """Infers one unknown length of the input from the number of elements."""
    d = ins[0]
    if d is not None and d.count(-1) == 1 and is_known(outs[0]):
        rest = -math.prod(d)
        if rest and math.prod(outs[0] or ()) % rest == 0:
            ins[0] = tuple(math.prod(outs[0] or ()) // rest if n < 0 else n for n in d)


def _slice(ins: Shapes, outs: Shapes, p: Params) -> None:
    """A slice of an axis of unknown length has an unknown length too."""
    d = ins[0]
    if d is None:
        return
    begin, end, step = ((v,) if isinstance(v, int) else v or () for v in (p.get(k) for k in ("begin", "end", "step")))
    found = []
    for i, n in enumerate(d):
        cut = slice(*(v[i] if i < len(v) else None for v in (begin, end, step)))
        found.append(len(range(n)[cut]) if n >= 0 else -1)
    if all(found):  # running the operator raises a clearer error
        _at(outs, 0, found)


def _slice_axis(ins: Shapes, outs: Shapes, p: Params) -> None:
    d = ins[0]
    if d is not None:
        axis = int(p["axis"]) % len(d)
        n = len(range(d[axis])[slice(p["begin"], p["end"])]) if d[axis] >= 0 else -1
        if n:
            _at(outs, 0, (*d[:axis], n, *d[axis + 1 :]))


def _filled(ins: Shapes, outs: Shapes, p: Params) -> None:
    shape = p.get("shape") or ()
    shape = (shape,) if isinstance(shape, int) else shape
    if shape:
        _at(outs, 0, [-1 if n in (0, -1) else int(n) for n in shape])


def _range(ins: Shapes, outs: Shapes, p: Params) -> None:
    start, stop = p.get("start", 0), p.get("stop")
    if p.get("infer_range") and stop is None:
        _at(outs, 0, (-1,))
        return
    start, stop = (0, start) if stop is None else (start, stop)
    steps = max(0, math.ceil((stop - start) / p.get("step", 1.0)))
    _at(outs, 0, (steps * p.get("repeat", 1),))


_ONE_SHAPE = (
    "Activation BlockGrad Cast Dropout L2Normalization LRN MakeLoss SoftmaxActivation _copy _hypot_scalar "
    "_identity_with_attr_like_rhs add_n amp_cast clip elemwise_add elemwise_div elemwise_mul elemwise_sub hard_sigmoid "
    "identity logical_not make_loss ones_like smooth_l1 zeros_like _contrib_quadratic _contrib_gradientmultiplier "
    "_linalg_inverse _linalg_potrf _linalg_potri _grad_add _rminus_scalar _rdiv_scalar _rmod_scalar _rpower_scalar "
    "_plus_scalar _minus_scalar _mul_scalar _div_scalar"
).split()
RULES: dict[str, Rule] = {
    **dict.fromkeys((*_ONE_SHAPE, *_elementwise_table.EXAMPLES), _same),
    **dict.fromkeys((f"_{k}_scalar" for k in PAIRS), _same),
    **dict.fromkeys((f"_{k}" for k in PAIRS), _same),
    **dict.fromkeys(("softmax", "log_softmax", "softmin", "_sparse_retain"), _first),
    "FullyConnected": _dense,
    "Convolution": _convolution,
    "Convolution_v1": _convolution,
    "Deconvolution": _deconvolution,
    "_contrib_DeformableConvolution": _convolution,
    "_contrib_ModulatedDeformableConvolution": _convolution,
    **dict.fromkeys(DECIDING, _normalization),
    "GroupNorm": _group_norm,
    "IdentityAttachKLSparseReg": _normalization,
    "LayerNorm": _layer_norm,
    "LeakyReLU": _leaky,
    "Embedding": _embedding,
    "_contrib_SparseEmbedding": _embedding,
    "_contrib_quantized_embedding": _quantized_embedding,
    "_contrib_quantized_fully_connected": _of_bytes(_dense),
    "_contrib_quantized_conv": _of_bytes(_convolution),
    **dict.fromkeys(("_contrib_quantized_act", "_contrib_quantized_elemwise_add", "_contrib_quantized_elemwise_mul"),
                    _of_bytes(_same)),
    "_contrib_quantized_flatten": _of_bytes(_flatten),
    "_contrib_quantized_concat": _of_bytes(_concat),
    "_contrib_quantized_pooling": _of_bytes(_ends_alone),
    "_contrib_quantized_batch_norm": _byte_norm,
    **dict.fromkeys(("_contrib_quantize", "_contrib_quantize_v2", "_contrib_quantize_asym", "_contrib_requantize",
                     "_contrib_dequantize"), _requantize),
    "SequenceLast": _sequence_last,
    "RNN": _rnn,
    "SoftmaxOutput": _label,
    "SVMOutput": _label,
    **dict.fromkeys(("LinearRegressionOutput", "LogisticRegressionOutput", "MAERegressionOutput"), _target),
    "UpSampling": _upsampling,
    "dot": _dot,
    "batch_dot": _batch_dot,
    "Concat": _concat,
    "SliceChannel": _slice_channel,
    "transpose": _transpose,
    "SwapAxis": _swap,
    "pick": _pick,
    "expand_dims": _expand,
    "Flatten": _flatten,
    "Reshape": _reshape,
    "slice": _slice,
    "slice_axis": _slice_axis,
    "_zeros": _filled,
    "_ones": _filled,
    "_full": _filled,
    "_arange": _range,
}  # fmt: skip
