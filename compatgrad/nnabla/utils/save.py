"""Saves networks with optimizers, monitors, executors and datasets."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from typing import Any

from .. import parameter
from ..core import graph_def
from ..core._executors import add_executor, add_generators, network_of
from ..core._networks import ProtoNetwork
from . import _network_files, _parameter_files, nnabla_pb2

__all__ = ["add_executor", "create_proto", "save"]


class _Writer:
    """Converts the contents given to `save` into a message."""

    def __init__(self, contents: Mapping[str, Any], variable_batch_size: bool, with_states: bool) -> None:
        self.proto = nnabla_pb2.NNablaProtoBuf()
        self.networks: dict[str, ProtoNetwork] = {}
        self.with_states = with_states
        if "global_config" in contents:
            self._global_config(contents["global_config"]["default_context"])
        if "training_config" in contents:
            for name in ("max_epoch", "iter_per_epoch", "save_best"):
                setattr(self.proto.training_config, name, contents["training_config"][name])
        for network in contents.get("networks", ()):
            self._network(network, variable_batch_size)
        for dataset in contents.get("datasets", ()):
            self._dataset(dataset)
        self.datasets = {dataset.name for dataset in self.proto.dataset}
        for optimizer in contents.get("optimizers", ()):
            self._optimizer(optimizer)
        for monitor in contents.get("monitors", ()):
            self._monitor(monitor)
        for executor in contents.get("executors", ()):
            add_executor(self.proto, self.networks, executor)

    def _global_config(self, context: Any) -> None:
        written = self.proto.global_config.default_context
        written.backends.extend(context.backend)
        written.array_class = context.array_class
        written.device_id = context.device_id

    def _network(self, network: Mapping[str, Any], variable_batch_size: bool) -> None:
        names = {**network["names"], **network["outputs"]}
        graph = graph_def.create_graph_from_variable(network["name"], list(network["outputs"].values()), names)
        written = graph.default_graph()
        self.networks[network["name"]] = written
        message = self.proto.network.add()
        message.CopyFrom(written.as_proto(variable_batch_size))
        message.batch_size = network["batch_size"]

    def _dataset(self, dataset: Mapping[str, Any]) -> None:
        message = self.proto.dataset.add(variable=list(dataset["variables"]))
        for name in ("name", "uri", "shuffle", "batch_size", "no_image_normalization"):
            setattr(message, name, dataset[name])
        if dataset.get("cache_dir") is not None:
            message.cache_dir = dataset["cache_dir"]

    def _add_datasets(self, message: Any, names: Any, what: str) -> None:
        for name in [names] if isinstance(names, str) else names or ():
            if name not in self.datasets:
                raise ValueError(f"save: {what} names the dataset {name!r}, which the contents lack")
            message.dataset_name.append(name)

    @staticmethod
    def _add_variables(message: Any, description: Mapping[str, Any]) -> None:
        for variable, data in description.get("data_variables", {}).items():
            message.data_variable.add(variable_name=variable, data_name=data)
        add_generators(message, description.get("generator_variables", ()))

    def _optimizer(self, optimizer: Mapping[str, Any]) -> None:
        what = f"optimizer {optimizer['name']!r}"
        message = self.proto.optimizer.add(name=optimizer["name"])
        network = network_of(self.networks, optimizer["network"], what) if self.networks else None
        message.network_name = "None" if network is None else network.name
        names = optimizer["dataset"]
        if not isinstance(names, str) or names in self.datasets:  # a name alone may be unknown: no dataset
            self._add_datasets(message, names, what)
        message.update_interval = optimizer["update_interval"]
        _write_solver(message.solver, optimizer)
        self._add_variables(message, optimizer)
        if network is not None:
            for name in optimizer.get("loss_variables", network.outputs):
                message.loss_variable.add(variable_name=name)
        learned = optimizer["solver"].get_parameters()
        for name in parameter.get_parameters() if network is None else network.parameters:
            rate = 1.0 if name in learned else 0.0
            message.parameter_variable.add(variable_name=name, learning_rate_multiplier=rate)
        if self.with_states:
            optimizer["solver"].set_states_to_protobuf(message)

    def _monitor(self, monitor: Mapping[str, Any]) -> None:
        what = f"monitor {monitor['name']!r}"
        network = network_of(self.networks, monitor["network"], what)
        message = self.proto.monitor.add(name=monitor["name"], network_name=network.name)
        if not monitor["dataset"]:
            raise ValueError(f"save: {what} has no dataset")
        self._add_datasets(message, monitor["dataset"], what)
        self._add_variables(message, monitor)
        for name in monitor.get("monitor_variables", network.outputs):
            message.monitor_variable.add(type="Error", variable_name=name)


def _solver_type(solver: Any) -> str:
    return re.sub("Cuda$", "", str(solver.name))


def _write_solver(message: Any, optimizer: Mapping[str, Any]) -> None:
    solver = optimizer["solver"]
    message.type = _solver_type(solver)
    field = next((f for f in message._fields.values() if f.kind == f"{message.type}Parameter"), None)
    if field is not None:
        settings = getattr(message, field.name)
        settings.SetInParent()
        for name, value in solver.info.items():
            if name in settings._fields:
                setattr(settings, name, value)
    for name in ("weight_decay", "lr_decay", "lr_decay_interval"):
        setattr(message, name, optimizer[name])


def create_proto(
    contents: Mapping[str, Any],
    include_params: bool = False,
    variable_batch_size: bool = True,
    save_solver_in_proto: bool = False,
) -> Any:
    """The message that `save` writes.

    Args:
        contents: the networks, optimizers and so on, as for `save`.
        include_params: whether to include all parameters of the current scope.
        variable_batch_size: whether to leave the batch size, the first axis of the networks' variables, unspecified.
        save_solver_in_proto: whether to include the states of the optimizers' solvers.

    Returns:
        An `NNablaProtoBuf` message.

    Raises:
        KeyError: a description lacks an entry.
        ValueError: a part refers to a network or dataset that the contents lack.

    Example:
        >>> from compatgrad.nnabla.utils.save import create_proto
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": PF.affine(x, 2)}}
        >>> proto = create_proto({"networks": [network]})
        >>> [f.type for f in proto.network[0].function], list(proto.network[0].variable[0].shape.dim)
        (['Affine'], [-1, 3])

    Source: `nnabla.utils.save.create_proto` of nnabla 1.39.0.
    """
    proto = _Writer(contents, variable_batch_size, save_solver_in_proto).proto
    if include_params:
        _parameter_files.add_to(proto, _parameter_files.records(parameter.get_parameters(grad_only=False)))
    return proto


def _solver_states(contents: Mapping[str, Any], format_: str) -> dict[str, bytes]:
    """The files with the solvers' states, to be put into a .nnp file."""
    if "optimizers" not in contents:
        raise KeyError("save: include_solver_state needs 'optimizers' in the contents")
    if format_ == ".protobuf":
        proto = nnabla_pb2.NNablaProtoBuf()
        for optimizer in contents["optimizers"]:
            message = proto.optimizer.add(name=optimizer["name"])
            message.solver.type = _solver_type(optimizer["solver"])
            optimizer["solver"].set_states_to_protobuf(message)
        return {"optimizer.protobuf.optimizer": proto.SerializeToString()}
    files = {}
    with tempfile.TemporaryDirectory() as folder:
        for optimizer in contents["optimizers"]:
            path = os.path.join(folder, "states.h5")
            optimizer["solver"].save_states(path)
            with open(path, "rb") as file:
                name = f"{optimizer['name']}_{_solver_type(optimizer['solver'])}_optimizer.h5.optimizer"
                files[name] = file.read()
    return files


