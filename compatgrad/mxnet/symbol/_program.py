"""Programs of steps on torch tensors, and how they are put together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from compatgrad import _C

from ._graph import Node
from ._growth import LARGE_SQUARES

__all__ = ["Program", "Steps"]

Step = tuple[Callable[..., torch.Tensor], tuple[int, ...], int, tuple[int, ...]]


class Program(NamedTuple):
    """Steps that compute a graph's outputs from its inputs; the values of the parameters are in it."""

    steps: list[Step]  # function, places of its inputs, place of its result, places that no later step reads
    compiled: object  # what runs the steps
    packed: int  # the number of convolutions, products of many rows with ordered weights, and attentions
    unread: set[str]  # names of parameters whose values have no effect

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor] | None:
        """The outputs, contiguous; None where an input is not moderate or an output not finite: oneDNN's relu makes 0
        of NaN, which must stay visible, also where a layer inside makes it.
        """
        return _C.run_program(self.compiled, inputs, LARGE_SQUARES)


class Steps:
    """The steps of a program. Each runs when it is added, so that the next knows the shapes of its inputs.

    readers: by id of a node, the operators that read its result. shown: ids of the nodes whose results are outputs.
    """

    def __init__(self, readers: Mapping[int, Sequence[Node]], shown: set[int]) -> None:
        self.readers, self.shown = readers, shown
        self.place: dict[int, int] = {}  # by id of a node
        self.places: list[Any] = []  # values of parameters
        self.values: list[Any] = []
        self.left: list[float] = []  # by place, how often later steps read it
        self.fresh: list[bool] = []  # by place, whether no other place shares its memory
        self.given: set[int] = set()  # places of inputs and parameters
        self.views: dict[int, int] = {}  # places of views: the place of what they are views of
        self.steps: list[Step] = []

    def give(self, node: Node, value: torch.Tensor, fixed: bool) -> None:
        """An input, or, if `fixed`, a parameter."""
        self.given.add(self.new(node, value, False, fixed))

    def new(self, node: Node, value: Any, fresh: bool, fixed: bool = False) -> int:
        """A place for the result of a node."""
        place = self.place[id(node)] = len(self.values)
        self.values.append(value)
        self.places.append(value if fixed else None)
        kept = fixed or node.op is None or id(node) in self.shown
        self.left.append(math.inf if kept else len(self.readers.get(id(node), ())) or math.inf)
        self.fresh.append(fresh)
        return place

    def value(self, node: Node) -> Any:
        return self.values[self.place[id(node)]]

    def add(self, last: Node, function: Callable[..., Any], sources: Sequence[Node], view: bool = False) -> None:
        """Adds a step, which gives the result of `last` and reads those of `sources`, and runs it."""
        reads = tuple(self.place[id(node)] for node in sources)
        value = function(*[self.values[i] for i in reads])
        for i in reads:
            self.left[i] -= 1
            self.fresh[i] = self.fresh[i] and not view
        dead = tuple(i for i in dict.fromkeys(reads) if self.left[i] <= 0)
        place = self.new(last, value, not view)
        self.steps.append((function, reads, place, dead))
        for i in dead:
            self.values[i] = None

    def add_view(self, node: Node, function: Callable[..., Any], source: Node) -> None:
        """Adds a step whose result may be a view of its input."""
        self.add(node, function, [source], view=True)
        place = self.place[id(source)]
        self.views[self.place[id(node)]] = self.views.get(place, place)

    def same(self, node: Node) -> None:
        """An operator that changes nothing: its result is in the place of its input."""
        place = self.place[id(node)] = self.place[id(node.inputs[0][0])]
        self.left[place] += (math.inf if id(node) in self.shown else len(self.readers[id(node)])) - 1

    def spare(self, node: Node) -> bool:
        """Whether the next step may overwrite the result of `node`, because it alone reads it."""
        place = self.place[id(node)]
        return self.fresh[place] and self.left[place] == 1

    def finish(self, inputs: Sequence[Node], heads: Sequence[Node]) -> tuple[object, list[torch.Tensor]] | None:
        """What runs the steps, and the values of `heads`; None where results would share memory with each other or with
        an input wherever its order of axes needs no copy.
        """
        places = [self.place[id(node)] for node in heads]
        if len({*places}) < len(places) or self.given.intersection(places):
            return None
        outputs = [self.unshared(node, len(heads) == 1) for node in heads]
        made = _C.program(self.steps, self.places, [self.place[id(node)] for node in inputs], outputs)
        return made, [self.values[i].contiguous() for i in outputs]

    def unshared(self, node: Node, alone: bool) -> int:
        """The place of a result, which is copied if it may be a view of an input, a parameter or, unless it is `alone`,
        of another result.
        """
        place = self.place[id(node)]
        if place not in self.views or (alone and self.views[place] not in self.given):
            return place
        self.add(Node("_copy", node.name), _C.torch_step("aten::clone", "", (...,)), [node])
        return len(self.values) - 1
