"""Signals, finalizers, forks, threads at exit, and unusual uses of arrays and functions.

Each docstring names the fault that the test detects.
"""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch

import compatgrad as cg
import compatgrad.chainer as chainer
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
from compatgrad import _C
from compatgrad.nnabla.function import PythonFunction

F, L = chainer.functions, chainer.links


def differentiated_by_torch():
    t = torch.full((2,), 3.0, requires_grad=True)
    (t * t).sum().backward()
    return t.grad.tolist()


# ---- signals and finalizers -----------------------------------------------------------------------------------------
def test_torch_differentiates_in_a_signal_handler():
    """Fault: a signal handler that runs during a pass inherits its dispatch mode, in which torch records nothing."""
    found, inside = [], []

    def handler(*_):
        inside.append(not chainer.config.enable_backprop)
        found.append(differentiated_by_torch())

    y = chainer.Variable(np.ones(3, "f"))
    for _ in range(3000):
        y = F.sin(y)
    y = F.sum(y)
    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        while not any(inside):
            y.backward()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert all(g == [6, 6] for g in found)


class Finalized(np.ndarray):
    found: list

    def __del__(self):
        if hasattr(self, "found"):
            self.found.append(differentiated_by_torch())


class Cut(chainer.FunctionHook):
    name = "cut"

    def backward_postprocess(self, function, in_data, out_grad):
        function.unchain()


def test_torch_differentiates_in_the_finalizer_of_an_array():
    """The same fault in a finalizer that runs because a pass frees the array."""
    a = np.ones(3, "f").view(Finalized)
    a.found = found = []
    x = chainer.Variable(np.ones(3, "f"))
    y = F.sum(F.exp(x) * a)
    del a
    with Cut():
        y.backward()
    assert found == [[6, 6]]


class Square(PythonFunction):
    """x ** 2, differentiated by torch."""

    def __init__(self):
        super().__init__()
        self.gradients = []

    name = property(lambda self: "Square")

    def min_outputs(self):
        return 1

    def grad_depends_output_data(self, i, o):
        return False

    def grad_depends_input_data(self, i, j):
        return True

    def setup_impl(self, inputs, outputs):
        outputs[0].reset_shape(inputs[0].shape, True)

    def forward_impl(self, inputs, outputs):
        t = torch.tensor(inputs[0].d, requires_grad=True)
        y = t * t
        self.gradients = torch.autograd.grad(y.sum(), t)
        outputs[0].d = y.detach().numpy()

    def backward_impl(self, inputs, outputs, propagate_down, accum):
        t = torch.tensor(inputs[0].d, requires_grad=True)
        (g,) = torch.autograd.grad((t * t).sum(), t)
        inputs[0].g = g.numpy() * outputs[0].g


@pytest.mark.parametrize("auto", [False, True])
def test_torch_differentiates_in_a_python_function_of_nnabla(auto):
    """Fault: torch records nothing in the function ("element 0 of tensors does not require grad")."""
    with nn.auto_forward(auto):
        x = nn.Variable.from_numpy_array(np.array([3.0, 4.0], "f"), need_grad=True)
        y = NF.sum(Square()(x))
        y.forward()
        y.backward()
    assert y.d == 25 and x.g.tolist() == [6, 8]


# ---- processes and threads ------------------------------------------------------------------------------------------
FORK = """
import os, signal
import numpy as np, torch
import compatgrad.chainer as chainer
F = chainer.functions
torch.set_num_threads(2)

def train():
    x = chainer.Variable(np.ones((400, 400), "f"))
    F.sum(F.exp(F.matmul(x, x) / 400)).backward()
    return x.grad.sum()

expected = train()
pid = os.fork()
if not pid:
    signal.alarm(30)
    os._exit(0 if np.isclose(train(), expected) else 1)
print(os.waitpid(pid, 0)[1])
"""


def test_a_forked_process_computes():
    """Fault: the child waits forever for OpenMP's threads, which a fork does not copy."""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", FORK], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout == "0\n", done.stderr[-2000:]


