"""Loads networks with the optimizers, monitors, executors and datasets that their files describe."""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from compatgrad.formats import archives

from .. import context as contexts
from .. import functions as F
from .. import initializer as I
from .. import parameter
from .. import solvers as S
from ..core._file_errors import names_of, naming
from ..core._networks import NetworkVariable, ProtoGraph, ProtoNetwork
from ..logger import logger
from . import _parameter_files, nnabla_pb2
from . import data_iterator as iterators
from . import learning_rate_scheduler as schedulers
from .communicator_util import current_communicator, single_or_rankzero
from .create_cache import CreateCache

__all__ = ["base_load", "link_components", "load", "restore_optimizer_state"]


def _extension_context(name: str, **options: Any) -> Any:
    from ..ext_utils import get_extension_context

    return get_extension_context(name, **options)


def _context(message: Any) -> Any:
    """The context that a Context message describes. Messages without `backends` are of the old format."""
    if not message.backends:
        name = "cudnn" if "cuda" in message.backend else "cpu"
        return _extension_context(name, device_id=message.device_id or "0")
    return contexts.Context(list(message.backends), message.array_class, message.device_id)


def _default_context(proto: Any, asked: str | None) -> Any:
    if asked:
        name, _, device = asked.partition(":")
        return _extension_context(name, device_id=device or "0")
    if proto.HasField("global_config"):
        context = _context(proto.global_config.default_context)
        contexts.set_default_context(context)
        return context
    return _extension_context("cpu")


def _create_dataset(
    uri: str,
    batch_size: int,
    shuffle: bool,
    no_image_normalization: bool,
    cache_dir: str,
    overwrite_cache: bool,
    create_cache_explicitly: bool,
    prepare_data_iterator: bool,
    dataset_index: int,
) -> SimpleNamespace:
    """A dataset: `uri`, `cache_dir`, `normalize`, and `data_iterator`, a function that creates an iterator, or None.

    The iterator reads the cache files in `cache_dir` if they exist and `overwrite_cache` is not set; otherwise it reads
    the CSV file and writes the cache. With `create_cache_explicitly`, or several processes, the cache is written at
    once.
    """
    dataset = SimpleNamespace(uri=uri, cache_dir=cache_dir, normalize=not no_image_normalization, data_iterator=None)
    if not prepare_data_iterator:
        return dataset
    communicator = current_communicator()
    rng = np.random.RandomState(dataset_index)
    cached = False
    if cache_dir and (create_cache_explicitly or communicator):
        if overwrite_cache or not os.path.exists(os.path.join(cache_dir, "cache_index.csv")):
            _write_cache(uri, cache_dir, shuffle, rng, communicator)
        cached = True
    elif cache_dir:
        cached = not overwrite_cache and os.path.exists(cache_dir) and bool(os.listdir(cache_dir))
        if not cached:
            os.makedirs(cache_dir, exist_ok=True)
    if cached:
        dataset.data_iterator = functools.partial(
            iterators.data_iterator_cache,
            cache_dir,
            batch_size,
            shuffle,
            rng=np.random.RandomState(dataset_index),
            normalize=dataset.normalize,
            with_memory_cache=communicator is None or communicator.size == 1,
        )
    else:
        dataset.data_iterator = functools.partial(
            iterators.data_iterator_csv_dataset,
            uri,
            batch_size,
            shuffle,
            rng=rng,
            normalize=dataset.normalize,
            cache_dir=cache_dir or None,
        )
    return dataset


def _write_cache(uri: str, folder: str, shuffle: bool, rng: Any, communicator: Any) -> None:
    """Writes the cache files of a CSV file, in one process of each machine."""
    first = single_or_rankzero()
    if first:
        os.makedirs(folder, exist_ok=True)
    if communicator:
        communicator.barrier()  # on a shared file system, the other processes find the folder and write nothing
    if first or (communicator.local_rank == 0 and not os.path.exists(folder)):
        logger.log(99, f'Creating cache data for "{uri}"')
        os.makedirs(folder, exist_ok=True)
        CreateCache(uri, rng=rng, shuffle=shuffle).create(folder, normalize=False)
    if communicator:
        communicator.barrier()


