"""Network definitions: graphs as tables of named variables and functions, which can be saved to files and loaded."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .. import functions as F
from .. import parameter
from ..variable import Variable
from ._file_errors import names_of
from ._initializers import create_initializer as _create_initializer
from ._networks import NetworkVariable, ProtoFunction, ProtoGraph, ProtoNetwork

__all__ = [
    "ProtoFunction",
    "ProtoGraph",
    "ProtoNetwork",
    "ProtoVariable",
    "_create_initializer",
    "commit",
    "create_graph_from_variable",
    "get_default_graph",
    "get_default_graph_by_variable",
    "graph",
    "graph_name",
    "load",
    "reset_default_graph",
    "save",
]


def _unique(counts: dict[str, int], prefix: str) -> str:
    """`prefix`; from the second call on with a number appended."""
    number = counts.get(prefix, 0)
    counts[prefix] = number + 1
    return f"{prefix}_{number}" if number else prefix


class _Writer:
    """Adds the functions that it visits to a network definition."""

    def __init__(self, network: ProtoNetwork, known: Mapping[Variable, str], paths: Mapping[Variable, str]) -> None:
        self.network = network
        self.known, self.paths = known, paths
        self.prefix = "" if network.name == "model" else f"@{network.name}/"
        self.function_counts: dict[str, int] = {}
        self.variable_counts: dict[str, int] = {}
        self.names: dict[Variable, str] = {}
        # says whether a leaf without a name is a parameter
        self.is_parameter: Callable[[Variable], bool] = lambda v: False

    def visit(self, function: Any) -> None:
        type_name = function.info.type_name
        if type_name == "Sink":
            return
        name = _unique(self.function_counts, self.prefix + type_name)
        entry = ProtoFunction(None, type_name, _plain(function), name)
        for i, v in enumerate(function.inputs):
            if v not in self.names and v not in self.known and v.parent is None and self.is_parameter(v):
                self._add(v, f"{name}_{i}", "Parameter")
                parameter.set_parameter(f"{name}_{i}", v)
            entry.inputs.append(self._named(v, f"{type_name}_in"))
        entry.outputs = [self._named(v, f"{type_name}_out") for v in function.outputs]
        self.network.functions[name] = entry

    def _named(self, v: Variable, default: str) -> str:
        if v not in self.names:
            name = self.known.get(v) or _unique(self.variable_counts, self.prefix + default)
            self._add(v, name, "Parameter" if v in self.paths else "Buffer")
        return self.names[v]

    def _add(self, v: Variable, name: str, kind: str) -> None:
        if name in self.network.variables or name in self.network.parameters:
            raise ValueError(f"network {self.network.name!r} has two variables with the name {name!r}")
        entries = self.network.parameters if kind == "Parameter" else self.network.variables
        entries[name] = NetworkVariable(v.shape, name, v.need_grad, kind)
        self.names[v] = name


def create_graph_from_variable(
    name: str,
    variables: Variable | Sequence[Variable],
    names: Mapping[str, Variable] | None = None,
    parameter_scope: dict[str, Any] | None = None,
) -> ProtoGraph:
    """Makes the network definition of the graph that computes Variables.

    Args:
        name: the network's name.
        variables: a Variable, or several.
        names: names of some Variables. Parameters are named by their paths, other Variables after their functions.
        parameter_scope: the dictionary of the parameters; None: the current scope.

    Returns:
        A graph with this network.

    Raises:
        ValueError: two Variables would have one name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> x = nn.Variable((2, 3))
        >>> made = graph_def.create_graph_from_variable("net", PF.affine(x, 4), names={"x": x})
        >>> made["net"].inputs, list(made["net"].functions)
        (['x'], ['@net/Affine'])

    Source: `nnabla.core.graph_def.create_graph_from_variable` of nnabla 1.39.0.
    """
    scope = parameter.get_current_parameter_scope() if parameter_scope is None else parameter_scope
    made = ProtoGraph(parameter_scope=scope)
    network = made.networks[name] = ProtoNetwork(made, name)
    paths = {v: key for key, v in made.get_parameters().items()}
    writer = _Writer(network, {v: key for key, v in (names or {}).items()} | paths, paths)
    last = F.sink(*variables) if isinstance(variables, (list, tuple)) else variables
    last.visit(writer.visit)
    network.connect()
    return made


def _plain(function: Any) -> dict[str, Any]:
    """The arguments of a function; the shape of a reshape has no -1."""
    args = dict(function.info.args)
    if function.info.type_name == "Reshape":
        args["shape"] = list(function.outputs[0].shape)
    return args


_known: weakref.WeakSet[ProtoVariable] = weakref.WeakSet()
_unused: list[ProtoVariable] = []  # references: the graph alone does not keep a Python object alive
_WRITTEN = "written in a network"  # tag of functions that are already in a network


class ProtoVariable(Variable):
    """An input of a network that is traced: see `graph`.

    Args:
        shape: its shape.
        name: its name in the network; None: a name made from that of a function.
        need_grad: whether it needs a gradient.
        var_type: "Buffer", or "Parameter".

    Example:
        >>> x = nn.ProtoVariable((2, 3), name="x")
        >>> with nn.graph_def.graph() as made:
        ...     y = PF.affine(x, 4)
        >>> made["model"].inputs, list(made["model"].functions)
        (['x'], ['Affine'])

    Source: `nnabla.core.graph_def.ProtoVariable` of nnabla 1.39.0.
    """

    def __init__(
        self, shape: Sequence[int], name: str | None = None, need_grad: bool = False, var_type: str = "Buffer"
    ) -> None:
        self.type = var_type
        if name is not None:
            self.name = name
        self.order = len(_known)
        _known.add(self)
        _unused.append(self)

    def __new__(
        cls, shape: Sequence[int], name: str | None = None, need_grad: bool = False, var_type: str = "Buffer"
    ) -> ProtoVariable:
        return super().__new__(cls, shape, need_grad)

    def clone(self) -> ProtoVariable:
        """Another input of the same shape, name and type."""
        return ProtoVariable(self.shape, self.name, self.need_grad, self.type)

    @property
    def proto(self) -> Any:
        """The protocol buffer message of this variable."""
        return NetworkVariable(self.shape, self.name, self.need_grad, self.type).proto


class _Tracer:
    """Finds the functions that are computed from ProtoVariables, and adds them to network definitions."""

    def __init__(self, name: str | None = None, parameter_scope: dict[str, Any] | None = None) -> None:
        self.name = name
        self.counts: dict[str, int] = {}
        self.graph = ProtoGraph(parameter_scope=parameter_scope)

    def commit(self, module: Any = None) -> None:
        """Makes a network of the new functions, if there are any; with `module`, its parameters are those of the
        module."""
        inputs = sorted({*_known, *_unused}, key=lambda v: v.order)
        ends = _ends(inputs)
        if not ends:
            return
        name = _unique(self.counts, self.name or (module.name if module else "model"))
        self.name = None  # for the first network only
        network = self.graph.networks[name] = ProtoNetwork(self.graph, name)
        found = module.get_parameters() if module else parameter.get_parameters(grad_only=False)
        paths = {v: key for key, v in found.items()}
        writer = _Writer(network, {v: v.name for v in inputs if v.name} | paths, paths)
        writer.is_parameter = lambda v: not isinstance(v, ProtoVariable)
        with parameter.parameter_scope("", self.graph.parameter_scope):
            F.sink(*ends).visit(writer.visit)
            for v, key in paths.items():
                if key in network.parameters:
                    parameter.set_parameter(key, v)
        network.connect()
        self.graph.traced.update((v, (name, key)) for v, key in writer.names.items())


def _ends(inputs: Sequence[Variable]) -> list[Variable]:
    """The outputs of new functions of `inputs` that no function takes. Tags these functions, so that they no longer
    count as new."""
    ends, queue = [], list(inputs)
    for v in queue:  # the loop appends to the list
        taken = v.function_references
        if not taken and v.parent is not None:
            ends.append(v)
        for function in taken:
            if _WRITTEN not in function.tags:
                function.tags[_WRITTEN] = True
                queue += function.outputs
    _unused[:] = [v for v in _unused if not v.function_references]
    return ends


_tracers = [_Tracer()]


def commit(module: Any = None) -> None:
    """Ends the network that is being traced: functions that are called later belong to another one.

    Args:
        module: the Module whose parameters and name the network has; None: all parameters, and "model".

    Raises:
        ValueError: two variables would have the same name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> x = graph_def.ProtoVariable((2, 3))
        >>> with graph_def.graph() as made:
        ...     y = F.relu(x)
        ...     graph_def.commit()
        ...     z = F.tanh(x)
        >>> list(made.networks)
        ['model', 'model_1']

    Source: compatgrad's own.
    """
    _tracers[-1].commit(module)


@contextmanager
def graph(name: str | None = None, parameter_scope: dict[str, Any] | None = None) -> Iterator[ProtoGraph]:
    """Context manager that traces the functions of ProtoVariables inside the block as networks. Each call of a Module
    becomes a network with the module's name; all functions that are called outside of modules form one network.

    Args:
        name: the name of the first network; None: "model".
        parameter_scope: the dictionary of the parameters; None: a new one.

    Yields:
        The graph, which has the networks when the block ends.

    Raises:
        ValueError: two variables would have the same name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> x = graph_def.ProtoVariable((2, 3))
        >>> with graph_def.graph(name="net") as made:
        ...     y = F.relu(x)
        >>> made["net"](nn.Variable((5, 3))).shape
        (5, 3)

    Source: `nnabla.core.graph_def.graph` of nnabla 1.39.0.
    """
    commit()
    _tracers.append(_Tracer(name, parameter_scope))
    try:
        yield _tracers[-1].graph
        commit()
    finally:
        _tracers.pop()


@contextmanager
def graph_name(name: str) -> Iterator[None]:
    """Context manager inside which a traced network gets this name.

    Args:
        name: the name.

    Yields:
        Nothing.

    Raises:
        ValueError: two variables would have the same name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> x = graph_def.ProtoVariable((2, 3))
        >>> with graph_def.graph() as made:
        ...     with graph_def.graph_name("first"):
        ...         y = F.relu(x)
        >>> list(made.networks)
        ['first']

    Source: `nnabla.core.graph_def.graph_name` of nnabla 1.39.0.
    """
    commit()
    _tracers[-1].name = name
    try:
        yield
        commit()
    finally:
        _tracers[-1].name = None


def get_default_graph(name: str | None = None) -> ProtoGraph | ProtoNetwork | None:
    """The networks that were made outside of `graph`.

    Args:
        name: the name of a network; None for the graph of all networks.

    Returns:
        The graph; or the network, None if there is no network with this name.

    Raises:
        ValueError: two variables would have the same name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> y = F.relu(graph_def.ProtoVariable((2, 3)))
        >>> list(graph_def.get_default_graph().networks), graph_def.get_default_graph("other")
        (['model'], None)
        >>> graph_def.reset_default_graph()

    Source: `nnabla.core.graph_def.get_default_graph` of nnabla 1.39.0.
    """
    _tracers[0].commit()
    return _tracers[0].graph if name is None else _tracers[0].graph.networks.get(name)


def get_default_graph_by_variable(proto_variable: Variable) -> ProtoNetwork:
    """Finds the network that has `proto_variable` as an output, among those made outside `graph`.

    Args:
        proto_variable: a Variable that was computed from ProtoVariables.

    Returns:
        The network.

    Raises:
        ValueError: there is no such network.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> y = F.relu(graph_def.ProtoVariable((2, 3)))
        >>> [f.type for f in graph_def.get_default_graph_by_variable(y).functions.values()]
        ['ReLU']
        >>> graph_def.reset_default_graph()

    Source: `nnabla.core.graph_def.get_default_graph_by_variable` of nnabla 1.39.0.
    """
    _tracers[0].commit()
    name, key = _tracers[0].graph.traced.get(proto_variable, (None, None))
    if name is None or key not in _tracers[0].graph.networks[name].outputs:
        raise ValueError(f"{proto_variable} is not an output of a network of the default graph")
    return _tracers[0].graph.networks[name]


def reset_default_graph() -> None:
    """Removes the networks that were made outside `graph`.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> y = F.relu(graph_def.ProtoVariable((2, 3)))
        >>> graph_def.reset_default_graph()
        >>> list(graph_def.get_default_graph().networks)
        []

    Source: `nnabla.core.graph_def.reset_default_graph` of nnabla 1.39.0.
    """
    _ends([*_known, *_unused])
    _unused.clear()
    _tracers[0] = _Tracer()


def load(
    filename: Any,
    batch_size: int | None = None,
    exclude_parameter: bool = False,
    parameter_only: bool = False,
    extension: str = ".nntxt",
    parameter_scope: dict[str, Any] | None = None,
    rng: Any = None,
) -> ProtoGraph:
    """Reads the networks and parameters of a file, or of several.

    Args:
        filename: the name of a file (.nnp, .nntxt, .prototxt, .protobuf or .h5), an open file, or several of them.
        batch_size: size of the batch; None: that of the file.
        exclude_parameter: whether parameters are left out.
        parameter_only: whether networks are left out.
        extension: the format of an open file.
        parameter_scope: the dictionary into which parameters are put; None: a new one.
        rng: the random generator for initial values that are not in the file; None: one with seed 0.

    Returns:
        The graph.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is broken, or a parameter exists with another shape.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> made = graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4))
        >>> made.save("net.nnp")
        >>> graph_def.load("net.nnp")["net"](nn.Variable((5, 3))).shape
        (5, 4)

    Source: `nnabla.core.graph_def.load` of nnabla 1.39.0.
    """
    from ..utils import _parameter_files

    scope = OrderedDict() if parameter_scope is None else parameter_scope
    proto, found = _parameter_files.load(filename, False, extension)
    if not exclude_parameter:
        with parameter.parameter_scope("", scope):
            parameter._register(found)
    if parameter_only:
        proto.ClearField("network")
    return ProtoGraph.from_proto(proto, batch_size, scope, rng, names_of(filename))


def save(
    filename: Any,
    content: Sequence[ProtoGraph | ProtoNetwork],
    include_parameters: bool = False,
    variable_batch_size: bool = True,
    extension: str = ".nnp",
    executors: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Writes the first graph or network to a file.

    Args:
        filename: the name of a file (.nnp, .nntxt, .prototxt or .protobuf), or an open file.
        content: graphs or networks, of which the first is written.
        include_parameters: whether to write the parameters; a .nnp file always contains them.
        variable_batch_size: whether to write -1 for the batch, the first axis of variables.
        extension: the format of an open file.
        executors: executors, see `nnabla.utils.save.save`; where "output" is a dictionary, its keys become the names of
            the outputs.

    Raises:
        OSError: the file cannot be written.
        ValueError: the format is not known, or a shape argument does not begin with the size of the batch.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> made = graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4))
        >>> graph_def.save("net.nnp", [made])
        >>> list(graph_def.load("net.nnp").networks)
        ['net']

    Source: `nnabla.core.graph_def.save` of nnabla 1.39.0.
    """
    held = content[0]
    if isinstance(held, ProtoNetwork):
        owner = held.owner
        held = ProtoGraph([held], owner.parameter_scope)
        held.traced = owner.traced
    held._write(filename, include_parameters, variable_batch_size, extension, executors)
