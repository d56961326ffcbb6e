"""Graphs as text."""

import numpy

from ...parameter import get_parameters

_STATISTICS = {"Med": numpy.median, "Ave": numpy.mean, "Std": numpy.std, "Min": numpy.min, "Max": numpy.max}


class PrettyPrinter:
    """Prints functions, for `Variable.visit`; see `pprint`. `functions` has what `hidden` keeps."""

    def __init__(self, summary=False, hidden=False):
        self._summary = summary
        self._hidden = hidden
        self.functions = []

    def get_scope_name(self, x):
        """The scope of the parameter `x`, or None where it is none."""
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


def pprint(v, forward=False, backward=False, summary=False, hidden=False, printer=False):
    """Prints the functions that lead to the Variable `v`: name, arguments, shapes.

    forward, backward: runs these first. summary: prints statistics of all data and gradients. hidden: keeps
    the functions' Variables in the printer's `functions`. printer: returns the printer.
    """
    if forward:
        v.forward()
    if backward:
        v.backward()
    made = PrettyPrinter(summary, hidden)
    v.visit(made)
    return made if printer else None
