"""Programs that rewire, cut, revive and interrupt a graph while the engine works on it.

Each docstring names the fault that the test detects: a reference that outlives its object, or state of a pass that
leaks into another one.
"""

import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
import torch

import compatgrad as cg
from compatgrad import _C

sin = _C.op("sin")


class Same(cg.FunctionNode):
    def forward(self, inputs):
        return (inputs[0] * 1,)

    def backward(self, indexes, gys):
        return gys


class Hook(cg.FunctionHook):
    name = "surgery"

    def __init__(self, before=None, after=None):
        self.before, self.after = before, after

    def backward_preprocess(self, function, in_data, out_grad):
        if self.before:
            self.before(function)

    def backward_postprocess(self, function, in_data, out_grad):
        if self.after:
            self.after(function)


def threes():
    return cg.Variable(torch.full((3,), 3.0))


# ---- objects that are being deallocated -----------------------------------------------------------------------------
def test_a_callback_of_a_dying_variable_gets_another_one():
    """Fault: the node still refers to the Variable whose memory is about to be freed."""
    x, got = threes(), []
    node = x.node
    weakref.finalize(x, lambda: got.extend([node.get_variable_or_none(), node.get_variable()]))
    del x
    others = [threes() for _ in range(100)]
    assert got[0] is None and got[1].tensor is None
    assert all(v.tensor.sum() == 9 for v in others)


def test_an_attribute_of_a_dying_variable_finds_it_gone():
    """Fault: `__del__` of an object in a Variable's `__dict__` reaches the half deallocated Variable by its node."""

    class Log:
        def __init__(self, node):
            self.node = node

        def __del__(self):
            seen.append(self.node.get_variable_or_none())

    x, seen = threes(), []
    x.log = Log(x.node)
    del x
    assert seen == [None]


def test_a_callback_of_a_dying_view_gets_another_one():
    """Fault: the graph returns the view that is being deallocated."""
    y, got = threes() * 2, []
    weakref.finalize(y.creator, lambda: got.append(y.creator))
    assert len(got) == 1 and got[0] is y.creator
    others = [(threes() * 2).creator for _ in range(100)]
    assert got[0] not in others and got[0].op_name == "mul_scalar"


def test_a_collection_during_the_creation_of_a_view_makes_no_second_one():
    """Fault: a finalizer that runs while memory for a view is allocated makes a second view of the same node."""

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            got.append(y.creator)

    old = gc.get_threshold()
    gc.disable()
    try:
        for k in range(300):
            y, got = threes() * 2, []
            Cycle()
            junk = [[] for _ in range(k % 7)]
            gc.set_threshold(1, 1, 1)
            gc.enable()
            view = y.creator
            gc.disable()
            assert all(v is view for v in got)
            del junk
    finally:
        gc.set_threshold(*old)
        gc.enable()


def test_a_finalizer_cannot_revive_a_dead_node():
    """Fault: Python code of a dying node reaches other dead nodes, not yet deleted, as outputs of their function."""
    mul = _C.op("mul")
    for _ in range(50):
        array, a, got = np.ones(3, "f"), threes(), []
        u = a * 2
        function, b = u.creator, cg.Variable(array)
        held = b.tensor
        weakref.finalize(array, lambda f=function, g=got: g.extend(o() for o in f.outputs))
        y = mul(b, u)
        del array, b, held, u, a, y
        assert got == [None]


def test_a_collected_output_takes_no_gradient_of_a_stranger():
    """Fault: an output's slot keeps the address of a collected node, and a new Variable there loses its gradient."""

    class Two(cg.FunctionNode):
        def forward(self, inputs):
            return inputs[0] * 1, inputs[0] * 2

        def backward(self, indexes, gys):
            first, second = gys
            return (second if first is None else first * 1000 + second,)

    x = cg.Variable(torch.ones(3))
    y1, y2 = Two().apply((x,))
    cycle = [y1.node]
    cycle.append(cycle)
    del cycle, y1
    gc.collect()
    strangers = [cg.Variable(torch.ones(3)) for _ in range(200)]
    loss = y2.sum()
    for w in strangers:
        loss = loss + w.sum()
    loss.backward()
    assert x.grad.tolist() == [1, 1, 1] and all(w.grad is not None for w in strangers)


