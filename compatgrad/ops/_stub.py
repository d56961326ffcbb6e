"""Writes `compatgrad/ops/__init__.pyi`, the types of all ops, from the registry: `make stubs`.

The compiled module makes the ops when it is loaded, so type checkers and editors find them in no source file.
"""

from __future__ import annotations

import json
import pathlib
import textwrap
from collections.abc import Iterator
from inspect import Parameter
from typing import Any

from compatgrad import _C
from compatgrad.core.signatures import signature_of
from compatgrad.ops._parameters import parameters_of

__all__ = ["ALONE", "FLAGS", "PATH", "SEVERAL", "VARYING", "text"]

PATH = pathlib.Path(__file__).with_name("__init__.pyi")
WIDTH = 120

# Ops whose result is a tuple.
SEVERAL = {
    "attention_grad",
    "batch_normalization_grad",
    "bipartite_matching",
    "box_encode",
    "eigen_symmetric",
    "group_normalization_grad",
    "gru_grad",
    "gru_reset_grad",
    "gru_update_grad",
    "layer_normalization_grad",
    "lstm",
    "lstm_grad",
    "lstm_parts",
    "mgu_reset_grad",
    "mgu_update_grad",
    "multibox_target",
    "pack_padded_sequence",
    "pad_packed_sequence",
    "peephole_cell",
    "peephole_cell_grad",
    "peephole_output_grad",
    "region_proposals",
    "roi_max",
    "roi_max_align",
    "slstm",
    "slstm_grad",
    "stft",
    "tree_lstm",
    "tree_lstm_grad",
}
# Ops whose result is a tuple if one of these parameters is true.
FLAGS = {
    "batch_normalization_statistics": ("stats",),
    "extreme": ("with_index",),
    "max_pooling": ("return_indices",),
    "sort": ("with_index",),
    "spectral_norm": ("output_u",),
    "top_k": ("with_index",),
    "unique": ("with_index", "with_inverse", "with_counts"),
}
ALONE = "only_index"  # a parameter that makes the result one Variable, even if a flag is true
# Ops whose number of results depends on their inputs or on a parameter; a single result is not in a tuple.
VARYING = {"rnn_layer", "split", "unstack"}

_TYPES = {
    "ints": "_Ints",
    "ints?": "_Ints | None",
    "int": "int",
    "int?": "int | None",
    "float": "float",
    "float?": "float | None",
    "bool": "bool",
    "str": "str",
    "scalar": "complex",
    "tensor": "_Input",
    "tensor?": "_Input | None",
    "dtype": "_DType",
    "index": "_Index",
}
_HEAD = """\
# Written by `make stubs` from the registry of ops; do not edit. Inputs that are tensors have no names.

from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal, TypeAlias, overload

import numpy.typing as npt
import torch

from compatgrad import _C
from compatgrad.core.variable import Variable as _Variable
from compatgrad.ops._parameters import describe as describe

_Input: TypeAlias = _C.Variable | torch.Tensor | npt.NDArray[Any]
_Ints: TypeAlias = int | Sequence[int]
_DType: TypeAlias = torch.dtype | npt.DTypeLike
_Index: TypeAlias = (
    int
    | slice
    | EllipsisType
    | Sequence[int]
    | Sequence[bool]
    | torch.Tensor
    | npt.NDArray[Any]
    | _C.Variable
    | tuple[int | slice | EllipsisType | Sequence[int] | torch.Tensor | npt.NDArray[Any] | _C.Variable | None, ...]
    | None
)

"""
_ONE, _MANY = "_Variable", "tuple[_Variable, ...]"


def _typed(p: Parameter, info: dict[str, Any], fixed: str | None = None) -> str:
    """A parameter as written in a stub; `fixed` is the only value that an overload accepts."""
    kinds = {name: kind for name, kind, _ in info["params"]}
    if p.name in kinds:
        type_ = f"Literal[{fixed}]" if fixed else _TYPES[kinds[p.name]]
    elif info["inputs"] < 0:
        type_ = "Sequence[_Input]"
    else:
        type_ = "_Input" if p.default is Parameter.empty else "_Input | None"
    if p.default is Parameter.empty or fixed == "True":
        return f"{p.name}: {type_}"
    return f"{p.name}: {type_} = {json.dumps(p.default) if isinstance(p.default, str) else repr(p.default)}"


def _written(name: str, parameters: list[str], result: str, body: str) -> str:
    line = f"def {name}({', '.join(parameters)}) -> {result}:{body}"
    if len(line.partition("\n")[0]) <= WIDTH:
        return line
    inner = "".join(f"    {p},\n" for p in parameters)
    return f"def {name}(\n{inner}) -> {result}:{body}"


def _parameters(name: str, values: dict[str, str], keyword: str | None = None) -> list[str]:
    """The op's parameters; `values` are those that an overload fixes; from `keyword` on they are keyword-only."""
    info, op, found, kind = _C.op_info(name), _C.op(name), [], None
    for p in signature_of(op).parameters.values():
        if kind is Parameter.POSITIONAL_ONLY and p.kind is not kind:
            found.append("/")
        if "*" not in found and (p.name == keyword or p.kind is Parameter.KEYWORD_ONLY):
            found.append("*")
        found.append(_typed(p, info, values.get(p.name)))
        kind = p.kind
    return found + ["/"] * (kind is Parameter.POSITIONAL_ONLY)


def _docstring(info: dict[str, Any]) -> str:
    told = "\n".join(textwrap.wrap(f'"""{info["doc"]}', WIDTH - 8, break_on_hyphens=False))
    for k, line in enumerate(parameters_of(info)):
        wrapped = textwrap.wrap(line, WIDTH - 8, initial_indent="    ", subsequent_indent="        ")
        told += "\n".join(["" if k else "\n\nArgs:", *wrapped])
    one = "\n" not in told
    return "\n" + textwrap.indent(told + ("" if one else "\n") + '"""', "    ") + "\n"


def _functions(name: str) -> Iterator[str]:
    info = _C.op_info(name)
    if name not in FLAGS:
        result = _MANY if name in SEVERAL else f"{_ONE} | {_MANY}" if name in VARYING else _ONE
        yield _written(name, _parameters(name, {}), result, _docstring(info))
        return
    flags = FLAGS[name]
    yield "@overload\n" + _written(name, _parameters(name, dict.fromkeys(flags, "False")), _ONE, _docstring(info))
    for flag in flags:
        parameters = _parameters(name, {flag: "True", ALONE: "False"}, keyword=flag)
        yield "@overload\n" + _written(name, parameters, _MANY, " ...\n")
    yield "@overload\n" + _written(name, _parameters(name, {}), f"{_ONE} | {_MANY}", " ...\n")


def text() -> str:
    """The text of the stub for all ops of the compiled module."""
    names = ["describe", *_C.op_names()]
    listed = "__all__ = [\n" + "".join(f'    "{name}",\n' for name in sorted(names)) + "]\n\n"
    functions = [f for name in _C.op_names() for f in _functions(name)]
    # as ruff's formatter writes it: a blank line follows a docstring, none follows `...`
    return _HEAD + listed + "".join(f if f.endswith("...\n") else f + "\n" for f in functions).rstrip("\n") + "\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
