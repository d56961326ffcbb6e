"""Mixing frontends and torch in one graph, and the way out to torch."""

from compatgrad.interop._cross import to as to
from compatgrad.interop._cuda_graph import CudaGraph as CudaGraph
from compatgrad.interop._cuda_graph import cuda_graph as cuda_graph
from compatgrad.interop._export_compile import compile as compile
from compatgrad.interop._module import TorchModule as TorchModule
from compatgrad.interop._module import as_torch_module as as_torch_module
from compatgrad.interop._parametric import ParametricFunction as ParametricFunction
from compatgrad.interop._parametric import as_parametric_function as as_parametric_function
from compatgrad.interop._torch import call as call
from compatgrad.interop._wrappers import as_chainer_link as as_chainer_link
from compatgrad.interop._wrappers import as_gluon_block as as_gluon_block
from compatgrad.interop.export import ExportError as ExportError
from compatgrad.interop.export import export as export
from compatgrad.interop.files import read_parameters as read_parameters
from compatgrad.interop.files import write_parameters as write_parameters
from compatgrad.interop.graph import Graph as Graph
from compatgrad.interop.graph import graph as graph

__all__ = [
    "CudaGraph",
    "ExportError",
    "Graph",
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
    "write_parameters",
]
