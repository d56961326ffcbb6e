"""Forward and backward: executed functions, their order, freed arrays; PythonFunction and callbacks."""

import gc
import weakref

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.function as function_types
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.function import PythonFunction
from compatgrad.nnabla.variable import CommunicatorBackwardCallback
from tests.nnabla.test_grad import Cube, leaf


@pytest.fixture(autouse=True)
def clean():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


@pytest.mark.semantics("N13")
def test_nothing_runs_before_forward():
    ran = []
    x = leaf(2, 3)
    y = F.sum(F.exp(x), axis=1)
    assert y.shape == (2,) and not y.d.any()
    y.forward(function_pre_hook=lambda f: ran.append(f.name), function_post_hook=lambda f: ran.append(f.name + "."))
    assert ran == ["Exp", "Exp.", "Sum", "Sum."]
    np.testing.assert_allclose(y.d, np.exp(x.d).sum(1), rtol=1e-6)
    x.d = np.zeros((2, 3))
    y.forward()
    np.testing.assert_array_equal(y.d, [3, 3])
    with nn.auto_forward():
        np.testing.assert_array_equal(F.exp(x).d, np.ones((2, 3)))
    with pytest.raises(RuntimeError, match="The variable has no parent"):
        x.forward()
    with pytest.raises(RuntimeError, match="The variable has no parent"):
        x.backward()


@pytest.mark.semantics("N13")
def test_what_is_freed_and_kept():
    x = leaf(3)
    a = F.exp(x)  # backward of exp reads the output
    b = a + 1  # no backward reads it
    c = F.sin(b)
    y = F.sum(c)
    y.forward(clear_no_need_grad=True)
    assert [v.data.clear_called for v in (x, a, b, c, y)] == [False, False, False, True, False]
    b.persistent = c.persistent = True
    y.forward(clear_buffer=True)
    assert [v.data.clear_called for v in (x, a, b, c, y)] == [False, True, False, False, False]
    x.grad.zero()
    y.backward(clear_buffer=True)  # recomputes a
    np.testing.assert_allclose(x.g, np.cos(np.exp(x.d) + 1) * np.exp(x.d), rtol=1e-5)


@pytest.mark.semantics("N13")
def test_forward_all_shares_work():
    ran = []
    x = leaf(3)
    h = F.exp(x)
    y, z = F.sum(h), F.mean(h)
    nn.forward_all([y, z], clear_buffer=True, function_pre_hook=lambda f: ran.append(f.name))
    assert ran == ["Exp", "Sum", "Mean"]
    assert not (y.persistent or z.persistent)
    np.testing.assert_allclose(y.d, 3 * z.d, rtol=1e-6)


@pytest.mark.semantics("N11")
@pytest.mark.semantics("N12")
def test_backward_order_and_accumulation():
    x = leaf(3)
    a, b = F.sin(x), F.cos(x)
    y = F.sum(F.exp(a) * b)
    order = []
    x.grad.zero()
    y.forward()
    y.backward(function_pre_hook=lambda f: order.append(f.name))
    assert order == ["Sum", "Mul2", "Exp", "Cos", "Sin"]
    once = x.g.copy()
    y.backward()
    np.testing.assert_allclose(x.g, 2 * once, rtol=1e-6)  # leaves accumulate
    np.testing.assert_allclose(a.g, b.d * np.exp(a.d), rtol=1e-6)  # intermediates are replaced
    x.g = 0
    y.backward(grad=2)
    np.testing.assert_allclose(x.g, 2 * once, rtol=1e-6)
    with pytest.raises(RuntimeError, match=r"grad of shape \(2,\) does not fit"):
        y.backward(grad=np.ones(2))


