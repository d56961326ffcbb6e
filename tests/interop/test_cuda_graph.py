"""interop.cuda_graph on a GPU, and on the CPU with a stand-in that records calls."""

from contextlib import contextmanager, nullcontext

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
import compatgrad.nnabla.solvers as S
from compatgrad import _C, interop
from compatgrad.interop import _cuda_graph
from compatgrad.nnabla.ext_utils import get_extension_context

aten = torch.ops.aten
# operations that make the host wait for the GPU, so that CUDA cannot capture them
WAITS = {aten._local_scalar_dense, aten.nonzero, aten.equal, aten.is_nonzero, aten.unique_dim, aten._unique2}


class Calls(TorchDispatchMode):
    """Records operations with their arguments and results."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in WAITS:
            raise RuntimeError(f"{func}: operation not permitted when stream is capturing")
        result = func(*args, **(kwargs or {}))
        self.calls.append((func, args, kwargs or {}, result))
        return result


class StandIn:
    """Captures calls on the CPU, and replays them into the memory of their first results."""

    def __init__(self, device):
        self.mode = Calls()

    @staticmethod
    def refusal(functions):
        return None

    def warm(self):
        return nullcontext()

    @contextmanager
    def capture(self):
        with self.mode:
            yield

    def replay(self):
        for func, args, kwargs, result in self.mode.calls:
            again = func(*args, **kwargs)
            if isinstance(result, (torch.Tensor, tuple, list)):
                flat = [result] if isinstance(result, torch.Tensor) else result
                for old, new in zip(flat, [again] if isinstance(again, torch.Tensor) else again, strict=True):
                    if isinstance(old, torch.Tensor) and old.data_ptr() != new.data_ptr():
                        old.copy_(new)


@pytest.fixture(params=["recorder", pytest.param("cuda", marks=pytest.mark.cuda)])
def context(request, monkeypatch):
    """The context of the network: the CPU with the stand-in, or a GPU."""
    nn.clear_parameters()
    if request.param == "recorder":
        monkeypatch.setattr(_cuda_graph, "Recording", StandIn)
        yield nn.Context()
    else:
        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")
        yield get_extension_context("cudnn")
    nn.clear_parameters()


class Classifier:
    """A network with running means, its data and its solver, with the same numbers in each instance."""

    def __init__(self, context, solver):
        nn.clear_parameters()
        random = np.random.RandomState(3)
        self.batches = [(random.randn(6, 1, 8, 8), random.randint(0, 5, (6, 1))) for _ in range(5)]
        self.x, self.t = nn.Variable((6, 1, 8, 8)), nn.Variable((6, 1))
        with nn.context_scope(context):
            h = PF.convolution(self.x, 4, (3, 3), rng=random, with_bias=False, name="c")
            h = F.relu(PF.batch_normalization(h, batch_stat=True, name="b"))
            h = F.max_pooling(h, (2, 2))
            self.y = PF.affine(h, 5, w_init=random.randn(36, 5) * 0.1, name="a")
            self.loss = F.mean(F.softmax_cross_entropy(self.y, self.t))
        self.solver = solver
        solver.set_parameters(nn.get_parameters())

    def feed(self, k):
        self.x.d, self.t.d = self.batches[k]

    def passes(self):
        self.solver.zero_grad()
        self.loss.forward(clear_no_need_grad=True)
        self.loss.backward(clear_buffer=True)

    def step(self):
        self.passes()
        self.solver.weight_decay(1e-3)
        self.solver.update()

    def seen(self):
        """Copies of all values that a program can read."""
        params = nn.get_parameters(grad_only=False)
        states = self.solver.get_states()
        return {
            "loss": self.loss.d.copy(),
            **{k: v.d.copy() for k, v in params.items()},
            **{f"grad of {k}": v.g.copy() for k, v in params.items() if v.need_grad},
            **{f"{n} of {k}": v.d.copy() for k, s in states.items() for n, v in s.pstate.items()},
            **{f"t of {k}": s.t for k, s in states.items()},
        }


def same(a, b):
    assert a.keys() == b.keys()
    for k in a:
        np.testing.assert_allclose(a[k], b[k], rtol=2e-5, atol=2e-6, err_msg=k)


@pytest.mark.parametrize("make", [S.Sgd, S.Momentum, S.SgdW, S.AMSGRAD, S.RMSprop])
def test_whole_steps(context, make):
    eager = Classifier(context, make())
    expected = []
    for k in range(5):
        eager.feed(k)
        eager.step()
        expected.append(eager.seen())
    model = Classifier(context, make())
    model.feed(0)
    before = model.seen()
    captured = interop.cuda_graph(model.step, model.loss)
    same({k: v for k, v in model.seen().items() if k != "loss"}, {k: v for k, v in before.items() if k != "loss"})
    for k in range(5):
        model.feed(k)
        captured.replay()
        if k % 2:  # reading the values copies arrays to the host and back
            same(model.seen(), expected[k])
    same(model.seen(), expected[4])


def test_adam_is_called_after_each_replay(context):
    eager, expected = Classifier(context, S.Adam(0.01)), []
    for k in range(3):
        eager.feed(k)
        eager.step()
        expected.append(eager.seen())
    model = Classifier(context, S.Adam(0.01))
    with pytest.raises(RuntimeError, match=r"Adam.update\(\) depends on the number of updates.*after each replay"):
        interop.cuda_graph(model.step, model.loss)
    captured = interop.cuda_graph(model.passes, model.loss)
    for k in range(3):
        model.feed(k)
        captured.replay()
        model.solver.weight_decay(1e-3)
        model.solver.update()
        same(model.seen(), expected[k])


def test_a_learning_rate_that_changes_is_an_error(context):
    model = Classifier(context, S.Momentum(0.1))
    captured = interop.cuda_graph(model.step, model.loss)
    captured.replay()
    model.solver.set_learning_rate(0.05)
    with pytest.raises(RuntimeError, match=r"Momentum.update\(\) was captured with other numbers"):
        captured.replay()
    model.solver.set_learning_rate(0.1)
    captured.replay()
    with pytest.raises(RuntimeError, match=r"Lars.update\(\) computes on the host"):
        interop.cuda_graph(Classifier(context, S.Lars()).step, model.loss)


def test_gradients_start_from_zero(context):
    x = nn.Variable.from_numpy_array(np.array([1.0, 2.0], np.float32))
    x.need_grad = True
    with nn.context_scope(context):
        y = F.sum(x**2)

    def step():
        y.forward()
        y.backward()

    captured = interop.cuda_graph(step, y)
    assert x.g.tolist() == [0, 0]
    for values in ([1, 2], [3, 4]):
        x.d = values
        captured.replay()
        assert x.g.tolist() == [2 * v for v in values] and float(y.d) == sum(v * v for v in values)
    x.data = nn.NdArray.from_numpy_array(np.array([5.0, 6.0], np.float32))  # an array in other memory
    captured.replay()
    assert x.g.tolist() == [10, 12] and x.d.tolist() == [5, 6]
    x.data.fill(1)
    captured.replay()
    assert x.g.tolist() == [2, 2]
    x.data.cast(np.float64)
    captured.replay()
    assert x.g.tolist() == [2, 2]
    x.reset_shape((3,), True)
    with pytest.raises(ValueError, match=r"a leaf has shape \(3,\), but was captured with \(2,\)"):
        captured.replay()


def test_errors_name_operations_that_cannot_be_captured(context):
    x = nn.Variable.from_numpy_array(np.ones((2, 3), np.float32))
    with nn.context_scope(context):
        drawn = F.sum(x + F.rand_gamma(shape=(2, 3)))
    value = x.d.copy()
    with pytest.raises(RuntimeError, match="cuda_graph: the step cannot be captured. In or after RandGamma:"):
        interop.cuda_graph(drawn.forward, drawn)
    assert np.array_equal(x.d, value)
    drawn.forward()  # and goes on as before
    with nn.context_scope(context):
        y = F.sum(F.sin(x))
        z = F.exp(y)

    def looks():
        y.forward()
        if y.data.tensor.item() > 0:
            z.forward()

    with pytest.raises(RuntimeError, match="(?s)the step cannot be captured.*A step that waits for the GPU"):
        interop.cuda_graph(looks, z)
    y.forward()


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device")
def test_random_numbers_are_drawn_anew():
    x = nn.Variable.from_numpy_array(np.ones(4000, np.float32))
    x.need_grad = True
    with nn.context_scope(get_extension_context("cudnn")):
        y = F.dropout(x, 0.5)
        z = F.sum(y)

    def step():
        z.forward()
        z.backward()

    y.persistent = True
    captured, masks = interop.cuda_graph(step, z), []
    for _ in range(3):
        captured.replay()
        assert np.array_equal(x.g, y.d) and set(np.unique(y.d)) == {0, 2} and abs(y.d.mean() - 1) < 0.1
        masks.append(y.d.copy())
    assert not np.array_equal(masks[0], masks[1]) and not np.array_equal(masks[1], masks[2])


def test_random_numbers_of_the_host_are_refused_while_capturing():
    y = F.dropout(nn.Variable((2, 3)), 0.5)
    assert _C.set_capturing(True) is False
    try:
        with pytest.raises(RuntimeError, match="dropout_drawn: its random numbers come from a generator on the host"):
            y.forward()
    finally:
        assert _C.set_capturing(False) is True
    y.forward()


def test_arguments(context):
    x = nn.Variable((2,))
    with nn.context_scope(context):
        y = F.sin(x)
    with pytest.raises(TypeError, match="output 1: expected an nnabla Variable, got ndarray"):
        interop.cuda_graph(y.forward, y, np.ones(2))
    with pytest.raises(ValueError, match="output 0 has no parent"):
        interop.cuda_graph(y.forward, x)
    with pytest.raises(ValueError, match="at least one Variable after the step"):
        interop.cuda_graph(y.forward)
    with nn.auto_forward(), pytest.raises(RuntimeError, match="auto_forward"):
        interop.cuda_graph(y.forward, y)
    part = nn.NdArray((4,)).narrow(0, 0, 2)
    x.data = part
    with pytest.raises(RuntimeError, match="part of another array"):
        interop.cuda_graph(y.forward, y)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_is_said():
    y = F.sin(nn.Variable((2,)))
    with pytest.raises(RuntimeError, match="^cuda_graph: there is no CUDA device$"):
        interop.cuda_graph(y.forward, y)


def test_functions_elsewhere_are_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    refusal = _cuda_graph.Recording.refusal
    cpu, a, b = torch.device("cpu"), torch.device("cuda:0"), torch.device("cuda:1")
    assert refusal({a: "Sin"}) is None
    assert refusal({a: "Sin", cpu: "Cos"}) == "Cos runs on the CPU; make the network in a context of cuda or cudnn"
    text = "Sin runs on cuda:0 and Cos on cuda:1; a CUDA graph can capture one device only"
    assert refusal({a: "Sin", b: "Cos"}) == text
