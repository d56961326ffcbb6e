"""Network definitions, whose variables and functions refer to each other by name, as in nnabla's files; and the graphs
that are built from them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .. import _declare, parameter
from .. import context as contexts
from ..utils import nnabla_pb2
from ..variable import Variable
from ._entries import NetworkVariable, ProtoFunction
from ._file_errors import naming
from ._initializers import create_initializer

__all__ = ["NetworkVariable", "ProtoFunction", "ProtoGraph", "ProtoNetwork"]

_SHAPED = ("Constant", "Rand", "Randint", "Randn", "RandBinomial", "RandBeta", "RandGamma")


class ProtoNetwork:
    """A network definition. A call builds the network and returns its output, or a tuple of outputs. The arguments are
    the Variables of the inputs; without arguments new ones are made, with `batch_size` instead of -1. Parameters come
    from the graph's scope.

    Args:
        owner: the graph that it belongs to.
        name: its name.
        batch_size: size of the batch where shapes begin with -1.

    Attributes:
        variables: its variables by name.
        parameters: its parameters by name.
        functions: its functions by name.
        inputs: the names of its inputs.
        outputs: the names of its outputs.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> made = graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4))
        >>> network = made["net"]
        >>> network.inputs, list(network.parameters), network(nn.Variable((5, 3))).shape
        (['@net/Affine_in'], ['affine/W', 'affine/b'], (5, 4))

    Source: `nnabla.core.graph_def.ProtoNetwork` of nnabla 1.39.0.
    """

    def __init__(self, owner: ProtoGraph, name: str | None = None, batch_size: int | None = None) -> None:
        self.owner = owner
        self.name = name
        self.batch_size = batch_size or 0
        self.variables: OrderedDict[str, NetworkVariable] = OrderedDict()
        self.parameters: OrderedDict[str, NetworkVariable] = OrderedDict()
        self.functions: OrderedDict[str, ProtoFunction] = OrderedDict()
        self.inputs: list[str] = []
        self.outputs: list[str] = []

    def find(self, name: str) -> NetworkVariable:
        """The variable or parameter with this name. Raises ValueError if there is none."""
        found = self.variables.get(name) or self.parameters.get(name)
        if found is None:
            raise ValueError(f"network {self.name!r} has no variable {name!r}")
        return found

    def connect(self) -> None:
        """Updates the functions before and after each variable, and the inputs and outputs of the network."""
        everything = [*self.variables.values(), *self.parameters.values()]
        for variable in everything:
            variable.parent, variable.required = None, []
        for function in self.functions.values():
            for name in function.inputs:
                self.find(name).required.append(function.name)
            for name in function.outputs:
                self.find(name).parent = function.name
        self.inputs = [k for k, v in self.variables.items() if v.parent is None and v.required]
        self.outputs = [k for k, v in self.variables.items() if v.parent is not None and not v.required]

    def forward_sequence(self) -> Iterator[ProtoFunction]:
        """Yields the functions on which outputs depend in topological order."""
        done: set[str] = set()
        for output in self.outputs:
            stack = [self.find(output).parent]
            while stack:
                name = stack[-1]
                if name is None or name in done:
                    stack.pop()
                    continue
                parents = [self.find(i).parent for i in self.functions[name].inputs]
                waiting = [p for p in parents if p is not None and p not in done]
                if waiting:
                    stack += waiting
                    if len(stack) > 2 * len(self.functions) ** 2 + 2:
                        raise ValueError(f"network {self.name!r} has a loop")
                    continue
                done.add(name)
                yield self.functions[name]

    def execute_on_proto(self, execute: Callable[[ProtoFunction], Any]) -> None:
        """Calls `execute` with each function on which outputs depend, in topological order."""
        for function in self.forward_sequence():
            execute(function)

    @property
    def current_context(self) -> Any:
        """The context of its functions, which is that of the graph."""
        return self.owner.current_context

    def __call__(self, *args: Variable, batch_size: int | None = None, ctx: Any = None) -> Any:
        batch = batch_size or self.batch_size
        if ctx:
            self.owner.current_context = ctx
        scope = parameter.parameter_scope("", self.owner.parameter_scope)
        with naming(self.owner._source), contexts.context_scope(self.current_context), scope:
            self._make_inputs(args, batch)
            for function in self.forward_sequence():
                self._execute(function, batch)
        outputs = tuple(self.variables[name].variable_instance for name in self.outputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def _make_inputs(self, given: Sequence[Variable], batch: int) -> None:
        if given and len(given) != len(self.inputs):
            raise ValueError(f"network {self.name!r} takes {len(self.inputs)} inputs, not {len(given)}")
        for name, variable in zip(self.inputs, given, strict=False):
            self.variables[name].variable_instance = variable
        for name in () if given else self.inputs:
            self.variables[name].variable_instance = self._new_input(self.variables[name], batch)
        for param in self.parameters.values():
            # as in nnabla, it is registered with need_grad=True, even where the file says False, as for means and
            # variances
            made = parameter.get_parameter_or_create(
                param.name, param.shape, param.initializer, as_need_grad=param.need_grad
            )
            if made.need_grad != param.need_grad:
                made = made.get_unlinked_variable(need_grad=param.need_grad)
            param.variable_instance = made

    def _new_input(self, variable: NetworkVariable, batch: int) -> Variable:
        if variable.variable_instance is not None:
            return variable.variable_instance
        if batch < 0 and any(n < 1 for n in variable.shape):
            raise ValueError(
                f"network {self.name!r} has the batch size {batch}, which leaves the shape of {variable.name!r} "
                "undetermined: give batch_size"
            )
        shape = tuple(n if n >= 1 else batch for n in variable.shape)
        if variable.initializer is None:
            return Variable(shape)
        # the networks of a file share the initial values of inputs with the same name
        shared = self.owner.global_variables
        if variable.name not in shared:
            shared[variable.name] = Variable.from_numpy_array(variable.initializer(shape=shape), need_grad=True)
        return shared[variable.name]

    def _execute(self, function: ProtoFunction, batch: int) -> None:
        inputs = [self.find(name) for name in function.inputs]
        outputs = [self.variables[name] for name in function.outputs]
        if any(v.stop for v in inputs):
            for v in outputs:
                v.stop = True
            return
        try:
            results = apply_function(function, [v.variable_instance for v in inputs], batch)
        except (RuntimeError, TypeError, IndexError) as error:  # the function does not accept its inputs
            kind = next(kind for kind in (RuntimeError, TypeError, IndexError) if isinstance(error, kind))
            raise kind(f"function {function.name!r} of network {self.name!r}: {error}") from error
        for v, result in zip(outputs, results, strict=True):
            v.variable_instance = result
        function.function_instance = results[0].parent

    def as_proto(self, variable_batch_size: bool = True) -> Any:
        """The Network message; with `variable_batch_size` the batch is -1 wherever it is the first axis."""
        network = self._of_any_batch() if variable_batch_size else self
        message = nnabla_pb2.Network(name=self.name, batch_size=int(network.batch_size or 0))
        for variable in (*network.variables.values(), *network.parameters.values()):
            message.variable.add().CopyFrom(variable.proto)
        for function in network.functions.values():
            message.function.add().CopyFrom(function.proto)
        return message

    def copy(self) -> ProtoNetwork:
        """A copy that can be changed independently, not yet built."""
        other = ProtoNetwork(self.owner, self.name, self.batch_size)
        for mine, copies in ((self.variables, other.variables), (self.parameters, other.parameters)):
            for name, v in mine.items():
                copies[name] = NetworkVariable(v.shape, v.name, v.need_grad, v.type)
                copies[name].initializer = v.initializer
        for name, f in self.functions.items():
            other.functions[name] = f.clone()
        other.connect()
        return other

    clone = expand_loop_control = copy  # repetitions are expanded when a file is read

    def __getitem__(self, name: str) -> Any:
        """An attribute by name: "variables", "functions", "inputs", ..."""
        return getattr(self, name)

    def promote(self, callback: Any) -> ProtoNetwork:
        """The network changed by an NnpNetworkPass; itself for None."""
        return self if callback is None else callback._passed(self, self.batch_size)

    def _of_any_batch(self) -> ProtoNetwork:
        """A copy whose shapes and shape arguments have -1 for the batch.

        The size of the batch is the product of the axes before `base_axis` of the last function with this argument.
        Raises ValueError if a shape argument starts with another size.
        """
        other = self.copy()
        order = list(other.forward_sequence())
        batch = None
        for function in order:
            axis = function.args.get("base_axis") or 0
            data = [name for name in function.inputs if name in other.variables]
            if axis and data:
                batch = int(np.prod(other.variables[data[0]].shape[:axis]))
        if batch is None or batch < 1:  # the batch is -1 already
            return other
        constant: set[str] = set()  # variables that depend on parameters alone have no batch axis
        merged: set[str] = set()
        for function in order:
            data = [name for name in function.inputs if name in other.variables and name not in constant]
            if not data:
                constant.update(function.outputs)
                continue
            axis = function.args.get("base_axis", 1)
            if axis != 1:
                for name in [*data, *function.outputs]:
                    if name not in merged:
                        v = other.variables[name]
                        v.shape = (int(np.prod(v.shape[:axis])), *v.shape[axis:])
                merged.update(data)
                function.args["base_axis"] = 1
            if function.type in ("Reshape", "Broadcast", *_SHAPED):
                shape = list(function.args["shape"])
                extra = 0
                if function.type == "Broadcast":
                    extra = max(0, len(shape) - len(other.variables[function.inputs[0]].shape))
                if np.prod(shape[: extra + 1]) != batch:
                    raise ValueError(
                        f"function {function.name!r} has shape={shape}, which does not start with the "
                        f"batch size {batch}; save with variable_batch_size=False"
                    )
                function.args["shape"] = [-1, *shape[extra + 1 :]]
        for name, v in other.variables.items():
            if v.shape and name not in constant and v.shape[0] == batch:
                v.shape = (-1, *v.shape[1:])
        other.batch_size = batch
        return other

    @staticmethod
    def from_proto(owner: ProtoGraph, proto: Any, rng: Any = None, batch_size: int | None = None) -> ProtoNetwork:
        """The network that the Network message `proto` describes, with repetitions expanded."""
        message = proto
        network = ProtoNetwork(owner, message.name, batch_size or message.batch_size)
        if message.repeat_info:
            from ._repeats import expanded

            message = expanded(message)
        for v in message.variable:
            of_parameter = v.type == "Parameter"
            variable = NetworkVariable(v.shape.dim, v.name, of_parameter, v.type)
            variable.initializer = create_initializer(v, rng)
            (network.parameters if of_parameter else network.variables)[v.name] = variable
        for f in message.function:
            network.functions[f.name] = ProtoFunction.from_proto(f)
        network.connect()
        return network

    def renamed(self, names: Mapping[str, str]) -> ProtoNetwork:
        """A copy in which variables are renamed: `names` maps old names to new ones."""
        other = self.copy()
        other._rename(names)
        return other

    def _rename(self, renames: Mapping[str, str]) -> None:
        variables = self.variables
        for old in renames:
            if old not in variables:
                raise ValueError(f"rename_variable: network {self.name!r} has no variable {old!r}")
        names = [renames.get(name, name) for name in variables]
        if len(set(names)) < len(names):
            raise ValueError(f"rename_variable: two variables of network {self.name!r} would have one name")

        def renamed(old: list[str]) -> list[str]:
            return [renames.get(name, name) for name in old]

        for variable, name in zip(variables.values(), names, strict=True):
            variable.name = name
        self.variables = OrderedDict(zip(names, variables.values(), strict=True))
        for function in self.functions.values():
            function.inputs, function.outputs = renamed(function.inputs), renamed(function.outputs)
        self.inputs, self.outputs = renamed(self.inputs), renamed(self.outputs)

    def save(
        self,
        filename: Any,
        include_parameter: bool = False,
        variable_batch_size: bool = True,
        executors: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Writes the graph of this network alone; arguments are those of `ProtoGraph.save`."""
        graph = ProtoGraph([self], self.owner.parameter_scope)
        graph.save(filename, include_parameter, variable_batch_size, executors)


