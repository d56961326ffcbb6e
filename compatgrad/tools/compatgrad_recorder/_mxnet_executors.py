"""Hooks of MXNet's executors: the nodes of a bound symbol, by the callback of MXNet's monitors."""

import ctypes
import functools
import json
import os
import re
from typing import Any

from ._recorder import Recorder

CONSTANT = re.compile(  # operators without a gradient
    "^(BlockGrad|stop_gradient|argm|argsort|one_hot|zeros_like|ones_like|shape_array|size_array|sign|round|rint|ceil|"
    "floor|trunc|fix)|equal|greater|lesser|logical_"
)


def watch_executors(rec: Recorder, mx: Any) -> None:
    os.environ["MXNET_EXEC_INPLACE_GRAD_SUM_CAP"] = "1000000"  # otherwise MXNet shows only the sums of gradients
    Executor, attribute = mx.executor.Executor, "_compatgrad_recorder"
    forward, backward = Executor.forward, Executor.backward

    def monitored(executor: Any) -> "Nodes":
        nodes = vars(executor).get(attribute)
        if nodes is None:
            nodes = Nodes(rec, executor)
            setattr(executor, attribute, nodes)

            def callback(name: Any, array: Any) -> None:
                name = name.decode() if isinstance(name, bytes) else name
                if not isinstance(array, mx.nd.NDArray):
                    array = mx.nd.NDArray(ctypes.cast(array, mx.base.NDArrayHandle), writable=False)
                nodes.result(name, array)

            executor.set_monitor_callback(callback)
        return nodes  # type: ignore[no-any-return]

    @functools.wraps(forward)
    def run_forward(self: Any, *args: Any, **named: Any) -> Any:
        if rec.inside:
            return forward(self, *args, **named)
        monitored(self).begin_forward()
        return rec.hidden(forward)(self, *args, **named)

    @functools.wraps(backward)
    def run_backward(self: Any, *args: Any, **named: Any) -> Any:
        nodes = vars(self).get(attribute)
        if nodes is not None:
            nodes.backs.clear()
        result = rec.hidden(backward)(self, *args, **named)
        for x in self.outputs:
            x.wait_to_read()
        return result

    Executor.forward, Executor.backward = run_forward, run_backward


class Nodes:
    """The nodes of an executor's symbol, and what the running passes have computed of them."""

    def __init__(self, rec: Recorder, executor: Any) -> None:
        self.rec, self.executor, self.line = rec, executor, ""
        graph = json.loads(executor._symbol.tojson())
        # (name, operator, numbers of the inputs' nodes) of each node
        self.nodes = [(n["name"], n["op"], [i[0] for i in n["inputs"]]) for n in graph["nodes"]]
        self.named: Any = {}  # the numbers of the nodes of a name
        for i, n in enumerate(self.nodes):
            self.named.setdefault(n[0], []).append(i)
        # (node, number) of each result that is read or returned; MXNet does not compute the others
        read = [i for n in graph["nodes"] for i in n["inputs"]] + graph["heads"]
        self.used = {(i[0], i[1]) for i in read}
        self.seen: Any = {}  # node -> the number of the event that computed it
        self.needs: Any = {}
        self.calls: Any = {}  # name of a result -> how often the pass has computed it, less one
        self.backs: Any = {}  # name of a node -> the number of the input whose gradient came last

    def begin_forward(self) -> None:
        self.seen.clear()
        self.calls.clear()
        self.line = self.rec.line()

    def wanting(self, i: int) -> bool:
        """Whether an array needs a gradient: an argument's is asked for, or that of an input of its function."""
        if i not in self.needs:
            self.needs[i] = False
            name, kind, inputs = self.nodes[i]
            inputs = [] if CONSTANT.search(kind) else inputs
            given = self.executor.grad_dict.get(name) is not None
            self.needs[i] = given or any(self.wanting(n) for n in inputs)
        return bool(self.needs[i])

    def gradient_of(self, place: str, kind: str, name: str) -> int:
        """The number of the input whose gradient this is. MXNet names the gradients by numbers, lhs and rhs, or other
        names in the order of the inputs; `where` has no gradient of the condition."""
        slot = int(self.backs.get(place, -1)) + 1
        self.backs[place] = slot
        number = name.rpartition("output")[2]
        if number.isdigit():
            slot = int(number)
        elif name.startswith(("lhs", "rhs")):
            slot = int(name.startswith("rhs"))
        return slot + 1 if kind == "where" else slot

    def result(self, name: str, array: Any) -> None:
        """Records a result, which MXNet names by its node."""
        if not self.rec.wanted():
            return
        place, back, _ = name.partition("_backward")
        if not back:
            place = max((n for n in self.named if name.startswith(n + "_")), key=len, default="")
        if place not in self.named:
            return
        alike = self.named[place]
        tail = name[len(place) + 1 :]
        if back and len(alike) > 1 or not back and not tail.startswith("output"):
            return  # a gradient of an unknown function, or a mean or mask that MXNet keeps for the backward pass
        call = self.calls[name] = self.calls.get(name, -1) + 1
        this = alike[min(call, len(alike) - 1)]
        if back:
            self.gradient(this, place, tail[len("backward_") :], array)
        else:
            self.output(this, place, int(tail[len("output") :] or 0), array)

    def gradient(self, this: int, place: str, name: str, array: Any) -> None:
        _, kind, inputs = self.nodes[this]
        slot = self.gradient_of(place, kind, name)
        source = inputs[slot] if slot < len(inputs) else -1
        if source < 0 or not self.wanting(source):  # MXNet leaves this gradient undefined
            return
        label = "%s backward_output%d" % (kind, slot) if slot else kind
        of, into = self.seen.get(this, -1), [self.seen.get(source, -1)]
        self.rec.event("backward", label, (), [array.asnumpy()], of=of, p="/" + place, g=into)

    def output(self, this: int, place: str, slot: int, array: Any) -> None:
        if (this, slot) not in self.used:
            return
        _, kind, inputs = self.nodes[this]
        label = "%s output%d" % (kind, slot) if slot else kind
        args = self.executor.arg_dict
        from_ = [self.seen.get(n, -1) for n in inputs]
        ins = [args[n].asnumpy() if n in args else None for n in (self.nodes[i][0] for i in inputs)]
        index = self.rec.event("forward", label, ins, [array.asnumpy()], p="/" + place, l=self.line, f=from_)
        self.seen.setdefault(this, index)
