"""Export of networks of the frontends as `torch.fx` graphs of ATen calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import fx

from compatgrad.exporting._run import Exporter
from compatgrad.exporting._trace import ExportError

__all__ = ["ExportError", "export"]


def export(
    target: Callable[..., Any],
    example_inputs: Any,
    *,
    kwargs: Mapping[str, Any] | None = None,
    parameters: Any = None,
    frontend: str | None = None,
    dynamic: Any = True,
    train: bool = False,
    check: bool = True,
) -> fx.GraphModule:
    """Exports a network as a `torch.fx.GraphModule` of ATen calls, for `torch.export`, `torch.compile` and other tools.
    The graph's parameters and buffers share memory with the target's, and have the names that `as_torch_module` gives
    them. The target itself is not changed.

    Args:
        target: a Chainer link, a Gluon block, a function of Variables, or a torch module, which may hold such.
        example_inputs: a tuple or list of arguments, or a single one: torch tensors, arrays or Variables, also inside
            tuples, lists and dicts. Each becomes an input of the graph; arguments of other types are fixed.
        kwargs: keyword arguments.
        parameters: for a function, the Variables that it uses, by name, or the link or block that contains them; for a
            bound method the default is its object.
        frontend: for a function, the frontend whose Variables it takes, as for `as_torch_module`.
        dynamic: True: the first dimension of every input is the batch, of any size; False or None: all sizes are fixed;
            or for each input a dict from dimensions to names, or None; sizes with the same name are equal.
        train: True exports layers in training mode; running statistics are written to buffers.
        check: True runs the graph on the examples, and compares its results with the target's.

    Returns:
        The graph.

    Raises:
        ExportError: the code reads values, the calls depend on sizes, no expression of the sizes is found for a number,
            or the results are not the target's; the message names the call and the line.
        TypeError: an argument has a wrong type.
        ValueError: an argument is wrong.

    Example:
        >>> import torch
        >>> import compatgrad.chainer.functions as F
        >>> import compatgrad.chainer.links as L
        >>> from compatgrad import interop
        >>> link = L.Linear(3, 2)
        >>> graph = interop.export(lambda x: F.tanh(link(x)), torch.ones(4, 3), parameters=link)
        >>> sorted(name for name, _ in graph.named_parameters())
        ['W', 'b']
        >>> graph(torch.ones(7, 3)).shape
        torch.Size([7, 2])

    Source: `compatgrad/exporting/export.py` and the other modules of its package; docs/mixing.md.
    """
    args = tuple(example_inputs) if isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    exporter = Exporter("interop.export", target, parameters, frontend, train)
    return exporter.run(args, dict(kwargs or {}), dynamic, check)
