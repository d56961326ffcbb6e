"""Inputs that require no gradient, released outputs, and retained arrays."""

import gc
import weakref

import numpy as np
import pytest

from tests.chainer.subject import Log, Scale, chainer, f32, var


@pytest.mark.semantics("C16")
def test_inputs_that_need_no_gradient_are_skipped():
    x, y, z = var([1, 2]), var([3, 4], requires_grad=False), var([5, 6])
    f = Scale()
    outputs = f.apply((x, y, z))
    chainer.backward(outputs, [var([1, 1])] * 3)
    assert f.calls[0][0] == (0, 2)
    assert y.grad is None
    np.testing.assert_array_equal(x.grad, [2, 2])


@pytest.mark.semantics("C16")
def test_a_graph_without_any_gradient_is_not_visited():
    x = var([1, 2], requires_grad=False)
    f = Scale()
    (y,) = f.apply((x,))
    z = y * 2
    assert not y.requires_grad and not z.requires_grad
    log = Log()
    with log:
        z.grad = f32([1, 1])
        z.backward()
    assert f.calls == [] and log.events == [] and x.grad is None


@pytest.mark.semantics("C16")
def test_raw_arrays_need_no_gradient():
    x = var([1, 2])
    f = Scale()
    a, b = f.apply((x, f32([3, 4])))
    assert a.requires_grad and b.requires_grad
    chainer.backward([a, b], [var([1, 1])] * 2)
    assert f.calls[0][0] == (0,)
    assert not chainer.as_variable(f32([1])).requires_grad


@pytest.mark.semantics("C16")
@pytest.mark.parametrize("double", [False, True])
def test_built_in_functions_skip_too(double):
    x, c = var([1, 2]), var([3, 4], requires_grad=False)
    y = x * c + c
    y.grad = f32([1, 1])
    y.backward(enable_double_backprop=double)
    assert c.grad is None
    np.testing.assert_array_equal(x.grad, [3, 4])


class Several(chainer.FunctionNode):
    def __init__(self, retain=()):
        super().__init__()
        self.retain = retain

    def forward(self, inputs):
        self.retain_outputs(self.retain)
        (x,) = inputs
        return x * np.float32(1), x * np.float32(2), x * np.float32(3)

    def backward(self, indexes, grad_outputs):
        self.got = grad_outputs
        self.retained = self.get_retained_outputs()
        gs = [g * (j + 1) for j, g in enumerate(grad_outputs) if g is not None]
        return (sum(gs[1:], gs[0]),)


@pytest.mark.semantics("C17")
def test_a_released_output_has_no_gradient():
    x = var([1, 2])
    f = Several()
    a, b, c = f.apply((x,))
    refs = f.outputs
    assert [r() is v.node for r, v in zip(refs, (a, b, c))] == [True] * 3  # noqa: B905
    del b
    assert refs[1]() is None
    chainer.backward([a, c], [var([1, 1]), var([1, 1])])
    assert f.got[1] is None and f.got[0] is not None
    np.testing.assert_array_equal(x.grad, [4, 4])


@pytest.mark.semantics("C17")
def test_an_output_kept_by_a_later_function_is_not_released():
    x = var([1, 2])
    f = Several()
    a, b, _ = f.apply((x,))
    d = b * 5
    del b
    chainer.backward([d], [var([1, 1])])
    assert f.got[1] is not None and f.got[0] is None
    np.testing.assert_array_equal(x.grad, [10, 10])


@pytest.mark.semantics("C17")
def test_data_of_a_released_output():
    for retain, alive in (((), False), ((1,), True)):
        x = var([1, 2])
        f = Several(retain)
        a, b, c = f.apply((x,))
        array = weakref.ref(b.array)
        del b
        assert (array() is not None) is alive
        chainer.backward([a], [var([1, 1])])
        if alive:
            (b,) = f.retained
            np.testing.assert_array_equal(b.array, [2, 4])
            assert b.creator_node is f
        else:
            assert f.retained == ()


@pytest.mark.semantics("C17")
def test_a_revived_output_is_part_of_the_graph():
    x = var([1, 2])

    class Exp2(chainer.FunctionNode):
        def forward(self, inputs):
            self.retain_outputs((0,))
            return np.exp(inputs[0]), inputs[0] * 1

        def backward(self, indexes, grad_outputs):
            (y,) = self.get_retained_outputs()
            return (sum(g * y for g in grad_outputs if g is not None),)

    y, z = Exp2().apply((x,))
    del y
    (gx,) = chainer.grad([z], [x], [var([1, 1])], enable_double_backprop=True)
    (ggx,) = chainer.grad([gx], [x], [var([1, 1])])
    np.testing.assert_allclose(ggx.array, np.exp([1, 2]), rtol=1e-5)


class Retain(chainer.FunctionNode):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.indexes = inputs, outputs

    def forward(self, inputs):
        if self.indexes[0] is not None:
            self.retain_inputs(self.indexes[0])
        if self.indexes[1] is not None:
            self.retain_outputs(self.indexes[1])
        return tuple(x + 1 for x in inputs)

    def backward(self, indexes, grad_outputs):
        self.retained = self.get_retained_inputs(), self.get_retained_outputs()
        return grad_outputs


