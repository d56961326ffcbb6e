"""chainer.grad, and old-style functions."""

import weakref

import numpy as np
import pytest

from tests.chainer.subject import ORIGINAL, Log, Scale, chainer, f32, var


def _chain():
    x = var([1, 2])
    h = x * 2
    y = h * 3
    return x, h, y


@pytest.mark.semantics("C19")
@pytest.mark.parametrize("argument", ["outputs", "inputs", "grad_outputs", "grad_inputs"])
@pytest.mark.parametrize("bad", ["variable", 1, "text"])
def test_arguments_must_be_sequences(argument, bad):
    x, _, y = _chain()
    arguments = {"outputs": [y], "inputs": [x], "grad_outputs": [var([1, 1])], "grad_inputs": [None]}
    arguments[argument] = y if bad == "variable" else bad
    with pytest.raises(TypeError, match=argument):
        chainer.grad(**arguments)


@pytest.mark.semantics("C19")
@pytest.mark.parametrize("argument, of", [("grad_outputs", "outputs"), ("grad_inputs", "inputs")])
@pytest.mark.parametrize("count", [0, 2])
def test_lengths_must_agree(argument, of, count):
    x, _, y = _chain()
    with pytest.raises(ValueError) as e:
        chainer.grad([y], [x], **{argument: [None] * count})
    text = str(e.value)
    assert argument in text and f"len({of}) = 1" in text and f"len({argument}) = {count}" in text


@pytest.mark.semantics("C19")
def test_default_gradients_are_ones_whatever_the_shape():
    x, h, y = _chain()
    gx, gh = chainer.grad((y,), (x, h))
    np.testing.assert_array_equal(gx.array, [6, 6])
    np.testing.assert_array_equal(gh.array, [3, 3])
    (gx,) = chainer.grad([y, h], [x], [None, var([10, 10])])
    np.testing.assert_array_equal(gx.array, [26, 26])


@pytest.mark.semantics("C19")
@pytest.mark.skipif(ORIGINAL, reason="fails in some functions of the original")
def test_raw_arrays_as_output_gradients():
    x, _, y = _chain()
    (gx,) = chainer.grad([y], [x], [f32([1, 10])], enable_double_backprop=True)
    np.testing.assert_array_equal(gx.array, [6, 60])


@pytest.mark.semantics("C19")
def test_grad_inputs_are_added():
    x, h, y = _chain()
    gx, gh = chainer.grad([y], [x, h], None, [var([100, 100]), var([1000, 1000])])
    np.testing.assert_array_equal(gh.array, [1003, 1003])
    np.testing.assert_array_equal(gx.array, [2106, 2106])  # includes the gradient of h, passed on through h's creator


@pytest.mark.semantics("C19")
def test_only_functions_between_outputs_and_inputs_are_visited():
    x, z = var([1, 2]), var([3, 4])
    f, g, k = Scale(), Scale(), Scale()
    (a,) = f.apply((x,))
    (b,) = g.apply((z,))
    (c,) = k.apply((b,))
    y = a * c
    (gc,) = chainer.grad([y], [c])
    assert f.calls == g.calls == k.calls == []
    (gb,) = chainer.grad([y], [b])
    assert f.calls == g.calls == [] and len(k.calls) == 1
    np.testing.assert_array_equal(gb.array, 2 * gc.array)


@pytest.mark.semantics("C19")
def test_unreachable_inputs_get_none():
    x, h, y = _chain()
    z = var([5, 6])
    assert chainer.grad([y], [z, x])[0] is None
    assert chainer.grad([h], [y])[0] is None


@pytest.mark.semantics("C19")
def test_an_output_that_is_an_input():
    x, h, y = _chain()
    gy, gh = chainer.grad([y, h], [y, h], [var([1, 1]), var([10, 10])])
    np.testing.assert_array_equal(gy.array, [1, 1])
    np.testing.assert_array_equal(gh.array, [13, 13])


@pytest.mark.semantics("C19")
def test_the_same_input_twice():
    x, _, y = _chain()
    a, b = chainer.grad([y], [x, x])
    np.testing.assert_array_equal(a.array, [6, 6])
    np.testing.assert_array_equal(b.array, [6, 6])


@pytest.mark.semantics("C19")
@pytest.mark.parametrize("set_grad", [False, True])
@pytest.mark.parametrize("retain_grad", [False, True])
def test_what_is_stored(set_grad, retain_grad):
    x, h, y = _chain()
    for v in (x, h, y):
        v.grad = f32([-1, -1])
    (gx,) = chainer.grad([y], [x], set_grad=set_grad, retain_grad=retain_grad, loss_scale=2.0)
    np.testing.assert_array_equal(gx.array, [12, 12])
    np.testing.assert_array_equal(x.grad, [12, 12] if set_grad else [-1, -1])
    np.testing.assert_array_equal(h.grad, [6, 6] if retain_grad else [-1, -1])
    np.testing.assert_array_equal(y.grad, [2, 2] if retain_grad else [-1, -1])
    if set_grad:
        assert x.grad_var is gx


@pytest.mark.semantics("C19")
def test_results_can_be_differentiated():
    x = var([2, 3])
    y = x**3
    (g,) = chainer.grad([y], [x], enable_double_backprop=True)
    (gg,) = chainer.grad([g], [x], enable_double_backprop=True)
    (ggg,) = chainer.grad([gg], [x])
    np.testing.assert_allclose(gg.array, [12, 18], rtol=1e-5)
    np.testing.assert_allclose(ggg.array, [6, 6], rtol=1e-5)
    assert ggg.creator is None and x.grad is None
    (g,) = chainer.grad([y], [x])
    assert g.creator is None


