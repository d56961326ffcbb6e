"""Misuse of the engine's objects, and mixing with torch, give correct numbers or an error that names the mistake."""

import errno
import gc
import os
import subprocess
import sys
import threading
import tracemalloc
import types

import pytest
import torch

import compatgrad as cg
from compatgrad import _C, interop
from compatgrad._build import compiler
from compatgrad._build.target import Stamp

sin, mul, tanh = _C.op("sin"), _C.op("mul"), _C.op("tanh")


def leaf(*shape):
    return cg.Variable(torch.ones(shape))


# ---- Python's own protocol ------------------------------------------------------------------------------------------
def test_a_result_is_not_initialised_again():
    """A constant's node is created on demand, so a second `__init__` must not write through a null pointer."""
    constant = cg.Variable(torch.ones(3), requires_grad=False) * 2
    for y in (constant, leaf(3) * 2):
        with pytest.raises(RuntimeError, match=r"Variable.__init__.*result"):
            y.__init__(torch.ones(2))
        assert y.tensor.tolist() == [2, 2, 2]
    x = leaf(3)
    x.__init__(torch.zeros(2))
    assert x.tensor.tolist() == [0, 0]


@pytest.mark.parametrize(
    "make", [lambda: leaf(3), lambda: leaf(3).node, lambda: (leaf(3) * 2).creator_node, lambda: _C.native_frontend]
)
def test_attributes_cannot_be_deleted(make):
    """`del` passes a null pointer to a setter, which must not read it."""
    target = make()
    names = [n for n in dir(type(target)) if isinstance(getattr(type(target), n), types.GetSetDescriptorType)]
    assert names
    for name in names:
        with pytest.raises((AttributeError, TypeError)):
            delattr(target, name)


def test_a_backward_asks_for_a_gradient():
    f = (leaf(3) * 2).creator_node
    with pytest.raises(ValueError, match=r"grad_outputs: expected 1 gradients, one for each output, got 0"):
        f.backward((0,), ())
    with pytest.raises(ValueError, match=r"grad_outputs: expected the gradient of at least one output"):
        f.backward((0,), (None,))
    f.unchain()
    with pytest.raises(RuntimeError, match="unchained"):
        f.backward((0,), (leaf(3),))


class Undecided:
    def __bool__(self):
        raise ValueError("neither true nor false")


def test_truth_that_raises_is_raised():
    """A function that returns normally with an error set would cause SystemError, or that error in another call."""
    x = leaf(2)
    for call in (
        lambda: setattr(x.node, "requires_grad", Undecided()),
        lambda: _C.set_mode("train", Undecided()),
        lambda: _C.op("sum")(x, keepdims=Undecided()),
    ):
        with pytest.raises(ValueError, match="neither true nor false"):
            call()
    assert x.node.requires_grad


# ---- beside torch ---------------------------------------------------------------------------------------------------
def test_a_tensor_that_requires_grad_later_is_an_error():
    """Without the error, the Variable's graph would silently end there."""
    t = torch.ones(2)
    x = cg.Variable(t)
    t.requires_grad_()
    with pytest.raises(RuntimeError, match="wrap the tensor again"):
        sin(x)
    weight, t = torch.ones(2, requires_grad=True), torch.ones(2)
    x = cg.Variable(t)
    t.mul_(weight)
    with pytest.raises(RuntimeError, match="wrap the tensor again"):
        x * 2
    (cg.Variable(t) * 2).sum().backward()
    assert weight.grad.tolist() == [2, 2]


