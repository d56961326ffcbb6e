"""Hooks of MXNet: operators, blocks, executors, gradients and updates."""

import ctypes
import functools
import json
import os
import re
import sys
import zlib
from threading import get_ident
from typing import Any

import numpy as np

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
DRAWN = {  # names of the parameters and their defaults; NumPy's generators have the same names
    "uniform": (0.0, 1.0),
    "normal": (0.0, 1.0),
    "gamma": (1.0, 1.0),
    "poisson": (1.0,),
    "exponential": (1.0,),
    "randint": (0, 2),
}
CONSTANT = re.compile(  # operators without a gradient
    "^(BlockGrad|stop_gradient|argm|argsort|one_hot|zeros_like|ones_like|shape_array|size_array|sign|round|rint|ceil|"
    "floor|trunc|fix)|equal|greater|lesser|logical_"
)


def watch_mxnet(rec: Recorder, mx: Any) -> None:
    rec.framework(mx)
    nd, NDArray, autograd, gluon = mx.nd, mx.nd.NDArray, mx.autograd, mx.gluon
    recent: Any = {}  # id -> one of the last results, and its event; results are held, so that no new array gets an id
    marked: Any = []  # arrays whose gradients a program without an optimizer asks for
    backwards = [0]  # since the last update
    mx.random.seed(rec.options.seed)
    if rec.options.sync == "random":
        draw_by_numpy(rec, mx)

    def arrays_in(values: Any) -> Any:
        found = []
        for v in values:
            if isinstance(v, NDArray):
                found.append(v)
            elif isinstance(v, (list, tuple)):
                found += arrays_in(v)
        return found

    library = getattr(mx.base, "_LIB", None)
    copy = library.MXNDArraySyncCopyToCPU if isinstance(library, ctypes.CDLL) else None  # compatgrad has no C library

    def host(x: Any) -> Any:
        """The values of an array, by a direct call of MXNet's C function: half the time of the original's `asnumpy`."""
        if x is None or copy is None or type(x) is not NDArray:
            return None if x is None else x.asnumpy()
        data: Any = np.empty(x.shape, x.dtype)
        if not data.size or data.dtype.kind not in "fiu":
            return x.asnumpy()
        mx.base.check_call(copy(x.handle, ctypes.byref(ctypes.c_char.from_buffer(data)), ctypes.c_size_t(data.size)))
        return data

    def peek(x: Any) -> Any:
        """The values, if possible in the memory of the array itself, for an event that is written at once."""
        values = getattr(x, "array", None) if copy is None else None
        return values if type(values) is np.ndarray else host(x)

    def reader(x: Any) -> Any:
        return functools.partial(peek, x)

    def remember(index: int, ys: Any) -> None:
        for y in ys:
            recent.pop(id(y), None)
            recent[id(y)] = y, index
        while len(recent) > 24:
            del recent[next(iter(recent))]

    def operator(name: str, f: Any, method: bool = False) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if rec.inside or get_ident() != rec.thread or not rec.wanted():  # iterators fetch batches in threads
                return f(*args, **named)
            rec.inside += 1
            try:
                whole = rec.whole()
                xs = arrays_in(args) + arrays_in([v for k, v in named.items() if k != "out"])
                from_ = [recent[id(x)][1] if id(x) in recent else -1 for x in xs]
                ins = [host(x) if whole or n < 0 else None for x, n in zip(xs, from_)]
                ys = f(*args, **named)
            finally:
                rec.inside -= 1
            outs = arrays_in([ys])
            if outs and (xs or name in DRAWN):
                more = {"c": call_of(name, args, named, method)} if whole else {}
                at = rec.line()
                index = rec.event("forward", name, ins, [peek(y) for y in outs], p=rec.where(), l=at, f=from_, **more)
                remember(index, outs)
            return ys

        call.recorded = True  # type: ignore[attr-defined]
        return call

    def call_of(name: str, args: Any, named: Any, method: bool) -> Any:
        def shown(v: Any) -> Any:
            return {"array": len(arrays_in([v]))} if arrays_in([v]) else plain(v)

        return {"call": name, "method": method, "args": [shown(a) for a in args],
                "params": {k: shown(v) for k, v in named.items() if k not in ("out", "name")}}  # fmt: skip

    def forget(f: Any) -> Any:  # for calls that overwrite an array
        @functools.wraps(f)
        def call(self: Any, *args: Any) -> Any:
            recent.pop(id(self), None)
            return hidden(f)(self, *args)

        return call

    def block_call(f: Any) -> Any:
        @functools.wraps(f)
        def call(self: Any, *args: Any, **named: Any) -> Any:
            if get_ident() != rec.thread:
                return f(self, *args, **named)
            rec.path.append(self.name)
            before = rec.count
            loss = isinstance(self, gluon.loss.Loss)  # one function here, several operators in MXNet
            try:
                ys = hidden(f)(self, *args, **named) if loss else f(self, *args, **named)
                compiled = rec.count == before and not rec.inside and rec.wanted()
                outs, ins = (arrays_in([ys]), arrays_in(args)) if compiled else ((), ())
                if ins:
                    more = {"p": rec.where(), "l": rec.line(), "f": [-1] * len(ins)}
                    remember(rec.event("forward", type(self).__name__, map_host(ins), map_host(outs), **more), outs)
                return ys
            finally:
                rec.path.pop()

        return call

    def map_host(xs: Any) -> Any:
        return [peek(x) for x in xs]

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
                setattr(space, name, wrapped.setdefault(id(f), (f, operator(short, f)))[1])
    for cls in (NDArray, mx.np.ndarray):
        for name in ["__%s__" % n for n in DUNDERS] + [n for n in vars(cls) if hasattr(nd, n) and n[0] != "_"]:
            f = vars(cls).get(name) or (getattr(cls, name, None) if cls is NDArray else None)
            if callable(f) and name not in MAKERS and not hasattr(f, "recorded"):
                setattr(cls, name, operator(name.strip("_"), f, True))
        cls.__setitem__ = forget(cls.__setitem__)

    for cls in (gluon.Block, gluon.HybridBlock):
        if "__call__" in vars(cls):
            cls.__call__ = block_call(cls.__call__)

    def hidden(f: Any) -> Any:
        """Calls f without recording the operators in it."""

        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            rec.inside += 1
            try:
                return f(*args, **named)
            finally:
                rec.inside -= 1

        return call

    def settle() -> None:
        recent.clear()
        backwards[0] = 0

    rec.settle.append(settle)

    def attaching(f: Any) -> Any:
        @functools.wraps(f)
        def attach_grad(self: Any, *args: Any, **named: Any) -> Any:
            marked[:] = [x for x in marked[-63:] if x is not self] + [self]
            return f(self, *args, **named)

        return attach_grad

    def backward_call(f: Any) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if rec.inside:
                return f(*args, **named)
            if backwards[0]:
                rec.end_step()
            result = hidden(f)(*args, **named)
            backwards[0] += 1
            if rec.wanted():
                for i, x in enumerate(marked):
                    if x.grad is not None:
                        rec.event("gradient", "array %d" % i, (), [peek(x.grad)], l=rec.line())
            return result

        return call

    for cls in (mx.np.ndarray, NDArray):
        if "attach_grad" in vars(cls) or cls is NDArray:
            cls.attach_grad = attaching(cls.attach_grad)
    NDArray.backward, autograd.backward = backward_call(NDArray.backward), backward_call(autograd.backward)
    watch_executors(rec, mx, hidden)
    for name in ("clip_global_norm", "split_data", "split_and_load"):
        setattr(gluon.utils, name, hidden(getattr(gluon.utils, name)))
    for cls in list(vars(mx.metric).values()):  # one side may compute a metric by NumPy, the other by operators
        if isinstance(cls, type) and issubclass(cls, mx.metric.EvalMetric) and "update" in vars(cls):
            setattr(cls, "update", hidden(vars(cls)["update"]))

    def trained(trainer: Any) -> Any:
        return [p for p in trainer._params if p.grad_req != "null" and p._data is not None]

    def optimizer_states(owner: Any, keys: Any) -> Any:
        """The arrays that the optimizer keeps for the parameter of one of the keys: its own, or the store's."""
        updaters = getattr(owner, "_updaters", None) or [getattr(owner, "_updater", None)]
        for updater in (updaters[0], getattr(owner._kvstore, "_updater", None)):
            known = getattr(updater, "states", {})
            for key in keys:
                if key in known:
                    return [("state %d" % i, peek(x)) for i, x in enumerate(arrays_in([known[key]]))]
        return ()

    def trainer_states(trainer: Any, args: Any) -> Any:
        for p in trained(trainer):
            yield p.name, peek(p.list_data()[0]), optimizer_states(trainer, [trainer._param2idx[p.name]])

    def module_states(module: Any, args: Any) -> Any:
        group = module._exec_group
        for i, (name, arrays) in enumerate(zip(group.param_names, group.param_arrays)):
            yield name, peek(arrays[0]), optimizer_states(module, [name, i * len(arrays)])

    def trainer_values(trainer: Any, _: Any) -> Any:
        return [(p.name, reader(p.list_data()[0]), peek(p.list_grad()[0])) for p in trained(trainer)]

    def module_values(module: Any, _: Any) -> Any:
        group = module._exec_group
        for name, arrays, gradients in zip(group.param_names, group.param_arrays, group.grad_arrays):
            yield name, reader(arrays[0]), peek(gradients[0]) if gradients and gradients[0] is not None else None

    def model_values(values: Any, given: Any) -> Any:
        return [(n, reader(x[0]), peek(g[0])) for x, g, n in zip(values, given[0], given[-1])]

    def model_states(values: Any, given: Any) -> Any:
        return [(n, peek(x[0]), ()) for x, n in zip(values, given[-1])]

    def updater_values(updater: Any, given: Any) -> Any:
        index, gradient, value = given
        return [("parameter %s" % index, reader(value), peek(gradient))] if isinstance(value, NDArray) else []

    def updater_states(updater: Any, given: Any) -> Any:
        return [("parameter %s" % given[0], peek(given[2]), ())] if isinstance(given[2], NDArray) else []

    rec.watch_updates(
        mx,
        {
            "gluon.Trainer._update": (trainer_values, trainer_states),
            "mod.Module.update": (module_values, module_states),
            "optimizer.Updater.__call__": (updater_values, updater_states),
            "": (model_values, model_states),
        },
    )


