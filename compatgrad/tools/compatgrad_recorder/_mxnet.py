"""Hooks of MXNet: operators, blocks and gradients."""

import functools
import sys
from threading import get_ident
from typing import Any

from ._mxnet_arrays import Arrays
from ._mxnet_draws import DRAWN, draw_by_numpy
from ._mxnet_executors import watch_executors
from ._mxnet_updates import watch_updates
from ._recorder import Recorder, plain

MAKERS = frozenset(  # not operators on arrays
    "copyto array zeros ones empty full arange eye linspace load save loads waitall concatenate onehot_encode imdecode "
    "from_numpy from_dlpack to_dlpack_for_read to_dlpack_for_write cast_storage set_printoptions shape size "
    "ndim".split()
)
DUNDERS: Any = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv mod rmod pow rpow neg matmul abs getitem"
)
DUNDERS = DUNDERS.split()
RECENT = 24  # results
MARKED = 64  # arrays


def watch_mxnet(rec: Recorder, mx: Any) -> None:
    rec.framework(mx)
    mx.random.seed(rec.options.seed)
    if rec.options.sync == "random":
        draw_by_numpy(rec, mx)
    arrays = Arrays(mx)
    operators, passes = Operators(rec, mx, arrays), Passes(rec, arrays)
    operators.replace_functions()
    operators.replace_methods()
    for cls in (mx.gluon.Block, mx.gluon.HybridBlock):
        if "__call__" in vars(cls):
            cls.__call__ = operators.of_block(cls.__call__)
    passes.replace(mx)
    watch_executors(rec, mx)
    for name in ("clip_global_norm", "split_data", "split_and_load"):
        setattr(mx.gluon.utils, name, rec.hidden(getattr(mx.gluon.utils, name)))
    for cls in list(vars(mx.metric).values()):  # one side may compute a metric by NumPy, the other by operators
        if isinstance(cls, type) and issubclass(cls, mx.metric.EvalMetric) and "update" in vars(cls):
            setattr(cls, "update", rec.hidden(vars(cls)["update"]))
    watch_updates(rec, mx, arrays)


