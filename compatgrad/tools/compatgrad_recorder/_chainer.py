"""Hooks of Chainer: functions forward and backward, parameters, gradients and updates."""

import functools
import os
import sys
from typing import Any

from ._recorder import Recorder, plain

FUNCTIONS = os.sep + os.path.join("chainer", "functions") + os.sep
MARK = "compatgrad recorder mark"  # the name of the hook that holds the number of its function's event


def watch_chainer(rec: Recorder, chainer: Any) -> None:
    rec.framework(chainer)
    passes = Passes()
    hook = function_hook(rec, chainer, passes)
    hook.__enter__()
    link_hook(rec, chainer).__enter__()
    rec.settle.append(hook.settle)
    chainer.Variable.backward = passes.counted(chainer.Variable.backward, hook.settle)
    chainer.grad = chainer.function_node.grad = passes.counted(chainer.grad, hook.settle)
    watch_updates(rec, chainer)


class Passes:
    """Counts the backward passes that run; sums of gradients in them are functions in some versions."""

    depth = 0

    def counted(self, f: Any, settle: Any) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            settle()
            self.depth += 1
            try:
                return f(*args, **named)
            finally:
                self.depth -= 1

        return call


def number_of(node: Any) -> int:
    """The number of the event of a function, or -1."""
    mark = node.local_function_hooks.get(MARK) if node is not None else None
    return -1 if mark is None else int(mark.number)


def arguments(f: Any) -> Any:
    """How the function was called, for reproducers."""
    if getattr(f, "is_native", False):
        return {"op": f.op_name, "params": {k: plain(v) for k, v in f.op_params.items()}}
    frame: Any = sys._getframe(2)
    found = None
    while frame is not None:
        if FUNCTIONS in frame.f_code.co_filename and "self" not in frame.f_code.co_varnames[:1]:
            found = frame
        frame = frame.f_back
    if found is None:
        return {}
    code = found.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    values = {n: found.f_locals.get(n) for n in names}
    simple = {n: plain(v) for n, v in values.items() if not hasattr(v, "shape")}
    return {"call": code.co_name, "params": simple, "arrays": [n for n in names if hasattr(values[n], "shape")]}


def function_hook(rec: Recorder, chainer: Any, passes: Passes) -> Any:
    class Mark(chainer.FunctionHook):  # type: ignore[misc]
        name = MARK

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    class Hook(chainer.FunctionHook):  # type: ignore[misc]
        name = "compatgrad recorder"
        waiting: Any = None

        def settle(self) -> None:
            """Records the last function that ran. Its outputs are not known before the next one begins."""
            if self.waiting is None:
                return
            (f, ins, line, path, call), self.waiting = self.waiting, None
            known = f.inputs is not None
            from_: Any = [number_of(x.creator_node) for x in f.inputs] if known else [-1] * len(ins)
            outs: Any = []
            for y in f.outputs or ():
                y = y()
                y = None if y is None else y.get_variable_or_none()
                outs.append(None if y is None else y.array)
            whole = rec.whole()
            ins = [a if whole or n < 0 else None for a, n in zip(ins, from_)]
            more = {"c": call} if whole else {}
            index = rec.event("forward", f.label, ins, outs, p=path, l=line, f=from_, **more)
            if f.outputs is not None:
                f.add_hook(Mark(index), MARK)

        def forward_preprocess(self, f: Any, in_data: Any) -> None:
            self.settle()

        def forward_postprocess(self, f: Any, in_data: Any) -> None:
            if not rec.inside and not passes.depth and rec.wanted():
                call = arguments(f) if rec.whole() else None
                self.waiting = (f, in_data, rec.line(), rec.where(), call)

        def backward_preprocess(self, f: Any, in_data: Any, out_grad: Any) -> None:
            self.settle()
            number = number_of(f)
            if not rec.inside and number >= 0:
                into = [number_of(x.creator_node) for x in f.inputs]
                rec.event("backward", f.label, out_grad, (), of=number, g=into)
            rec.inside += 1

        def backward_postprocess(self, f: Any, in_data: Any, out_grad: Any) -> None:
            rec.inside -= 1

    return Hook()


def link_hook(rec: Recorder, chainer: Any) -> Any:
    class Hook(chainer.LinkHook):  # type: ignore[misc]
        name = "compatgrad recorder"

        def forward_preprocess(self, args: Any) -> None:
            rec.path.append(args.link.name or type(args.link).__name__)

        def forward_postprocess(self, args: Any) -> None:
            rec.path.pop()

    return Hook()


def watch_updates(rec: Recorder, chainer: Any) -> None:
    def states(optimizer: Any, _: Any) -> Any:
        for prefix, link in optimizer.target.namedlinks():
            for name in sorted(link._persistent):
                value = getattr(link, name, None)
                if hasattr(value, "shape"):
                    rec.event("persistent", prefix.rstrip("/") + "/" + name, (), (value,))
        del rec.path[:]
        for name, p in optimizer.target.namedparams():
            state = getattr(p.update_rule, "state", None) or {}
            yield name, p.array, [(k, v) for k, v in sorted(state.items()) if hasattr(v, "shape")]

    method = chainer.optimizer.GradientMethod
    before = method.check_nan_in_grads  # the update may compute the gradients itself; here they are complete

    @functools.wraps(before)
    def check(self: Any) -> Any:
        rec.parameters((name, (lambda p=p: p.array), p.grad) for name, p in self.target.namedparams())
        return before(self)

    method.check_nan_in_grads = check
    rec.watch_updates(chainer, {"": (None, states)}, hidden=False)
