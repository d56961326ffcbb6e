"""Frontends and torch in one graph, and exports to torch."""

from compatgrad.core.crossing import to as to
from compatgrad.core.torch_call import call as call
from compatgrad.drawing.graph import Graph as Graph
from compatgrad.drawing.graph import graph as graph
from compatgrad.exporting.compile import compile as compile
from compatgrad.exporting.export import ExportError as ExportError
from compatgrad.exporting.export import export as export
from compatgrad.exporting.module import TorchModule as TorchModule
from compatgrad.exporting.module import as_torch_module as as_torch_module
from compatgrad.interop._cuda_graph import CudaGraph as CudaGraph
from compatgrad.interop._cuda_graph import cuda_graph as cuda_graph
from compatgrad.interop._parametric import ParametricFunction as ParametricFunction
from compatgrad.interop._parametric import as_parametric_function as as_parametric_function
from compatgrad.interop._wrappers import as_chainer_link as as_chainer_link
from compatgrad.interop._wrappers import as_gluon_block as as_gluon_block
from compatgrad.interop.files import read_parameters as read_parameters
from compatgrad.interop.files import write_parameters as write_parameters
from compatgrad.interop.native.native import NativeError as NativeError
from compatgrad.interop.native.native import NativeModule as NativeModule
from compatgrad.interop.native.native import to_native as to_native

__all__ = [
    "CudaGraph",
    "ExportError",
    "Graph",
    "NativeError",
    "NativeModule",
    "ParametricFunction",
    "TorchModule",
    "as_chainer_link",
    "as_gluon_block",
    "as_parametric_function",
    "as_torch_module",
    "call",
    "compile",
    "cuda_graph",
    "export",
    "graph",
    "read_parameters",
    "to",
    "to_native",
    "write_parameters",
]
