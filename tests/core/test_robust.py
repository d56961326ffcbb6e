"""Exceptions during a pass, threads, deep graphs and memory."""

import gc
import sys
import threading
import tracemalloc
import weakref

import pytest
import torch

import compatgrad as cg
from compatgrad import _C
from tests.core.dags import leaf_tensors, random_graph

sin = _C.op("sin")


class Fuse(cg.FunctionNode):
    blown = False

    def forward(self, inputs):
        return tuple(x * 1 for x in inputs)

    def backward(self, indexes, grad_outputs):
        if self.blown:
            raise ZeroDivisionError("fuse")
        return tuple(grad_outputs[i] for i in indexes)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("double", [False, True])
def test_an_exception_in_the_middle_leaves_everything_as_before(seed, double):
    leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
    a = random_graph(seed, leaves)
    fuse = Fuse()
    behind = list(fuse.apply(a))
    outputs = a + random_graph(seed + 1, behind + leaves) + behind
    gys = [torch.ones_like(y.tensor) for y in outputs]
    expected = [None if g is None else g.tensor for g in cg.grad(outputs, leaves, gys)]
    for v in leaves:
        v.grad = torch.full_like(v.tensor, 100.0)
    fuse.blown = True
    for _ in range(2):
        with pytest.raises(ZeroDivisionError, match="fuse"):
            cg.backward(outputs, gys, enable_double_backprop=double)
        with pytest.raises(ZeroDivisionError, match="fuse"):
            cg.grad(outputs, leaves, gys, enable_double_backprop=double)
    assert _C.get_mode("enable_backprop") and not _C.function_hooks()
    for v in leaves:
        assert (v.grad == 100).all()
    for y in outputs:
        assert y.grad is None
    fuse.blown = False
    cg.backward(outputs, gys, enable_double_backprop=double)
    for v, g in zip(leaves, expected, strict=True):
        torch.testing.assert_close(v.grad, 100 + (0 if g is None else g) + torch.zeros_like(v.tensor))


def test_a_kernel_that_refuses_leaves_everything_as_before():
    x = cg.Variable(torch.ones(2, 3))
    with pytest.raises((RuntimeError, ValueError)):
        _C.op("matmul")(x, cg.Variable(torch.ones(2, 3)))
    assert (x * 2).creator.inputs[0].get_variable() is x


def test_threads():
    expected = {}
    for seed in range(8):
        leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
        expected[seed] = [None if g is None else g.tensor for g in cg.grad(random_graph(seed, leaves), leaves)]
    errors = []
    barrier = threading.Barrier(4)
    interval = sys.getswitchinterval()

    def work(k):
        try:
            barrier.wait(30)
            for n in range(60):
                seed = (n + k) % 8
                leaves = [cg.Variable(t) for t in leaf_tensors(seed)]
                double = bool((n + k) % 2)
                with cg.force_backprop_mode() if k % 2 else cg.core.using_mode("lazy_grad_sum", True):
                    outputs = random_graph(seed, leaves)
                    gs = cg.grad(outputs, leaves, enable_double_backprop=double)
                for g, e in zip(gs, expected[seed], strict=True):
                    if e is not None:
                        torch.testing.assert_close(g.tensor, e)
        except BaseException as e:
            errors.append(e)

    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(300)
    finally:
        sys.setswitchinterval(interval)
    assert not errors


def test_threads_on_one_graph():
    """Two threads' passes over the same nodes at once; Python functions let the other thread run during a pass."""

    class Slow(cg.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            for _ in range(200):
                pass
            return (grad_outputs[0] * 2,)

    x = cg.Variable(torch.ones(2, dtype=torch.float64))
    y = x
    for _ in range(12):
        (h,) = Slow().apply((y,))
        y = h * 0.25 + y * 0.5
    (expected,) = cg.grad([y], [x])
    errors = []

    def work():
        try:
            for _ in range(50):
                (g,) = cg.grad([y], [x])
                torch.testing.assert_close(g.tensor, expected.tensor)
        except BaseException as e:
            errors.append(e)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(300)
    finally:
        sys.setswitchinterval(interval)
    assert not errors


def test_passes_that_overtake_one_another():
    """The second pass must keep its own state in a node when the first pass leaves the node."""
    turns = {"first": threading.Semaphore(1), "second": threading.Semaphore(0)}
    stops = {"first": [], "second": []}

    class Step(cg.FunctionNode):
        def __init__(self, name):
            self.name = name

        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, indexes, grad_outputs):
            me = threading.current_thread().name
            if me in stops:
                stops[me].append(self.name)
                if self.name in ("late", "early"):
                    turns["second" if me == "first" else "first"].release()
                    assert turns[me].acquire(timeout=60)
            return (grad_outputs[0] * 2,)

    x = cg.Variable(torch.ones(2, dtype=torch.float64))
    (n,) = Step("source").apply((x,))
    (a,) = Step("early").apply((n,))
    (b,) = Step("late").apply((n * 1.0,))
    y = a + b
    results = {}

    def work():
        me = threading.current_thread().name
        assert turns[me].acquire(timeout=60)
        try:
            (results[me],) = cg.grad([y], [x])
        except BaseException as e:
            results[me] = e
        turns["second" if me == "first" else "first"].release()

    threads = [threading.Thread(target=work, name=name) for name in turns]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    # Each pass visits "source" once, after both functions that read its output.
    assert stops == {"first": ["late", "early", "source"], "second": ["late", "early", "source"]}
    for g in results.values():
        assert g.tensor.tolist() == [8.0, 8.0]


