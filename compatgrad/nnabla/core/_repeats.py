"""Expands the repetitions in networks of files. Parts of a network may run several times: the functions between
RepeatStart and RepeatEnd, and loops over an axis between RecurrentInput and RecurrentOutput, where Delay passes a value
from one round to the next. The `repeat_id` of a variable or function lists the repetitions that contain it, the
outermost first.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["expanded", "names_in_rounds"]

_JOINTS = {
    "RepeatStart": "Identity",
    "RepeatEnd": "Identity",
    "Delay": "Identity",
    "RecurrentInput": "Split",
    "RecurrentOutput": "Stack",
}


def _suffix(ids: Sequence[str], rounds: Sequence[int]) -> str:
    return "".join(f"_{name}[{i}]" for name, i in zip(ids, rounds, strict=False))


class _Expansion:
    def __init__(self, network: Any) -> None:
        from ..utils import nnabla_pb2

        self.network = network
        self.times = {repeat.id: repeat.times for repeat in network.repeat_info}
        self.shapes = {v.name: list(v.shape.dim) for v in network.variable}
        self.result = nnabla_pb2.Network(name=network.name, batch_size=network.batch_size)
        self.names: set[str] = set()

    def rounds(self, ids: Sequence[str]) -> Iterator[tuple[int, ...]]:
        unknown = [name for name in ids if name not in self.times]
        if unknown:
            raise ValueError(f"network {self.network.name!r} does not say how often {unknown[0]!r} is repeated")
        return itertools.product(*(range(self.times[name]) for name in ids))

    def names_of(self, variable: Any) -> Iterator[str]:
        """The names of a variable in all rounds of the repetitions that contain it."""
        ids = list(variable.repeat_id)
        for at in self.rounds(ids):
            name = variable.name
            for repeat, i in zip(ids, at, strict=True):
                marked = "{" + repeat + "}"
                name = name.replace(marked, f"[{i}]") if marked in name else f"{name}_{repeat}[{i}]"
            yield name

    def add_variable(self, variable: Any) -> None:
        for name in self.names_of(variable):
            made = self.result.variable.add()
            made.CopyFrom(variable)
            made.name = name
            made.ClearField("repeat_id")
            self.names.add(name)

    def found(self, name: str, ids: Sequence[str], at: Sequence[int]) -> str:
        """The name of the variable `name` in the round `at`: the plain name, or the name with a suffix for each
        repetition that contains the variable."""
        for repeat, i in zip(ids, at, strict=False):
            name = name.replace("{" + repeat + "}", f"[{i}]")
        for depth in (0, *range(len(at), 0, -1)):
            if name + _suffix(ids, at[:depth]) in self.names:
                return name + _suffix(ids, at[:depth])
        raise ValueError(f"network {self.network.name!r} has no variable {name!r} in round {list(at)}")

    def add_function(self, function: Any) -> None:
        ids = list(function.repeat_id)
        for at in self.rounds(ids):
            if function.type == "RecurrentInput" and at[-1] > 0:
                continue  # one Split, before the first round, makes the inputs of all rounds
            made = self.result.function.add()
            made.CopyFrom(function)
            made.ClearField("repeat_id")
            made.ClearField("repeat_param")
            made.ClearField("recurrent_param")
            outside = at[:-1] if function.type == "RecurrentInput" else at
            made.name = function.name + _suffix(ids, outside)
            made.input[:] = self.inputs(function, ids, at)
            made.output[:] = self.outputs(function, ids, at)
            if function.type in _JOINTS:
                made.type = _JOINTS[function.type]
                if made.type == "Identity":
                    made.name = f"$EC$/{made.name}"
                else:
                    getattr(made, f"{made.type.lower()}_param").axis = function.recurrent_param.axis

    def inputs(self, function: Any, ids: Sequence[str], at: tuple[int, ...]) -> list[str]:
        names = list(function.input)
        outside = _suffix(ids, at[:-1])
        if function.type in ("RepeatStart", "Delay"):
            if len(names) != 2:
                raise ValueError(f"function {function.name!r} of type {function.type} takes 2 inputs, not {len(names)}")
            first, before = names if function.type == "RepeatStart" else names[::-1]
            param = function.repeat_param if function.type == "RepeatStart" else function.recurrent_param
            if at[-1] == 0:
                return [self.found(first, ids, at[:-1])]
            return [f"{before}{outside}_{param.repeat_id}[{at[-1] - 1}]"]
        if function.type == "RepeatEnd":
            last = self.times[function.repeat_param.repeat_id] - 1
            return [f"{names[0]}{_suffix(ids, at)}_{function.repeat_param.repeat_id}[{last}]"]
        if function.type == "RecurrentOutput":
            loop = function.recurrent_param
            return [f"{names[0]}{_suffix(ids, at)}_{loop.repeat_id}[{i}]" for i in range(loop.length)]
        if function.type == "RecurrentInput":
            return [self.found(name, ids, at[:-1]) for name in names]
        return [self.found(name, ids, at) for name in names]

    def outputs(self, function: Any, ids: Sequence[str], at: tuple[int, ...]) -> list[str]:
        if function.type == "RecurrentInput":
            loop = function.recurrent_param
            stem = function.output[0] + _suffix(ids, at[:-1])
            return [f"{stem}_{loop.repeat_id}[{i}]" for i in range(self.shapes[function.input[0]][loop.axis])]
        return [self.found(name, ids, at) for name in function.output]


def expanded(network: Any) -> Any:
    """A copy of the Network message `network` in which every repetition is expanded. Raises ValueError for a repetition
    or a variable that the network does not have.
    """
    expansion = _Expansion(network)
    for variable in network.variable:
        expansion.add_variable(variable)
    for function in network.function:
        expansion.add_function(function)
    return expansion.result


def names_in_rounds(network: Any) -> dict[str, list[str]]:
    """The names that each variable of a Network message has in `expanded`."""
    expansion = _Expansion(network)
    return {variable.name: list(expansion.names_of(variable)) for variable in network.variable}
