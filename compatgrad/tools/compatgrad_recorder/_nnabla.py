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
    import nnabla.parameter as parameter  # type: ignore[import-not-found]
    import nnabla.solver  # type: ignore[import-not-found]  # noqa: F401

    rec.framework(nn)
    if "compatgrad" not in nn.__file__:
        sys.modules.setdefault("nnabla.nnabla_ext", None)  # type: ignore[arg-type]  # nnabla looks for it at each access
    made: Any = {}  # hash of a Variable -> where the program made it
    ran: Any = {}  # hash of a Variable -> the number of the event that computed it
    phases: Any = {}
    known: Any = {}  # hash of a Variable -> what stays the same of the function that computes it
    nn.random.set_function_seed(rec.options.seed)

    @functools.wraps(parameter.parameter_scope)
    def scoped(name: Any, *args: Any, **named: Any) -> Any:
        return Scope(inner_scope(name, *args, **named), name)

    class Scope:
        def __init__(self, scope: Any, name: Any) -> None:
            self.scope, self.name = scope, name

        def __enter__(self) -> Any:
            found = self.scope.__enter__()
            rec.path.append(str(self.name).strip("/"))
            return found

        def __exit__(self, *error: Any) -> Any:
            rec.path.pop()
            return self.scope.__exit__(*error)

        def __call__(self, f: Any) -> Any:
            return self.scope(f)

    inner_scope = parameter.parameter_scope
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "nnabla" and getattr(module, "parameter_scope", None) is inner_scope:
            setattr(module, "parameter_scope", scoped)

    def first(ys: Any) -> Any:
        return ys[0] if isinstance(ys, (list, tuple)) and ys else ys

    def wrap(f: Any) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            ys = f(*args, **named)
            y = first(ys)
            if rec.on and isinstance(y, nn.Variable) and y.parent is not None:
                key = hash(y)
                made[key] = rec.line(), rec.where()
                known.pop(key, None)
                if nn.get_auto_forward() and not rec.inside:
                    forward(y.parent)
            return ys

        return call

    for name in dir(functions):
        f = getattr(functions, name)
        if callable(f) and not isinstance(f, type) and str(getattr(f, "__module__", "")).startswith("nnabla"):
            setattr(functions, name, wrap(f))

    for name in OPERATORS.split():  # nnabla's call the functions; those of compatgrad are compiled
        try:
            setattr(nn.Variable, "__%s__" % name, wrap(getattr(nn.Variable, "__%s__" % name)))
        except (TypeError, AttributeError):
            pass

    def phase() -> str:
        """Whether the pass that calls a hook goes forward or backward. nnabla does not say; its callers' code does."""
        frame: Any = sys._getframe(2)
        key = frame.f_code, frame.f_lasti
        found = phases.get(key)
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
        phases[key] = found
        return found

    def facts(f: Any, inputs: Any, key: Any) -> Any:
        """What stays the same of a function in a graph: its name, and which inputs are results of other functions."""
        found = known.get(key)
        if found is None or found[0] != f.name or len(found[1]) != len(inputs):
            sources = [hash(x) if x.parent is not None else None for x in inputs]
            leaves = [hash(x.grad) if x.parent is None else 0 for x in inputs]
            found = known[key] = f.name, sources, f.info.type_name, made.get(key, ("", "/")), leaves
        return found

    def forward(f: Any) -> None:
        if not rec.wanted():
            return
        inputs, outputs = f.inputs, f.outputs
        keys = [hash(y) for y in outputs]
        _, sources, name, (line, path), _ = facts(f, inputs, keys[0])
        whole = rec.whole()
        from_ = [-1 if source is None else ran.get(source, -1) for source in sources]
        ins = [x.d if whole or number < 0 else None for x, number in zip(inputs, from_)]
        more = {"c": {"params": {k: plain(v) for k, v in dict(f.info.args).items()}}} if whole else {}
        index = rec.event("forward", name, ins, [y.d for y in outputs], p=path, l=line or rec.line(3), f=from_, **more)
        for key in keys:
            ran[key] = index

    def after(f: Any) -> None:
        if phase() == "forward":
            forward(f)
        elif rec.wanted():
            inputs, key = f.inputs, hash(f.outputs[0])
            _, sources, name, _, leaves = facts(f, inputs, key)
            gradients = [x.g if x.need_grad else None for x in inputs]
            into = [-1 if source is None else ran.get(source, -1) for source in sources]
            rec.event("backward", name, (), gradients, of=ran.get(key, -1), g=into, w=leaves)

    nn.set_function_post_hook("compatgrad recorder", after)

    def values(solver: Any, _: Any) -> Any:
        for name, p in sorted(solver.get_parameters().items()):
            yield name, (lambda p=p: p.d), p.g

    def states(solver: Any, _: Any) -> Any:
        found = solver.get_states() if hasattr(solver, "get_states") else {}
        for name, p in sorted(solver.get_parameters().items()):
            pstate = getattr(found.get(name), "pstate", None) or {}
            yield name, p.d, [(k, v.d if hasattr(v, "d") else v.data) for k, v in sorted(pstate.items())]

    rec.watch_updates(nn, {"": (values, states)})


def called(code: Any, at: int) -> str:
    """The direction of the pass whose method the instruction at `at` calls: the name that was loaded last."""
    found = ""
    for instruction in dis.get_instructions(code):
        if instruction.offset > at:
            break
        if instruction.argval in ("forward", "forward_all", "backward"):
            found = str(instruction.argval)[:8].rstrip("_")
    return found