def arguments_of(function: ProtoFunction, batch: int) -> tuple[Any, list[Any]]:
    """The declaration of the type of a function, and the values of its arguments in the order of the declaration.

    `batch` replaces -1 at the start of a shape argument. Raises ValueError for an unknown type.
    """
    args = dict(function.args)
    if args.get("shape") and args["shape"][0] == -1:
        args["shape"] = [batch, *args["shape"][1:]]
    spec = _declare.specs.get(function.type)
    if spec is None:
        raise ValueError(f"function {function.name!r} is of the unknown type {function.type!r}")
    return spec, [args.get(p.name, p.default) for p in spec.parameters]


def apply_function(function: ProtoFunction, inputs: list[Any], batch: int) -> tuple[Any, ...]:
    """Applies a function of a network definition to Variables and returns its outputs; see `arguments_of` for `batch`
    and errors."""
    spec, values = arguments_of(function, batch)
    if not spec.variadic:
        inputs = inputs + [None] * (len(spec.inputs) - len(inputs))
    results = _declare.call(spec, inputs, values, len(function.outputs))
    return results if isinstance(results, tuple) else (results,)


class ProtoGraph:
    """The networks of a file and the scope of their parameters. Networks can be read as items or attributes by name.
    `inputs`, `outputs`, `variables`, `parameters` and `functions` are those of the first network, and a call builds the
    first network.

    Args:
        networks: the networks, or a dict of them.
        parameter_scope: the dictionary of the parameters; None: a new one.

    Attributes:
        networks: the networks by name.
        executors: the executors of the file by name.

    Example:
        >>> from compatgrad.nnabla.core import graph_def
        >>> made = graph_def.create_graph_from_variable("net", PF.affine(nn.Variable((2, 3)), 4))
        >>> list(made.networks), made.outputs, list(made.get_parameters())
        (['net'], ['@net/Affine_out'], ['affine/W', 'affine/b'])

    Source: `nnabla.core.graph_def.ProtoGraph` of nnabla 1.39.0.
    """

    def __init__(
        self,
        networks: Mapping[str, ProtoNetwork] | Iterable[ProtoNetwork] | None = None,
        parameter_scope: dict[str, Any] | None = None,
    ) -> None:
        given = networks.values() if isinstance(networks, Mapping) else networks or ()
        self.networks = OrderedDict((network.name, network) for network in given)
        self.parameter_scope = OrderedDict() if parameter_scope is None else parameter_scope
        self.global_variables: dict[str, Variable] = {}
        self.executors: OrderedDict[str, Any] = OrderedDict()
        self.traced: dict[Variable, tuple[str, str]] = {}  # for each traced Variable: its network and its name there
        self._context: Any = None
        self._source = ""  # the names of the files from which it was read, for errors

    @property
    def current_context(self) -> Any:
        """The context in which networks are built: the one set here or passed to a call as `ctx`, else the program's
        current context."""
        return contexts.get_current_context() if self._context is None else self._context

    @current_context.setter
    def current_context(self, context: Any) -> None:
        self._context = context

    def __getitem__(self, name: str) -> Any:
        return self.networks[name] if name in self.networks else getattr(self, name)

    def __setitem__(self, name: str, value: Any) -> None:
        """Adds a network `name`; sets the attribute `name` where `value` is no network."""
        if isinstance(value, ProtoNetwork):
            self.networks[name] = value
        else:
            setattr(self, name, value)

    def __contains__(self, name: str) -> bool:
        return name in self.__dict__ or name in self.networks

    def get(self, key: str, value: Any = None) -> Any:
        """The network or attribute `key`, or `value` if there is none."""
        return self[key] if key in self else value

    def set_parameter(self, key: str, param: Variable) -> None:
        """Registers a parameter in the graph's scope."""
        with parameter.parameter_scope("", self.parameter_scope):
            parameter.set_parameter(key, param)

    def set_parameters(self, params: Mapping[str, Variable]) -> None:
        """Registers parameters in the graph's scope."""
        for key, param in params.items():
            self.set_parameter(key, param)

    def expand_loop_control(self) -> None:
        """Nothing is left to do: repetitions are expanded when a file is read."""

    def __getattr__(self, name: str) -> Any:
        networks = self.__dict__.get("networks", {})
        if name in networks:
            return networks[name]
        if networks and name in ("inputs", "outputs", "parameters", "functions", "variables"):
            return getattr(self.default_graph(), name)
        raise AttributeError(f"the graph has neither an attribute nor a network {name!r}")

    def default_graph(self) -> ProtoNetwork:
        """The first network. Raises ValueError if there is none."""
        if not self.networks:
            raise ValueError("the graph has no network")
        return next(iter(self.networks.values()))

    def __call__(self, *args: Variable, **kwargs: Any) -> Any:
        return self.default_graph()(*args, **kwargs)

    def get_parameters(self, grad_only: bool = False) -> dict[str, Variable]:
        """The parameters of the graph's scope."""
        with parameter.parameter_scope("", self.parameter_scope):
            return parameter.get_parameters(grad_only=grad_only)

    @staticmethod
    def from_proto(
        proto: Any,
        batch_size: int | None = None,
        param_scope: dict[str, Any] | None = None,
        rng: Any = None,
        source: str = "",
    ) -> ProtoGraph:
        """The graph in an NNablaProtoBuf message; errors contain `source`, the names of the message's files."""
        graph = ProtoGraph(parameter_scope=param_scope)
        graph._source = source
        rng = np.random.RandomState(0) if rng is None else rng
        with naming(source):
            for message in proto.network:
                graph.networks[message.name] = ProtoNetwork.from_proto(graph, message, rng, batch_size)
        for message in proto.executor:
            graph.executors[message.name] = message
        return graph

    def as_proto(
        self,
        include_parameter: bool = False,
        only_parameter: bool = False,
        networks: Iterable[ProtoNetwork] | None = None,
        variable_batch_size: bool = True,
    ) -> Any:
        """The NNablaProtoBuf message of this graph, with `networks` instead of its own if they are given.

        `only_parameter` leaves networks and executors out.
        """
        from ..utils import _parameter_files

        proto = nnabla_pb2.NNablaProtoBuf()
        if not only_parameter:
            for network in self.networks.values() if networks is None else networks:
                proto.network.add().CopyFrom(network.as_proto(variable_batch_size))
            for executor in self.executors.values():
                proto.executor.add().CopyFrom(executor)
        if include_parameter:
            _parameter_files.add_to(proto, _parameter_files.records(self.get_parameters()))
        return proto

    def save(
        self,
        filename: Any,
        include_parameter: bool = False,
        variable_batch_size: bool = True,
        executors: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Writes the graph to a .nnp, .nntxt, .prototxt or .protobuf file; arguments as in
        `graph_def.save`."""
        self._write(filename, include_parameter, variable_batch_size, ".nnp", executors)

    def _write(
        self,
        filename: Any,
        include_parameter: bool,
        variable_batch_size: bool,
        extension: str,
        executors: Sequence[Mapping[str, Any]] | None,
    ) -> None:
        from ..utils import _network_files
        from ._executors import add_executor

        networks = dict(self.networks)
        for executor in executors or ():
            outputs = executor.get("output")
            if isinstance(outputs, Mapping):
                renames = {self.traced[v][1]: new for new, v in outputs.items()}
                networks[executor["network"]] = networks[executor["network"]].renamed(renames)
        written = ProtoGraph(networks.values(), self.parameter_scope)
        written.executors = self.executors
        proto = written.as_proto(include_parameter, variable_batch_size=variable_batch_size)
        for executor in executors or ():
            add_executor(proto, networks, executor)
        _network_files.write(filename, proto, self.get_parameters(), extension)
