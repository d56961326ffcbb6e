"""Builds graphs of Variables from the networks of .nnp files, optionally modified."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import parameter
from ..core import graph_def
from ..core._networks import NetworkVariable, ProtoFunction, ProtoNetwork, apply_function
from ..variable import Variable

__all__ = ["NnpLoader", "NnpNetwork", "NnpNetworkPass"]


class NnpNetwork:
    """A network built from a file, returned by `NnpLoader.get_network`.

    `inputs`, `outputs` and `variables` (including the parameters) map names to Variables. The parameters are
    registered in the current scope.

    Args:
        proto_network: the network's definition.
        batch_size: the batch size of the network; None for the one in the file.
        callback (NnpNetworkPass): modifies the network before it is built; None leaves it unchanged.

    Example:
        >>> from compatgrad.nnabla.utils.nnp_graph import NnpLoader
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": PF.affine(x, 4)}}
        >>> save("net.nnp", {"networks": [network]})
        >>> net = NnpLoader("net.nnp").get_network("net", batch_size=5)
        >>> net.inputs["x"].shape, net.outputs["y"].shape, sorted(net.variables)
        ((5, 3), (5, 4), ['affine/W', 'affine/b', 'x', 'y'])

    Source: `nnabla.utils.nnp_graph.NnpNetwork` of nnabla 1.39.0.
    """

    def __init__(self, proto_network: ProtoNetwork, batch_size: int | None, callback: NnpNetworkPass | None) -> None:
        network = proto_network.copy()
        if callback is not None:
            network = callback._passed(network, batch_size or network.batch_size)
        network(batch_size=batch_size)
        self.proto_network = network
        built = {
            name: entry.variable_instance
            for name, entry in (*network.variables.items(), *network.parameters.items())
            if entry.variable_instance is not None
        }
        for name, variable in built.items():
            variable.name = name
        self.variables = built
        self.inputs = {name: built[name] for name in network.inputs}
        self.outputs = {name: built[name] for name in network.outputs if name in built}
        for name in network.parameters:
            parameter.set_parameter(name, built[name])


class NnpLoader:
    """Reads networks and parameters from files; `get_network` builds a network.

    Args:
        filepath: the name of a .nnp, .nntxt or .prototxt file, an open file, or a list of them.
        scope: the dictionary to add the parameters to; None creates one for the loader.
        extension: the format of open files.

    Raises:
        FileNotFoundError: there is no such file.
        TypeError: `filepath` is neither a name nor an open file.

    Example:
        >>> from compatgrad.nnabla.utils.nnp_graph import NnpLoader
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x}, "outputs": {"y": PF.affine(x, 4)}}
        >>> save("net.nnp", {"networks": [network]})
        >>> loader = NnpLoader("net.nnp")
        >>> loader.get_network_names()
        ['net']
        >>> loader.get_network("net", batch_size=1).outputs["y"].shape
        (1, 4)

    Source: `nnabla.utils.nnp_graph.NnpLoader` of nnabla 1.39.0.
    """

    def __init__(self, filepath: Any, scope: dict[str, Any] | None = None, extension: str = ".nntxt") -> None:
        self._params = OrderedDict() if scope is None else scope
        rng = np.random.RandomState(1223)
        self.g = graph_def.load(filepath, extension=extension, parameter_scope=self._params, rng=rng)
        self.network_dict = dict(self.g.networks)

    def get_network_names(self) -> list[str]:
        """The names of the networks."""
        return list(self.network_dict)

    def get_network(
        self,
        name: str,
        batch_size: int | None = None,
        callback: NnpNetworkPass | None = None,
    ) -> NnpNetwork:
        """Builds the network `name` with `batch_size`, by default the batch size in the file.

        `callback` modifies the network before it is built. Raises KeyError for an unknown name.
        """
        return NnpNetwork(self.network_dict[name], batch_size, callback)


class _PassVariable:
    """The view of a variable that callbacks receive."""

    def __init__(self, entry: NetworkVariable, network: _PassNetwork) -> None:
        self.entry = entry
        self.name = entry.name
        self.proto = entry.proto
        self.need_grad = entry.need_grad
        self.stop = False
        self.variable: Variable | None = None
        self._network = network

    @property
    def parent(self) -> _PassFunction | None:
        return next((f for f in self._network.functions.values() if self.name in f.proto.output), None)

    @property
    def referrers(self) -> dict[str, _PassFunction]:
        return {n: f for n, f in self._network.functions.items() if self.name in f.proto.input}

    @property
    def num_referrers(self) -> int:
        return len(self.referrers)

    def rewire_on(self, var: _PassVariable) -> None:
        """Replaces `var` as the output of its parent function, and disables its own parent function."""
        if self.parent is not None:
            self.parent.disable()
        self.variable = var.variable
        parent = var.parent
        if parent is None:
            self.proto.shape.dim[:] = var.proto.shape.dim[:]
        else:
            parent.proto.output[:] = [self.name if name == var.name else name for name in parent.proto.output]


class _PassFunction:
    """The view of a function that callbacks receive; they modify its message `proto`."""

    def __init__(self, entry: ProtoFunction, network: _PassNetwork) -> None:
        self.name = entry.name
        self.proto = entry.proto
        self.disabled = False
        self._network = network

    @property
    def inputs(self) -> list[_PassVariable]:
        return [self._network.variables[name] for name in self.proto.input]

    @property
    def outputs(self) -> list[_PassVariable]:
        return [self._network.variables[name] for name in self.proto.output]

    def disable(self) -> None:
        """Removes the function from the network."""
        self.disabled = True
        self.proto.input.clear()
        self.proto.output.clear()


class _PassNetwork:
    def __init__(self, network: ProtoNetwork) -> None:
        entries = {**network.variables, **network.parameters}
        self.variables = {name: _PassVariable(entry, self) for name, entry in entries.items()}
        self.functions = {name: _PassFunction(entry, self) for name, entry in network.functions.items()}


def _infer_shapes(function: _PassFunction, batch: int) -> bool:
    """Sets the shapes of the outputs from those of the inputs; returns False if the function rejects the inputs."""
    inputs = []
    for v in function.inputs:
        shape = v.proto.shape.dim[:] if v.variable is None else v.variable.shape
        inputs.append(Variable([n if n >= 0 else batch for n in shape]))
    try:
        results = apply_function(ProtoFunction.from_proto(function.proto), inputs, batch)
    except (RuntimeError, ValueError):
        return False  # building the network raises the error
    for v, result in zip(function.outputs, results, strict=True):
        v.proto.shape.dim[:] = result.shape
    return True


def _rebuilt(network: ProtoNetwork, view: _PassNetwork) -> ProtoNetwork:
    renamed = {name: v.proto.name for name, v in view.variables.items()}
    other = ProtoNetwork(network.owner, network.name, network.batch_size)
    kept = [f for f in view.functions.values() if not f.disabled]
    used = {name for f in kept for name in (*f.proto.input, *f.proto.output)}
    for name, v in view.variables.items():
        if name not in used:
            continue
        entry = NetworkVariable(v.proto.shape.dim, renamed[name], v.need_grad, v.entry.type)
        entry.initializer, entry.variable_instance, entry.stop = v.entry.initializer, v.variable, v.stop
        (other.parameters if entry.type == "Parameter" else other.variables)[entry.name] = entry
    for f in kept:
        function = ProtoFunction.from_proto(f.proto)
        function.inputs = [renamed[name] for name in function.inputs]
        function.outputs = [renamed[name] for name in function.outputs]
        other.functions[function.name] = function
    other.connect()
    return _up_to_stops(other)


def _up_to_stops(network: ProtoNetwork) -> ProtoNetwork:
    """Removes the functions that depend on variables with `stop` set; these variables become outputs."""
    dropped = set()
    for function in network.forward_sequence():
        if any(network.find(name).stop for name in function.inputs):
            dropped.add(function.name)
            for name in function.outputs:
                network.find(name).stop = True
    if dropped:
        for name in dropped:
            del network.functions[name]
        used = {name for f in network.functions.values() for name in (*f.inputs, *f.outputs)}
        for entries in (network.variables, network.parameters):
            for name in [name for name in entries if name not in used]:
                del entries[name]
        for entry in network.variables.values():
            entry.stop = False
        network.connect()
    return network


_Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class NnpNetworkPass:
    """A set of modifications of a network before it is built.

    The decorators `on_...` register callbacks, which receive views of variables and functions and modify the views'
    messages `proto`. The other methods register predefined modifications.

    Args:
        verbose: 1 prints what the predefined modifications do, 2 also prints the messages of `verbose2`.

    Example:
        >>> from compatgrad.nnabla.utils.nnp_graph import NnpLoader, NnpNetworkPass
        >>> from compatgrad.nnabla.utils.save import save
        >>> x = nn.Variable((2, 3))
        >>> h = F.relu(x)
        >>> network = {"name": "net", "batch_size": 2, "names": {"x": x, "h": h}, "outputs": {"y": F.exp(h)}}
        >>> save("net.nnp", {"networks": [network]})
        >>> changes = NnpNetworkPass()
        >>> changes.use_up_to("h")
        >>> image = nn.Variable((1, 5))
        >>> changes.set_variable("x", image)
        >>> net = NnpLoader("net.nnp").get_network("net", batch_size=1, callback=changes)
        >>> list(net.outputs), net.outputs["h"].shape, net.outputs["h"].parent.inputs[0] == image
        (['h'], (1, 5), True)

    Source: `nnabla.utils.nnp_graph.NnpNetworkPass` of nnabla 1.39.0.
    """

    def __init__(self, verbose: int = 0) -> None:
        self._on_variable: dict[str, Callable[..., Any]] = {}
        self._on_function: dict[str, Callable[..., Any]] = {}
        self._on_function_type: dict[str, Callable[..., Any]] = {}
        self._pass_by_name: dict[str, Callable[..., Any]] = {}
        self._pass_by_type: dict[str, Callable[..., Any]] = {}
        self._fix_parameters = False
        self._use_up_to: set[str] = set()
        self._level = verbose

    def verbose(self, *args: Any, **kwargs: Any) -> None:
        """Prints its arguments if `verbose` is at least 1."""
        if self._level:
            print(*args, **kwargs)

    def verbose2(self, *args: Any, **kwargs: Any) -> None:
        """Prints its arguments if `verbose` is at least 2."""
        if self._level > 1:
            print(*args, **kwargs)

    @staticmethod
    def _registers(table: dict[str, Callable[..., Any]], name: str) -> _Decorator:
        def register(callback: Callable[..., Any]) -> Callable[..., Any]:
            table[name] = callback
            return callback

        return register

    def on_function_pass_by_name(self, name: str) -> _Decorator:
        """Registers ``callback(f, variables, scope)``, called for the function `name` in forward order."""
        return self._registers(self._pass_by_name, name)

    def on_function_pass_by_type(self, name: str) -> _Decorator:
        """Registers ``callback(f, variables, scope)``, called for functions of the type `name` in forward order."""
        return self._registers(self._pass_by_type, name)

    def on_generate_variable(self, name: str) -> _Decorator:
        """Registers ``callback(v)``, called for the variable `name`."""
        return self._registers(self._on_variable, name)

    def on_generate_function_by_name(self, name: str) -> _Decorator:
        """Registers ``callback(f)``, called for the function `name`."""
        return self._registers(self._on_function, name)

    def on_generate_function_by_type(self, name: str) -> _Decorator:
        """Registers ``callback(f)``, called for functions of the type `name`."""
        return self._registers(self._on_function_type, name)

    def drop_function(self, *names: str) -> None:
        """Removes functions from the network."""

        def drop(f: _PassFunction, variables: Any, scope: Any) -> None:
            self.verbose(f"Pass: Deleting {f.name}.")
            f.disable()

        for name in names:
            self.on_function_pass_by_name(name)(drop)

    def fix_parameters(self) -> None:
        """Sets `need_grad` of all parameters to False."""
        self._fix_parameters = True

    def use_up_to(self, *names: str) -> None:
        """Ends the network at the variables `names`."""
        self._use_up_to.update(names)

    def remove_and_rewire(self, name: str, i: int = 0, o: int = 0) -> None:
        """Removes the function `name` and replaces its output number `o` by its input number `i`."""

        @self.on_function_pass_by_name(name)
        def rewire(f: _PassFunction, variables: Any, scope: Any) -> None:
            source, result = f.inputs[i], f.outputs[o]
            self.verbose(f"Removing {f.name} and rewire input={source.name} and output={result.name}.")
            result.rewire_on(source)
            result.proto.name = source.name

    def set_variable(self, name: str, input_var: Variable) -> None:
        """Uses the Variable `input_var` as the input `name`."""

        @self.on_generate_variable(name)
        def replace(v: _PassVariable) -> None:
            self.verbose(f"Replace {name} by {input_var}.")
            v.proto.shape.dim[:] = input_var.shape
            v.variable = input_var
            input_var.name = v.name

    def _on_pooling(self, name: str, by_type: bool) -> _Decorator:
        return (self.on_generate_function_by_type if by_type else self.on_generate_function_by_name)(name)

    def force_average_pooling_global(self, name: str, by_type: bool = False) -> None:
        """Sets kernel and stride of the average pooling `name` (with `by_type`, of all functions of that type) to the
        whole image."""

        @self._on_pooling(name, by_type)
        def widen(f: _PassFunction) -> None:
            size = f.inputs[0].proto.shape.dim[2:]
            self.verbose(f"Change strides of {f.name} to {size}.")
            f.proto.average_pooling_param.kernel.dim[:] = size
            f.proto.average_pooling_param.stride.dim[:] = size

    def check_average_pooling_global(self, name: str, by_type: bool = False) -> None:
        """Raises ValueError if the average pooling `name` (with `by_type`, any function of that type) does not cover
        the whole image."""

        @self._on_pooling(name, by_type)
        def check(f: _PassFunction) -> None:
            size = f.inputs[0].proto.shape.dim[2:]
            pooling = f.proto.average_pooling_param
            if pooling.kernel.dim[:] != size or pooling.stride.dim[:] != size:
                raise ValueError(
                    f"average pooling {f.name!r} over images of {size} has kernel {pooling.kernel.dim[:]} "
                    f"and stride {pooling.stride.dim[:]}: it is not global; force_global_pooling=True makes "
                    f"it so"
                )

    def set_batch_normalization_batch_stat_all(self, batch_stat: bool) -> None:
        """Sets `batch_stat` of all batch normalizations."""

        @self.on_generate_function_by_type("BatchNormalization")
        def set_it(f: _PassFunction) -> None:
            self.verbose(f"Setting batch_stat={batch_stat} at {f.name}.")
            f.proto.batch_normalization_param.batch_stat = batch_stat

    def _apply_function_pass_by_name(self, f: _PassFunction, variables: Any, scope: Any) -> None:
        if f.name in self._pass_by_name:
            self._pass_by_name[f.name](f, variables, scope)

    def _apply_function_pass_by_type(self, f: _PassFunction, variables: Any, scope: Any) -> None:
        if f.proto.type in self._pass_by_type:
            self._pass_by_type[f.proto.type](f, variables, scope)

    def _passed(self, network: ProtoNetwork, batch: int) -> ProtoNetwork:
        """The network, modified by the callbacks. The callbacks for functions receive shapes inferred from the
        network's inputs; they are not called for functions that depend on the variables of `use_up_to`.
        """
        view = _PassNetwork(network)
        scope = network.owner.parameter_scope
        for variable in list(view.variables.values()):
            self._apply_generate_variable(variable)
        everything = list(view.variables.values())
        order = [view.functions[entry.name] for entry in network.forward_sequence()]
        for function in order:
            for apply in (self._apply_function_pass_by_type, self._apply_function_pass_by_name):
                if not function.disabled:
                    apply(function, everything, scope)
        for function in view.functions.values():
            self._apply_use_up_to(function.inputs)
        behind: set[str] = set()
        known = True
        for function in order:
            if function.disabled:
                continue
            if any(v.stop or v.name in behind for v in function.inputs):
                behind.update(v.name for v in function.outputs)
                continue
            self._apply_generate_function_by_type(function)
            self._apply_generate_function_by_name(function)
            known = known and _infer_shapes(function, batch)
        return _rebuilt(network, view)

    # these methods return their argument because programs for nnabla before 1.20 use the result

    def _apply_generate_variable(self, v: _PassVariable) -> _PassVariable:
        if v.name in self._on_variable:
            self._on_variable[v.name](v)
        if self._fix_parameters:
            v.need_grad = False
        return v

    def _apply_generate_function_by_name(self, f: _PassFunction) -> _PassFunction:
        if f.name in self._on_function:
            self._on_function[f.name](f)
        return f

    def _apply_generate_function_by_type(self, f: _PassFunction) -> _PassFunction:
        if f.proto.type in self._on_function_type:
            self._on_function_type[f.proto.type](f)
        return f

    def _apply_use_up_to(self, variables: list[_PassVariable]) -> None:
        for v in variables:
            if v.name in self._use_up_to:
                self.verbose(f"Stopping at {v.name}.")
                v.stop = True