@pytest.mark.parametrize("hooks", [(), (("clip_norm", 1.0),)])
def test_torch_detects_updates_of_saved_tensors(hooks):
    """Updates must count up torch's version counters, or torch would differentiate with the new value."""
    weight, a = torch.full((3,), 2.0), torch.ones(3, requires_grad=True)
    v = cg.Variable(weight)
    product = (a * weight).sum()
    v.grad = torch.ones(3)
    assert _C.optim_update("sgd", [v], [()], (0.5,), hooks)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_a_product_of_complex_numbers_has_the_gradient_of_torch():
    z = torch.tensor([1 + 2j, 3 - 1j])
    x, t = cg.Variable(z.clone()), z.clone().requires_grad_()
    interop.call(lambda y: y.real.sum(), mul(x, x)).backward()
    (t * t).real.sum().backward()
    assert x.grad.tolist() == t.grad.tolist()
    x = cg.Variable(z.clone())
    gx = cg.grad([mul(mul(x, x), x)], [x], [cg.Variable(torch.ones_like(z))], enable_double_backprop=True)[0]
    second = cg.grad([gx], [x], [cg.Variable(torch.ones_like(z))])[0]
    t = z.clone().requires_grad_()
    gt = torch.autograd.grad(t * t * t, t, torch.ones_like(z), create_graph=True)[0]
    torch.testing.assert_close(second.tensor, torch.autograd.grad(gt, t, torch.ones_like(z))[0])


def test_a_real_function_of_complex_numbers_is_refused():
    x = cg.Variable(torch.tensor([1 + 2j]))
    with pytest.raises(RuntimeError, match=r"abs is not differentiated by complex inputs.*interop.call"):
        _C.op("abs")(x)
    assert _C.op("abs")(cg.Variable(torch.tensor([3 + 4j]), False)).tensor.tolist() == [5]


class Count(cg.FunctionHook):
    name = "count"

    def __init__(self):
        self.functions = 0

    def backward_preprocess(self, function, in_data, out_grad):
        self.functions += 1


def test_heads_at_each_time_step_share_the_graph_behind_them():
    """Otherwise torch's backward would pass the whole past once for each head: quadratic in the number of steps."""
    steps = 30
    w, h, p = leaf(8), cg.Variable(torch.zeros(8)), torch.ones(8, requires_grad=True)
    loss, same, state, v, q = 0, 0, torch.zeros(8), torch.ones(8, requires_grad=True), torch.ones(8, requires_grad=True)
    functions = 0
    for _ in range(steps):
        h = tanh(h * w + 1)
        loss = loss + (interop.to("torch", h) * p).sum()
        state = torch.tanh(state * v + 1)
        same = same + (state * q).sum()
        functions += 3
    with Count() as count:
        loss.backward()
    same.backward()
    assert count.functions == functions
    torch.testing.assert_close(w.grad, v.grad)
    torch.testing.assert_close(p.grad, q.grad)


def test_heads_are_differentiated_one_by_one():
    """A head that was differentiated, and freed by torch, leaves the shared graph to later heads."""
    x = leaf(3)
    h = x * 2
    first = interop.to("torch", h)
    second = interop.to("torch", tanh(h))
    other = interop.to("torch", h * 3)
    first.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        first.sum().backward()
    second.sum().backward()
    slope = 2 + 2 * (1 - torch.tanh(torch.tensor(2.0)) ** 2)
    torch.testing.assert_close(x.grad, slope.expand(3))
    del h, second
    gc.collect()
    other.sum().backward()
    torch.testing.assert_close(x.grad, (slope + 6).expand(3))


def test_heads_on_several_outputs_and_derivatives_of_order_two():
    x, t = cg.Variable(torch.tensor([0.3, 0.7])), torch.tensor([0.3, 0.7], requires_grad=True)

    def losses(x, leave, tanh, sin):
        a = tanh(x * x)
        b = sin(a)
        c = a * b
        return sum((leave(v) ** 2).sum() for v in (a, b, a, c * x))

    gx = torch.autograd.grad(
        losses(x, lambda v: interop.to("torch", v), tanh, sin),
        interop.to("torch", x),
        create_graph=True,
        allow_unused=True,
    )
    del gx
    loss, same = losses(x, lambda v: interop.to("torch", v), tanh, sin), losses(t, lambda v: v, torch.tanh, torch.sin)
    loss.backward(create_graph=True)
    same.backward(create_graph=True)
    torch.testing.assert_close(x.grad, t.grad.detach())