@pytest.mark.semantics("C19")
def test_hooks_run_once_per_function():
    x, h, y = _chain()
    log = Log()
    with log:
        chainer.grad([y], [x])
    assert log.functions("backward_preprocess")[0] is y.creator
    assert [f for f in log.functions("backward_preprocess")] == [y.creator, h.creator]


# ---- old-style functions ----


class Old(chainer.Function):
    """x0 * x1 and x0 + x1 on arrays."""

    def forward(self, inputs):
        x0, x1 = inputs
        self.product = np.asarray(x0 * x1)
        return self.product, np.asarray(x0 + x1)

    def backward(self, inputs, grad_outputs):
        self.got = inputs, grad_outputs
        x0, x1 = inputs
        g0, g1 = (np.zeros_like(x0) if g is None else g for g in grad_outputs)
        return np.asarray(g0 * x1 + g1), np.asarray(g0 * x0 + g1)


@pytest.mark.semantics("C20")
def test_old_style_function():
    x0, x1 = var([1, 2]), var([3, 4])
    f = Old()
    y0, y1 = f(x0, x1)
    assert y0.creator is f and y1.creator is f
    assert isinstance(y0.creator_node, chainer.FunctionAdapter) and y0.creator_node.function is f
    assert f.label == y0.creator_node.label == "Old"
    assert f.rank == 0 and f.inputs == (x0.node, x1.node) and f.outputs[0]() is y0.node
    y0.grad = f32([10, 10])
    y0.backward()
    inputs, grad_outputs = f.got
    assert isinstance(inputs, tuple) and isinstance(grad_outputs, tuple)
    assert all(isinstance(a, np.ndarray) for a in inputs) and grad_outputs[1] is None
    np.testing.assert_array_equal(x0.grad, [30, 40])
    np.testing.assert_array_equal(x1.grad, [10, 20])


@pytest.mark.semantics("C20")
def test_one_output_is_not_a_tuple():
    class One(chainer.Function):
        def forward_cpu(self, inputs):
            return (inputs[0] * np.float32(2),)

        def backward_cpu(self, inputs, grad_outputs):
            return (grad_outputs[0] * np.float32(2),)

    x = var([3.0])
    y = One()(x)
    y.grad = f32([1])
    y.backward()
    assert x.grad == 2


@pytest.mark.semantics("C20")
def test_retaining():
    class Less(chainer.Function):
        def forward(self, inputs):
            self.retain_inputs((1,))
            self.retain_outputs((0,))
            return inputs[0] * 2, inputs[1] * 3

        def backward(self, inputs, grad_outputs):
            self.got = inputs, self.output_data
            return grad_outputs[0] * 2, None

    f = Less()
    x = var([1, 2])
    y, _ = f(x, var([3, 4]))
    y.grad = f32([1, 1])
    y.backward()
    (x0, x1), (y0, y1) = f.got
    assert x0 is None and y1 is None
    np.testing.assert_array_equal(x1, [3, 4])
    np.testing.assert_array_equal(y0, [2, 4])
    with pytest.warns(DeprecationWarning):
        f.retain_outputs((0,), retain_after_backward=True)


@pytest.mark.semantics("C20")
def test_it_cannot_be_differentiated_twice_and_says_so():
    x0, x1 = var(2.0), var(3.0)
    y, _ = Old()(x0, x1)
    y.backward(enable_double_backprop=True)
    with pytest.raises(RuntimeError, match="Old"):
        x0.grad_var.backward()
    with pytest.raises(RuntimeError, match="Old"):
        chainer.grad([x0.grad_var], [x1])
    (g,) = chainer.grad([y], [x0], enable_double_backprop=True)
    with pytest.raises(RuntimeError, match="Old"):
        chainer.grad([g * x0], [x0])


@pytest.mark.semantics("C20")
def test_a_function_lives_as_long_as_the_graph():
    f = Old()
    ref = weakref.ref(f)
    y, _ = f(var(1.0), var(2.0))
    del f, _
    assert ref() is not None and y.creator is ref()
    del y
    assert ref() is None


@pytest.mark.semantics("C20")
def test_an_instance_may_be_called_twice():
    f = Scale_()
    for _ in range(2):  # in separate graphs: the original fails within one
        x = var(3.0)
        f(x).backward()
        assert x.grad == 2


class Scale_(chainer.Function):
    def forward(self, inputs):
        return (np.asarray(inputs[0] * np.float32(2)),)

    def backward(self, inputs, grad_outputs):
        return (np.asarray(grad_outputs[0] * np.float32(2)),)


@pytest.mark.semantics("C20")
def test_hooks_and_unchain():
    f = Scale_()
    log = Log()
    f.add_hook(log)
    x = var(3.0)
    y = f(x)
    y.backward()
    assert [what for what, *_ in log.events] == [
        "forward_preprocess",
        "forward_postprocess",
        "backward_preprocess",
        "backward_postprocess",
    ]
    assert log.events[0][1] is f.node and f.local_function_hooks
    f.delete_hook("Log")
    f.unchain()
    assert y.creator is None
