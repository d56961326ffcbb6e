"""Function hooks, debug checks, and gradients of a wrong type, dtype or shape."""

import numpy as np
import pytest

from tests.chainer.subject import Log, Scale, chainer, f32, var


class Retain(chainer.FunctionNode):
    """x0 * x1, retaining one input only."""

    def forward(self, inputs):
        self.retain_inputs((1,))
        return (inputs[0] * inputs[1],)

    def backward(self, indexes, grad_outputs):
        (x1,) = self.get_retained_inputs()
        return grad_outputs[0] * x1, None


@pytest.mark.semantics("C13")
def test_what_a_global_hook_sees():
    x0, x1 = var([1, 2]), var([3, 4])
    gy = f32([10, 20])
    log = Log()
    f = Retain()
    with log:
        (y,) = f.apply((x0, x1))
        y.grad = gy
        y.backward()
    # the original also calls hooks for the operations inside a backward
    events = [event for event in log.events if event[1] is f]
    (pre, post, bpre, bpost) = events
    for event, name in ((pre, "forward_preprocess"), (post, "forward_postprocess")):
        assert event[0] == name and event[1] is f and isinstance(event[2], tuple)
        assert event[2][0] is x0.array and event[2][1] is x1.array
    for event, name in ((bpre, "backward_preprocess"), (bpost, "backward_postprocess")):
        assert event[0] == name and event[1] is f
        assert isinstance(event[2], tuple) and isinstance(event[3], tuple)
        assert event[2][0] is None  # not retained
        np.testing.assert_array_equal(event[2][1], [3, 4])
        np.testing.assert_array_equal(event[3][0], gy)


@pytest.mark.semantics("C13")
def test_built_in_functions_show_themselves():
    x = var([1, 2])
    log = Log()
    with log:
        y = chainer.functions.exp(x * 3)
        y.grad = f32([1, 1])
        y.backward()
    own = (y.creator, y.creator.inputs[0].creator)
    events = [event for event in log.events if event[1] in own]
    labels = [(what, f.label) for what, f, _, _ in events]
    assert labels == [
        ("forward_preprocess", "_ * 3"),
        ("forward_postprocess", "_ * 3"),
        ("forward_preprocess", "exp"),
        ("forward_postprocess", "exp"),
        ("backward_preprocess", "exp"),
        ("backward_postprocess", "exp"),
        ("backward_preprocess", "_ * 3"),
        ("backward_postprocess", "_ * 3"),
    ]
    np.testing.assert_array_equal(events[0][2][0], x.array)
    np.testing.assert_allclose(events[6][3][0], np.exp([3, 6]), rtol=1e-5)


@pytest.mark.semantics("C13")
def test_hooks_run_in_order_global_before_local():
    calls = []

    def hook(tag):
        class Hook(chainer.FunctionHook):
            name = tag

            def backward_preprocess(self, function, in_data, out_grad):
                calls.append((tag, function))

            def forward_preprocess(self, function, in_data):
                if function in (f, g):
                    calls.append((tag, function))

        return Hook()

    x = var([1, 2])
    f, g = Scale(), Scale()
    f.add_hook(hook("local"))
    with hook("first"), hook("second"):
        (y,) = f.apply(g.apply((x,)))
        assert calls == [("first", g), ("second", g), ("first", f), ("second", f), ("local", f)]
        del calls[:]
        y.grad = f32([1, 1])
        y.backward()
    assert calls == [("first", f), ("second", f), ("local", f), ("first", g), ("second", g)]
    del calls[:]
    f.delete_hook("local")
    y.grad = f32([1, 1])
    y.backward()
    assert calls == []


@pytest.mark.semantics("C13")
def test_local_hook_on_a_built_in_function():
    x = var([1, 2])
    y = x * x
    log = Log()
    y.creator_node.add_hook(log)
    y.grad = f32([1, 1])
    y.backward()
    chainer.grad([y], [x], [var([1, 1])])
    assert [what for what, *_ in log.events] == ["backward_preprocess", "backward_postprocess"] * 2
    y.creator_node.delete_hook("Log")
    y.grad = f32([1, 1])
    y.backward()
    assert len(log.events) == 4


@pytest.mark.semantics("C13")
def test_registration_errors():
    f = Scale()
    with pytest.raises(TypeError):
        f.add_hook(object())
    f.add_hook(Log())
    with pytest.raises(KeyError):
        f.add_hook(Log())
    f.add_hook(Log(), name="other")
    with pytest.raises(KeyError):
        f.delete_hook("none")
    with Log():
        with pytest.raises(KeyError):
            with Log():
                pass
    assert not chainer.get_function_hooks()


@pytest.mark.semantics("C13")
def test_hooks_are_notified_when_added_and_deleted():
    class Hook(chainer.FunctionHook):
        def __init__(self):
            self.told = []

        def added(self, function):
            self.told.append(("added", function))

        def deleted(self, function):
            self.told.append(("deleted", function))

    hook, f = Hook(), Scale()
    with hook:
        pass
    f.add_hook(hook)
    f.delete_hook(hook.name)
    assert hook.told == [("added", None), ("deleted", None), ("added", f), ("deleted", f)]


