"""Network definitions: graphs written down by names, saved to files, and loaded from there."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .. import functions as F
from .. import parameter
from ..variable import Variable
from .networks import NetworkVariable, ProtoFunction, ProtoGraph, ProtoNetwork

__all__ = [
    "ProtoFunction",
    "ProtoGraph",
    "ProtoNetwork",
    "ProtoVariable",
    "create_graph_from_variable",
    "get_default_graph",
    "get_default_graph_by_variable",
    "graph",
    "load",
    "reset_default_graph",
    "save",
]


def _unique(counts: dict[str, int], prefix: str) -> str:
    """`prefix`, with a number behind it from the second time on."""
    number = counts.get(prefix, 0)
    counts[prefix] = number + 1
    return f"{prefix}_{number}" if number else prefix


class _Writer:
    """Writes down the functions that it visits."""

    def __init__(self, network: ProtoNetwork, known: Mapping[Variable, str], paths: Mapping[Variable, str]) -> None:
        self.network = network
        self.known, self.paths = known, paths
        self.prefix = "" if network.name == "model" else f"@{network.name}/"
        self.function_counts: dict[str, int] = {}
        self.variable_counts: dict[str, int] = {}
        self.names: dict[Variable, str] = {}
        # whether a leaf without a name is a parameter
        self.is_parameter: Callable[[Variable], bool] = lambda v: False

    def visit(self, function: Any) -> None:
        type_name = function.info.type_name
        if type_name == "Sink":
            return
        name = _unique(self.function_counts, self.prefix + type_name)
        entry = ProtoFunction(type_name, name, _plain(function))
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
            raise ValueError(f"network {self.network.name!r} has two variables of the name {name!r}")
        entries = self.network.parameters if kind == "Parameter" else self.network.variables
        entries[name] = NetworkVariable(v.shape, name, v.need_grad, kind)
        self.names[v] = name


def create_graph_from_variable(
    name: str,
    variables: Variable | Sequence[Variable],
    names: Mapping[str, Variable] | None = None,
    parameter_scope: dict[str, Any] | None = None,
) -> ProtoGraph:
    """The network `name` that leads to `variables`.

    `names` names some Variables; parameters have their paths, others names made from the functions'. Raises
    ValueError where two Variables would have one name.
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
    """The arguments of a function; the shape of a reshape without a -1."""
    args = dict(function.info.args)
    if function.info.type_name == "Reshape":
        args["shape"] = list(function.outputs[0].shape)
    return args


class ProtoVariable(Variable):
    """An input of a network that is to be written down: see `graph`."""

    def __init__(
        self, shape: Sequence[int], name: str | None = None, need_grad: bool = False, var_type: str = "Buffer"
    ) -> None:
        super().__init__(shape, need_grad)
        self.type = var_type
        if name is not None:
            self.name = name
        _tracers[-1].inputs.append(weakref.ref(self))

    def __new__(cls, shape: Sequence[int], *args: Any, **kwargs: Any) -> ProtoVariable:
        return super().__new__(cls, shape)


class _Tracer:
    """Knows the ProtoVariables that were made, and finds what has been computed from them."""

    def __init__(self, name: str | None, parameter_scope: dict[str, Any] | None) -> None:
        self.name = name or "model"
        self.inputs: list[weakref.ref[ProtoVariable]] = []
        self.graph = ProtoGraph(parameter_scope=parameter_scope)

    def commit(self) -> None:
        """Writes down the network from the inputs on."""
        inputs = [v for v in (ref() for ref in self.inputs) if v is not None]
        self.inputs = []
        ends = self._ends(inputs)
        if not ends:
            return
        name = self.name
        while name in self.graph.networks:
            name = f"{self.name}_{len(self.graph.networks)}"
        network = self.graph.networks[name] = ProtoNetwork(self.graph, name)
        paths = {v: key for key, v in parameter.get_parameters(grad_only=False).items()}
        named = {v: v.name for v in inputs if v.name}
        writer = _Writer(network, named | paths, paths)
        writer.is_parameter = lambda v: not isinstance(v, ProtoVariable)
        with parameter.parameter_scope("", self.graph.parameter_scope):
            F.sink(*ends).visit(writer.visit)
            for v, key in paths.items():
                if key in network.parameters:
                    parameter.set_parameter(key, v)
        network.connect()
        self.graph.traced.update((v, (name, key)) for v, key in writer.names.items())

    @staticmethod
    def _ends(inputs: Sequence[Variable]) -> list[Variable]:
        seen: dict[Variable, None] = dict.fromkeys(inputs)
        queue, ends = list(inputs), []
        for v in queue:  # which grows
            functions = v.function_references
            if not functions and v.parent is not None:
                ends.append(v)
            found = [output for f in functions for output in f.outputs if output not in seen]
            seen.update(dict.fromkeys(found))
            queue += found
        return ends


