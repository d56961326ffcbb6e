"""Runs the docstring example of a public function or layer with another framework's Variables in place of its own.

As the docstring of each public name has an example (`tests/docs`), new names are tested without further work.
`python -m tests.interop.mixing [NAME...]` runs the examples of the names that begin with a NAME, or all, and prints the
differences.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

import compatgrad
from compatgrad import _C, chainer, interop, mxnet, nnabla
from compatgrad.mxnet.numpy import _of_numpy
from compatgrad.mxnet.numpy_extension import _functions
from tests.docs.public_names import names_of_examples

KINDS = ("native", "chainer", "mxnet", "nnabla")


def of_native(a: np.ndarray, data: bool) -> Any:
    return compatgrad.Variable(torch.from_numpy(a), requires_grad=not data)


def of_chainer(a: np.ndarray, data: bool) -> Any:
    return chainer.Variable(a, requires_grad=not data)


def of_mxnet(a: np.ndarray, data: bool) -> Any:
    x = mxnet.nd.array(a, dtype=a.dtype)
    if not data:
        x.attach_grad()
    return x


def of_numpy_like(a: np.ndarray, data: bool) -> Any:
    x = mxnet.np.array(a, dtype=a.dtype)
    if not data:
        x.attach_grad()
    return x


def of_nnabla(a: np.ndarray, data: bool) -> Any:
    x = nnabla.Variable.from_numpy_array(a, need_grad=not data)
    x.grad.zero()
    return x


MAKE: dict[str, Callable[[np.ndarray, bool], Any]] = {
    "native": of_native,
    "chainer": of_chainer,
    "mxnet": of_mxnet,
    "nnabla": of_nnabla,
}


def gradient_of(x: Any) -> np.ndarray | None:
    """The gradient of a leaf after backward, as its frontend stores it."""
    if isinstance(x, nnabla.Variable):
        return np.array(x.g)
    g = x.grad
    if g is None:
        return None
    return np.array(g.asnumpy() if hasattr(g, "asnumpy") else g.numpy() if isinstance(g, torch.Tensor) else g)


def clear_gradient(x: Any) -> None:
    if isinstance(x, nnabla.Variable):
        x.grad.zero()
    elif isinstance(x, mxnet.nd.NDArray):
        if x.grad is not None:
            x.grad[:] = 0
    else:
        x.cleargrad()


@dataclass
class Run:
    """One run of an example, and the leaves that it was given."""

    target: Any
    kind: str | None  # whose Variables are passed; None for the target's own
    dtype: type
    recording: bool = True
    frontend: str = ""
    first_only: bool = False
    leaves: list[Any] = field(default_factory=list)
    results: list[Any] = field(default_factory=list)
    calls: int = 0

    def enter(self, value: Any) -> Any:
        """Replace arrays and Variables in `value` by Variables of `kind`."""
        if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
            return type(value)(self.enter(v) for v in value)
        own: Callable[[np.ndarray, bool], Any]
        if isinstance(value, chainer.Variable) and not isinstance(value, chainer.Parameter):
            a, own = value.array, of_chainer
        elif type(value) is mxnet.nd.NDArray:
            a, own = value.asnumpy(), of_mxnet
        elif type(value) is mxnet.np.ndarray:
            a, own = value.asnumpy(), of_numpy_like
        elif type(value) in (nnabla.Variable, nnabla.NdArray):
            a, own = value.data if type(value) is nnabla.NdArray else value.d, of_nnabla
        elif type(value) is np.ndarray and self.frontend == "chainer":
            a, own = value, of_chainer
        else:
            return value
        if a is None or a.dtype.kind not in "fiu":
            return value
        data = a.dtype.kind != "f" or not self.recording
        a = np.array(a, self.dtype if a.dtype.kind == "f" else a.dtype)
        x = (own if self.kind is None else MAKE[self.kind])(a, data)
        self.leaves.append(x)
        return x

    def call(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        cls = self.target if inspect.isclass(self.target) else ()
        unrolled = getattr(f, "__name__", "") == "unroll" and isinstance(f.__self__, cls)
        if f is not self.target and not isinstance(f, cls) and not unrolled:
            return f(*args, **kwargs)
        if f is self.target and inspect.isclass(f) and not issubclass(f, _C.FunctionNode):
            return f(*args, **kwargs)
        self.calls += 1
        args = tuple(self.enter(a) if i == 0 or not self.first_only else a for i, a in enumerate(args))
        kwargs = {k: v if self.first_only else self.enter(v) for k, v in kwargs.items()}
        if not self.recording:
            y = f(*args, **kwargs)
        else:
            with mxnet.autograd.record():
                y = f(*args, **kwargs)
        self.results.append(y)
        return y


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            return node
        return ast.copy_location(ast.Call(ast.Name("_call", ast.Load()), [node.func, *node.args], node.keywords), node)


def statements(target: Any) -> Iterator[Any]:
    """Compiled statements of the example, whose calls go through a `Run`, up to one that is expected to raise."""
    for example in doctest.DocTestParser().get_examples(inspect.cleandoc(target.__doc__ or "")):
        if example.exc_msg is not None:
            break
        tree = ast.fix_missing_locations(_Calls().visit(ast.parse(example.source)))
        yield compile(tree, f"<example of {getattr(target, '__name__', target)}>", "exec")


def flat(values: Any) -> Iterator[Any]:
    if isinstance(values, (list, tuple)):
        for v in values:
            yield from flat(v)
    elif isinstance(values, dict):
        yield from flat(list(values.values()))
    elif values is not None:
        yield values


def array_of(y: Any) -> np.ndarray:
    if isinstance(y, _C.DeferredVariable):
        if y.parent is not None:
            y.forward()
        return np.array(y.d)
    if isinstance(y, _C.Variable):
        return np.array(y.tensor.detach())
    if hasattr(y, "asnumpy"):
        return np.array(y.asnumpy())
    if isinstance(y, (nnabla.NdArray)):
        return np.array(y.data)
    return np.array(y) if isinstance(y, (np.ndarray, torch.Tensor, int, float, bool, np.generic)) else np.zeros(0)


def seed() -> None:
    np.random.seed(1)
    torch.manual_seed(1)
    mxnet.random.seed(1)
    nnabla.random.prng = np.random.RandomState(1)
    nnabla.seed(1)
    nnabla.clear_parameters()
    nnabla.set_auto_forward(False)
    mxnet.npx.reset_np()


@dataclass
class Outcome:
    values: list[np.ndarray]
    types: list[type]
    gradients: list[np.ndarray | None]
    second: list[np.ndarray | None]
    leaves: int
    error: Exception | None = None
    where: str = ""


def run(
    frontend: str, target: Any, kind: str | None, dtype: type, recording: bool = True, first_only: bool = False
) -> Outcome:
    """Run the example of `target`, and return its values, first and second derivatives."""
    seed()
    one = Run(target, kind, dtype, recording, frontend, first_only)
    names = {**names_of_examples(frontend), "_call": one.call}
    outcome = Outcome([], [], [], [], 0)
    where = "forward"
    try:
        computes_in = np.float32 if kind == "nnabla" else dtype
        with warnings.catch_warnings(), chainer.using_config("dtype", computes_in):
            warnings.simplefilter("ignore")
            for code in statements(target):
                try:
                    exec(code, names)
                except Exception:
                    if one.calls and len(one.results) == one.calls:
                        break  # later statements may not accept the other type
                    raise
            outcome.leaves = len(one.leaves)
            ys = list(flat(one.results))
            outcome.values = [array_of(y) for y in ys]
            outcome.types = [type(y) for y in ys]
            where = "backward"
            loss = total(ys)
            if loss is None:
                return outcome
            if not recording:
                return outcome
            floats = [x for x in one.leaves if array_of(x).dtype.kind == "f"]
            for x in floats:
                clear_gradient(x)  # the example may have called backward
            loss.backward()
            outcome.gradients = [gradient_of(x) for x in floats]
            where = "twice"
            gs = compatgrad.grad([loss], floats, enable_double_backprop=True)
            again = total([g for g in gs if g is not None], 2)
            if again is not None:
                ggs = compatgrad.grad([again], floats)
                outcome.second = [None if g is None else array_of(g) for g in ggs]
    except Exception as e:
        outcome.error, outcome.where = e, where
    return outcome


def total(ys: list[Any], power: int = 1) -> Any:
    """A native Variable, a number that depends on all elements of `ys`; None if none of them has a history."""
    loss = None
    for y in ys:
        if not isinstance(y, _C.Variable):
            continue
        if not isinstance(y, _C.DeferredVariable) and not y.tensor.is_floating_point():
            continue
        y = interop.to("compatgrad", y)
        if not y.tensor.is_floating_point() or not y.size or (power == 1 and not y.requires_grad):
            continue
        scale = torch.linspace(0.5, 1.5, y.size, dtype=y.dtype).reshape(y.shape)
        part = compatgrad.ops.sum(compatgrad.ops.mul(y if power == 1 else y * y, compatgrad.Variable(scale, False)))
        part = compatgrad.ops.cast(part, dtype=torch.float64)
        loss = part if loss is None else loss + part
    return loss


def differs(a: list[Any], b: list[Any], loose: bool) -> str:
    if len(a) != len(b):
        if not any(np.any(v) for v in (*a, *b) if v is not None):
            return ""  # no gradient on one side, zeros on the other
        return f"{len(a)} values, own {len(b)}"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        x, y = (None if v is None else np.asarray(v) for v in (x, y))
        if x is None or y is None:
            nothing = x is None and y is None
            if nothing or not np.any(x if y is None else y):
                continue
            return f"value {i} is {x}, own {y}"
        if x.shape != y.shape:
            return f"value {i} has shape {x.shape}, own {y.shape}"
        if x.dtype.kind in "fc" or y.dtype.kind in "fc":
            tol = 1e-3 if loose else 1e-4 if np.float32 in (x.dtype, y.dtype) else 1e-9
            scale = np.abs(y[np.isfinite(y)]).max(initial=1e-5 if tol > 1e-9 else 1e-7)
            if not np.allclose(x, y, rtol=tol, atol=tol * scale, equal_nan=True):
                return f"value {i} is {x.ravel()[:4]}, own {y.ravel()[:4]}"
        elif x.dtype.kind in "iub" and not np.array_equal(x, y):
            return f"value {i} is {x.ravel()[:4]}, own {y.ravel()[:4]}"
    return ""


def says_what_to_do(error: Exception) -> bool:
    return any(words in str(error) for words in ("interop.to(", "from_numpy_array("))


def compare(own: Outcome, other: Outcome, kind: str, frontend: str) -> str:
    """Describe the first fault of a run on another framework's Variables; "" if there is none."""
    if own.error is not None and own.where == "forward":
        if other.error is None:
            return f"own refuses: {type(own.error).__name__}: {own.error}"
        return ""
    if other.error is not None and says_what_to_do(other.error):
        return ""
    if other.error is not None and (own.error is None or own.where != other.where):
        return f"{other.where}: {type(other.error).__name__}: {str(other.error).strip()[:200]}"
    loose = "nnabla" in (kind, frontend)
    for what in ("values", "gradients", "second"):
        if own.error is not None and what != "values":
            break
        if said := differs(getattr(other, what), getattr(own, what), loose):
            return f"{what}: {said}"
    if other.types != own.types:
        return f"types {other.types}, own {own.types}"
    return ""