def watch_executors(rec: Recorder, mx: Any, hidden: Any) -> None:
    """Records the nodes of a bound symbol by the callback of MXNet's monitors."""
    os.environ["MXNET_EXEC_INPLACE_GRAD_SUM_CAP"] = "1000000"  # otherwise MXNet shows only the sums of gradients
    Executor, NDArray = mx.executor.Executor, mx.nd.NDArray
    forward, backward = Executor.forward, Executor.backward

    def state_of(symbol: Any) -> Any:
        """The nodes of a symbol as (name, operator, numbers of the inputs' nodes), the numbers of the nodes of a name,
        and (node, number) of each result that is read or returned; MXNet does not compute the others."""
        graph = json.loads(symbol.tojson())
        nodes = [(n["name"], n["op"], [i[0] for i in n["inputs"]]) for n in graph["nodes"]]
        named: Any = {}
        for i, n in enumerate(nodes):
            named.setdefault(n[0], []).append(i)
        read = [i for n in graph["nodes"] for i in n["inputs"]] + graph["heads"]
        used = {(i[0], i[1]) for i in read}
        return {"nodes": nodes, "named": named, "used": used, "seen": {}, "wanting": {}, "calls": {}, "backs": {}}

    def monitored(executor: Any) -> Any:
        state = vars(executor).get("_compatgrad_recorder")
        if state is None:
            state = executor._compatgrad_recorder = state_of(executor._symbol)

            def callback(name: Any, array: Any) -> None:
                name = name.decode() if isinstance(name, bytes) else name
                if not isinstance(array, NDArray):
                    array = NDArray(ctypes.cast(array, mx.base.NDArrayHandle), writable=False)
                node(state, executor, name, array)

            executor.set_monitor_callback(callback)
        return state

    def wanting(state: Any, executor: Any, i: int) -> bool:
        """Whether an array needs a gradient: an argument's is asked for, or that of an input of its function."""
        known = state["wanting"]
        if i not in known:
            known[i] = False
            name, kind, inputs = state["nodes"][i]
            inputs = () if CONSTANT.search(kind) else inputs
            known[i] = executor.grad_dict.get(name) is not None or any(wanting(state, executor, n) for n in inputs)
        return bool(known[i])

    def gradient_of(state: Any, place: str, kind: str, name: str) -> int:
        """The number of the input whose gradient this is. MXNet names the gradients by numbers, lhs and rhs, or other
        names in the order of the inputs; `where` has no gradient of the condition."""
        slot = int(state["backs"].get(place, -1)) + 1
        state["backs"][place] = slot
        number = name.rpartition("output")[2]
        if number.isdigit():
            slot = int(number)
        elif name.startswith(("lhs", "rhs")):
            slot = int(name.startswith("rhs"))
        return slot + 1 if kind == "where" else slot

    def node(state: Any, executor: Any, name: str, array: Any) -> None:
        if not rec.wanted():
            return
        place, back, _ = name.partition("_backward")
        if not back:
            place = max((n for n in state["named"] if name.startswith(n + "_")), key=len, default="")
        if place not in state["named"]:
            return
        args, alike = executor.arg_dict, state["named"][place]
        tail = name[len(place) + 1 :]
        if back and len(alike) > 1 or not back and not tail.startswith("output"):
            return  # a gradient of an unknown function, or a mean or mask that MXNet keeps for the backward pass
        call = state["calls"][name] = state["calls"].get(name, -1) + 1
        this = alike[min(call, len(alike) - 1)]
        _, kind, inputs = state["nodes"][this]
        name = tail[len("backward_" if back else "output") :]
        slot = gradient_of(state, place, kind, name) if back else int(name or 0)
        label = "%s %s%d" % (kind, "backward_output" if back else "output", slot) if slot else kind
        if back:
            source = inputs[slot] if slot < len(inputs) else -1
            if source < 0 or not wanting(state, executor, source):  # MXNet leaves this gradient undefined
                return
            more = {"p": "/" + place, "g": [state["seen"].get(source, -1)]}
            rec.event("backward", label, (), [array.asnumpy()], of=state["seen"].get(this, -1), **more)
            return
        if (this, slot) not in state["used"]:
            return
        from_ = [state["seen"].get(n, -1) for n in inputs]
        names = [state["nodes"][n][0] for n in inputs]
        ins = [args[n].asnumpy() if n in args else None for n in names]
        index = rec.event("forward", label, ins, [array.asnumpy()], p="/" + place, l=state["line"], f=from_)
        state["seen"].setdefault(this, index)

    @functools.wraps(forward)
    def run_forward(self: Any, *args: Any, **named: Any) -> Any:
        if rec.inside:
            return forward(self, *args, **named)
        state = monitored(self)
        state["seen"].clear()
        state["calls"].clear()
        state["line"] = rec.line()
        return hidden(forward)(self, *args, **named)

    @functools.wraps(backward)
    def run_backward(self: Any, *args: Any, **named: Any) -> Any:
        vars(self).get("_compatgrad_recorder", {"backs": {}})["backs"].clear()
        result = hidden(backward)(self, *args, **named)
        for x in self.outputs:
            x.wait_to_read()
        return result

    Executor.forward, Executor.backward = run_forward, run_backward