class Operators:
    """Records the calls of operators, and of blocks whose operators are not called from Python."""

    def __init__(self, rec: Recorder, mx: Any, arrays: Arrays) -> None:
        self.rec, self.mx, self.arrays = rec, mx, arrays
        # id -> one of the last results, and its event; results are held, so that no new array gets an id
        self.recent: Any = {}
        rec.settle.append(self.recent.clear)

    def replace_functions(self) -> None:
        mx, nd = self.mx, self.mx.nd
        spaces = [nd, nd.op, nd._internal, nd.contrib, nd.linalg, nd.image, nd.sparse, mx.np, mx.npx, mx.np.linalg]
        spaces += [vars(nd)[name] for name in ("numpy_extension", "numpy") if name in vars(nd)]
        wrapped: Any = {}  # id -> the operator, which stays alive so, and what records its calls
        for space in spaces:
            late = getattr(sys.modules.get(space.__name__ + "._functions"), "_NAMES", ())  # made when first used
            for name in sorted(set(dir(space)).union(late)):
                f, short = getattr(space, name), name.strip("_")
                if not callable(f) or isinstance(f, type) or name.startswith("__") or short in MAKERS:
                    continue
                if str(getattr(f, "__module__", "")).startswith(("mxnet", "ndarray")) and not hasattr(f, "recorded"):
                    setattr(space, name, wrapped.setdefault(id(f), (f, self.recorded(short, f)))[1])

    def replace_methods(self) -> None:
        nd = self.mx.nd
        for cls in (nd.NDArray, self.mx.np.ndarray):
            for name in ["__%s__" % n for n in DUNDERS] + [n for n in vars(cls) if hasattr(nd, n) and n[0] != "_"]:
                f = vars(cls).get(name) or (getattr(cls, name, None) if cls is nd.NDArray else None)
                if callable(f) and name not in MAKERS and not hasattr(f, "recorded"):
                    setattr(cls, name, self.recorded(name.strip("_"), f, True))
            cls.__setitem__ = self.overwriting(cls.__setitem__)

    def recorded(self, name: str, f: Any, method: bool = False) -> Any:
        rec, arrays, recent = self.rec, self.arrays, self.recent

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if rec.inside or get_ident() != rec.thread or not rec.wanted():  # iterators fetch batches in threads
                return f(*args, **named)
            rec.inside += 1
            try:
                whole = rec.whole()
                xs = arrays.among(args) + arrays.among([v for k, v in named.items() if k != "out"])
                from_ = [recent[id(x)][1] if id(x) in recent else -1 for x in xs]
                ins = [arrays.host(x) if whole or n < 0 else None for x, n in zip(xs, from_)]
                ys = f(*args, **named)
            finally:
                rec.inside -= 1
            outs = arrays.among([ys])
            if outs and (xs or name in DRAWN):
                more = {"c": self.call_of(name, args, named, method)} if whole else {}
                given = {"p": rec.where(), "l": rec.line(), "f": from_}
                self.remember(rec.event("forward", name, ins, arrays.peek_all(outs), **given, **more), outs)
            return ys

        call.recorded = True  # type: ignore[attr-defined]
        return call

    def call_of(self, name: str, args: Any, named: Any, method: bool) -> Any:
        def shown(v: Any) -> Any:
            found = self.arrays.among([v])
            return {"array": len(found)} if found else plain(v)

        return {"call": name, "method": method, "args": [shown(a) for a in args],
                "params": {k: shown(v) for k, v in named.items() if k not in ("out", "name")}}  # fmt: skip

    def remember(self, index: int, ys: Any) -> None:
        for y in ys:
            self.recent.pop(id(y), None)
            self.recent[id(y)] = y, index
        while len(self.recent) > RECENT:
            del self.recent[next(iter(self.recent))]

    def overwriting(self, f: Any) -> Any:
        """For a method that overwrites its array."""

        @functools.wraps(f)
        def call(array: Any, *args: Any) -> Any:
            self.recent.pop(id(array), None)
            return self.rec.hidden(f)(array, *args)

        return call

    def of_block(self, f: Any) -> Any:
        rec, arrays, loss = self.rec, self.arrays, self.mx.gluon.loss.Loss

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if get_ident() != rec.thread:
                return f(*args, **named)
            block = args[0]
            rec.path.append(block.name)
            before = rec.count
            try:
                # A loss is one function here, several operators in MXNet
                ys = (rec.hidden(f) if isinstance(block, loss) else f)(*args, **named)
                ins = arrays.among(args[1:]) if rec.count == before and not rec.inside and rec.wanted() else []
                if ins:  # none of its operators was recorded
                    outs = arrays.among([ys])
                    more = {"p": rec.where(), "l": rec.line(), "f": [-1] * len(ins)}
                    values = arrays.peek_all(ins), arrays.peek_all(outs)
                    self.remember(rec.event("forward", type(block).__name__, *values, **more), outs)
                return ys
            finally:
                rec.path.pop()

        return call


class Passes:
    """Records the gradients that a program without an optimizer asks for, and ends its steps."""

    def __init__(self, rec: Recorder, arrays: Arrays) -> None:
        self.rec, self.arrays = rec, arrays
        self.marked: Any = []  # arrays whose gradients the program asks for
        self.count = 0  # backward passes since the last update
        rec.settle.append(self.settle)

    def settle(self) -> None:
        self.count = 0

    def replace(self, mx: Any) -> None:
        NDArray = mx.nd.NDArray
        for cls in (mx.np.ndarray, NDArray):
            if "attach_grad" in vars(cls) or cls is NDArray:
                cls.attach_grad = self.marking(cls.attach_grad)
        NDArray.backward, mx.autograd.backward = self.passing(NDArray.backward), self.passing(mx.autograd.backward)

    def marking(self, f: Any) -> Any:
        @functools.wraps(f)
        def attach_grad(array: Any, *args: Any, **named: Any) -> Any:
            self.marked = [x for x in self.marked[1 - MARKED :] if x is not array] + [array]
            return f(array, *args, **named)

        return attach_grad

    def passing(self, f: Any) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if self.rec.inside:
                return f(*args, **named)
            if self.count:
                self.rec.end_step()
            result = self.rec.hidden(f)(*args, **named)
            self.count += 1
            if self.rec.wanted():
                for i, x in enumerate(self.marked):
                    if x.grad is not None:
                        self.rec.event("gradient", "array %d" % i, (), [self.arrays.peek(x.grad)], l=self.rec.line())
            return result

        return call
