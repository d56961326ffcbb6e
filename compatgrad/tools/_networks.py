"""`convert --to torch` for files that contain a network: nnabla's .nnp, and MXNet's symbols with their parameters."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from compatgrad.interop import files, weights
from compatgrad.interop.native.native import NativeError, NativeModule, to_native

__all__ = ["has_names", "has_network", "input_of", "new_values", "written"]

# layers at the end of a symbol whose backward is the gradient of a loss, and what they compute
_OUTPUTS = {"SoftmaxOutput": "softmax", "Softmax": "softmax", "LogisticRegressionOutput": "sigmoid",
            "LinearRegressionOutput": "", "MAERegressionOutput": ""}  # fmt: skip


def has_network(path: str) -> bool:
    """Whether a file contains a network and not only parameters, by its name."""
    return path.endswith((".nnp", ".json"))


def input_of(text: str) -> tuple[str, tuple[int, ...], bool]:
    """NAME=1x3x224x224 or NAME=8x20:int as the name, the shape, and whether it consists of integers."""
    name, equals, rest = text.partition("=")
    shape, _, kind = rest.partition(":")
    if not equals or not name or kind not in ("", "int", "float"):
        raise ValueError(f"--input: expected NAME=SHAPE or NAME=SHAPE:int, such as data=1x3x224x224, got {text!r}")
    try:
        sizes = tuple(int(n) for n in shape.split("x")) if shape else ()
    except ValueError:
        raise ValueError(f"--input: expected sizes with x between them, such as 1x3x224x224, got {shape!r}") from None
    if any(n < 1 for n in sizes):
        raise ValueError(f"--input: expected positive sizes, got {shape!r}")
    return name, sizes, kind == "int"


def written(path: str, params: str | None, network: str | None, inputs: Sequence[str], keep: bool) -> NativeModule:
    """The network in a file as source of torch. params: of a symbol. network: the name of the network. inputs: shapes
    of inputs (`input_of`)."""
    shapes = {name: (shape, whole) for name, shape, whole in map(input_of, inputs)}
    try:
        if path.endswith(".nnp"):
            if params is not None:
                raise ValueError("--params is for symbols: a .nnp file contains its parameters")
            return _nnabla(path, network, shapes, keep)
        if params is None:
            raise ValueError(f"{path}: a symbol has no parameters: --params FILE.params is missing")
        return _mxnet(path, params, shapes, keep)
    except NativeError as e:
        raise ValueError(f"{path}: {str(e).replace('keep=True', '--keep')}") from e
    except RuntimeError as e:  # of the frontend: shapes that do not fit, operators that a program defines
        raise ValueError(f"{path}: the network cannot run: {e}") from e


def has_names(path: str, tensors: Mapping[str, torch.Tensor]) -> bool:
    """Whether tensors have the names that the parameters in a file get by their own names, and not those in source."""
    if path.endswith(".json"):
        return False
    found, _ = weights.to_torch(files.load(path).tensors, weights.framework_of(path))
    return set(found) <= {*tensors}


def new_values(result: NativeModule, tensors: Mapping[str, torch.Tensor], path: str, like: str) -> list[str]:
    """Writes a copy of the file `like` with the values of a state dict of the module. Returns names in `tensors` that
    the module does not have."""
    values = files.load(like).tensors
    given = result.legacy_state(tensors)
    names = {n.partition(":")[2] or n: n for n in values}  # MXNet's begin with arg: or aux:
    first = next(iter(given))
    starts = [n.removesuffix(first) for n in names if n.endswith(first)]  # a block leaves out what all names begin with
    start = next((s for s in starts if all(s + n in names for n in given)), None)
    if start is None:
        raise ValueError(f"{like}: parameter {first} is missing")
    for name, t in given.items():
        values[names[start + name]] = t
    weights.write_like(path, like, values, legacy_names=True)
    return sorted(set(tensors) - set(result.state_dict))


def _example(shape: Sequence[int], whole: bool) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    if whole:
        return torch.randint(0, 2, tuple(shape), generator=generator)
    return torch.rand(tuple(shape), generator=generator)


def _nnabla(path: str, name: str | None, shapes: Mapping[str, Any], keep: bool) -> NativeModule:
    from compatgrad.nnabla.core import graph_def
    from compatgrad.nnabla.core.variable_batch_size import variable_batch_size

    graph = graph_def.load(path)
    if not graph.networks:
        raise ValueError(f"{path}: expected a network, found parameters only")
    if name is None:
        used = [e.network_name for e in graph.executors.values() if e.network_name in graph.networks]
        found = list(dict.fromkeys(used)) or list(graph.networks)
        if len(found) > 1:
            raise ValueError(
                f"{path} contains the networks {', '.join(map(str, graph.networks))}: --network NAME chooses one"
            )
        name = found[0]
    if name not in graph.networks:
        raise ValueError(f"{path}: --network: expected one of {', '.join(map(str, graph.networks))}, got {name!r}")
    network = graph.networks[name]
    _check_names(path, shapes, network.inputs)
    with contextlib.suppress(ValueError, KeyError):  # otherwise the batch keeps its size
        variable_batch_size(network)
    parameters = graph.get_parameters(grad_only=False)
    examples = []
    for own in network.inputs:
        shape = [network.batch_size or 2 if n < 0 else n for n in network.variables[own].shape]
        shape, whole = shapes.get(own, (shape, False))
        examples.append(_example(shape, whole))

    def run(*xs: Any) -> Any:
        return network(*xs, batch_size=xs[0].shape[0] if xs[0].shape else None)

    _name_arguments(run, network.inputs)
    return to_native(run, *examples, parameters=parameters, frontend="nnabla", name=name, keep=keep)


def _mxnet(path: str, params: str, shapes: Mapping[str, Any], keep: bool) -> NativeModule:
    import compatgrad.mxnet as mx

    symbol = mx.sym.load(path)
    known = {name.partition(":")[2] or name for name in map(str, mx.nd.load(params))}
    heads = [_without_loss(mx, head) for head in symbol]
    symbol = heads[0] if len(heads) == 1 else mx.sym.Group(heads)
    names = [n for n in symbol.list_inputs() if n not in known]
    _check_names(path, shapes, names)
    if missing := [n for n in names if n not in shapes]:
        raise ValueError(f"{path}: the inputs are {', '.join(names)}: --input {missing[0]}=SHAPE is missing")
    block = mx.gluon.SymbolBlock(symbol, [mx.sym.var(n) for n in names])
    block.collect_params().load(params, ctx=mx.cpu(), ignore_extra=True, allow_missing=True)
    missing = [n for n, p in block.collect_params().items() if p._data is None]
    if missing:
        raise ValueError(f"{params}: parameter {missing[0]} of {path} is missing")
    title = os.path.basename(path).removesuffix(".json").removesuffix("-symbol")
    return to_native(block, *(_example(*shapes[n]).float() for n in names), name=title, keep=keep)


def _without_loss(mx: Any, head: Any) -> Any:
    """An output of a symbol; a layer that computes a loss in backward becomes what it computes in forward."""
    node = json.loads(head.tojson())["nodes"][-1]
    if node["op"] not in _OUTPUTS:
        return head
    options = node.get("attrs", node.get("param", {}))
    before = head.get_children()[0]
    if _OUTPUTS[node["op"]] == "softmax":
        return mx.sym.softmax(before, axis=1 if options.get("multi_output") in ("True", "1", True) else -1)
    return mx.sym.sigmoid(before) if _OUTPUTS[node["op"]] == "sigmoid" else before


def _check_names(path: str, given: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in given:
        if name not in names:
            raise ValueError(f"{path}: --input: expected names of {', '.join(names)}, got {name!r}")


def _name_arguments(function: Any, names: Sequence[str]) -> None:
    """Gives a function arguments of these names, which those of `forward` will have."""
    own = ["".join(c if c.isalnum() else "_" for c in n) for n in names]
    if all(n.isidentifier() for n in own) and len(set(own)) == len(own):
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        function.__signature__ = inspect.Signature([inspect.Parameter(n, kind) for n in own])
