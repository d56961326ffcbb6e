"""Exported graphs as ONNX models, by torch's exporter: what the ONNX modules of the frontends share."""

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
    """ImportError, which names the extra, unless onnx and onnxscript are installed."""
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
    """The `onnx.ModelProto` of a graph of `interop.export`, without a word on stdout.

    tensors: examples of its inputs. dynamic: for each input, names of the dimensions that vary; False, none do.
    opset_version: None, that of torch's exporter; ValueError for one that the model cannot be converted to. optimize:
    fold constants, leave out what nothing reads.
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
    if opset_version is not None and found != opset_version:  # torch leaves it as it is where that fails
        raise ValueError(
            f"opset_version: expected one that the model can be converted to from {found}, got {opset_version}"
        )
    return model
