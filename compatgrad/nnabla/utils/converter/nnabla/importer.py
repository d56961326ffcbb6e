"""Reads network files into one message."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import numpy as np

from ....core._initializers import create_initializer
from ....logger import logger
from ... import _parameter_files, nnabla_pb2
from ..utils import search_network
from .expander import NnpExpander

__all__ = ["NnpImporter"]

_FORMATS = (".nnp", ".nntxt", ".prototxt", ".protobuf", ".h5")


class NnpImporter:
    """Reads .nnp, .nntxt, .prototxt, .protobuf and .h5 files into one message.

    Args:
        *args: the names of the files.
        expand_network: whether to expand repeated parts.
        executor_index: number of the only executor to read, with its network; None reads all.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.converter.nnabla import NnpImporter
        >>> with graph_def.graph(name="net") as graph:
        ...     y = PF.affine(graph_def.ProtoVariable((2, 3), name="x"), 4, name="fc")
        >>> run = {"name": "run", "network": "net", "data": ["x"], "output": graph.networks["net"].outputs}
        >>> graph_def.save("net.nnp", [graph], executors=[run])
        >>> [p.variable_name for p in NnpImporter("net.nnp").execute().protobuf.parameter]
        ['fc/affine/W', 'fc/affine/b']

    Source: `nnabla.utils.converter.nnabla.NnpImporter` of nnabla 1.39.0.
    """

    def __init__(self, *args: str, expand_network: bool = True, executor_index: int | None = None) -> None:
        self._args = args
        self._expand_network = expand_network
        self._executor_index = executor_index

    def execute(self) -> SimpleNamespace:
        """An object with the message `protobuf` and `other_files`, the names of files of other formats.

        Raises ValueError for files without an executor and for an invalid index; for errors of reading see
        `load_parameters`.
        """
        proto = nnabla_pb2.NNablaProtoBuf()
        others = []
        for path in self._args:
            logger.info("Importing %s", path)
            extension = os.path.splitext(path)[1].lower()
            if extension not in _FORMATS:
                others.append(path)
                continue
            held = len(proto.parameter)
            found = _parameter_files.read(path, proto, extension)
            if found and len(proto.parameter) == held:  # parameters from .h5 files
                _parameter_files.add_to(proto, found)
        if not proto.executor:
            raise ValueError(f"{', '.join(self._args)}: there is no executor, which would determine what to convert")
        if not proto.parameter:
            _start_parameters(proto)
        if self._executor_index is not None:
            proto = _of_executor(proto, self._executor_index)
        if self._expand_network:
            proto = NnpExpander(proto).execute()
        return SimpleNamespace(protobuf=proto, other_files=others)


def _start_parameters(proto: Any) -> None:
    """Makes the parameters of the first executor's network by their initializers."""
    network = search_network(proto, proto.executor[0].network_name)
    rng = np.random.RandomState(0)
    for variable in () if network is None else network.variable:
        if variable.type != "Parameter" or not variable.HasField("initializer"):
            continue
        start = create_initializer(variable, rng)
        if start is None:
            raise ValueError(f"parameter {variable.name!r}: unknown initializer {variable.initializer.type!r}")
        shape = [n if n >= 1 else network.batch_size for n in variable.shape.dim]
        made = proto.parameter.add(variable_name=variable.name)
        made.shape.dim.extend(shape)
        made.data.extend(np.asarray(start(shape), np.float32).ravel().tolist())


def _of_executor(proto: Any, index: int) -> Any:
    if not 0 <= index < len(proto.executor):
        raise ValueError(f"there is no executor {index}: the files have {len(proto.executor)}")
    result = nnabla_pb2.NNablaProtoBuf()
    executor = proto.executor[index]
    result.executor.add().CopyFrom(executor)
    network = search_network(proto, executor.network_name)
    if network is None:
        raise ValueError(f"executor {executor.name!r} names the network {executor.network_name!r}, which is missing")
    result.network.add().CopyFrom(network)
    if proto.HasField("global_config"):
        result.global_config.CopyFrom(proto.global_config)
    names = {name for v in network.variable if v.type == "Parameter" for name in _in_all_rounds(network, v)}
    for parameter in proto.parameter:
        if parameter.variable_name in names:
            result.parameter.add().CopyFrom(parameter)
    return result


def _in_all_rounds(network: Any, variable: Any) -> list[str]:
    from ....core._repeats import names_in_rounds

    return names_in_rounds(network)[variable.name]