class Returns(chainer.FunctionNode):
    def __init__(self, gradient, outputs=None):
        super().__init__()
        self.gradient = gradient
        self.outputs_ = outputs

    def forward(self, inputs):
        return self.outputs_ or (inputs[0] * 1,)

    def backward(self, indexes, grad_outputs):
        return (self.gradient,)


def _backward_of(function, debug, **kwargs):
    x = var([1, 2])
    (y,) = function.apply((x,))
    y.grad = np.ones(y.shape, y.dtype)
    with chainer.using_config("debug", debug):
        y.backward(**kwargs)
    return x


@pytest.mark.semantics("C14")
@pytest.mark.parametrize("double", [False, True])
def test_nan_in_a_gradient(double):
    bad = var([np.nan, 1])
    with pytest.raises(RuntimeError, match="NaN is detected on backward computation of Returns"):
        _backward_of(Returns(bad), True, enable_double_backprop=double)
    assert np.isnan(_backward_of(Returns(bad), False).grad[0])


@pytest.mark.semantics("C14")
def test_nan_in_a_gradient_of_a_built_in_function():
    x = var([1.0, 0.0])
    y = chainer.functions.sqrt(x)
    y.grad = f32([1, 0])
    with chainer.using_config("debug", True):
        with pytest.raises(RuntimeError, match="NaN is detected on"):  # original: forward computation of _ / _
            y.backward()


@pytest.mark.semantics("C14")
def test_nan_in_a_gradient_of_grad():
    x = var([1, 2])
    (y,) = Returns(var([np.nan, 1])).apply((x,))
    with chainer.using_config("debug", True):
        with pytest.raises(RuntimeError, match="NaN is detected on backward computation of Returns"):
            chainer.grad([y], [x], [var([1, 1])])


@pytest.mark.semantics("C14")
def test_nan_in_a_forward():
    x = var([1, 2])
    with chainer.using_config("debug", True):
        with pytest.raises(RuntimeError, match="NaN is detected on forward computation of Returns"):
            Returns(None, (f32([np.nan, 1]),)).apply((x,))
        with pytest.raises(RuntimeError, match="NaN is detected on forward computation of log"):
            chainer.functions.log(var([-1.0, 1]))


@pytest.mark.semantics("C14")
@pytest.mark.parametrize(
    "gradient, text",
    [
        (f32([1, 2]), "type of gradients returned from backward is incorrect"),
        (var([1, 2, 3]), "shape of gradients returned from backward is incorrect"),
    ],
)
def test_debug_checks_of_what_backward_returns(gradient, text):
    with pytest.raises(ValueError, match=text):
        _backward_of(Returns(gradient), True)


@pytest.mark.semantics("C15")
@pytest.mark.parametrize(
    "gradient, exception, words",
    [
        (chainer.Variable(np.ones(2, np.float64)), TypeError, ("float64", "float32")),
        (chainer.Variable(np.ones(2, np.int32)), TypeError, ("int32", "float32")),
        (chainer.Variable(np.ones(3, np.float32)), ValueError, ("(3,)", "(2,)")),
        (chainer.Variable(np.ones((), np.float32)), ValueError, ("()", "(2,)")),
        (chainer.Variable(np.ones((1, 2), np.float32)), ValueError, ("(1, 2)", "(2,)")),
    ],
)
@pytest.mark.parametrize("double", [False, True])
def test_gradient_that_does_not_fit(gradient, exception, words, double):
    with pytest.raises(exception) as e:
        _backward_of(Returns(gradient), False, enable_double_backprop=double)
    for word in ("Returns", *words):
        assert word in str(e.value)


@pytest.mark.semantics("C15")
def test_setting_a_gradient_that_does_not_fit():
    x = var([1, 2])
    for g, exception in (
        (np.float32(1), TypeError),
        ([1, 2], TypeError),
        (np.ones(2, np.float64), TypeError),
        (f32([1, 2, 3]), ValueError),
    ):
        with pytest.raises(exception):
            x.grad = g
    with pytest.raises(TypeError):
        x.grad_var = chainer.Variable(np.ones(2, np.float64))
    with pytest.raises(ValueError):
        x.grad_var = var([1, 2, 3])
    assert x.grad is None


@pytest.mark.semantics("C15")
def test_an_old_style_function_is_named():
    class Bad(chainer.Function):
        def forward(self, inputs):
            return (inputs[0] * 1,)

        def backward(self, inputs, grad_outputs):
            return (self.gradient,)

    cases = ((1, TypeError), (np.ones(2, np.int32), TypeError), (f32([1]), ValueError))
    for gradient, exception in cases:
        bad = Bad()
        bad.gradient = gradient
        y = bad(var([1, 2]))
        y.grad = f32([1, 1])
        with pytest.raises(exception, match="Bad"):
            y.backward()