# ---- the names -------------------------------------------------------------------------------------------------------
# Functions that mx.np and mx.npx make when a program first asks for them, from NumPy's or an operator, whose examples
# call that. Which of them exist depends on what ran before.
MADE_ON_REQUEST = {"np": _of_numpy.COPIED, "npx": _functions._NAMES}


def names() -> dict[str, tuple[str, Any]]:
    """All public functions and layers: name -> (frontend, object)."""
    import compatgrad.chainer.functions as F
    import compatgrad.chainer.links as L
    import compatgrad.nnabla.functions as NF
    import compatgrad.nnabla.parametric_functions as PF
    from compatgrad.mxnet import nd
    from compatgrad.mxnet.gluon import contrib, loss, nn, rnn

    modules = {
        "F": ("chainer", F), "L": ("chainer", L), "NF": ("nnabla", NF), "PF": ("nnabla", PF), "nd": ("mxnet", nd),
        "nd.contrib": ("mxnet", nd.contrib), "nd.linalg": ("mxnet", nd.linalg), "nd.image": ("mxnet", nd.image),
        "nd.random": ("mxnet", nd.random), "np": ("mxnet", mxnet.np), "npx": ("mxnet", mxnet.npx),
        "np.linalg": ("mxnet", mxnet.np.linalg), "nn": ("mxnet", nn), "rnn": ("mxnet", rnn), "loss": ("mxnet", loss),
        "contrib.nn": ("mxnet", contrib.nn), "contrib.rnn": ("mxnet", contrib.rnn),
        "contrib.cnn": ("mxnet", contrib.cnn),
    }  # fmt: skip
    found = {}
    for short, (frontend, module) in modules.items():
        for name in sorted(vars(module)):
            value = getattr(module, name)
            # an installed frontend has no prefix
            home = str(getattr(value, "__module__", "")).removeprefix("compatgrad.")
            if name.startswith("_") or not callable(value) or name in MADE_ON_REQUEST.get(short, ()):
                continue
            if inspect.isclass(value) and not issubclass(value, (chainer.Link, mxnet.gluon.Block, nd.CachedOp)):
                continue  # classes such as initializers, errors and arrays
            if home.partition(".")[0] == frontend and ">>>" in (value.__doc__ or ""):
                found[f"{short}.{name}"] = frontend, value
    return found


