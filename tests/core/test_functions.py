"""Functions and hooks defined in Python, on tensors; the registry; modes."""

import contextlib
import io
import threading

import pytest
import torch

import compatgrad as cg
from compatgrad import _C
from compatgrad.core import using_debug, using_mode

sin, cos = _C.op("sin"), _C.op("cos")


def var(*values, **kwargs):
    return cg.Variable(torch.tensor(values, dtype=torch.float64), **kwargs)


class Cube(cg.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (inputs[0] ** 3,)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (grad_outputs[0] * x * x * 3,)


def test_function_node_of_any_order():
    x = var(2.0, 3.0)
    (y,) = Cube().apply((x,))
    assert type(y) is cg.Variable and isinstance(y.creator, Cube)
    (g,) = cg.grad([y], [x], enable_double_backprop=True)
    (gg,) = cg.grad([g], [x], enable_double_backprop=True)
    (ggg,) = cg.grad([gg], [x])
    assert g.tensor.tolist() == [12, 27] and gg.tensor.tolist() == [12, 18] and ggg.tensor.tolist() == [6, 6]


def test_mixed_with_native_functions():
    x = var(0.5)
    y = sin(Cube().apply((cos(x),))[0])
    y.backward()
    t = torch.tensor([0.5], dtype=torch.float64, requires_grad=True)
    torch.sin(torch.cos(t) ** 3).backward()
    torch.testing.assert_close(x.grad, t.grad)


def test_bad_inputs_and_outputs():
    class Bad(cg.FunctionNode):
        result = None

        def forward(self, inputs):
            return self.result

    for result in (torch.ones(1), [torch.ones(1)], (1,), (None, "text")):
        f = Bad()
        f.result = result
        with pytest.raises(TypeError, match="Bad"):
            f.apply((var(1.0),))
    with pytest.raises(TypeError, match="Bad"):
        Bad().apply((1,))
    f = Bad()
    with pytest.raises(NotImplementedError):
        cg.FunctionNode().apply((var(1.0),))


def test_none_as_input_and_output():
    class Optional(cg.FunctionNode):
        def forward(self, inputs):
            assert inputs[1] is None
            return None, inputs[0] * 2

        def backward(self, indexes, grad_outputs):
            assert indexes == (0,) and grad_outputs[0] is None
            return (grad_outputs[1] * 2,)

    x = var(1.0)
    none, y = Optional().apply((x, None))
    assert none.tensor is None
    y.backward()
    assert x.grad.tolist() == [2]


class Square(cg.Function):
    def forward(self, inputs):
        return (inputs[0] ** 2,)

    def backward(self, inputs, grad_outputs):
        assert isinstance(inputs[0], torch.Tensor) and isinstance(grad_outputs[0], torch.Tensor)
        return (grad_outputs[0] * 2 * inputs[0],)


def test_function_on_tensors():
    x = var(3.0)
    f = Square()
    y = f(x)
    assert y.creator.function is f and f.node is y.creator
    y.backward()
    assert x.grad.tolist() == [6]


def test_function_is_differentiated_once():
    x = var(3.0)
    y = Square()(x)
    (g,) = cg.grad([y], [x], enable_double_backprop=True)
    with pytest.raises(RuntimeError, match="Square"):
        cg.grad([g], [x])


@pytest.mark.parametrize(
    "gradient, exception",
    [(1, TypeError), (torch.ones(1), TypeError), (torch.ones(2, dtype=torch.float64), ValueError)],
)
def test_function_with_a_bad_gradient(gradient, exception):
    class Bad(cg.Function):
        def forward(self, inputs):
            return (inputs[0] * 2,)

        def backward(self, inputs, grad_outputs):
            return (gradient,)

    with pytest.raises(exception, match="Bad"):
        Bad()(var(1.0)).backward()


# ---- hooks ----


class Seen(cg.FunctionHook):
    name = "Seen"

    def __init__(self):
        self.events = []

    def forward_preprocess(self, function, in_data):
        self.events.append(("forward", function.op_name, in_data))

    def backward_preprocess(self, function, in_data, out_grad):
        self.events.append(("backward", function.op_name, out_grad))


def test_hooks_see_tensors():
    x = var(1.0)
    hook = Seen()
    with hook:
        y = sin(x * 2)
        y.backward()
    y = sin(x)  # the hook is removed at the end of the block
    names = [e[:2] for e in hook.events]
    assert names[:3] == [("forward", "mul_scalar"), ("forward", "sin"), ("backward", "sin")]
    assert ("forward", "cos") in names[3:]  # the operations of a differentiable backward reach hooks too
    assert [name for what, name in names if what == "backward"] == ["sin", "mul_scalar"]
    assert all(isinstance(t, torch.Tensor) for e in hook.events for t in e[2])


def test_local_hooks():
    x = var(1.0)
    y = sin(x)
    hook = Seen()
    y.creator.add_hook(hook)
    z = sin(y)
    z.backward()
    assert len(hook.events) == 1
    with pytest.raises(KeyError):
        y.creator.add_hook(hook)
    with pytest.raises(TypeError):
        y.creator.add_hook(1)
    y.creator.delete_hook("Seen")
    z.backward()
    assert len(hook.events) == 1


def test_a_hook_that_cannot_start_does_not_stay():
    class Broken(cg.FunctionHook):
        def added(self, function):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        with Broken():
            pass
    assert not _C.function_hooks()


# ---- registry ----


@pytest.fixture
def restore_sin():
    yield
    cg.register("sin", None)
    x = var(0.0)
    sin(x).backward()
    assert x.grad.tolist() == [1]


def test_register_replaces_a_backward(restore_sin):
    @cg.register("sin")
    def doubled(node, grad_outputs):
        assert node.op_name == "sin"
        return [grad_outputs[0] * 2]

    for double in (False, True):
        x = var(1.0)
        y = sin(x)
        y.backward(enable_double_backprop=double)
        assert x.grad.tolist() == [2]
    assert _C.registry()["sin"] is doubled
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        cg.show_registry()
    assert "doubled" in out.getvalue() and "cos: built in" in out.getvalue()


def test_register_as_a_function(restore_sin):
    def nothing(node, grad_outputs):
        return [None]

    assert cg.register("sin", nothing) is nothing
    x = var(1.0)
    sin(x).backward()
    assert x.grad is None


def test_registered_backward_with_errors(restore_sin):
    cg.register("sin", lambda node, gys: 1 / 0)
    x = var(1.0)
    y = sin(x)
    with pytest.raises(ZeroDivisionError):
        y.backward()
    cg.register("sin", lambda node, gys: [None, None, None])
    with pytest.raises(ValueError, match="sin"):
        y.backward()
    with pytest.raises(ValueError, match="no such op"):
        cg.register("no such op")
    with pytest.raises(ValueError, match="no such op"):
        cg.register("no such op", lambda node, gys: None)


# ---- modes ----


def test_modes():
    x = var(1.0)
    with cg.no_backprop_mode():
        assert sin(x).creator is None
        with cg.force_backprop_mode():
            assert sin(x).creator is not None
    assert sin(x).creator is not None

    @cg.no_backprop_mode()
    def f(depth):
        assert not _C.get_mode("enable_backprop")
        if depth:
            f(depth - 1)
        assert not _C.get_mode("enable_backprop")
        return sin(x)

    assert f(2).creator is None and _C.get_mode("enable_backprop")
    with pytest.raises(ValueError, match="no mode"):
        with using_mode("no mode", True):
            pass


def test_modes_are_the_thread_s_own():
    seen = []
    with cg.no_backprop_mode():
        t = threading.Thread(target=lambda: seen.append(_C.get_mode("enable_backprop")))
        t.start()
        t.join()
    assert seen == [True]


def test_debug():
    with using_debug():
        with pytest.raises(RuntimeError, match="NaN is detected on forward computation of log"):
            _C.op("log")(var(-1.0))
        y = _C.op("sqrt")(var(0.0))
        y.grad = torch.zeros(1, dtype=torch.float64)
        with pytest.raises(RuntimeError, match="NaN is detected on backward computation of sqrt"):
            y.backward()


# ---- grad and backward ----


def test_arguments_are_named():
    x = var(1.0)
    y = sin(x)
    for call, exception, name in (
        (lambda: cg.grad(1, [x]), TypeError, "outputs"),
        (lambda: cg.grad([y], 1), TypeError, "inputs"),
        (lambda: cg.grad([y, None], [x]), TypeError, "outputs"),
        (lambda: cg.grad([y], [None]), TypeError, "inputs"),
        (lambda: cg.grad([y], [x], 1), TypeError, "grad_outputs"),
        (lambda: cg.grad([y], [x], [1]), TypeError, "grad_outputs"),
        (lambda: cg.grad([y], [x], []), ValueError, "grad_outputs"),
        (lambda: cg.grad([y], [x], None, [None, None]), ValueError, "grad_inputs"),
        (lambda: cg.backward(3), TypeError, "outputs"),
        (lambda: cg.backward([y], [None, None]), ValueError, "grad_outputs"),
    ):
        with pytest.raises(exception, match=name):
            call()


def test_single_variables_and_tensors_are_taken():
    x = var(1.0)
    y = x * 3
    (g,) = cg.grad(y, x, torch.tensor([2.0], dtype=torch.float64))
    assert g.tensor.tolist() == [6] and x.grad is None
    (g,) = cg.grad(y, x, set_grad=True)
    assert x.grad.tolist() == [3] and x.grad_var is g
    cg.backward(y)
    assert x.grad.tolist() == [6]


def test_unreachable():
    x, z = var(1.0), var(2.0)
    gx, gz = cg.grad(sin(x), [x, z])
    assert gx is not None and gz is None


def test_gradient_of_another_shape():
    x = var(1.0)
    y = x * 3
    with pytest.raises(ValueError):
        y.grad = torch.ones(2, dtype=torch.float64)