def _solver(message: Any) -> Any:
    """The solver that a Solver message describes. Raises ValueError for an unknown kind."""
    name = {"SGD": "Sgd"}.get(message.type, message.type)
    kind = getattr(S, name, None)
    field = next((f for f in message._fields.values() if f.kind == f"{name}Parameter"), None)
    if kind is None or field is None:
        raise ValueError(f"solver {message.type!r} is not supported")
    settings = getattr(message, field.name)
    return kind(**{argument: getattr(settings, argument) for argument in settings._fields})


def _scheduler(message: Any, rate: float) -> Any:
    """The learning rate scheduler that a Solver message describes, with the initial rate `rate`."""
    kind = message.lr_scheduler_type
    schedule = schedulers.ExponentialScheduler(rate, 1.0, 1)
    if kind == "Polynomial":
        settings = message.polynomial_scheduler_param
        if settings.power:
            schedule = schedulers.PolynomialScheduler(rate, settings.max_iter, settings.power)
    elif kind == "Cosine":
        schedule = schedulers.CosineScheduler(rate, message.cosine_scheduler_param.max_iter)
    elif kind == "Exponential":
        settings = message.exponential_scheduler_param
        schedule = schedulers.ExponentialScheduler(rate, settings.gamma, max(settings.iter_interval, 1))
    elif kind == "Step":
        settings = message.step_scheduler_param
        if settings.iter_steps:
            schedule = schedulers.StepScheduler(rate, settings.gamma, list(settings.iter_steps))
    elif kind == "":
        decay = message.lr_decay if message.lr_decay > 0 else 1.0
        schedule = schedulers.ExponentialScheduler(rate, decay, max(message.lr_decay_interval, 1))
    else:
        raise ValueError(f"learning rate scheduler {kind!r} is not supported")
    warmup = message.linear_warmup_scheduler_param.warmup_iter
    if message.lr_warmup_scheduler_type == "Linear" and warmup > 0:
        schedule = schedulers.LinearWarmupScheduler(schedule, warmup)
    return schedule


def _states(filenames: Any, extension: str) -> dict[str, bytes | Any]:
    """The solver states in .nnp files, by the optimizer's name: the bytes of an .h5 file, or a message."""
    states: dict[str, bytes | Any] = {}
    several = isinstance(filenames, (list, tuple))
    for file in filenames if several else [filenames]:
        named = isinstance(file, (str, os.PathLike))
        if (os.path.splitext(file)[1] if named else extension) != ".nnp":
            continue
        with archives.Zip(file) as archive:
            for name in archive.names:
                if name.endswith(".protobuf.optimizer"):
                    proto = nnabla_pb2.NNablaProtoBuf()
                    proto.ParseFromString(archive.read(name))
                    states.update((o.name, o) for o in proto.optimizer)
                elif name.endswith("_optimizer.h5.optimizer"):
                    # the file's name is <optimizer>_<solver type>_optimizer.h5.optimizer
                    states[name.rsplit("_", 2)[0]] = archive.read(name)
    return states


def _restore(solver: Any, states: bytes | Any) -> None:
    if not isinstance(states, bytes):
        solver.set_states_from_protobuf(states)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "states.h5")
        with open(path, "wb") as file:
            file.write(states)
        solver.load_states(path)


def restore_optimizer_state(optimizer: Any) -> None:
    """Sets the states of an optimizer's solver to those in the loaded files, if the files contain any.

    Args:
        optimizer: an entry of the `optimizers` of `base_load`, whose solver has its parameters set.

    Raises:
        AttributeError: `optimizer` has another type.
        ValueError: the states do not fit the solver's parameters.

    Example:
        >>> from compatgrad.nnabla.utils.load import load, restore_optimizer_state
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> loss = F.mean(PF.affine(x, 1))
        >>> solver = S.Momentum(lr=0.5)
        >>> solver.set_parameters(nn.get_parameters())
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"loss": loss}}
        >>> optimizer = {"name": "train", "network": "net", "dataset": [], "solver": solver, "update_interval": 1,
        ...              "weight_decay": 0, "lr_decay": 1, "lr_decay_interval": 1}
        >>> save("net.nnp", {"networks": [network], "optimizers": [optimizer]}, include_solver_state=True)
        >>> optimizer = load("net.nnp").optimizers["train"]  # which restores the states
        >>> restore_optimizer_state(optimizer)  # once more
        >>> sorted(optimizer.solver.get_states())
        ['affine/W', 'affine/b']

    Source: `nnabla.utils.load.restore_optimizer_state` of nnabla 1.39.0.
    """
    if optimizer.proto.solver.states:
        optimizer.solver.set_states_from_protobuf(optimizer.proto)
    if optimizer.states_checkpoint is not None:
        _restore(optimizer.solver, optimizer.states_checkpoint)