def test_a_sleeping_finalizer_blocks_only_its_thread():
    """Fault: all threads share one queue of dying nodes, and nothing is freed while one thread's finalizer sleeps."""
    started, go = threading.Event(), threading.Event()

    def wait():
        started.set()
        go.wait(60)

    def drop():
        array = np.ones(3, "f")
        weakref.finalize(array, wait)
        x = cg.Variable(array)
        y = x * x
        del array, x, y

    thread = threading.Thread(target=drop)
    thread.start()
    try:
        assert started.wait(60)
        h = threes() * 2
        storage = weakref.ref(h.tensor.untyped_storage())
        loss = (h * h).sum()
        del h, loss
        assert storage() is None
    finally:
        go.set()
        thread.join()


# ---- hooks that cut and rewire --------------------------------------------------------------------------------------
@pytest.mark.parametrize("native", [True, False])
def test_a_function_cut_off_after_its_backward_passes_its_gradient_on(native):
    """Fault: the pass reads the inputs again after the hook cleared them, and drops the gradient."""
    x = threes()
    h = x * 2 if native else Same().apply((x * 2,))[0]
    with Hook(after=lambda f: f.unchain()):
        (h * h).sum().backward()
    assert x.grad.tolist() == [24, 24, 24]


def test_a_native_function_cut_off_before_its_backward_reads_its_old_inputs():
    x = threes()
    y = sin(x * 2).sum()
    with Hook(before=lambda f: f.unchain()):
        y.backward()
    torch.testing.assert_close(x.grad, 2 * torch.cos(torch.full((3,), 6.0)))


@pytest.mark.parametrize("cut", ["variable", "node", "deleted"])
def test_a_backward_reads_an_output_that_a_hook_cut_off(cut):
    """Fault: the saved output is freed with the node, which ends in an internal assertion of torch."""
    x = threes()
    ys = [_C.op("tanh")(x)]
    f = ys[0].creator_node

    def before(function):
        if function is f and cut != "deleted":
            (ys[0] if cut == "variable" else ys[0].node).unchain()

    z = ys[0] * 1
    with Hook(before):
        z.sum().backward()
    slope = 1 - np.tanh(3.0) ** 2
    np.testing.assert_allclose(x.grad, np.full(3, slope), rtol=1e-5)
    ys.clear()
    del z
    gc.collect()
    (gx,) = f.backward((0,), (threes(),))
    np.testing.assert_allclose(gx.tensor, np.full(3, 3 * slope), rtol=1e-5)


def test_a_registered_backward_may_cut_its_function_off():
    def seven_times(node, gys):
        node.unchain()
        return (gys[0] * 7.0,)

    cg.register("sin", seven_times)
    try:
        x = threes()
        sin(x * 1.0).sum().backward()
    finally:
        cg.register("sin", None)
    assert x.grad.tolist() == [7, 7, 7]


def test_a_leaf_made_by_a_hook_has_gradients_in_later_passes():
    """Fault: a slot that a pass left in a node is taken for that of the next pass at the same stack address."""
    a, w = threes(), threes()
    x = a * 2
    u, c = x * 7.0, (w * 5) * 1.0
    loss = (u + c).sum()
    with Hook(after=lambda f: x.unchain() if f is c.creator else None), pytest.raises(AttributeError, match="gradient"):
        loss.backward()
    for _ in range(3):
        x.cleargrad()
        (x * 7.0).sum().backward()
        assert x.grad.tolist() == [7, 7, 7]


def test_an_inner_pass_has_slots_of_its_own():
    x, y = threes(), threes()
    found = []

    def inner(function):
        hook.after = None  # the inner pass calls the same hook
        with cg.force_backprop_mode():
            found.append(cg.grad([(x * y).sum()], [x, y])[1].tensor.tolist())
        hook.after = inner

    hook = Hook(after=inner)
    with hook:
        (x * x * y).sum().backward()
    assert x.grad.tolist() == [18, 18, 18] and y.grad.tolist() == [9, 9, 9]
    assert found and all(g == [3, 3, 3] for g in found)


