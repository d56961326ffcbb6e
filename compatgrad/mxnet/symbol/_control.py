"""Loops and branches of symbols: operators that hold graphs, `foreach`, `while_loop` and `cond`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..attribute import AttrScope
from ..name import NameManager
from ..ndarray.contrib import _flattened, _nested, _number
from ._graph import Entry, Node, order
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]


def _flat(values: Any, what: str) -> tuple[list[Symbol], Any]:
    """The symbols of a nested list, and its form: 0 for a symbol, a list of forms for a list."""

    def leaf(x: Any) -> tuple[list[Symbol], Any] | None:
        if not isinstance(x, Symbol):
            return None
        return ([x], 0) if len(x) == 1 else (list(x), [0] * len(x))

    return _flattened(values, leaf, f"{what} must be a symbol")


# ---- graphs inside an operator ---------------------------------------------------------------------------------------
class _Inner:
    """The graph of a function, and the outputs of the surrounding graph for which its variables stand."""

    def __init__(self, kind: str) -> None:
        outer = AttrScope._current.value._attr.get("__subgraph_name__", "")
        kind = f"{outer}${kind}" if outer else kind
        AttrScope._subgraph_names[kind] += 1
        self.name = f"{kind}{AttrScope._subgraph_names[kind] - 1}"
        self.given: list[tuple[Entry, Node]] = []
        self.heads: list[Entry] = []
        self.outside: dict[int, Entry] = {}  # id of a variable of the graph -> the output outside
        self.n_inputs = 0

    def scope(self) -> AttrScope:
        """The scope in which the function is called: nodes created in it belong to the graph."""
        return AttrScope(__subgraph_name__=self.name)

    def inputs(self, symbols: Sequence[Symbol]) -> list[Symbol]:
        """Variables for the function's arguments."""
        taken: dict[str, int] = {}
        made = []
        for s in symbols:
            node, index = s._outputs[0]
            name = f"{node.name}-{index}"
            taken[name] = taken.get(name, -1) + 1
            variable = Node(None, f"{name}-{taken[name]}" if taken[name] else name, attrs=self.scope()._attr)
            self.given.append((s._outputs[0], variable))
            made.append(Symbol([(variable, 0)]))
        return made

    def close(self, results: Sequence[Symbol]) -> None:
        """Builds the graph from the function's results; nodes that were created outside become variables."""
        own = {id(v): v for _, v in self.given}
        self.outside = {id(v): e for e, v in self.given}
        new: dict[int, Node] = dict(own)
        cut: dict[tuple[int, int], Node] = {}

        def inside(node: Node) -> bool:
            return id(node) in own or (node.op is not None and node.attrs.get("__subgraph_name__") == self.name)

        def entry(e: Entry) -> Entry:
            node, index = e
            if inside(node):
                return new[id(node)], index
            if (id(node), index) not in cut:
                name = node.name if node.op is None else f"{node.name}-{index}"
                cut[id(node), index] = variable = Node(None, name, attrs=dict(node.attrs) if node.op is None else None)
                self.outside[id(variable)] = e
            return cut[id(node), index], 0

        wanted = [s._outputs[0] for s in results]
        for node in order(wanted):
            if inside(node) and id(node) not in new:
                inputs = [entry(e) for e in node.inputs]
                new[id(node)] = Node(node.op, node.name, inputs, dict(node.params), dict(node.attrs), node.subgraphs)
        seen: set[int] = set()
        for e in wanted:
            head = entry(e)
            if head[0].op is None or id(head[0]) in seen:  # each result must be a different operator
                head = Node("_copy", f"{head[0].name}_copy{len(self.heads)}", [head]), 0
            if len(head[0].output_names()) == 1:
                seen.add(id(head[0]))
            self.heads.append(head)

    def variables(self) -> list[Node]:
        """The graph's variables in order."""
        return [n for n in order(self.heads) if n.op is None]

    def places(self) -> dict[int, int]:
        """The position of each variable in `variables()`, by id."""
        return {id(n): i for i, n in enumerate(self.variables())}


def _union(graphs: Sequence[_Inner]) -> tuple[list[Entry], list[list[int]]]:
    """The outputs that several graphs read, each once; and for each graph the positions of its variables in them."""
    read: list[Entry] = []
    at: dict[tuple[int, int], int] = {}
    places = []
    for graph in graphs:
        mine = []
        for variable in graph.variables():
            node, index = graph.outside[id(variable)]
            if (id(node), index) not in at:
                at[id(node), index] = len(read)
                read.append((node, index))
            mine.append(at[id(node), index])
        places.append(mine)
    return read, places


def _made(op_name: str, inputs: list[Entry], graphs: Sequence[_Inner], **params: Any) -> list[Symbol]:
    name = NameManager._current.value.get(None, op_name)
    attrs = dict(AttrScope._current.value.get(None))
    params["num_args"] = len(inputs) + len(graphs)
    node = Node(op_name, name, inputs, {k: str(v) for k, v in params.items()}, attrs, [g.heads for g in graphs])
    return [Symbol([(node, i)]) for i in range(params["num_outputs"])]