@pytest.mark.semantics("C18")
@pytest.mark.parametrize("inputs", [None, (), (1,), [0, 1], (1, 0)])
@pytest.mark.parametrize("outputs", [None, (), (1,), [0, 1], (1, 0)])
def test_what_is_retained_is_what_comes_back(inputs, outputs):
    xs = [var([1, 2]), var([3, 4])]
    nodes = [x.node for x in xs]
    arrays = [x.array for x in xs]
    f = Retain(inputs, outputs)
    ys = f.apply(xs)
    y_nodes = [y.node for y in ys]
    y_arrays = [y.array for y in ys]
    del xs
    chainer.backward(ys, [var([1, 1])] * 2)
    got_in, got_out = f.retained
    assert [v.node for v in got_in] == [nodes[i] for i in inputs or ()]
    assert [v.node for v in got_out] == [y_nodes[i] for i in outputs or ()]
    for i, node in enumerate(nodes):
        assert (node.data is not None) is (i in (inputs or ()))
        if node.data is not None:
            np.testing.assert_array_equal(node.data, arrays[i])
    for i, node in enumerate(y_nodes):
        assert (node.data is not None) is (i in (outputs or ()))
    if outputs is not None:
        data = f.output_data
        for i, array in enumerate(y_arrays):
            if i in outputs:
                np.testing.assert_array_equal(data[i], array)
            else:
                assert data[i] is None


@pytest.mark.semantics("C18")
def test_what_is_not_retained_is_freed():
    for indexes, alive in (((), False), ((0,), True)):
        array = f32([1, 2])
        ref = weakref.ref(array)
        (y,) = Retain(indexes, ()).apply((chainer.Variable(array),))
        del array
        gc.collect()
        assert (ref() is not None) is alive
        del y
    gc.collect()
    assert ref() is None


@pytest.mark.semantics("C18")
def test_built_in_functions_free_what_they_do_not_read():
    array = f32([1, 2])
    ref = weakref.ref(array)
    y = chainer.Variable(array) + 1
    del array
    assert ref() is None
    array = f32([1, 2])
    ref = weakref.ref(array)
    node = chainer.Variable(array).node
    y = chainer.functions.exp(chainer.Variable(array))
    del array
    assert ref() is None and node.data is None and y.creator is not None


@pytest.mark.semantics("C18")
def test_retain_data_of_a_variable():
    x = var([1, 2])
    node = x.node
    assert node.data is None
    x.retain_data()
    assert node.data is x.array
    array = x.array
    del x
    np.testing.assert_array_equal(node.data, array)
    v = node.get_variable()
    assert v.node is node
    other = var([1]).node
    with pytest.raises(RuntimeError, match="released"):
        other.retain_data()


@pytest.mark.semantics("C18")
def test_unchain_a_variable():
    x = var([1, 2])
    h = x * 2
    rank = h.rank
    y = h * 3
    h.unchain()
    assert h.creator is None and h.rank == rank
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(h.grad, [3, 3])
    assert x.grad is None


@pytest.mark.semantics("C18")
def test_unchain_a_function():
    x = var([1, 2])
    python = Several()
    y = x * 2
    for f, ys in ((python, python.apply((x,))), (y.creator_node, [y])):
        refs = f.outputs
        f.unchain()
        assert f.inputs is None
        for r, y in zip(refs, ys):  # noqa: B905
            assert r() is y.node and y.creator is None


@pytest.mark.semantics("C18")
def test_unchain_backward():
    x = var([1, 2])
    a = x * 2
    b = Scale(3).apply((a,))[0]
    c = b + a
    d = c * 4
    c.unchain_backward()
    assert [v.creator for v in (a, b, c)] == [None] * 3
    assert d.creator is not None
    d.grad = f32([1, 1])
    d.backward()
    np.testing.assert_array_equal(c.grad, [4, 4])
    assert x.grad is None and a.grad is None
    x.unchain_backward()  # has no effect


@pytest.mark.semantics("C18")
def test_unchain_backward_frees_the_past():
    x = var([1, 2])
    ref = weakref.ref(x.array)  # the first y * y retains this array
    y = x
    for _ in range(20):
        y = y * y
    del x
    assert ref() is not None
    y.unchain_backward()
    assert ref() is None


@pytest.mark.semantics("C18")
def test_forget():
    calls = []

    def f(x, y):
        calls.append(chainer.config.enable_backprop)
        return x * x * y, x + y

    x, y = var([2, 3]), var([4, 5])
    a, b = chainer.functions.forget(f, x, y)
    assert calls == [False]
    assert a.creator.inputs[0].creator is None  # the inner graph is not kept
    chainer.backward([a, b], [var([1, 1]), var([1, 1])])
    assert calls == [False, True]  # backward called f again
    np.testing.assert_array_equal(x.grad, [17, 31])
    np.testing.assert_array_equal(y.grad, [5, 10])