def draw_by_numpy(rec: Recorder, mx: Any) -> None:
    """Lets NumPy draw MXNet's random numbers, so that both sides have the same.

    Where operators run at once, dropout draws its masks by NumPy, too; therefore blocks are not compiled. In symbols,
    and inside of fused recurrent layers, dropout is off.
    """
    nd, rng = mx.nd, np.random.RandomState(rec.options.seed)
    rec.note("MXNet's random numbers, initial weights too, were drawn by NumPy on both sides (--sync off: by MXNet)")

    def size_of(value: Any) -> Any:
        if value is None or not isinstance(value, (int, np.integer, tuple, list)):
            return ()
        return (int(value),) if isinstance(value, (int, np.integer)) else tuple(value)

    def drawn(kind: str, defaults: Any, array: Any) -> Any:
        names = {"uniform": ("low", "high"), "normal": ("loc", "scale"), "gamma": ("alpha", "beta"),
                 "poisson": ("lam",), "exponential": ("scale",), "randint": ("low", "high")}[kind]  # fmt: skip

        def draw(*args: Any, **named: Any) -> Any:
            values = list(args[: len(names)]) + [named.get(n, d) for n, d in list(zip(names, defaults))[len(args) :]]
            out = named.get("out")
            shape = named.get("shape", named.get("size", args[len(names)] if len(args) > len(names) else None))
            given = np.broadcast_arrays(*[v.asnumpy() if hasattr(v, "asnumpy") else v for v in values])
            own, size = given[0].shape, size_of(shape) if out is None else out.shape
            if out is not None and own:
                own, size = own, size[len(own) :]
            columns = [a.reshape(own + (1,) * len(size)) for a in given]
            found = np.asarray(getattr(rng, kind)(*columns, size=own + size))
            dtype = named.get("dtype")
            if not isinstance(dtype, (str, type)):
                dtype = "int32" if kind == "randint" else "float32"
            if not found.shape and array is nd.array:
                found = found.reshape(1)
            y = array(found, dtype=dtype, ctx=named.get("ctx") if isinstance(named.get("ctx"), mx.Context) else None)
            if out is None:
                return y
            out[:] = y
            return out

        draw.__name__, draw.__module__ = kind, "mxnet.ndarray.random"
        return draw

    for kind, defaults in DRAWN.items():
        draw = drawn(kind, defaults, nd.array)
        for module in (mx.random, nd.random):
            if hasattr(module, kind):
                setattr(module, kind, draw)
        setattr(nd, "random_" + kind, draw)
        setattr(mx.np.random, kind, drawn(kind, defaults, mx.np.array))
        if kind in vars(mx.optimizer.optimizer):
            setattr(mx.optimizer.optimizer, kind, draw)
    nd.uniform, nd.normal = nd.random.uniform, nd.random.normal

    def randn(*shape: Any, **named: Any) -> Any:
        return nd.random.normal(named.get("loc", 0.0), named.get("scale", 1.0), shape=shape or (1,))

    def shuffle(data: Any, **_: Any) -> Any:
        return nd.take(data, nd.array(rng.permutation(data.shape[0])))

    def dropout(data: Any, p: Any = 0.5, mode: Any = "training", axes: Any = (), **_: Any) -> Any:
        if not p or not (mx.autograd.is_training() or mode == "always"):
            return nd.identity(data) if type(data) is nd.NDArray else data * 1
        shape = [1 if i in tuple(axes or ()) else n for i, n in enumerate(data.shape)]
        make = nd.array if type(data) is nd.NDArray else mx.np.array
        mask = make((rng.uniform(size=shape) >= p) / (1 - p), dtype=data.dtype, ctx=data.ctx)
        return nd.broadcast_mul(data, mask) if type(data) is nd.NDArray else data * mask

    def seed(value: Any, ctx: Any = "all") -> None:
        rng.seed(int(value) % 2**32)
        plain_seed(value, ctx)

    def hybridize(self: Any, active: Any = True, **_: Any) -> None:
        plain_hybridize(self, False)

    def initialize(self: Any, desc: Any, arr: Any) -> None:
        """Draws an initial value from a generator of its own, since the sides may initialize in different orders."""
        state = rng.get_state()
        rng.seed((zlib.crc32(str(desc).encode()) + rec.options.seed) % 2**32)
        try:
            plain_initialize(self, desc, arr)
        finally:
            rng.set_state(state)

    def export(self: Any, *args: Any, **named: Any) -> Any:
        try:
            return plain_export(self, *args, **named)
        except RuntimeError:  # only compiled blocks can be exported
            rec.note(
                "HybridBlock.export wrote no files, as blocks were not compiled on either side (--sync off: they are)"
            )
            return None

    def without_dropout(f: Any, what: str) -> Any:
        @functools.wraps(f)
        def call(*args: Any, **named: Any) -> Any:
            if named.get("p") or (what == "Dropout" and named.get("p") is None):
                rec.note("dropout in symbols and in fused recurrent layers was off on both sides (--sync off keeps it)")
                named["p"] = 0.0
            return f(*args, **named)

        return call

    dropout.__name__ = "Dropout"
    dropout.__module__ = shuffle.__module__ = randn.__module__ = "mxnet.ndarray"
    nd.Dropout = mx.npx.dropout = dropout
    if "numpy_extension" in vars(nd):  # where MXNet's blocks look
        nd.numpy_extension.dropout = dropout
    nd.random.randn = mx.random.randn = randn
    nd.random.shuffle = nd.shuffle = mx.random.shuffle = shuffle
    mx.sym.Dropout = without_dropout(mx.sym.Dropout, "Dropout")
    nd.RNN, mx.sym.RNN = without_dropout(nd.RNN, "RNN"), without_dropout(mx.sym.RNN, "RNN")
    plain_initialize, mx.init.Initializer.__call__ = mx.init.Initializer.__call__, initialize
    plain_seed, mx.random.seed = mx.random.seed, seed
    plain_hybridize, mx.gluon.HybridBlock.hybridize = mx.gluon.HybridBlock.hybridize, hybridize
    plain_export, mx.gluon.HybridBlock.export = mx.gluon.HybridBlock.export, export
