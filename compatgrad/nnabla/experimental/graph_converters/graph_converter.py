"""Base classes of the converters, which walk through a graph and make a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ... import _declare, parameter
from ... import functions as F
from ...auto_forward import auto_forward
from ...variable import Variable

__all__ = ["FunctionModifier", "GraphConverter"]


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


class FunctionModifier:
    """Makes a new graph from an old one: it is called with each function of the old graph, inputs first.

    Subclasses define `modify`. `outputs` are the new outputs of the last function.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> class Smooth(GC.FunctionModifier):
        ...     def modify(self, f, inputs):
        ...         return F.softplus(inputs[0]) if f.info.type_name == "ReLU" else None
        >>> y = F.exp(F.relu(nn.Variable((2, 3))))
        >>> GC.GraphConverter([Smooth()]).convert(y).visit(lambda f: print(f.info.type_name))
        SoftPlus
        Exp

    Source: `nnabla.experimental.graph_converters.FunctionModifier` of nnabla 1.39.0.
    """

    def __init__(self) -> None:
        self._map_func_inputs: dict[Any, list[Variable | None]] = {}  # function of the old graph -> its new inputs
        self.outputs: list[Variable] = []

    def modify(self, f: Any, inputs: list[Variable]) -> Variable | Sequence[Variable] | None:
        """Returns the Variables that replace the outputs of `f`, computed from the new `inputs`; None applies the same
        function to the new inputs. To leave out a function, return one of its inputs; to replace it by several, apply
        these.
        """
        return None

    def init_map_func_inputs(self, f: Any, inputs: Sequence[Variable]) -> None:
        """Sets the first inputs of `f` in the new graph; further inputs are those of the old graph."""
        self._map_func_inputs[f] = list(inputs)

    def get_parameter_scope(self, v: Variable) -> str:
        """The scope of the parameter that shares the arrays of `v`; "" if none does."""
        for path, found in parameter.get_parameters().items():
            if found == v:
                return path.rpartition("/")[0]
        return ""

    def _copy_inputs(self, inputs: Iterable[Variable]) -> list[Variable]:
        return [x.get_unlinked_variable(need_grad=x.need_grad) for x in inputs]

    def _new_inputs(self, f: Any) -> list[Variable]:
        old = f.inputs
        if f not in self._map_func_inputs:
            return self._copy_inputs(old)
        known = self._map_func_inputs[f]
        return [new if new is not None else x for new, x in zip(known, old, strict=False)] + old[len(known) :]

    def __call__(self, f: Any) -> None:
        inputs = self._new_inputs(f)
        made = self.modify(f, inputs)
        if made is not None and not all(isinstance(y, Variable) for y in _listed(made)):
            raise ValueError(f"{type(self).__name__}.modify must return None or Variables, not {type(made).__name__}")
        self.outputs = _listed(self._modify_as_same(f, inputs) if made is None else made)
        for old, new in zip(f.outputs, self.outputs, strict=False):
            for reader in old.function_references:
                slots = self._map_func_inputs.setdefault(reader, [])
                slots += [None] * (len(reader.inputs) - len(slots))
                for i, x in enumerate(reader.inputs):
                    if x == old:
                        slots[i] = new

    def _modify_as_same(self, f: Any, inputs: Sequence[Variable]) -> Any:
        return self._call_function(f.info.type_name, inputs, f.info.args)

    def _call_function(self, type_name: str, inputs: Sequence[Variable], args: Mapping[str, Any]) -> Any:
        """Applies a function of a type to `inputs`. Raises ValueError for types that nnabla does not define, such as
        PythonFunctions."""
        spec = _declare.specs.get(type_name)
        if spec is None:
            raise ValueError(f"{type(self).__name__}: functions of type {type_name!r} cannot be applied again")
        given = list(inputs)
        if not spec.variadic:
            given += [None] * (len(spec.inputs) - len(given))
        with auto_forward(False):
            return _declare.call(spec, given, [args.get(p.name, p.default) for p in spec.parameters])

    def __finish__(self) -> None:
        """Called when a graph has been converted: subclasses reset the data that they have stored about it."""

    def finish_up(self) -> None:
        """Resets the data stored about the converted graph."""
        self._map_func_inputs = {}
        self.__finish__()


class GraphConverter:
    """Applies modifiers, or lists of modifiers, one after another.

    Args:
        modifiers: `FunctionModifier`s and lists of them.

    Example:
        >>> import compatgrad.nnabla.experimental.graph_converters as GC
        >>> converter = GC.GraphConverter([GC.IdentityModifier(), GC.TestModeModifier(["Dropout"])])
        >>> y = F.dropout(F.relu(nn.Variable((2, 3))))
        >>> converter.convert(y).visit(lambda f: print(f.info.type_name))
        ReLU

    Source: `nnabla.experimental.graph_converters.GraphConverter` of nnabla 1.39.0.
    """

    def __init__(self, modifiers: Sequence[Any] = ()) -> None:
        self._modifiers = self._prepare_modifiers(modifiers)

    def _prepare_modifiers(self, modifiers: Sequence[Any] = ()) -> list[FunctionModifier]:
        found: list[FunctionModifier] = []
        for modifier in modifiers:
            found += self._prepare_modifiers(modifier) if isinstance(modifier, (list, tuple)) else [modifier]
        return found

    def convert(self, o: Variable | Sequence[Variable]) -> Any:
        """The new output for the output `o`, or a list for a list of outputs. Raises ValueError if the graph has a
        function that cannot be applied again, such as a PythonFunction.
        """
        outputs = _listed(o)
        for modifier in self._modifiers:
            try:
                F.sink(*outputs).visit(modifier)
                outputs = modifier.outputs[0].parent.inputs
            finally:  # data that a failed conversion has stored must not affect the next one
                modifier.finish_up()
        return outputs if isinstance(o, (list, tuple)) else outputs[0]
