"""Writes networks of files as ONNX models."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from compatgrad.core.files import replacing
from compatgrad.exporting import export
from compatgrad.exporting import onnx as _onnx

from ... import parameter
from ...core._networks import ProtoGraph
from ...variable import Variable

__all__ = ["OnnxExporter"]


class OnnxExporter:
    """Writes the network of the first executor of a file as an ONNX model.

    Args:
        nnp: the result of `NnpImporter(...).execute()`.
        batch_size: the fixed size of the batch; -1 for the size in the file.
        opset: the version of ONNX's operators, such as "opset_13"; None for torch's default.

    Raises:
        NotImplementedError: `opset` is not a version.

    Example:
        from nnabla.utils.converter.nnabla import NnpImporter
        from nnabla.utils.converter.onnx import OnnxExporter

        OnnxExporter(NnpImporter("net.nnp").execute(), batch_size=16).execute("net.onnx")

    Source: `OnnxExporter` of nnabla_converter, which nnabla 1.39.0 loads.
    """

    def __init__(self, nnp: Any, batch_size: int = 1, opset: str | None = None) -> None:
        self._proto = nnp.protobuf
        self._batch_size = batch_size if batch_size > 0 else None
        self._opset = None if opset is None else _number(opset)

    def execute(self, path: str) -> None:
        """Writes the file.

        Raises ImportError without onnx and onnxscript, ValueError if the executor names a variable that its network
        lacks or leaves an input without data, and the errors of `interop.export` if the network cannot be exported.
        """
        _onnx.need_onnx("nnabla_cli convert")
        executor = self._proto.executor[0]
        scope: OrderedDict[str, Any] = OrderedDict()
        with parameter.parameter_scope("", scope):
            parameter.set_parameter_from_proto(self._proto)
            graph = ProtoGraph.from_proto(self._proto, param_scope=scope)
            if executor.network_name not in graph.networks:
                raise ValueError(
                    f"executor {executor.name!r} names the network {executor.network_name!r}, which the files lack"
                )
            network = graph.networks[executor.network_name]
            batch = self._batch_size or network.batch_size
            names = [v.variable_name for v in executor.data_variable]
            results = [v.variable_name for v in executor.output_variable]
            missing = [name for name in network.inputs if name not in names]
            if missing:
                raise ValueError(f"executor {executor.name!r} gives no data for {', '.join(missing)}")
            shapes = [[n if n >= 1 else batch for n in network.find(name).shape] for name in names]

            def run(*inputs: Variable) -> tuple[Variable, ...]:
                given = dict(zip(names, inputs, strict=True))
                with parameter.parameter_scope("", scope):
                    network(*[given[name] for name in network.inputs], batch_size=batch)
                return tuple(network.find(name).variable_instance for name in results)

            examples = [Variable(shape) for shape in shapes]
            made = export(
                run, examples, parameters=parameter.get_parameters(grad_only=False), frontend="nnabla", dynamic=False
            )
        tensors = [x.data.tensor for x in examples]
        model = _onnx.model_of(made, tensors, names, results, opset_version=self._opset)
        model.graph.name = network.name
        model.producer_name = "nnabla"
        with replacing(path) as file:
            file.write(model.SerializeToString())


def _number(opset: str) -> int:
    if not opset.startswith("opset_") or not opset[6:].isdecimal():
        raise NotImplementedError(f"convert: config={opset!r} is not supported; for ONNX it must be like opset_13")
    return int(opset[6:])