_tracers = [_Tracer(None, None)]


@contextmanager
def graph(name: str | None = None, parameter_scope: dict[str, Any] | None = None) -> Iterator[ProtoGraph]:
    """Inside, a network of functions of ProtoVariables is made; behind, it is in the graph that this gives.

    It has the name `name`, by default "model"; its parameters are in the dictionary `parameter_scope`.
    """
    _tracers.append(_Tracer(name, parameter_scope))
    try:
        yield _tracers[-1].graph
        _tracers[-1].commit()
    finally:
        _tracers.pop()


def get_default_graph(name: str | None = None) -> ProtoGraph | ProtoNetwork | None:
    """The graph of networks made outside `graph`; its network `name`, or None if there is none."""
    _tracers[0].commit()
    return _tracers[0].graph if name is None else _tracers[0].graph.networks.get(name)


def get_default_graph_by_variable(proto_variable: Variable) -> ProtoNetwork:
    """The network outside `graph` that has this output. Raises ValueError if there is none."""
    _tracers[0].commit()
    name, key = _tracers[0].graph.traced.get(proto_variable, (None, None))
    if name is None or key not in _tracers[0].graph.networks[name].outputs:
        raise ValueError(f"{proto_variable} is the output of no network of the default graph")
    return _tracers[0].graph.networks[name]


def reset_default_graph() -> None:
    """Forgets the networks made outside `graph`."""
    _tracers[0] = _Tracer(None, None)


def load(
    filename: Any,
    batch_size: int | None = None,
    exclude_parameter: bool = False,
    parameter_only: bool = False,
    extension: str = ".nntxt",
    parameter_scope: dict[str, Any] | None = None,
    rng: Any = None,
) -> ProtoGraph:
    """The graph of a file, or of several: .nnp, .nntxt, .prototxt, .protobuf or .h5; their parameters in its
    scope.

    For an open file `extension` names the format. `exclude_parameter` leaves the parameters out,
    `parameter_only` the networks. Errors are those of `load_parameters`.
    """
    from ..utils import nnabla_pb2, parameter_files

    scope = OrderedDict() if parameter_scope is None else parameter_scope
    proto = nnabla_pb2.NNablaProtoBuf()
    with parameter.parameter_scope("", scope):
        parameter_files.load(filename, proto, False, extension, register_them=not exclude_parameter)
    if parameter_only:
        proto.ClearField("network")
    return ProtoGraph.from_proto(proto, batch_size, scope, rng)


def save(
    filename: Any,
    content: Sequence[ProtoGraph | ProtoNetwork],
    include_parameters: bool = False,
    variable_batch_size: bool = True,
    extension: str = ".nnp",
    executors: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Writes the first graph or network of `content` to a .nnp, .nntxt, .prototxt or .protobuf file.

    For an open file `extension` names the format. Only .nnp files hold parameters without
    `include_parameters`. `executors` are as in nnabla.utils.save.save; an "output" that is a dict gives
    outputs new names.
    """
    from ..utils import network_files
    from ..utils.save import add_executor

    first = content[0]
    held = first if isinstance(first, ProtoGraph) else ProtoGraph([first], first.owner.parameter_scope)
    networks = dict(held.networks)
    for executor in executors or ():
        outputs = executor.get("output")
        if isinstance(outputs, Mapping):
            traced = first.traced if isinstance(first, ProtoGraph) else first.owner.traced
            renames = {traced[v][1]: new for new, v in outputs.items()}
            networks[executor["network"]] = networks[executor["network"]].renamed(renames)
    written = ProtoGraph(networks.values(), held.parameter_scope)
    written.executors = held.executors
    proto = written.as_proto(include_parameters, variable_batch_size)
    for executor in executors or ():
        add_executor(proto, networks, executor)
    network_files.write(filename, proto, held.get_parameters(), extension)
