"""Exported graphs as ONNX models, by torch's exporter; shared by the ONNX modules of the frontends."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import fx

__all__ = ["model_of", "need_onnx"]


def need_onnx(who: str) -> None:
    """Checks that onnx and onnxscript are installed.

    Args:
        who: the name of the caller in the message.

    Raises:
        ImportError: one of them is not installed; the message says what to install.

    Example:
        need_onnx("my_export")

    Source: `compatgrad/exporting/onnx.py`.
    """
    try:
        import onnx  # noqa: F401
        import onnxscript  # noqa: F401
    except ImportError as e:
        raise ImportError(f"{e}: {who} needs onnx and onnxscript: pip install onnx onnxscript") from e


def model_of(
    graph: fx.GraphModule,
    tensors: Sequence[torch.Tensor],
    in_names: Sequence[str],
    out_names: Sequence[str],
    *,
    dynamic: Sequence[Mapping[int, str] | None] | bool = False,
    opset_version: int | None = None,
    optimize: bool = True,
) -> Any:
    """The ONNX model of a graph from `interop.export`; nothing is printed to stdout.

    Args:
        graph: the graph.
        tensors: examples of its inputs.
        in_names: names of the inputs.
        out_names: names of the outputs.
        dynamic: for each input, names of the variable dimensions, or None; False for none.
        opset_version: version of ONNX's operators; None is the version of torch's exporter.
        optimize: True folds constants and removes unused nodes.

    Returns:
        The `onnx.ModelProto`.

    Raises:
        ImportError: onnx or onnxscript is not installed.
        ValueError: the model cannot be converted to `opset_version`.

    Example:
        graph = interop.export(link, x)
        onnx.save(model_of(graph, [x], ["x"], ["y"]), "model.onnx")

    Source: `compatgrad/exporting/onnx.py`.
    """
    shapes: Any = None
    if dynamic:
        assert not isinstance(dynamic, bool)
        dims = {name: torch.export.Dim(name) for x in dynamic for name in (x or {}).values()}
        shapes = tuple({d: dims[name] for d, name in (x or {}).items()} for x in dynamic)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            graph, tuple(tensors), dynamo=True, input_names=list(in_names), output_names=list(out_names),
            opset_version=opset_version, dynamic_shapes=shapes, verbose=False, optimize=optimize,
        )  # fmt: skip
    assert program is not None
    model = program.model_proto
    found = max(x.version for x in model.opset_import if x.domain in ("", "ai.onnx"))
    if opset_version is not None and found != opset_version:  # torch returns the old version if the conversion fails
        raise ValueError(f"opset_version: the model has opset {found} and cannot be converted to {opset_version}")
    return model