def differences(name: str, frontend: str, target: Any, dtypes: Any = (np.float32, np.float64)) -> tuple[int, list[str]]:
    """Run an example on every other framework's Variables. Return the number of runs, and their faults."""
    count, found, single = 0, [], None
    for dtype in dtypes:
        how: dict[str, Any] = {}
        own = run(frontend, target, None, dtype)
        if own.error is not None and "Inplace operations" in str(own.error):
            how = {"recording": False}  # an update of weights is refused while recording
        elif own.error is not None and own.where == "forward":
            how = {"first_only": True}  # some arguments must be plain arrays
        if how:
            own = run(frontend, target, None, dtype, **how)
        single = (own, how) if single is None else single
        if not own.leaves and own.error is None:
            continue
        for kind in KINDS:
            if kind != frontend:
                count += 1
                expected, same = single if kind == "nnabla" else (own, how)
                if said := compare(expected, run(frontend, target, kind, dtype, **same), kind, frontend):
                    found.append(f"{name} of {dtype.__name__} on {kind}: {said}")
    return count, found


def main(wanted: list[str]) -> None:
    count = 0
    for name, (frontend, target) in names().items():
        if not wanted or any(name.startswith(w) for w in wanted):
            more, found = differences(name, frontend, target)
            count += more
            for said in found:
                print(repr(said)[1:-1], flush=True)
            if not more:
                print(f"{name}: the example has no array", flush=True)
    print(f"{count} runs")
    if not count:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
