"""Runs examples of public names on a frontend or on its original, and reports what they did.

    PYTHON tests/behaviour/probe.py FRONTEND WHAT IN OUT [compatgrad.]

IN is JSON, name -> example, from `examples.py`. For each example a line of JSON is appended to OUT: the name and the
result of the function WHAT below (`memory`, `finite`, `refusal`, `symbol` or `states`). If the interpreter crashes, the
last line says so, and the caller continues with the other examples.
In calls of the name itself, array arguments become leaves of a graph, and results are kept.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import importlib
import json
import os
import sys
import tempfile
import warnings

import numpy as np

from tests.behaviour import updates

SHORT = {
    "chainer": {"chainer": "", "F": ".functions", "L": ".links"},
    "nnabla": {"nn": "", "F": ".functions", "PF": ".parametric_functions", "S": ".solvers", "I": ".initializer"},
    "mxnet": {"mx": "", "nd": ".ndarray", "gluon": ".gluon", "autograd": ".autograd"},
}
UNKNOWN = "no_such_argument"


def spelling(node):
    """ "nd.concat" for the node of such an expression, "" for others."""
    if isinstance(node, ast.Name):
        return node.id
    before = spelling(node.value) if isinstance(node, ast.Attribute) else ""
    return f"{before}.{node.attr}" if before else ""


class _Calls(ast.NodeTransformer):
    """Replaces each call by one of `_call`, with the function and its name in the source."""

    def visit_Call(self, node):
        self.generic_visit(node)
        spelled = spelling(node.func)
        if spelled in ("super", "print"):
            return node
        args = [ast.Constant(spelled), node.func, *node.args]
        return ast.copy_location(ast.Call(ast.Name("_call", ast.Load()), args, node.keywords), node)


def flat(values):
    """The values of nested lists, tuples and dicts."""
    if isinstance(values, (list, tuple)):
        for v in values:
            yield from flat(v)
    elif isinstance(values, dict):
        yield from flat(list(values.values()))
    elif values is not None:
        yield values


def spoiled(a):
    """A copy in which the second of every three numbers is NaN."""
    a = np.array(a)
    if a.dtype.kind == "f":
        a.reshape(-1)[1::3] = np.nan
    return a


def finite_ones(a):
    """A text with a "+" for each finite number and a "!" for others, for the first 200 numbers."""
    return "".join("+" if ok else "!" for ok in np.isfinite(a).ravel()[:200])


def overlap(a, b):
    """Whether two NumPy arrays share bytes of memory."""
    if not a.size or not b.size:
        return False
    try:
        return bool(np.shares_memory(a, b, max_work=100000))
    except Exception:  # the exact check takes too long: compare the bounds of the memory
        return bool(np.may_share_memory(a, b))


def overlaps_itself(a):
    """Whether several elements of an array share memory, as in a broadcast array."""
    return any(n > 1 and not s for n, s in zip(a.shape, a.strides))  # noqa: B905


class Frontend:
    """The operations of a frontend that the probe needs. `prefix` is "" or "compatgrad."."""

    keeps = -1  # which of `passes` leaves gradients at the leaves
    spoils = ""  # where every third number is NaN: in an "input", or in the "gradient" of a result

    def __init__(self, name, prefix):
        self.name, self.prefix = name, prefix
        self.module = importlib.import_module(prefix + name)

    def names(self):
        short = SHORT[self.name].items()
        found = {key: importlib.import_module(self.prefix + self.name + where) for key, where in short}
        return {"np": np, **found}

    def weights(self, y):
        """The weights of a result in the loss, which are its gradient."""
        w = np.linspace(0.5, 1.5, y.size).reshape(y.shape)
        return spoiled(w) if self.spoils == "gradient" else w

    def values(self, y):
        return self.memory(y)

    def gradient_values(self, x):
        return self.gradient(x)

    def find(self, path):
        """The object with a full name without prefix."""
        value, parts = None, path.split(".")
        for i in range(len(parts), 0, -1):
            try:
                value = importlib.import_module(self.prefix + ".".join(parts[:i]))
            except ImportError:
                continue
            for part in parts[i:]:
                value = getattr(value, part)
            return value
        raise AttributeError(path)


class ChainerProbe(Frontend):
    def reset(self):
        np.random.seed(1)

    def is_layer_class(self, cls):
        return issubclass(cls, self.module.Link)

    def is_function_class(self, cls):
        return issubclass(cls, (self.module.FunctionNode, self.module.Function))

    def leaf(self, value):
        c = self.module
        a = value.array if isinstance(value, c.Variable) and not isinstance(value, c.Parameter) else value
        if type(a) is not np.ndarray or a.dtype.kind not in "fiub":
            return None
        a = spoiled(a) if self.spoils == "input" else np.array(a)
        return c.Variable(a, requires_grad=a.dtype.kind == "f")

    def recorded(self, f, args, kwargs):
        return f(*args, **kwargs)

    def is_array(self, y):
        return isinstance(y, (self.module.Variable, np.ndarray))

    def memory(self, y):
        return y if isinstance(y, np.ndarray) else y.array

    def loss(self, ys):
        F, total = self.names()["F"], None
        for y in ys:
            v = isinstance(y, self.module.Variable) and y.array is not None
            if not v or y.array.dtype.kind != "f" or not y.size or not y.requires_grad or y.creator is None:
                continue
            part = F.cast(F.sum(y * self.weights(y).astype(y.dtype)), "d")
            total = part if total is None else total + part
        return total

    def passes(self, loss, leaves):
        """Functions without arguments that differentiate, and return pairs of labels and arrays."""
        return [lambda: self.grad(loss, leaves), lambda: loss.backward(retain_grad=True)]

    def grad(self, loss, leaves):
        given = self.module.grad([loss], [x for x in leaves if x.requires_grad], enable_double_backprop=True)
        return [(f"grad {i}", g.array) for i, g in enumerate(given) if g is not None]

    def gradient(self, x):
        return x.grad if isinstance(x, self.module.Variable) else None

    def parameters(self, layer):
        for name, p in sorted(layer.namedparams()):
            if p.array is not None:
                yield f"{name}", p.array
                if p.grad is not None:
                    yield f"{name}.grad", p.grad
        for path, link in sorted(layer.namedlinks(), key=lambda pair: pair[0]):
            for name, value in sorted(vars(link).items()):
                value = value.array if isinstance(value, self.module.Variable) else value
                if name.startswith("_") or name in link._params or not isinstance(value, np.ndarray):
                    continue
                yield f"{path}.{name}", value


class NnablaProbe(Frontend):
    keeps = 0

    def reset(self):
        np.random.seed(1)
        self.module.clear_parameters()
        self.module.set_auto_forward(False)

    def is_layer_class(self, cls):
        return False

    def is_function_class(self, cls):
        return False

    def leaf(self, value):
        nn = self.module
        if isinstance(value, nn.NdArray):
            a = value.data
        elif isinstance(value, nn.Variable):
            a = value.d
        else:
            return None
        if a.dtype.kind not in "fiub":
            return None
        a = spoiled(a) if self.spoils == "input" else np.array(a)
        x = nn.Variable.from_numpy_array(a, need_grad=True)
        x.g = 0
        return x

    def recorded(self, f, args, kwargs):
        return f(*args, **kwargs)

    def is_array(self, y):
        return isinstance(y, (self.module.Variable, self.module.NdArray))

    def memory(self, y):
        return y.d if isinstance(y, self.module.Variable) else y.data

    def values(self, y):
        if isinstance(y, self.module.Variable) and y.parent is not None:
            y.forward()
        return self.memory(y)

    def loss(self, ys):
        F, total = self.names()["F"], None
        for y in ys:
            if not isinstance(y, self.module.Variable) or y.parent is None or not y.size:
                continue
            part = F.sum(y * self.module.Variable.from_numpy_array(self.weights(y)))
            total = part if total is None else total + part
        return total

    def passes(self, loss, leaves):
        return [lambda: self.backward(loss), lambda: self.grad(loss, leaves)]

    def backward(self, loss):
        loss.forward()
        for p in self.module.get_parameters().values():
            p.g = 0
        loss.backward()

    def grad(self, loss, leaves):
        given = [g for g in self.module.grad([loss], leaves) if g.parent is not None]
        if given:
            self.names()["F"].sink(*given).forward()
        return [(f"grad {i}", g.d) for i, g in enumerate(given)]

    def gradient(self, x):
        return x.g if isinstance(x, self.module.Variable) else None

    def parameters(self, layer):
        for name, p in self.module.get_parameters(grad_only=False).items():
            yield name, p.d
            yield f"{name}.grad", p.g


class MxnetProbe(Frontend):
    def reset(self):
        np.random.seed(1)
        self.module.random.seed(1)

    def is_layer_class(self, cls):
        return issubclass(cls, self.module.gluon.Block)

    def is_function_class(self, cls):
        return False

    def leaf(self, value):
        mx = self.module
        if type(value) not in (mx.nd.NDArray, mx.np.ndarray):
            return None
        x = value.copy()
        if np.dtype(x.dtype).kind == "f":
            if self.spoils == "input":
                kind = mx.nd if type(value) is mx.nd.NDArray else mx.np
                x = kind.array(spoiled(value.asnumpy()), dtype=value.dtype)
            x.attach_grad()
        return x

    def recorded(self, f, args, kwargs):
        with self.module.autograd.record():
            return f(*args, **kwargs)

    def is_array(self, y):
        return isinstance(y, self.module.nd.NDArray) and y.stype == "default"

    def memory(self, y):
        if self.prefix:
            return y.tensor.detach().numpy()
        y.wait_to_read()
        where = ctypes.c_void_p()
        self.module.base.check_call(self.module.base._LIB.MXNDArrayGetData(y.handle, ctypes.byref(where)))
        if not y.size or not where.value:
            return np.zeros(0, np.int8)
        return np.ctypeslib.as_array((ctypes.c_byte * (y.size * np.dtype(y.dtype).itemsize)).from_address(where.value))

    def loss(self, ys):
        return [y for y in ys if self.is_array(y) and np.dtype(y.dtype).kind == "f" and y.size] or None

    def passes(self, loss, leaves):
        kinds = [self.module.nd if type(y) is self.module.nd.NDArray else self.module.np for y in loss]
        heads = [kind.array(self.weights(y), dtype=y.dtype) for kind, y in zip(kinds, loss)]  # noqa: B905
        first = [lambda: self.grad(loss, leaves, heads)] if any(x.grad is not None for x in leaves) else []
        return [*first, lambda: self.module.autograd.backward(loss, heads)]

    def grad(self, loss, leaves, heads):
        xs = [x for x in leaves if x.grad is not None]
        given = self.module.autograd.grad(loss, xs, heads, retain_graph=True)
        return [(f"grad {i}", self.memory(g)) for i, g in enumerate(given) if self.is_array(g)]

    def values(self, y):
        return y.asnumpy()

    def gradient_values(self, x):
        g = x.grad if isinstance(x, self.module.nd.NDArray) else None
        return g.asnumpy() if g is not None and self.is_array(g) else None

    def gradient(self, x):
        g = x.grad if isinstance(x, self.module.nd.NDArray) else None
        return self.memory(g) if g is not None and self.is_array(g) else None

    def parameters(self, layer):
        for name, p in sorted(layer._collect_params_with_prefix().items()):
            if p._data is None or not self.is_array(p.data()):
                continue
            yield name, self.memory(p.data())
            if p.grad_req != "null" and self.is_array(p.grad()):
                yield f"{name}.grad", self.memory(p.grad())


PROBES = {"chainer": ChainerProbe, "nnabla": NnablaProbe, "mxnet": MxnetProbe}


class Run:
    """One run of an example, which records the calls of the target."""

    def __init__(self, frontend, target, example, enters="all", extra=None):
        self.frontend, self.target, self.source = frontend, target, example["source"]
        self.spelled = example["spelled"]
        self.enters = enters  # which arguments become leaves: "all", those by "place" or "none"
        self.extra = extra  # where an unknown argument is added: "call" of the target, or "instance"
        self.leaves, self.results, self.layers = [], [], []
        self.calls = 0

    def enter(self, value):
        if type(value) in (list, tuple):
            return type(value)(self.enter(v) for v in value)
        x = self.frontend.leaf(value)
        if x is None:
            return value
        self.leaves.append(x)
        return x

    def _is_target(self, spelled, f):
        """ "call" for the target itself, "instance" for calls of its instances and their methods, else None."""
        if f is self.target or spelled in self.spelled:
            return "call"
        cls = self.target if isinstance(self.target, type) else None
        if cls is not None and (isinstance(f, cls) or isinstance(getattr(f, "__self__", None), cls)):
            return "instance"
        return None

    def call(self, spelled, f, /, *args, **kwargs):
        where = self._is_target(spelled, f)
        if where is None:
            return f(*args, **kwargs)
        if self.extra is not None:
            if where == self.extra:
                self.calls += 1
                kwargs[UNKNOWN] = 1
            return f(*args, **kwargs)
        if isinstance(f, type) and self.frontend.is_function_class(f):
            return f(*args, **kwargs)
        self.calls += 1
        if not (isinstance(f, type) and self.frontend.is_layer_class(f)):
            if self.enters != "none":
                args = [self.enter(a) for a in args]
            if self.enters == "all":
                kwargs = {k: v if k == "out" else self.enter(v) for k, v in kwargs.items()}
        y = self.frontend.recorded(f, args, kwargs)
        if self.frontend.is_layer_class(type(y)):
            self.layers.append(y)
        else:
            self.results.append(y)
        return y

    def execute(self):
        self.frontend.reset()
        names = {**self.frontend.names(), "_call": self.call, "__name__": "example"}
        for statement in self.source:
            if not self.frontend.prefix:
                statement = statement.replace("compatgrad.", "")
            tree = ast.fix_missing_locations(_Calls().visit(ast.parse(statement)))
            known = self.calls
            try:
                exec(compile(tree, "<example>", "exec"), names)
            except Exception:
                if self.extra is None and self.calls > known and self.results:
                    break  # later statements may not accept a result of the other type
                raise


def executed(frontend, name, example):
    """Run the example with all arguments as leaves; if that fails, with positional ones or none."""
    target, fails = frontend.find(name), None
    for enters in (example["enters"],) if example.get("enters") else ("all", "place", "none"):
        run = Run(frontend, target, example, enters)
        try:
            run.execute()
        except Exception as e:
            fails = fails or e
        else:
            return run
    raise fails


def finite(frontend, name, example):
    """The finite numbers of results and gradients if every third number of an input, or of a result's gradient, is NaN.

    {"input": label -> text of `finite_ones`, "gradient": the same, "enters": which arguments became leaves}; gradients
    are left out where the pass fails
    """
    found = {"enters": executed(frontend, name, example).enters}
    for frontend.spoils in ("input", "gradient"):
        try:
            run = executed(frontend, name, {**example, "enters": found["enters"]})
            ys = [y for y in flat(run.results) if frontend.is_array(y)]
            arrays = []
            if frontend.spoils == "input":
                arrays = [(f"result {i}", np.array(frontend.values(y))) for i, y in enumerate(ys)]
            loss = frontend.loss(ys)
            with contextlib.suppress(Exception):
                for differentiate in () if loss is None else frontend.passes(loss, run.leaves)[frontend.keeps :][:1]:
                    differentiate()
                arrays += [(f"input {i}.grad", frontend.gradient_values(x)) for i, x in enumerate(run.leaves)]
            found[frontend.spoils] = {k: finite_ones(a) for k, a in arrays if a is not None and a.dtype.kind == "f"}
        except Exception as e:
            found[frontend.spoils] = {"failed": type(e).__name__}
        finally:
            frontend.spoils = ""
    return found


def memory(frontend, name, example):
    """The pairs of arrays that share memory.

    {"arrays": labels, "pairs": [[label, label]], "folded": labels of arrays that can be written to and have elements in
    one place, "errors": of passes, "enters": which arguments became leaves}
    """
    run = executed(frontend, name, example)
    ys = [y for y in flat(run.results) if frontend.is_array(y)]
    arrays, handed, found = [], [], {"errors": [], "enters": run.enters}
    loss = frontend.loss(ys)
    for differentiate in () if loss is None else frontend.passes(loss, run.leaves):
        try:
            handed += differentiate() or []
        except Exception as e:
            found["errors"].append(type(e).__name__)
    for kind, values in (("input", run.leaves), ("result", ys)):
        for i, x in enumerate(values):
            a = frontend.memory(x)
            if a is not None:
                arrays.append((f"{kind} {i}", a))
            g = frontend.gradient(x)
            if g is not None and not (kind == "result" and frontend.name == "mxnet"):
                arrays.append((f"{kind} {i}.grad", g))
    for layer in run.layers or [None]:
        if layer is not None or frontend.name == "nnabla":
            arrays += frontend.parameters(layer)
    arrays += handed
    found["arrays"] = [label for label, _ in arrays]
    found["pairs"] = [[p, q] for i, (q, b) in enumerate(arrays) for p, a in arrays[:i] if overlap(a, b)]
    found["folded"] = [p for p, a in arrays if a.flags.writeable and overlaps_itself(a)]
    return found


def refusal(frontend, name, example):
    """The result of passing an unknown keyword: {"call": "" or the exception's class, "instance": the same}."""
    found = {}
    target = frontend.find(name)
    for where in ("call", "instance") if isinstance(target, type) else ("call",):
        run = Run(frontend, target, example, extra=where)
        try:
            run.execute()
            said = ""
        except Exception as e:
            said = type(e).__name__ + (" names it" if UNKNOWN in str(e) else "")
        if run.calls:
            found[where] = said
    if "call" not in found:  # the example has no call; alone, the keyword may be refused for missing arguments
        try:
            target(**{UNKNOWN: 1})
            found["call"] = ""
        except Exception as e:
            found["call"] = type(e).__name__ + (" names it" if UNKNOWN in str(e) else "")
    return found


def symbol(frontend, name, example):
    """The result of passing an unknown keyword to a function of symbols: {"call": "" or the exception's class}."""
    mx = frontend.module
    value, (first, *others) = frontend.module.symbol, name.split(".")[2:]
    for part in (first, *others):
        value = getattr(value, part)
    x = mx.sym.var("a")
    said = []
    for args in ((), (x.as_np_ndarray() if first in ("np", "npx") else x,), ((2,),), ((2,), 2)):
        try:
            value(*args, **{UNKNOWN: 1})
            return {"call": ""}
        except Exception as e:
            said.append(type(e).__name__ + (" names it" if UNKNOWN in str(e) else ""))
    return {"call": next((s for s in said if "names" in s), said[0])}


def states(frontend, name, example):
    """The pairs of arrays that share memory while an optimizer updates: as `memory`, but without passes."""
    frontend.reset()
    return updates.states(frontend, name, overlap)


WHAT = {"memory": memory, "finite": finite, "refusal": refusal, "symbol": symbol, "states": states}


def result(frontend, what, name, example):
    """The result of a probe function for one example; {"failed": why} if the example fails."""
    back = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        os.chdir(folder)
        try:
            return WHAT[what](frontend, name, example)
        except Exception as e:
            return {"failed": f"{type(e).__name__}: {e}"[:150]}
        finally:
            os.chdir(back)


def main(name, what, given, out, prefix=""):
    frontend = PROBES[name](name, prefix)
    with open(given) as f:
        examples = json.load(f)
    with open(out, "a") as f:
        for key, example in examples.items():
            # only counts if no other line of this example follows
            print(json.dumps([key, {"failed": "the process died"}]), file=f, flush=True)
            print(json.dumps([key, result(frontend, what, key, example)]), file=f, flush=True)


if __name__ == "__main__":
    sys.path.pop(0)
    main(*sys.argv[1:])
