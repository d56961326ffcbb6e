"""ATen calls of a graph as the Python that a torch user would write."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import fx

__all__ = ["Text", "call_text", "literal", "loose"]


class Text(str):
    """Source of an expression. `atom`: whether it binds tighter than any operator."""

    atom = True


def loose(text: str) -> Text:
    """An expression that binds as loosely as an operator."""
    made = Text(text)
    made.atom = False
    return made


def tight(text: str) -> str:
    """The expression, in parentheses where an operator or a dot follows."""
    return f"({text})" if not getattr(text, "atom", True) else text


def literal(value: Any, text: Callable[[fx.Node], str]) -> str:
    """An argument as source."""
    if isinstance(value, fx.Node):
        return text(value)
    if isinstance(value, (list, tuple)):
        items = [literal(v, text) for v in value]
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({', '.join(items)}{',' * (len(items) == 1)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {literal(v, text)}" for k, v in value.items()) + "}"
    if isinstance(value, float) and not math.isfinite(value):
        return "math.nan" if math.isnan(value) else "math.inf" if value > 0 else "-math.inf"
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, (int, float, bool, str, type(None), torch.dtype)):
        return repr(value)
    raise NotImplementedError(f"an argument of {type(value).__name__} cannot be written as source")


_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mm": "@", "bmm": "@", "eq": "==", "ne": "!=", "lt": "<",
    "le": "<=", "gt": ">", "ge": ">=", "pow": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
}  # fmt: skip
_NUMBERS = {operator.mul: "*", operator.add: "+", operator.sub: "-", operator.floordiv: "//", operator.truediv: "/"}
# functions of torch.nn.functional with the arguments of the ATen call
_FUNCTIONAL = {
    "relu", "gelu", "leaky_relu", "hardtanh", "softplus", "glu", "prelu", "selu", "celu", "silu", "mish",
    "hardswish", "hardsigmoid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "softshrink", "hardshrink", "relu6",
    "pixel_shuffle", "log_sigmoid",
}  # fmt: skip
_OMITTED = {"layout", "pin_memory", "memory_format", "non_blocking"}


class _Call:
    """One call, and how its arguments are written."""

    def __init__(self, node: fx.Node, text: Callable[[Any], str], like: Callable[[torch.dtype], str | None]) -> None:
        self.node, self._text = node, text
        schema = node.target._schema  # type: ignore[union-attr]
        self.name = node.target.overloadpacket.__name__  # type: ignore[union-attr]
        self.overload = node.target._overloadname  # type: ignore[union-attr]
        self.given: dict[str, Any] = dict(zip((a.name for a in schema.arguments), node.args, strict=False))
        self.given.update(node.kwargs)
        self.positional: list[Any] = list(node.args)
        self.keywords = {k: v for k, v in node.kwargs.items() if k not in _OMITTED and v is not None}
        self.like = like

    def arg(self, k: int, default: Any = None) -> Any:
        return self.positional[k] if k < len(self.positional) else default

    def text(self, value: Any) -> str:
        if isinstance(value, torch.dtype):
            return self.like(value) or repr(value)
        return literal(value, self._text)

    def tight(self, k: int) -> str:
        value = self.arg(k)
        return tight(self._text(value)) if isinstance(value, fx.Node) else self.text(value)

    def keyword_texts(self) -> list[str]:
        found = []
        for k, v in self.keywords.items():
            if k == "device":
                device = self.like(torch.uint8)  # asks for the device of an input
                found += [f"device={device}"] if device else []
            else:
                found.append(f"{k}={self.text(v)}")
        return found

    def arguments(self, start: int = 0) -> str:
        return ", ".join([*(self.text(v) for v in self.positional[start:]), *self.keyword_texts()])


def call_text(node: fx.Node, text: Callable[[Any], str], like: Callable[[torch.dtype], str | None]) -> Text:
    """The source of a node's call. text: gives the source of another node. like: gives for a dtype the source of the
    dtype of an input that has it, or None; for torch.uint8 it gives the source of the inputs' device."""
    target = node.target
    if target is operator.getitem:
        return Text(f"{tight(text(node.args[0]))}[{node.args[1]}]")
    if target in _NUMBERS:
        a, b = (tight(text(v)) if isinstance(v, fx.Node) else repr(v) for v in node.args)
        return loose(f"{a} {_NUMBERS[target]} {b}")
    if target is torch.sym_max:
        return Text(f"max({', '.join(text(v) if isinstance(v, fx.Node) else repr(v) for v in node.args)})")
    call = _Call(node, text, like)
    special = _SPECIAL.get(call.name)
    found = special(call) if special is not None else None
    return _general(call) if found is None else found