# ---- public functions ------------------------------------------------------------------------------------------------
def foreach(body: Callable[..., Any], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """A symbol of `body(slice, states)` for each slice of data along its first axis; see `mx.nd.contrib.foreach`.

    AssertionError if an argument or result is no symbol, if the body's states are nested otherwise than the given
    ones, or if the body does not use a slice or a state.
    """
    items, data_form = _flat(data, "foreach input")
    states, form = _flat(init_states, "foreach states")
    graph = _Inner(name)
    with graph.scope():
        variables = graph.inputs([*items, *states])
        given = _nested(variables[: len(items)], data_form), _nested(variables[len(items) :], form)
        outputs, new = body(*given)
        results, out_form = _flat(outputs, "foreach output")
        last, last_form = _flat(new, "foreach loop_vars")
        assert form == last_form, "The input and output loop_vars have different format"
    graph.close([*results, *last])
    places = graph.places()
    mine = [v for _, v in graph.given]
    for kind, part in (("data", mine[: len(items)]), ("state", mine[len(items) :])):
        for v in part:
            assert id(v) in places, f"the {kind} arrays have to be used in the loop body: {v.name} is not"
    rest = [v for v in graph.variables() if not any(v is m for m in mine)]
    found = _made(
        "_foreach", [e for e, _ in graph.given] + [graph.outside[id(v)] for v in rest], [graph],
        num_outputs=len(graph.heads), num_out_data=len(results),
        in_data_locs=[places[id(v)] for v in mine[: len(items)]],
        in_state_locs=[places[id(v)] for v in mine[len(items) :]], remain_locs=[places[id(v)] for v in rest],
    )  # fmt: skip
    return _nested(found[: len(results)], out_form), _nested(found[len(results) :], form)


def while_loop(
    cond: Callable[..., Any], func: Callable[..., Any], loop_vars: Any, max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:  # fmt: skip
    """A symbol of `func(*loop_vars)` while `cond(*loop_vars)` is true; see `mx.nd.contrib.while_loop`.

    ValueError without max_iterations or loop_vars, if the function changes the number of loop_vars or does not use one,
    or if the condition is no symbol.
    """
    items, form = _flat(loop_vars, "while loop_vars")
    if max_iterations is None:
        raise ValueError("while_loop: max_iterations should be specified")
    limit = _number(max_iterations, int, "max_iterations")
    if not items:
        raise ValueError("while_loop: loop_vars should contain at least one element")
    test, step = _Inner(f"{name}_cond"), _Inner(f"{name}_func")
    with test.scope():
        given = _nested(test.inputs(items), form)
        truth = cond(*([given] if form == 0 else given))
        if not isinstance(truth, Symbol):
            raise ValueError(f"Return of cond must be a Symbol, got {type(truth).__name__}")
    test.close([truth])
    with step.scope():
        given = _nested(step.inputs(items), form)
        output, new = func(*([given] if form == 0 else given))
        results, out_form = _flat([] if output is None else output, "while output")
        last, _ = _flat([] if new is None else new, "while loop_vars")
        if len(last) != len(items):
            raise ValueError(f"The number of loop_vars should be consistent during the loop: {len(items)}, {len(last)}")
    step.close([*results, *last])
    places = step.places()
    for k, (_, v) in enumerate(step.given, 1):
        if id(v) not in places:
            raise ValueError(f"The {k}-th loop_var doesn't involve into the computation")
    read, (of_test, of_step) = _union((test, step))
    found = _made(
        "_while_loop", read, [test, step], num_outputs=len(step.heads), num_out_data=len(results),
        max_iterations=limit, cond_input_locs=of_test, func_input_locs=of_step,
        func_var_locs=[places[id(v)] for _, v in step.given],
    )  # fmt: skip
    return _nested(found[: len(results)], out_form), _nested(found[len(results) :], form)


def cond(pred: Symbol, then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """A symbol of `then_func()` where the scalar `pred` is not 0, else of `else_func()`.

    ValueError if the two give other numbers of outputs.
    """
    graphs, forms = [], []
    for kind, function in (("pred", lambda: pred), ("then", then_func), ("else", else_func)):
        graph = _Inner(f"{name}_{kind}")
        with graph.scope():
            results, form = _flat(function(), "cond outputs")
        graph.close(results)
        graphs.append(graph)
        forms.append(form)
    if len(graphs[0].heads) != 1:
        raise ValueError(f"pred should always be a single output, got {len(graphs[0].heads)}")
    if len(graphs[1].heads) != len(graphs[2].heads):
        raise ValueError(
            "Number of outputs differs between then-branch and else-branch: "
            f"{len(graphs[1].heads)} and {len(graphs[2].heads)}"
        )
    read, (of_pred, of_then, of_else) = _union(graphs)
    found = _made("_cond", read, graphs, num_outputs=len(graphs[1].heads), cond_input_locs=of_pred,
                  then_input_locs=of_then, else_input_locs=of_else)  # fmt: skip
    return _nested(found, forms[1])