# ---- hooks ----------------------------------------------------------------------------------------------------------
def test_a_hook_that_has_nothing_to_do_is_not_called():
    calls = []

    class Look(cg.FunctionHook):
        name = "look"

        def forward_postprocess(self, function, in_data):
            calls.append(function.label)

    class Empty(cg.FunctionHook):
        name = "empty"

    x = leaf(3)
    with Empty():
        y = sin(x)
        y.sum().backward()
    with Look(), Empty():
        y = sin(x)
        y.sum().backward()
    assert calls[:2] == [sin(leaf(1)).creator_node.label, leaf(1).sum().creator_node.label] and len(calls) > 2


def test_a_finished_thread_leaves_no_hooks():
    def work():
        _C.function_hooks()

    def run(count):
        for _ in range(count):
            t = threading.Thread(target=work)
            t.start()
            t.join()

    run(20)
    tracemalloc.start()
    run(200)
    before = tracemalloc.get_traced_memory()[0]
    run(200)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 200 * 40


# ---- threads --------------------------------------------------------------------------------------------------------
def test_threads_that_free_one_graph_get_right_numbers_or_an_error():
    """A pass must not read what another thread freed: that would be an internal assertion or a crash."""
    import compatgrad.mxnet as mx
    from compatgrad.mxnet import autograd

    a = mx.nd.ones((300, 300))
    a.attach_grad()
    messages = set()
    for _ in range(60):
        with autograd.record():
            y = a
            for _ in range(6):
                y = mx.nd.sin(y) * a
        barrier = threading.Barrier(3)

        def work(y=y, barrier=barrier):
            barrier.wait()
            try:
                y.backward()
            except Exception as error:
                messages.add(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert all("freed this graph" in m or "computational graph" in m for m in messages), messages


RACE = """
import sys, threading, time
import torch
import compatgrad as cg
torch.set_num_threads(1)
sys.setswitchinterval(1e-6)
w = cg.Variable(torch.ones(200, 200))
stop = False

def replace():
    while not stop:
        w.tensor = torch.full((200, 200), 2.0)

def differentiate():
    end = time.time() + 4
    while time.time() < end:
        x = h = cg.Variable(torch.ones(200, 200))
        for _ in range(20):
            h = h * w
        h.sum().backward()

threads = [threading.Thread(target=replace) for _ in range(2)]
for t in threads:
    t.start()
differentiate()
stop = True
for t in threads:
    t.join()
print("survived")
"""


def test_an_array_may_be_replaced_while_a_pass_runs_without_the_lock():
    """A formula must hold the node's tensor while it runs, or another thread's replacement is a use after free."""
    done = subprocess.run([sys.executable, "-c", RACE], capture_output=True, text=True, timeout=120)
    assert done.stdout == "survived\n", done.stderr[-2000:]


# ---- the build ------------------------------------------------------------------------------------------------------
def test_a_full_disk_leaves_the_old_module_with_its_own_stamp(tmp_path, monkeypatch):
    """A stamp written before the module would make the old module pass for one built for the new torch."""

    def target(torch_version):
        return types.SimpleNamespace(file_name=lambda: "_C.so", stamp=lambda: Stamp(torch_version, "g", None, "cp311"))

    built, folder = tmp_path / "built.so", tmp_path / "lib"
    built.write_text("for 2.12")
    compiler.publish(target("2.12"), built, folder)
    built.write_text("for 2.13")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as m:
        m.setattr(compiler.shutil, "copy2", full)
        with pytest.raises(OSError, match="No space left"):
            compiler.publish(target("2.13"), built, folder)
    assert (folder / "_C.so").read_text() == "for 2.12"
    assert compiler.read_stamp(folder / "_C.so").torch == "2.12"
    assert len(list(folder.iterdir())) == 2
    compiler.publish(target("2.13"), built, folder)
    assert compiler.read_stamp(folder / "_C.so").torch == "2.13" and len(list(folder.iterdir())) == 2