def _general(c: _Call) -> Text:
    if c.name in _BINARY and len(c.positional) == 2:
        alpha = c.keywords.get("alpha", 1)
        if not (set(c.keywords) - {"alpha"}):
            right = c.tight(1) if alpha == 1 else f"{c.text(alpha)} * {c.tight(1)}"
            return loose(f"{c.tight(0)} {_BINARY[c.name]} {right}")
    if c.name in _FUNCTIONAL:
        return Text(f"F.{c.name.replace('log_sigmoid', 'logsigmoid')}({c.arguments()})")
    if c.name.endswith("_") and hasattr(torch.Tensor, c.name):
        return Text(f"{c.tight(0)}.{c.name}({c.arguments(1)})")
    if not c.name.startswith("_") and hasattr(torch, c.name) and callable(getattr(torch, c.name)):
        return Text(f"torch.{c.name}({c.arguments()})")
    if not c.name.startswith("_") and hasattr(torch.Tensor, c.name):
        return Text(f"{c.tight(0)}.{c.name}({c.arguments(1)})")
    return Text(f"torch.ops.aten.{c.name}.{c.overload or 'default'}({c.arguments()})")


# ---- calls that are written in another way ---------------------------------------------------------------------------

_SPECIAL: dict[str, Callable[[_Call], Text | None]] = {}


def _special(*names: str) -> Callable[[Callable[[_Call], Text | None]], Callable[[_Call], Text | None]]:
    def register(f: Callable[[_Call], Text | None]) -> Callable[[_Call], Text | None]:
        _SPECIAL.update(dict.fromkeys(names, f))
        return f

    return register


@_special("sym_size")
def _size(c: _Call) -> Text:
    return Text(f"{c.tight(0)}.shape[{c.arg(1)}]")


def _shape_of(node: Any) -> Sequence[int] | None:
    runs = node.meta.get("runs") if isinstance(node, fx.Node) else None
    return tuple(runs[0].shape) if runs else None


@_special("view", "_unsafe_view", "reshape")
def _reshape(c: _Call) -> Text:
    shape, before = c.arg(1), _shape_of(c.arg(0))
    after = _shape_of(c.node)
    if before and after and len(after) < len(before) and len(after) > 0:
        kept = len(after) - 1
        if tuple(before[:kept]) == tuple(after[:kept]) and math.prod(before[kept:]) == after[kept]:
            first_fixed = all(isinstance(n, int) for n in shape[1:])
            if first_fixed or kept == 1:
                return Text(f"{c.tight(0)}.flatten({kept})" if kept else f"{c.tight(0)}.flatten()")
    return Text(f"{c.tight(0)}.reshape({', '.join(c.text(n) for n in shape) or '()'})")


@_special("expand", "repeat", "permute")
def _spread(c: _Call) -> Text:
    return Text(f"{c.tight(0)}.{c.name}({', '.join(c.text(n) for n in c.arg(1)) or '()'})")


@_special("t", "clone", "detach", "contiguous")
def _method(c: _Call) -> Text:
    return Text(f"{c.tight(0)}.{c.name}()")


@_special("transpose", "squeeze", "unsqueeze", "mean", "sum", "amax", "amin", "clamp", "masked_fill")
def _as_method(c: _Call) -> Text:
    rest = [c.text(tuple(v) if isinstance(v, list) else v) for v in c.positional[1:]]
    if c.name in ("mean", "sum", "amax", "amin") and len(rest) == 2:
        rest[1] = f"keepdim={rest[1]}"
    return Text(f"{c.tight(0)}.{c.name}({', '.join([*rest, *c.keyword_texts()])})")


@_special("_to_copy")
def _to_copy(c: _Call) -> Text:
    if set(c.keywords) - {"dtype", "device"}:
        return Text(f"torch.ops.aten._to_copy({c.arguments()})")
    dtype = c.keywords.get("dtype")
    return Text(f"{c.tight(0)}.to({c.text(dtype)})" if dtype is not None else f"{c.tight(0)}.clone()")


@_special("_softmax", "_log_softmax")
def _softmax(c: _Call) -> Text:
    return Text(f"F.{c.name[1:]}({c.text(c.arg(0))}, {c.arg(1)})")


@_special("elu")
def _elu(c: _Call) -> Text:
    """torch's function has no scale."""
    x, alpha, scale, input_scale = c.text(c.arg(0)), c.arg(1, 1), c.arg(2, 1), c.arg(3, 1)
    if input_scale != 1:
        return Text(f"torch.ops.aten.elu({c.arguments()})")
    if abs(alpha - 1.6732632423543772) < 1e-12 and abs(scale - 1.0507009873554805) < 1e-12:
        return Text(f"F.selu({x})")
    made = f"F.elu({x}{'' if alpha == 1 else f', {alpha}'})"
    return Text(made) if scale == 1 else loose(f"{scale} * {made}")