def save(
    filename: Any,
    contents: Mapping[str, Any],
    include_params: bool = False,
    variable_batch_size: bool = True,
    extension: str = ".nnp",
    parameters: Mapping[str, Any] | None = None,
    parameter_format: str = ".h5",
    include_solver_state: bool = False,
    solver_state_format: str = ".h5",
) -> None:
    """Writes networks, optimizers, monitors, executors and datasets to a file.

    Args:
        filename: the file's name, or an open file. Its format is .nnp, .nntxt, .prototxt or .protobuf.
        contents: a dict with any of "networks", a list of dicts with "name", "batch_size", "outputs" and "names" (of
            inputs), both of which map names to Variables; "executors", a list of dicts with "name", "network", "data"
            and "output" (lists of names); "global_config", "training_config", "datasets", "optimizers" and "monitors".
        include_params: whether a file of another format than .nnp includes the parameters and, with
            `include_solver_state`, the solvers' states. A .nnp file always includes the parameters.
        variable_batch_size: whether to leave the batch size, the first axis of the networks' variables, unspecified.
        extension: the format of an open file.
        parameters: the parameters to write to a .nnp file, by name; None for all of the current scope.
        parameter_format: the format of the parameters in a .nnp file, ".h5" or ".protobuf".
        include_solver_state: whether to write the states of the optimizers' solvers.
        solver_state_format: the format of the states in a .nnp file, ".h5" or ".protobuf".

    Raises:
        KeyError: a description lacks an entry.
        ValueError: the format is unknown, or a part refers to a network or dataset that the contents lack.

    Example:
        >>> import zipfile
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": PF.affine(x, 4)}}
        >>> executor = {"name": "run", "network": "net", "data": ["x"], "output": ["y"]}
        >>> save("net.nnp", {"networks": [network], "executors": [executor]})
        >>> zipfile.ZipFile("net.nnp").namelist()
        ['nnp_version.txt', 'network.nntxt', 'parameter.h5']

    Source: `nnabla.utils.save.save` of nnabla 1.39.0.
    """
    archive = _network_files.format_of(filename, extension) == ".nnp"
    in_proto = include_solver_state and not archive
    proto = create_proto(contents, include_params and not archive, variable_batch_size, in_proto)
    more = _solver_states(contents, solver_state_format) if include_solver_state and archive else {}
    if parameters is None:
        parameters = parameter.get_parameters(grad_only=False)
    _network_files.write(filename, proto, parameters, extension, parameter_format, more)