def _optimizer(message: Any, context: Any, states: bytes | Any) -> SimpleNamespace:
    settings = message.solver
    with contexts.context_scope(_context(settings.context) if settings.context.backends else context):
        solver = _solver(settings)
    return SimpleNamespace(
        proto=message,
        name=message.name,
        order=message.order,
        comm=None,
        start_iter=message.start_iter,
        end_iter=message.end_iter,
        update_interval=max(message.update_interval, 1),
        network=None,
        solver=solver,
        weight_decay=settings.weight_decay,
        lr_decay=settings.lr_decay if settings.lr_decay > 0 else 1.0,
        lr_decay_interval=max(settings.lr_decay_interval, 1),
        scheduler=_scheduler(settings, solver.learning_rate()),
        states_checkpoint=states,
    )


def base_load(
    filenames: Any,
    prepare_data_iterator: bool | None = True,
    batch_size: int | None = None,
    exclude_parameter: bool = False,
    parameter_only: bool = False,
    extension: str = ".nntxt",
    context: str | None = None,
) -> SimpleNamespace:
    """Loads networks, parameters, datasets, optimizers, monitors and executors from files. `link_components` connects
    them to one another afterwards; `load` does both.

    Args:
        filenames: a file's name, an open file, or a list of them; the contents of several files are merged.
        prepare_data_iterator: whether to set the `data_iterator` of datasets; None sets it if the training
            configuration has epochs.
        batch_size: the batch size of the networks; None for the one in the file.
        exclude_parameter: whether to leave the parameters out of the current scope.
        parameter_only: whether networks are left out.
        extension: the format of open files.
        context: "<extension>:<device>", such as "cudnn:0", instead of the context in the file.

    Returns:
        A namespace with `networks`, `datasets`, `optimizers`, `monitors` and `executors`, each by name,
        `global_config`, `training_config` where the file has it, and `proto`, the message that was read.

    Raises:
        FileNotFoundError: there is no such file.
        ModuleNotFoundError: `context` names an unknown extension.
        ValueError: a file is damaged, or names an unknown solver or function.

    Example:
        >>> from compatgrad.nnabla.utils.load import base_load
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": F.relu(x)}}
        >>> save("net.nnp", {"networks": [network]})
        >>> list(base_load("net.nnp").networks)
        ['net']

    Source: `nnabla.utils.load.base_load` of nnabla 1.39.0.
    """
    proto, found = _parameter_files.load(filenames, False, extension)
    if not exclude_parameter:
        parameter._register(found)
    if parameter_only:
        proto.ClearField("network")
    info = SimpleNamespace(
        proto=proto,
        batch_size=batch_size,
        exclude_parameter=exclude_parameter,
        parameter_only=parameter_only,
        parameter_scope=parameter.get_current_parameter_scope(),
        default_context=_default_context(proto, context),
        renamed_variables={},
        optimizer_states_checkpoint=_states(filenames, extension),
    )
    logger.log(99, f'Using context "{info.default_context}"')
    info.global_config = SimpleNamespace(default_context=info.default_context)
    config = proto.training_config
    if proto.HasField("training_config"):
        info.training_config = SimpleNamespace(
            max_epoch=config.max_epoch,
            iter_per_epoch=config.iter_per_epoch,
            save_best=config.save_best,
            monitor_interval=config.monitor_interval if config.monitor_interval > 0 else 10,
        )
    info.prepare_data_iterator = config.max_epoch > 0 if prepare_data_iterator is None else prepare_data_iterator
    info.datasets = OrderedDict(
        (
            d.name,
            _create_dataset(
                d.uri,
                d.batch_size,
                d.shuffle,
                d.no_image_normalization,
                d.cache_dir,
                d.overwrite_cache,
                d.create_cache_explicitly,
                info.prepare_data_iterator,
                index,
            ),
        )
        for index, d in enumerate(proto.dataset)
    )
    info.proto_graph = ProtoGraph.from_proto(proto, param_scope=info.parameter_scope, rng=np.random.RandomState(0))
    info.networks = info.proto_graph.networks
    with contexts.context_scope(info.default_context):
        for network in info.networks.values():
            network(batch_size=batch_size)
    states = info.optimizer_states_checkpoint
    info.optimizers = OrderedDict(
        (o.name, _optimizer(o, info.default_context, states.get(o.name))) for o in proto.optimizer
    )
    info.monitors = OrderedDict((m.name, SimpleNamespace(proto=m, network=None)) for m in proto.monitor)
    info.executors = OrderedDict(
        (
            e.name,
            SimpleNamespace(
                proto=e,
                network=None,
                num_evaluations=max(e.num_evaluations, 1),
                repeat_evaluation_type=e.repeat_evaluation_type,
                need_back_propagation=e.need_back_propagation,
                no_image_normalization=e.no_image_normalization,
            ),
        )
        for e in proto.executor
    )
    return info