@_special("rsub")
def _rsub(c: _Call) -> Text:
    return loose(f"{c.text(c.arg(1))} - {c.tight(0)}")


@_special("neg", "bitwise_not")
def _sign(c: _Call) -> Text:
    return loose(f"{'-' if c.name == 'neg' else '~'}{c.tight(0)}")


@_special("lift_fresh")
def _constant(c: _Call) -> Text:
    return Text(c.text(c.arg(0)))


@_special("select")
def _select(c: _Call) -> Text:
    dim, index = c.arg(1), c.arg(2)
    if not isinstance(dim, int) or dim < 0:
        return Text(f"{c.tight(0)}.select({c.text(dim)}, {c.text(index)})")
    return Text(f"{c.tight(0)}[{', '.join([':'] * dim + [c.text(index)])}]")


@_special("slice")
def _slice(c: _Call) -> Text:
    dim, start, end, step = (c.arg(k, d) for k, d in ((1, 0), (2, None), (3, None), (4, 1)))
    end = None if isinstance(end, int) and end >= 2**62 else end
    first = "" if start in (None, 0) else c.text(start)
    part = f"{first}:{'' if end is None else c.text(end)}{'' if step == 1 else f':{c.text(step)}'}"
    return Text(f"{c.tight(0)}[{', '.join([':'] * dim + [part])}]")


@_special("index")
def _index(c: _Call) -> Text:
    parts = [":" if i is None else c.text(i) for i in c.arg(1)]
    return Text(f"{c.tight(0)}[{', '.join(parts)}]")


@_special("cat", "stack")
def _join(c: _Call) -> Text:
    dim = c.given.get("dim", 0)
    return Text(f"torch.{c.name}({c.text(list(c.arg(0)))}{f', {dim}' if dim else ''})")


@_special("constant_pad_nd")
def _pad(c: _Call) -> Text:
    value = c.arg(2, 0)
    return Text(f"F.pad({c.text(c.arg(0))}, {c.text(c.arg(1))}{f', value={c.text(value)}' if value else ''})")


@_special("embedding")
def _embedding(c: _Call) -> Text | None:
    return Text(f"F.embedding({c.text(c.arg(1))}, {c.text(c.arg(0))})") if len(c.positional) == 2 else None


@_special("full")
def _full(c: _Call) -> Text:
    fill = c.arg(1)
    if fill in (0, 1) and "dtype" in c.keywords:
        return Text(f"torch.{'ones' if fill else 'zeros'}({', '.join([c.text(c.arg(0)), *c.keyword_texts()])})")
    return Text(f"torch.full({c.arguments()})")


@_special("convolution")
def _convolution(c: _Call) -> Text | None:
    x, w, b, stride, pad, dilate, transposed, more, groups = c.positional
    n = len(stride)
    name = f"conv_transpose{n}d" if transposed else f"conv{n}d"
    rest = [f"stride={tuple(stride)}" if any(s != 1 for s in stride) else "",
            f"padding={tuple(pad)}" if any(pad) else "",
            f"output_padding={tuple(more)}" if transposed and any(more) else "",
            f"groups={groups}" if groups != 1 else "",
            f"dilation={tuple(dilate)}" if any(d != 1 for d in dilate) else ""]  # fmt: skip
    known = all(isinstance(v, int) for v in (*stride, *pad, *more, groups))
    given = [c.text(x), c.text(w), *([c.text(b)] if b is not None else []), *(r for r in rest if r)]
    return Text(f"F.{name}({', '.join(given)})") if known and n in (1, 2, 3) else None


@_special("max_pool2d_with_indices", "max_pool3d_with_indices")
def _max_pool(c: _Call) -> Text:
    name = c.name.removesuffix("_with_indices")
    names = ("kernel_size", "stride", "padding", "dilation", "ceil_mode")
    given = [f"{n}={c.text(tuple(v) if isinstance(v, list) else v)}"
             for n, v in zip(names[1:], c.positional[2:], strict=False)]  # fmt: skip
    size = c.text(tuple(c.arg(1)))
    return Text(f"F.{name}({', '.join([c.text(c.arg(0)), size, *given, 'return_indices=True'])})")


@_special("addmm")
def _addmm(c: _Call) -> Text | None:
    if c.keywords:
        return None
    return loose(f"{c.tight(0)} + {c.tight(1)} @ {c.tight(2)}")