DAEMONS = """
import threading, time
import numpy as np
import compatgrad.chainer as chainer
F = chainer.functions

def work():
    while True:
        x = y = chainer.Variable(np.ones((SIZE, SIZE), "f"))
        for _ in range(20):
            y = F.sin(y)
        F.sum(y).backward()

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
"""


@pytest.mark.parametrize("size", [2, 200])
def test_a_program_ends_while_daemon_threads_compute(size):
    """Fault: CPython unwinds the threads' stacks at exit, and a destructor of torch's on them calls std::terminate."""
    code = DAEMONS.replace("SIZE", str(size))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


# ---- memory that is not a program's to write to ---------------------------------------------------------------------
def read_only(*values):
    a = np.array(values, "f")
    a.flags.writeable = False
    return a


@pytest.mark.parametrize("optimizer", ["SGD", "MomentumSGD", "Adam"])
def test_an_update_does_not_write_to_a_read_only_parameter(optimizer):
    """Fault: the update writes to read-only memory; if that is a mapped file (numpy.memmap), the process crashes."""
    link = L.Linear(2, 1, nobias=True, initialW=np.ones((1, 2), "f"))
    link.W.array = read_only(1, 2).reshape(1, 2)
    rule = getattr(chainer.optimizers, optimizer)().setup(link)
    link.W.grad = np.ones((1, 2), "f")
    with pytest.raises(ValueError, match="read-only"):
        rule.update()
    assert link.W.array.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "hook", [chainer.optimizer_hooks.WeightDecay(0.5), chainer.optimizer_hooks.GradientClipping(0.1)]
)
def test_a_hook_does_not_write_to_a_read_only_gradient(hook):
    link = L.Linear(2, 1, nobias=True, initialW=np.ones((1, 2), "f"))
    rule = chainer.optimizers.SGD().setup(link)
    rule.add_hook(hook)
    link.W.grad = g = read_only(1, 2).reshape(1, 2)
    with pytest.raises(ValueError, match="read-only"):
        rule.update()
    assert g.tolist() == [[1, 2]] and link.W.array.tolist() == [[1, 1]]


def test_batch_normalization_does_not_write_to_read_only_statistics():
    x, one = np.random.default_rng(0).random((5, 2), "f"), np.ones(2, "f")
    mean, var = read_only(0, 0), read_only(1, 1)
    with pytest.raises(ValueError, match="read-only"):
        F.batch_normalization(x, one, one, running_mean=mean, running_var=var)
    assert mean.tolist() == [0, 0] and var.tolist() == [1, 1]


def test_a_broadcast_gradient_is_read_only():
    """Fault: writing to one element changes all, because they share one number in memory."""
    x = chainer.Variable(np.ones(3, "f"))
    F.sum(x).backward()
    with pytest.raises(ValueError, match="read-only"):
        x.grad[0] = 5
    assert x.grad.tolist() == [1, 1, 1]


def test_the_array_of_a_conjugate_view():
    t = torch.tensor([1 + 2j, 3j])
    assert chainer.Variable(t.conj()).array.tolist() == [1 - 2j, -3j]
    assert chainer.Variable(t.conj().imag).array.tolist() == [-2, -3]


# ---- functions ------------------------------------------------------------------------------------------------------
class Twice(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, indexes, gys):
        return (2 * gys[0] * self.get_retained_inputs()[0],)


class OldTwice(chainer.Function):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 2,)

    def backward(self, inputs, gys):
        return (2 * gys[0] * inputs[0],)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("make", [lambda: OldTwice(), lambda: (lambda f: lambda x: f.apply((x,))[0])(Twice())])