def _generator(message: Any) -> Callable[..., np.ndarray]:
    kinds: dict[str, Callable[[float], Callable[..., np.ndarray]]] = {
        "Normal": I.NormalInitializer,
        "Uniform": lambda limit: I.UniformInitializer((-limit, limit)),
        "Range": lambda step: I.RangeInitializer(0, step),
        "Constant": I.ConstantInitializer,
    }
    if message.type not in kinds:
        raise ValueError(f"generator {message.type!r} of variable {message.variable_name!r} is not supported")
    return kinds[message.type](message.multiplier)


def _connect(part: Any, info: Any) -> None:
    """Sets the network of an optimizer, a monitor or an executor, and the dataset variables and generators of its
    inputs."""
    message = part.proto
    if message.network_name not in info.networks:
        raise ValueError(f"{message.name!r} names the network {message.network_name!r}, which the file lacks")
    network = part.network = info.networks[message.network_name]
    part.dataset_assign = OrderedDict((network.find(d.variable_name), d.data_name) for d in message.data_variable)
    part.generator_assign = OrderedDict(
        (network.find(g.variable_name), _generator(g)) for g in message.generator_variable
    )


def _data_iterators(message: Any, info: Any) -> Mapping[str, Any]:
    return OrderedDict((name, info.datasets[name].data_iterator) for name in message.dataset_name)


def _matching(network: ProtoNetwork, name: str) -> list[NetworkVariable]:
    """The variables with that name, in which ``{...}`` matches the index of any repetition."""
    everything = {**network.parameters, **network.variables}
    if name in everything:
        return [everything[name]]
    pattern = re.sub(r"\\{[^}]*\\}", r"\\[\\d+\\]", re.escape(name))
    found = [v for key, v in everything.items() if re.match(pattern, key)]
    if not found:
        raise ValueError(f"network {network.name!r} has no variable {name!r}")
    return found


def _instances(network: ProtoNetwork, messages: Any) -> list[Any]:
    return [network.find(m.variable_name).variable_instance for m in messages]


def _rates(part: Any) -> Mapping[NetworkVariable, float]:
    return OrderedDict(
        (v, p.learning_rate_multiplier)
        for p in part.proto.parameter_variable
        for v in _matching(part.network, p.variable_name)
    )


def _connect_optimizer(optimizer: Any, info: Any) -> None:
    _connect(optimizer, info)
    message, network = optimizer.proto, optimizer.network
    optimizer.data_iterators = _data_iterators(message, info)
    optimizer.loss_variables = [network.find(v.variable_name) for v in message.loss_variable]
    optimizer.parameter_learning_rate_multipliers = _rates(optimizer)
    learned = {}
    for v, rate in optimizer.parameter_learning_rate_multipliers.items():
        if rate > 0:
            learned[v.name] = v.variable_instance
        else:
            v.variable_instance.need_grad = False
    optimizer.solver.set_parameters(learned)
    optimizer.parameters = OrderedDict(sorted(learned.items()))
    restore_optimizer_state(optimizer)
    losses = [v.variable_instance for v in optimizer.loss_variables]
    for loss in losses:
        loss.grad.fill(1.0 / loss.size)
    optimizer.target = losses[0] if len(losses) == 1 else F.sink(*losses, one_input_grad=False)