def test_large_tensors_release_the_lock():
    """Passes on large tensors run in parallel, without the interpreter lock."""
    x = torch.rand(400, 400)
    errors = []

    def work():
        try:
            v = cg.Variable(x)
            (v * v * 3).sum().backward()
            torch.testing.assert_close(v.grad, 6 * x)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not errors


@pytest.mark.parametrize("double", [False, True])
def test_chain_of_100_000(double):
    _run_chain(100_000, double)


@pytest.mark.slow
def test_chain_of_a_million():
    _run_chain(1_000_000, False)


def _run_chain(n, double):
    x = cg.Variable(torch.ones(1))
    y = x
    for _ in range(n // 2):
        y = -y + 1
    assert y.rank == n // 2 * 2
    y.backward(enable_double_backprop=double)
    assert x.grad.tolist() == [1 if n // 2 % 2 == 0 else -1]
    del y
    gc.collect()


def test_chain_of_python_functions():
    x = cg.Variable(torch.ones(1))
    y = x
    for _ in range(20_000):
        (y,) = Fuse().apply((y,))
    y.backward()
    assert x.grad.tolist() == [1]
    del y
    gc.collect()


def test_chain_that_dies_in_the_collector():
    before = _live()
    x = cg.Variable(torch.ones(1))
    y = x
    for _ in range(50_000):
        y = y * 1.0
    y.cycle = y
    assert _live() > before
    del y, x
    assert _live() == before


# ---- memory ----


def _live(cls=_C.Variable):
    gc.collect()
    return sum(isinstance(o, cls) for o in gc.get_objects())


def _step(w, double=False):
    h = sin(w * 2) * w + 1
    (h,) = Fuse().apply((h,))
    loss = (h * h).sum()
    w.cleargrad()
    if double:
        (g,) = cg.grad([loss], [w], enable_double_backprop=True)
        (g * g).sum().backward()
    else:
        loss.backward()


@pytest.mark.parametrize("double", [False, True])
def test_no_object_survives_a_step(double):
    w = cg.Variable(torch.ones(4))
    _step(w, double)
    before = _live(), _live(_C.FunctionNode), _live(_C.VariableNode)
    for _ in range(20):
        _step(w, double)
    assert (_live(), _live(_C.FunctionNode), _live(_C.VariableNode)) == before


@pytest.mark.parametrize("steps", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_no_leak(steps):
    w = cg.Variable(torch.ones(4))

    def run(n):
        for _ in range(n):
            _step(w)
        gc.collect()
        return _resident()

    run(steps)
    tracemalloc.start()
    try:
        first = run(steps)
        traced = tracemalloc.get_traced_memory()[0]
        second = run(steps)
        assert tracemalloc.get_traced_memory()[0] - traced < 20_000
    finally:
        tracemalloc.stop()
    assert second - first < 2_000_000


def _resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def test_a_released_graph_is_freed_at_once():
    x = cg.Variable(torch.ones(2))
    y = x
    refs = []
    gc.disable()
    try:
        for _ in range(5):
            y = sin(y)
            refs.append(weakref.ref(y))
            (y,) = Fuse().apply((y,))
            refs.append(weakref.ref(y.creator))
        del y
        assert [r() for r in refs] == [None] * 10
    finally:
        gc.enable()


@pytest.mark.parametrize("what", ["variable", "node", "later"])
def test_a_function_that_stores_its_own_output_is_collected(what):
    class Hoard(cg.FunctionNode):
        def forward(self, inputs):
            return (inputs[0] * 1,)

    f = Hoard()
    (y,) = f.apply((cg.Variable(torch.ones(2)),))
    f.kept = {"variable": y, "node": y.node, "later": sin(sin(y) * 2)}[what]
    ref = weakref.ref(f)
    del f, y
    gc.collect()
    assert ref() is None


def test_a_gradient_that_refers_to_its_own_variable_is_collected():
    x = cg.Variable(torch.ones(2))
    ref = weakref.ref(x)
    y = (x * x * x).sum()
    y.backward(enable_double_backprop=True)  # x.grad_var depends on x
    assert x.grad_var.creator is not None
    del x, y
    gc.collect()
    assert ref() is None


def test_data_that_no_backward_reads_is_freed():
    t = torch.ones(1000)
    ref = weakref.ref(t.untyped_storage())
    y = cg.Variable(t) + 1
    del t
    assert ref() is None and y.creator is not None


def test_gradients_of_intermediates_are_freed_while_the_pass_runs():
    class Probe(cg.FunctionNode):
        seen: list = []

        def forward(self, inputs):
            return (inputs[0] * 1,)

        def backward(self, indexes, grad_outputs):
            self.seen.append(weakref.ref(grad_outputs[0].tensor.untyped_storage()))
            alive = sum(r() is not None for r in self.seen)
            assert alive <= 3
            return (grad_outputs[0] * 2,)

    y = x = cg.Variable(torch.ones(100))
    for _ in range(30):
        (y,) = Probe().apply((y * 1.5,))
    y.grad = torch.ones(100)
    y.backward()
    assert len(Probe.seen) == 30 and x.grad is not None