def test_an_exception_leaves_the_graph_usable():
    x = leaf(3)
    y = F.sum(F.exp(x))
    with pytest.raises(ZeroDivisionError):
        y.forward(function_pre_hook=lambda f: 1 // 0)
    y.forward()
    x.grad.zero()
    with pytest.raises(ZeroDivisionError):
        y.backward(function_post_hook=lambda f: 1 // 0)
    x.grad.zero()
    y.backward()
    np.testing.assert_allclose(x.g, np.exp(x.d), rtol=1e-6)
    with pytest.raises(RuntimeError, match="affine: x of shape"):
        F.affine(leaf(2, 3), leaf(4, 5))
    with pytest.raises(TypeError, match="relu: x: expected a Variable or an NdArray, got list"):
        F.relu([1, 2])


@pytest.mark.semantics("N15")
def test_communicator_callbacks():
    class Callback(CommunicatorBackwardCallback):
        def __init__(self):
            self.seen = []

        def on_finish_function_backward(self, f):
            self.seen.append((f.name, bool(x.g.any())))

        def on_finish_backward(self):
            self.seen.append("end")

    x = leaf(3)
    y = F.sum(F.sin(x))
    one, two = Callback(), Callback()
    x.grad.zero()
    y.forward()
    y.backward(communicator_callbacks=one)
    assert one.seen == [("Sum", False), ("Sin", True), "end"]
    y.backward(communicator_callbacks=[one, two])
    assert two.seen == [("Sum", True), ("Sin", True), "end"]


@pytest.mark.semantics("N14")
@pytest.mark.parametrize("auto", [False, True])
def test_python_function(auto):
    x = leaf(2, 2)
    with nn.auto_forward(auto):
        h = F.sin(x)
        y = F.sum(Cube()(h) + Cube()(h))
    if not auto:
        y.forward()
    x.grad.zero()
    y.backward()
    np.testing.assert_allclose(x.g, 6 * np.sin(x.d) ** 2 * np.cos(x.d), rtol=1e-5)
    f = Cube()(x).parent
    assert (f.name, f.info.type_name, f.info.args) == ("Callback", "Cube", {"power": 3})
    at_once = Cube()(nn.NdArray.from_numpy_array(np.full(2, 2, "f")))
    assert isinstance(at_once, nn.NdArray)
    np.testing.assert_array_equal(at_once.data, [8, 8])


@pytest.mark.semantics("N14")
def test_accumulation_flags_of_a_python_function():
    flags = []

    class Twice(Cube):
        def forward_impl(self, inputs, outputs):
            outputs[0].d = inputs[0].d + inputs[1].d

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            flags.append((list(propagate_down), list(accum)))
            for i in range(2):
                if propagate_down[i]:
                    inputs[i].g = inputs[i].g + outputs[0].g if accum[i] else outputs[0].g

    x, c = leaf(2), leaf(2, need_grad=False)
    y = Twice()(x, c)
    y.forward()
    y.backward()  # the first backward also adds to the gradients of leaves
    x.grad.zero()
    y.backward()
    y.backward()
    assert flags == [([True, False], [True, False]), ([True, False], [False, False]), ([True, False], [True, False])]
    np.testing.assert_array_equal(x.g, [2, 2])
    flags.clear()
    h = x * 1
    z = Twice()(h, h)
    z.forward()
    z.backward()
    assert flags == [([True, True], [False, True])]
    np.testing.assert_array_equal(h.g, [2, 2])


@pytest.mark.semantics("N14")
def test_errors_of_python_functions():
    class Broken(Cube):
        def forward_impl(self, inputs, outputs):
            raise KeyError("inside")

    y = Broken()(leaf(2))
    with pytest.raises(SystemError, match="Broken.forward_impl failed") as caught:
        y.forward()
    assert isinstance(caught.value.__cause__, KeyError)

    class Replacing(Broken):
        def forward_impl(self, inputs, outputs):
            outputs[0].data = inputs[0].data  # would leave the output as it was

    with pytest.raises(SystemError, match=r"data cannot be replaced; write the numbers into it, as by `\.d = "):
        Replacing()(leaf(2)).forward()

    class Incomplete(PythonFunction):
        name = "Incomplete"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            outputs[0].d = 2 * inputs[0].d

    with pytest.raises(SystemError, match="grad_depends"):
        Incomplete()(leaf(2))
    x = leaf(2)
    x.need_grad = False  # the function is not asked which data its gradient depends on
    y = F.sum(Incomplete()(x) * leaf(2))
    y.forward(clear_no_need_grad=True)
    y.backward(clear_buffer=True)


def test_only_inputs_that_need_gradients_are_asked_about():
    asked = []

    class Twice(PythonFunction):
        name = "Twice"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            outputs[0].d = inputs[0].d * inputs[1].d

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            assert not any(accum)
            for i in (0, 1):
                if propagate_down[i]:
                    inputs[i].g = outputs[0].g * inputs[1 - i].d

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            asked.append((i, j))
            return i != j

    a, b = leaf(2), leaf(2)
    a.need_grad = False
    x = a * 1
    y = F.sum(Twice()(x, b * 1))
    assert set(asked) == {(1, 0), (1, 1)}
    a.need_grad = x.need_grad = True  # data that no question was asked about must still be available
    y.forward(clear_no_need_grad=True)
    a.grad.zero()
    y.backward(clear_buffer=True)
    np.testing.assert_allclose(a.g, b.d)


@pytest.mark.parametrize("defined", [True, False], ids=["said", "not-said"])
def test_a_python_function_that_needs_no_gradient_frees_what_no_gradient_would_read(defined):
    class Pair(PythonFunction):
        name = "Pair"

        def min_outputs(self):
            return 2

        def setup_impl(self, inputs, outputs):
            for y in outputs:
                y.reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            for y in outputs:
                y.d = inputs[0].d

        if defined:

            def grad_depends_output_data(self, i, o):
                return o == 0

            def grad_depends_input_data(self, i, j):
                return False

    x = leaf(2)
    x.need_grad = False

    def local():
        first, second = Pair()(x)
        return first + second, first.data, second.data

    with nn.auto_forward():
        y, first, second = local()
    np.testing.assert_allclose(y.d, 2 * x.d)
    assert not first.clear_called
    assert second.clear_called == defined


def test_recomputation_gives_the_same_gradients():
    x = leaf(4, 4)
    with nn.recompute():
        h = F.dropout(F.relu(x * 2), 0.5)
        h = F.sin(h)
    y = F.sum(h * h)
    y.forward(clear_no_need_grad=True)
    kept = y.d.copy()
    x.grad.zero()
    y.backward(clear_buffer=True)
    zeros = x.g == 0
    assert zeros.any() and not zeros.all()
    np.testing.assert_allclose(kept, (np.sin(np.where(zeros, 0, 4 * x.d)) ** 2).sum(), rtol=1e-5)


def test_graphs_are_freed():
    x = leaf(3)
    y = F.sum(F.reshape(F.exp(x), (1, 3)) * PF.affine(F.reshape(x, (1, 3)), 3))
    ref = weakref.ref(y)
    y.forward()
    (g,) = nn.grad([y], [x])
    g.forward()
    assert len(x.function_references) == 2
    del y, g
    gc.collect()
    assert ref() is None
    assert x.function_references == []


def test_functions_that_use_a_variable_are_listed_in_their_order():
    x, random = leaf(3), np.random.RandomState(0)
    for count in (1, 2, 8, 9, 30):
        ys = [F.mul_scalar(x, float(i)) for i in range(count)]
        assert [f.info.args["val"] for f in x.function_references] == list(range(count))
        squares = F.mul2(x, x)
        assert len(x.function_references) == count + 1  # a function that reads it twice is one
        del squares
        kept = list(range(count))
        while ys:
            i = random.randint(len(ys))
            del ys[i], kept[i]
            assert sorted(f.info.args["val"] for f in x.function_references) == kept


@pytest.mark.parametrize("table", [(5,), (5, 3), (5, 2, 3)])
@pytest.mark.parametrize("ids", [(4,), (2, 3)])
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_table_that_is_used_several_times(table, ids, dynamic):
    random = np.random.RandomState(0)
    w = nn.Variable(table, need_grad=True)
    w.d = random.randn(*table)
    indices = [random.randint(0, 5, ids) for _ in range(4)]
    factors = [np.asarray(random.randn(*ids, *table[1:]), np.float32) for _ in indices]
    with nn.auto_forward(dynamic):
        loss = 0
        for i, factor in zip(indices, factors, strict=True):
            i, factor = nn.Variable.from_numpy_array(i.astype(np.int32)), nn.Variable.from_numpy_array(factor)
            loss += F.sum(F.embed(i, w) * factor)
    expected = np.zeros(table)
    for i, factor in zip(indices, factors, strict=True):
        np.add.at(expected, i, factor)
    w.grad.zero()
    for k in range(1, 2 if dynamic else 3):  # gradients are added
        if not dynamic:
            loss.forward(clear_no_need_grad=True)
        loss.backward(clear_buffer=True)
        np.testing.assert_allclose(w.g, k * expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "make", [
        lambda x, y: F.concatenate(x, y), lambda x, y: F.concatenate(x, F.reshape(y, (4, 3, 1)), axis=0),
        lambda x, y: F.stack(x, y), lambda x, y: F.embed(x, nn.Variable(())), lambda x, y: F.where(x, x, y),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(make):
    with pytest.raises((RuntimeError, ValueError)):
        make(nn.Variable((2, 3)), nn.Variable((4, 3)))


def test_functions_run_on_given_variables():
    context = nn.get_current_context()
    x = nn.Variable.from_numpy_array(np.array([[-1, 2, 3], [4, -5, 6]], np.float32), need_grad=True)
    y, parts = nn.Variable(), [nn.Variable() for _ in range(3)]
    relu = function_types.ReLU(context, inplace=True)
    with pytest.raises(RuntimeError, match="setup"):
        relu.forward([x], [y])
    relu.setup([x], [y])
    assert y.shape == (2, 3) and y.parent is None and not x.function_references
    relu.forward([x], [y])
    np.testing.assert_array_equal(y.d, np.maximum(x.d, 0))
    x.g, y.g = 1, 2
    relu.backward([x], [y])
    np.testing.assert_array_equal(x.g, [[1, 3, 3], [3, 1, 3]])
    relu.backward([x], [y], [False])
    np.testing.assert_array_equal(x.g, [[0, 2, 2], [2, 0, 2]])
    split = function_types.Split(context, axis=1)
    split.setup([x], parts)
    split.forward([x], parts)
    assert [p.d.tolist() for p in parts] == [[-1, 4], [2, -5], [3, 6]]


def test_a_pass_over_several_variables_names_what_is_none():
    with pytest.raises(TypeError, match="forward_all: expected Variables, got int"):
        nn.forward_all([nn.Variable((2,)), 3])


def test_arguments_of_a_function_are_those_of_the_call():
    x = nn.Variable((2, 3))
    axes = [0]
    made = [
        F.sum(x, axes),
        F.mean(x),
        F.concatenate(x, x),
        F.concatenate(x, x, axis=-2),
        F.softmax_cross_entropy(x, x[:, :1]),
    ]
    axes.append(1)
    assert [y.parent.info.args for y in made] == [
        {"axes": [0], "keep_dims": False},
        {"axes": [0, 1], "keep_dims": False},
        {"axis": 1},
        {"axis": -2},
        {"axis": 1},
    ]
    w = nn.Variable((3, 4))
    assert [F.affine(x, w, base_axis=b).parent.info.args for b in (1, 1.0, np.int64(1))] == [{"base_axis": 1}] * 3
    assert [len(F.affine(x, w, b).parent.inputs) for b in (None, nn.Variable((4,)))] == [2, 3]