def _connect_monitor(monitor: Any, info: Any) -> None:
    _connect(monitor, info)
    monitor.data_iterators = _data_iterators(monitor.proto, info)
    monitor.monitor_variables = [monitor.network.find(v.variable_name) for v in monitor.proto.monitor_variable]
    monitor.target = F.sink(*_instances(monitor.network, monitor.proto.monitor_variable))


def _connect_executor(executor: Any, info: Any) -> None:
    _connect(executor, info)
    message, network = executor.proto, executor.network
    executor.output_assign = OrderedDict(
        (network.find(o.variable_name), [o.type, o.data_name]) for o in message.output_variable
    )
    executor.parameters = OrderedDict(
        (v, v.name) for p in message.parameter_variable for v in _matching(network, p.variable_name)
    )
    executor.forward_target = F.sink(*_instances(network, message.output_variable))
    if executor.need_back_propagation:
        executor.loss_variables = [network.find(v.variable_name) for v in message.loss_variable]
        executor.parameter_learning_rate_multipliers = _rates(executor)
        executor.backward_target = F.sink(*_instances(network, message.loss_variable))


def link_components(info: Any) -> None:
    """Connects the optimizers, monitors and executors of `base_load` to its networks and datasets.

    Args:
        info: the result of `base_load`; sets attributes of its parts, such as `network` and `data_iterators`.

    Raises:
        AttributeError: `info` has another type.
        ValueError: a part names a network or a variable that the file lacks.

    Example:
        >>> from compatgrad.nnabla.utils.load import base_load, link_components
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": F.relu(x)}}
        >>> executor = {"name": "run", "network": "net", "data": ["x"], "output": ["y"]}
        >>> save("net.nnp", {"networks": [network], "executors": [executor]})
        >>> info = base_load("net.nnp")
        >>> link_components(info)
        >>> info.executors["run"].network is info.networks["net"]
        True

    Source: `nnabla.utils.load.link_components` of nnabla 1.39.0.
    """
    for parts, connect in (
        (info.optimizers, _connect_optimizer),
        (info.monitors, _connect_monitor),
        (info.executors, _connect_executor),
    ):
        for part in parts.values():
            connect(part, info)


def load(
    filenames: Any,
    prepare_data_iterator: bool | None = True,
    batch_size: int | None = None,
    exclude_parameter: bool = False,
    parameter_only: bool = False,
    extension: str = ".nntxt",
    context: str | None = None,
) -> SimpleNamespace:
    """Loads networks, parameters, datasets, optimizers, monitors and executors from files of `save` or Neural Network
    Console, and connects them.

    Args:
        filenames: a file's name, an open file, or a list of them; the contents of several files are merged.
        prepare_data_iterator: whether to set the `data_iterator` of datasets; None sets it if the training
            configuration has epochs.
        batch_size: the batch size of the networks; None for the one in the file.
        exclude_parameter: whether to leave the parameters out of the current scope.
        parameter_only: whether networks are left out.
        extension: the format of open files.
        context: "<extension>:<device>", such as "cudnn:0", instead of the context in the file.

    Returns:
        A namespace with `networks`, `datasets`, `optimizers`, `monitors` and `executors`, each by name,
        `global_config`, `training_config` where the file has it, and `proto`, the message that was read.

    Raises:
        FileNotFoundError: there is no such file.
        ModuleNotFoundError: `context` names an unknown extension.
        ValueError: a file is damaged, or refers to something that is unknown or that the file lacks.

    Example:
        >>> from compatgrad.nnabla.utils.load import load
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": PF.affine(x, 2)}}
        >>> executor = {"name": "run", "network": "net", "data": ["x"], "output": ["y"]}
        >>> save("net.nnp", {"networks": [network], "executors": [executor]})
        >>> run = load("net.nnp", batch_size=1).executors["run"]
        >>> y = run.network.variables["y"].variable_instance
        >>> run.network.variables["x"].variable_instance.d = [[-1, 0, 1]]
        >>> y.forward()
        >>> y.shape
        (1, 2)

    Source: `nnabla.utils.load.load` of nnabla 1.39.0.
    """
    with naming(names_of(filenames)), parameter._all_or_nothing():
        info = base_load(
            filenames, prepare_data_iterator, batch_size, exclude_parameter, parameter_only, extension, context
        )
        link_components(info)
    return info