def test_two_calls_of_one_function_in_a_graph(make, double):
    """Fault: the gradient through the first call is silently lost. Chainer raises AssertionError."""
    call = make()
    x = chainer.Variable(np.array([1.0, 2.0], "f"))
    y = F.sum(call(x) * call(F.sin(x)))
    with pytest.raises(RuntimeError, match="applied again"):
        y.backward(enable_double_backprop=double)
    with pytest.raises(RuntimeError, match="applied again"):
        chainer.grad([y], [x], enable_double_backprop=double)
    assert x.grad is None
    del y
    for _ in range(3):  # calls in separate graphs are allowed
        x.cleargrad()
        F.sum(call(x)).backward(enable_double_backprop=double)
        assert x.grad.tolist() == [2, 4]


@pytest.mark.parametrize("native", [False, True])
def test_a_function_keeps_its_number_of_inputs(native):
    """Fault: a backward reads beyond the end of the inputs, in memory of freed nodes."""
    a, b = (chainer.Variable(np.array([1.0, 2.0], "f")) for _ in range(2))
    y = a * b if native else Twice().apply((a, b))[0]
    f = y.creator_node
    for inputs in ((a.node,), (), (a.node, b.node, a.node)):
        with pytest.raises(ValueError, match="inputs: expected as many as the function has, 2"):
            f.inputs = inputs
    with pytest.raises(TypeError, match="inputs: expected VariableNodes, got Variable"):
        f.inputs = (a, b)
    f.inputs = (b.node, b.node)
    if native:
        F.sum(y).backward()
        assert a.grad is None and b.grad.tolist() == [2, 4]


def test_omitted_inputs_stay_omitted():
    rng = np.random.default_rng(0)
    x, w = (chainer.Variable(rng.random(shape, "f")) for shape in ((1, 2, 4, 4), (3, 2, 3, 3)))
    y = F.convolution_2d(x, w)
    y.creator_node.inputs = y.creator_node.inputs
    F.sum(y).backward()
    same = F.convolution_2d(x, w)
    expected = chainer.grad([F.sum(same)], [x, w])
    assert all(np.array_equal(v.grad, g.array) for v, g in zip((x, w), expected, strict=True))


class Cuts(list):
    """Indexes that unchain the function while they are read."""

    def __init__(self, function):
        super().__init__([0, 1])
        self.function = function

    def __iter__(self):
        self.function.unchain()
        return super().__iter__()


def test_indexes_that_cut_the_function_off():
    """Fault: the inputs are read after they were freed."""
    a, b = (cg.Variable(torch.ones(2)) for _ in range(2))
    f = (a * b).creator_node
    with pytest.raises(IndexError, match="input 0 was left out"):
        f.backward(Cuts(f), (cg.Variable(torch.ones(2)),))


def test_a_rank_is_not_truncated():
    """Fault: 2 ** 40 is truncated to 0."""
    y = cg.Variable(torch.ones(2)) * 2
    for target in (y.node, y.creator_node):
        with pytest.raises(OverflowError, match="rank: 1099511627776 is too large"):
            target.rank = 2**40
    assert _C.VariableNode.rank.__get__(y.node) == 1


def test_views_of_read_only_memory_are_read_only():
    """Fault: a reshaped read-only array is writable."""
    a = read_only(1, 2)
    y = F.reshape(chainer.Variable(a), (2, 1))
    with pytest.raises(ValueError, match="read-only"):
        y.array[0] = 5
    assert a.tolist() == [1, 2]


# ---- Ctrl-C while a graph is built ----------------------------------------------------------------------------------
def test_an_interrupt_keeps_its_type_in_torch_s_python_kernels():
    """Fault: an interrupt in torch's meta kernels, by which nnabla infers shapes, becomes a RuntimeError."""

    class Interrupted(BaseException):
        pass

    def handler(*_):
        raise Interrupted

    def build():
        y = nn.Variable((2, 3, 8, 8))
        for _ in range(20):
            y = NF.max_pooling(NF.pad(y, (1, 1, 1, 1)), (3, 3), (1, 1))

    build()
    old = signal.signal(signal.SIGALRM, handler)
    try:
        for k in range(100):
            with pytest.raises(Interrupted):  # it may come at any place
                signal.setitimer(signal.ITIMER_REAL, 0.0002 + k * 1e-5)
                while True:
                    build()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
