"""Networks of the frontends as torch modules, `torch.fx` graphs of ATen calls, compiled functions and ONNX models."""

from compatgrad.exporting.compile import compile as compile
from compatgrad.exporting.export import ExportError as ExportError
from compatgrad.exporting.export import export as export
from compatgrad.exporting.module import TorchModule as TorchModule
from compatgrad.exporting.module import as_torch_module as as_torch_module

__all__ = ["ExportError", "TorchModule", "as_torch_module", "compile", "export"]