def test_an_interrupted_pass_leaves_no_trace():
    x = threes()
    loss = (sin(x * 2) * x).sum()

    def stop(function):
        if function.op_name == "sin":
            raise KeyboardInterrupt

    with Hook(after=stop), pytest.raises(KeyboardInterrupt):
        loss.backward()
    assert x.grad is None
    loss.backward()
    expected = torch.full((3,), 3.0, requires_grad=True)
    (torch.sin(expected * 2) * expected).sum().backward()
    torch.testing.assert_close(x.grad, expected.grad)


# ---- calls of user code ----------------------------------------------------------------------------------------------
def test_torch_works_inside_a_backward_and_a_hook_as_outside():
    """Fault: user code inherits the pass's dispatch mode, in which torch's autograd records nothing."""
    weight, recorded = torch.ones(3), []

    class Cube(cg.FunctionNode):
        def forward(self, inputs):
            self.retain_inputs((0,))
            return (inputs[0] ** 3,)

        def backward(self, indexes, gys):
            t = self.get_retained_inputs()[0].tensor.detach().requires_grad_()
            (g,) = torch.autograd.grad(t**3, t, gys[0].tensor)
            weight.add_(1)
            return (cg.Variable(g, requires_grad=False),)

    class Look(Hook):
        def forward_postprocess(self, function, in_data):
            recorded.append((torch.ones(2, requires_grad=True) * 2).requires_grad)

    x, version = threes(), weight._version
    with Look(before=lambda f: recorded.append((torch.ones(2, requires_grad=True) * 2).requires_grad)):
        (y,) = Cube().apply((x * 1,))
        y.sum().backward()
    assert x.grad.tolist() == [27, 27, 27] and recorded and all(recorded)
    assert weight._version == version + 1


@pytest.fixture
def interrupts():
    """Make SIGINT raise KeyboardInterrupt; background jobs of a shell start with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_an_interrupt_stops_a_long_pass_at_once(interrupts):
    """Fault: small functions never release the interpreter lock, so that Ctrl-C takes effect only after the pass."""
    x = cg.Variable(torch.ones(1))
    y = x
    for _ in range(300_000):
        y = -y
    begun = time.perf_counter()
    y.backward()
    whole = time.perf_counter() - begun
    x.cleargrad()
    timer = threading.Timer(whole / 20, lambda: os.kill(os.getpid(), signal.SIGINT))
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        y.backward()
        timer.join()
        time.sleep(1)  # a signal that comes late ends this sleep
    assert time.perf_counter() - begun < 0.7 * whole + 0.5
    assert x.grad is None
    y.backward()
    assert x.grad.tolist() == [1]


# ---- the collector --------------------------------------------------------------------------------------------------
def chain(n):
    def make(y):
        for _ in range(n):
            y = sin(y)
        return y

    return make


@pytest.mark.parametrize(
    "make", [lambda y: sin(sin(y) * 2), lambda y: y * y, lambda y: y + sin(y), chain(70), chain(5000)]
)
def test_a_function_that_keeps_a_graph_on_its_result_is_collected(make):
    """Fault: the garbage collector does not traverse nodes that are read twice, or chains of more than 64 nodes."""
    function = Same()
    (y,) = function.apply((threes(),))
    function.kept = make(y)
    alive = weakref.ref(function)
    del function, y
    gc.collect()
    assert alive() is None


def test_inputs_of_a_living_object_are_not_collected():
    function = Same()
    (y,) = function.apply((threes(),))
    z = y * y
    function.kept = z
    outside = sin(y)
    alive = weakref.ref(function)
    del function, y, z
    gc.collect()
    assert alive() is not None
    outside.sum().backward()
    del outside
    gc.collect()
    assert alive() is None


# ---- cost -----------------------------------------------------------------------------------------------------------
def test_gradients_of_many_inputs_cost_as_much_as_a_backward():
    """Fault: each output is compared with each input, which takes quadratic time."""

    def cost(n):
        leaves = [cg.Variable(torch.ones(1)) for _ in range(n)]
        y = leaves[0]
        for w in leaves[1:]:
            y = y * w
        begun = time.process_time()
        cg.grad([y], leaves)
        return time.process_time() - begun

    cost(100)
    assert min(cost(16000) for _ in range(3)) < 8 * max(min(cost(4000) for _ in range(3)), 1e-3)
