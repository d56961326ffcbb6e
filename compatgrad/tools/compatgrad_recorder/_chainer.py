"""Hooks of Chainer: functions forward and backward, parameters, gradients and updates."""

import functools
import os
import sys
from typing import Any

from ._recorder import Recorder, plain


def watch_chainer(rec: Recorder, chainer: Any) -> None:
    rec.framework(chainer)
    functions = os.sep + os.path.join("chainer", "functions") + os.sep

    passes = [0]  # depth of backward passes; sums of gradients in them are functions in some versions

    class Mark(chainer.FunctionHook):  # type: ignore[misc]
        """A hook that is added to a node to store the number of the node's event."""

        name = "compatgrad recorder mark"

        def __init__(self, number: int) -> None:
            super().__init__()
            self.number = number

    def number_of(node: Any) -> int:
        mark = node.local_function_hooks.get(Mark.name) if node is not None else None
        return -1 if mark is None else mark.number

    def arguments(f: Any) -> Any:
        """How the function was called, for reproducers."""
        if getattr(f, "is_native", False):
            return {"op": f.op_name, "params": {k: plain(v) for k, v in f.op_params.items()}}
        frame: Any = sys._getframe(2)
        found = None
        while frame is not None:
            if functions in frame.f_code.co_filename and "self" not in frame.f_code.co_varnames[:1]:
                found = frame
            frame = frame.f_back
        if found is None:
            return {}
        code = found.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        values = {n: found.f_locals.get(n) for n in names}
        simple = {n: plain(v) for n, v in values.items() if not hasattr(v, "shape")}
        return {"call": code.co_name, "params": simple, "arrays": [n for n in names if hasattr(values[n], "shape")]}

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
                f.add_hook(Mark(index), Mark.name)

        def forward_preprocess(self, f: Any, in_data: Any) -> None:
            self.settle()

        def forward_postprocess(self, f: Any, in_data: Any) -> None:
            if not rec.inside and not passes[0] and rec.wanted():
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

    class Links(chainer.LinkHook):  # type: ignore[misc]
        name = "compatgrad recorder"

        def forward_preprocess(self, args: Any) -> None:
            rec.path.append(args.link.name or type(args.link).__name__)

        def forward_postprocess(self, args: Any) -> None:
            rec.path.pop()

    hook = Hook()
    hook.__enter__()
    Links().__enter__()
    rec.settle.append(hook.settle)

    def passing(f: Any) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            hook.settle()
            passes[0] += 1
            try:
                return f(*args, **named)
            finally:
                passes[0] -= 1

        return call

    chainer.Variable.backward = passing(chainer.Variable.backward)
    chainer.grad = chainer.function_node.grad = passing(chainer.grad)

    def arrays(target: Any) -> Any:
        for name, p in target.namedparams():
            yield name, (lambda p=p: p.array), p.grad

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
        rec.parameters(arrays(self.target))
        return before(self)

    method.check_nan_in_grads = check
    rec.watch_updates(chainer, {"": (None, states)}, hidden=False)
