"""Prints graphs as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ...parameter import get_parameters

if TYPE_CHECKING:
    from ...variable import Variable

__all__ = ["PrettyPrinter", "pprint"]

_STATISTICS = {"Med": numpy.median, "Ave": numpy.mean, "Std": numpy.std, "Min": numpy.min, "Max": numpy.max}


class PrettyPrinter:
    """A callable for `Variable.visit` that prints each function; `pprint` creates one.

    Args:
        summary: whether to print the median, mean, standard deviation, minimum and maximum of all data and gradients.
        hidden: whether to append a dict with "name", "inputs" and "outputs" (lists of Variables) to `functions` for
            each function.

    Example:
        >>> from compatgrad.nnabla.utils.inspection.pretty_print import PrettyPrinter
        >>> F.relu(nn.Variable((2, 3))).visit(PrettyPrinter())
        ReLU(ReLU)
            Depth = 0
            Args: ['inplace=False']
            Inputs: [(2, 3)]
            Outputs: [(2, 3)]
            Backward Inputs: [False]

    Source: `nnabla.utils.inspection.pretty_print.PrettyPrinter` of nnabla 1.39.0.
    """

    def __init__(self, summary: bool = False, hidden: bool = False):
        self._summary = summary
        self._hidden = hidden
        self.functions = []

    def get_scope_name(self, x: Variable) -> str | None:
        """The scope of the parameter `x`, which is its name without the last part; None if `x` is no parameter of the
        current scope."""
        return next((name.rpartition("/")[0] for name, p in get_parameters().items() if p == x), None)

    def __call__(self, f):
        scope = self.get_scope_name(f.inputs[1]) if len(f.inputs) > 1 else None
        name = f"{f.name}({f.info.type_name})"
        name = f"{scope}/{name}" if scope else name
        print(name)
        print(f"\tDepth = {f.rank}")
        print("\tArgs:", [f"{key}={value}" for key, value in f.info.args.items()])
        print("\tInputs:", [x.shape for x in f.inputs])
        print("\tOutputs:", [y.shape for y in f.outputs])
        print("\tBackward Inputs:", [x.need_grad for x in f.inputs])
        if self._summary:
            for kind in ("data", "grad"):
                for side, variables in (("Input", f.inputs), ("Output", f.outputs)):
                    print(f"\t{side} {kind.title()}{'s' * (kind == 'grad')}:")
                    arrays = [getattr(v, kind).get_data("r") for v in variables]
                    for title, statistic in _STATISTICS.items():
                        print(f"\t\t{title}: ", [statistic(a) for a in arrays])
        if self._hidden:
            self.functions.append({"name": name, "inputs": list(f.inputs), "outputs": list(f.outputs)})


def pprint(
    v: Variable,
    forward: bool = False,
    backward: bool = False,
    summary: bool = False,
    hidden: bool = False,
    printer: bool = False,
) -> PrettyPrinter | None:
    """Prints the functions that a Variable depends on: names, arguments, shapes, and which inputs need gradients.

    Args:
        v: the end of the graph.
        forward: whether to run forward first.
        backward: whether to run backward first.
        summary: whether to print the median, mean, standard deviation, minimum and maximum of all data and gradients.
        hidden: whether the printer stores the functions' names and Variables in its list `functions`.
        printer: whether to return the printer.

    Returns:
        The printer, a `PrettyPrinter`, or None.

    Raises:
        AttributeError: `v` is no Variable.

    Example:
        >>> from compatgrad.nnabla.utils.inspection import pprint
        >>> pprint(F.relu(nn.Variable((2, 3), need_grad=True)), forward=True)
        ReLU(ReLU)
            Depth = 0
            Args: ['inplace=False']
            Inputs: [(2, 3)]
            Outputs: [(2, 3)]
            Backward Inputs: [True]

    Source: `nnabla.utils.inspection.pprint` of nnabla 1.39.0.
    """
    if forward:
        v.forward()
    if backward:
        v.backward()
    made = PrettyPrinter(summary, hidden)
    v.visit(made)
    return made if printer else None
