"""Writes a message as a network file."""

from __future__ import annotations

import io
import os
import zipfile
from typing import Any

import numpy as np

from compatgrad.core.files import replacing
from compatgrad.formats import hdf5

from ... import nnabla_pb2

__all__ = ["NnpExporter"]


class NnpExporter:
    """Writes the result of an `NnpImporter`.

    Args:
        nnp: the importer's object.
        batch_size: the batch size of all networks; numbers below 1 keep the networks' own sizes.
        parameter_type: "protobuf" or "h5", for a separate file, "included" with the networks, or "none". Raises
            ValueError for another value.
        force: has no effect.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> from compatgrad.nnabla.utils.converter.nnabla import NnpExporter, NnpImporter
        >>> with graph_def.graph(name="net") as graph:
        ...     y = PF.affine(graph_def.ProtoVariable((2, 3), name="x"), 4, name="fc")
        >>> run = {"name": "run", "network": "net", "data": ["x"], "output": graph.networks["net"].outputs}
        >>> graph_def.save("net.nnp", [graph], executors=[run])
        >>> NnpExporter(NnpImporter("net.nnp").execute(), batch_size=8).execute("large.nnp")
        >>> graph_def.load("large.nnp").networks["net"].batch_size
        8

    Source: `nnabla.utils.converter.nnabla.NnpExporter` of nnabla 1.39.0.
    """

    def __init__(self, nnp: Any, batch_size: int, parameter_type: str = "protobuf", force: bool = False) -> None:
        if parameter_type not in ("protobuf", "h5", "included", "none"):
            raise ValueError(f"parameter_type must be 'protobuf', 'h5', 'included' or 'none', not {parameter_type!r}")
        self._parameter_type = parameter_type
        self._nnp = nnabla_pb2.NNablaProtoBuf()
        self._nnp.CopyFrom(nnp.protobuf)
        for network in self._nnp.network if batch_size > 0 else ():
            network.batch_size = batch_size

    def _files(self) -> dict[str, bytes]:
        files = {"nnp_version.txt": b"0.1\n"}
        if self._parameter_type == "included":
            files["network.nntxt"] = str(self._nnp).encode()
            return files
        rest = nnabla_pb2.NNablaProtoBuf()
        rest.CopyFrom(self._nnp)
        rest.ClearField("parameter")
        files["network.nntxt"] = str(rest).encode()
        if self._parameter_type == "protobuf":
            parameters = nnabla_pb2.NNablaProtoBuf()
            for parameter in self._nnp.parameter:
                parameters.parameter.add().CopyFrom(parameter)
            files["parameter.protobuf"] = parameters.SerializeToString()
        elif self._parameter_type == "h5":
            files["parameter.h5"] = self._h5()
        return files

    def _h5(self) -> bytes:
        whole = io.BytesIO()
        with hdf5.creating(whole) as file:
            for i, parameter in enumerate(self._nnp.parameter):
                data = np.array(parameter.data, np.float32).reshape(tuple(parameter.shape.dim))
                stored = file.create_dataset(parameter.variable_name, data=data)
                stored.attrs["need_grad"], stored.attrs["index"] = parameter.need_grad, i
        return whole.getvalue()

    def execute(self, *args: str) -> None:
        """Writes a .nnp file, or the members of a .nnp file into an existing folder, or two files: the networks
        (.nntxt, .prototxt) and the parameters (.h5, .protobuf). Raises ValueError for other names.
        """
        files = self._files()
        if len(args) == 2:
            self._write_pair(*args)
        elif os.path.isdir(args[0]):
            for name, content in files.items():
                _write(os.path.join(args[0], name), content)
        elif args[0].lower().endswith(".nnp"):
            with replacing(args[0]) as target, zipfile.ZipFile(target, "w") as archive:
                for name, content in files.items():
                    archive.writestr(name, content)
        else:
            raise ValueError(f"{args[0]}: networks can be converted to a .nnp file or into a folder")

    def _write_pair(self, network_file: str, parameter_file: str) -> None:
        extension = os.path.splitext(parameter_file)[1].lower()
        if extension not in (".h5", ".protobuf") or not network_file.lower().endswith((".nntxt", ".prototxt")):
            raise ValueError(f"{network_file}, {parameter_file}: expected a .nntxt file and a .h5 or .protobuf file")
        self._parameter_type = extension[1:]
        files = self._files()
        _write(network_file, files["network.nntxt"])
        _write(parameter_file, files[f"parameter{extension}"])


def _write(path: str, content: bytes) -> None:
    with replacing(path) as file:
        file.write(content)
