"""Hooks of nnabla: functions forward and backward, parameters, gradients and updates."""

import dis
import functools
import os
import sys
from typing import Any

from ._recorder import Recorder, plain

OPERATORS = "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv pow rpow ipow neg matmul"


def watch_nnabla(rec: Recorder, nn: Any) -> None:
    import nnabla.functions as functions  # type: ignore[import-not-found]
    import nnabla.solver  # type: ignore[import-not-found]  # noqa: F401

    rec.framework(nn)
    if "compatgrad" not in nn.__file__:
        sys.modules.setdefault("nnabla.nnabla_ext", None)  # type: ignore[arg-type]  # nnabla looks for it at each access
    nn.random.set_function_seed(rec.options.seed)
    watch_scopes(rec)
    watched = Functions(rec, nn)
    for name in dir(functions):
        f = getattr(functions, name)
        if callable(f) and not isinstance(f, type) and str(getattr(f, "__module__", "")).startswith("nnabla"):
            setattr(functions, name, watched.making(f))
    for name in OPERATORS.split():  # nnabla's call the functions; those of compatgrad are compiled
        try:
            setattr(nn.Variable, "__%s__" % name, watched.making(getattr(nn.Variable, "__%s__" % name)))
        except (TypeError, AttributeError):
            pass
    nn.set_function_post_hook("compatgrad recorder", watched.after)
    rec.watch_updates(nn, {"": (values, states)})


class Scope:
    """A parameter_scope, whose name is part of the path of functions that are called in it."""

    def __init__(self, rec: Recorder, scope: Any, name: Any) -> None:
        self.rec, self.scope, self.name = rec, scope, name

    def __enter__(self) -> Any:
        found = self.scope.__enter__()
        self.rec.path.append(str(self.name).strip("/"))
        return found

    def __exit__(self, *error: Any) -> Any:
        self.rec.path.pop()
        return self.scope.__exit__(*error)

    def __call__(self, f: Any) -> Any:
        return self.scope(f)


def watch_scopes(rec: Recorder) -> None:
    import nnabla.parameter as parameter  # type: ignore[import-not-found]

    inner_scope = parameter.parameter_scope

    @functools.wraps(inner_scope)
    def scoped(name: Any, *args: Any, **named: Any) -> Any:
        return Scope(rec, inner_scope(name, *args, **named), name)

    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "nnabla" and getattr(module, "parameter_scope", None) is inner_scope:
            setattr(module, "parameter_scope", scoped)


class Functions:
    """Records the functions of graphs. Variables are known by their hashes, because each access makes new objects."""

    def __init__(self, rec: Recorder, nn: Any) -> None:
        self.rec, self.nn = rec, nn
        self.made: Any = {}  # hash of a Variable -> where the program made it
        self.ran: Any = {}  # hash of a Variable -> the number of the event that computed it
        self.phases: Any = {}
        self.known: Any = {}  # hash of a Variable -> what stays the same of the function that computes it

    def making(self, f: Any) -> Any:
        """For a function that makes Variables."""

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            ys = f(*args, **named)
            y = ys[0] if isinstance(ys, (list, tuple)) and ys else ys
            if self.rec.on and isinstance(y, self.nn.Variable) and y.parent is not None:
                key = hash(y)
                self.made[key] = self.rec.line(), self.rec.where()
                self.known.pop(key, None)
                if self.nn.get_auto_forward() and not self.rec.inside:
                    self.forward(y.parent)
            return ys

        return call

    def after(self, f: Any) -> None:
        """After a function has run in a pass."""
        if self.phase() == "forward":
            self.forward(f)
        elif self.rec.wanted():
            self.backward(f)

    def phase(self) -> str:
        """Whether the pass that calls a hook goes forward or backward. nnabla does not say; its callers' code does."""
        frame: Any = sys._getframe(2)
        key = frame.f_code, frame.f_lasti
        found = self.phases.get(key)
        if found is not None:
            return str(found)
        found = ""
        while frame is not None and not found:
            code = frame.f_code
            if code.co_name in ("forward", "backward", "forward_all") and os.sep + "nnabla" in code.co_filename:
                found = "backward" if code.co_name == "backward" else "forward"
            else:
                found = called(code, frame.f_lasti)
            frame = frame.f_back
        found = found or "forward"
        self.phases[key] = found
        return found

    def facts(self, f: Any, inputs: Any, key: Any) -> Any:
        """What stays the same of a function in a graph: its name, and which inputs are results of other functions."""
        found = self.known.get(key)
        if found is None or found[0] != f.name or len(found[1]) != len(inputs):
            sources = [hash(x) if x.parent is not None else None for x in inputs]
            leaves = [hash(x.grad) if x.parent is None else 0 for x in inputs]
            found = self.known[key] = f.name, sources, f.info.type_name, self.made.get(key, ("", "/")), leaves
        return found

    def events(self, sources: Any) -> Any:
        return [-1 if source is None else self.ran.get(source, -1) for source in sources]

    def forward(self, f: Any) -> None:
        if not self.rec.wanted():
            return
        inputs, outputs = f.inputs, f.outputs
        keys = [hash(y) for y in outputs]
        _, sources, name, (line, path), _ = self.facts(f, inputs, keys[0])
        whole, from_ = self.rec.whole(), self.events(sources)
        ins = [x.d if whole or number < 0 else None for x, number in zip(inputs, from_)]
        more = {"c": {"params": {k: plain(v) for k, v in dict(f.info.args).items()}}} if whole else {}
        outs, line = [y.d for y in outputs], line or self.rec.line(3)
        index = self.rec.event("forward", name, ins, outs, p=path, l=line, f=from_, **more)
        for key in keys:
            self.ran[key] = index

    def backward(self, f: Any) -> None:
        inputs, key = f.inputs, hash(f.outputs[0])
        _, sources, name, _, leaves = self.facts(f, inputs, key)
        gradients = [x.g if x.need_grad else None for x in inputs]
        of = self.ran.get(key, -1)
        self.rec.event("backward", name, (), gradients, of=of, g=self.events(sources), w=leaves)


def values(solver: Any, _: Any) -> Any:
    for name, p in sorted(solver.get_parameters().items()):
        yield name, (lambda p=p: p.d), p.g


def states(solver: Any, _: Any) -> Any:
    found = solver.get_states() if hasattr(solver, "get_states") else {}
    for name, p in sorted(solver.get_parameters().items()):
        pstate = getattr(found.get(name), "pstate", None) or {}
        yield name, p.d, [(k, v.d if hasattr(v, "d") else v.data) for k, v in sorted(pstate.items())]


def called(code: Any, at: int) -> str:
    """The direction of the pass whose method the instruction at `at` calls: the name that was loaded last."""
    found = ""
    for instruction in dis.get_instructions(code):
        if instruction.offset > at:
            break
        if instruction.argval in ("forward", "forward_all", "backward"):
            found = str(instruction.argval)[:8].rstrip("_")
    return found
