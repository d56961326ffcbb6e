"""Variable and Parameter: arrays that programs hold, write to and replace; also runs on the original."""

import copy
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest
import torch

from tests.chainer.subject import ORIGINAL, chainer, f32, var


def test_the_array_is_the_one_that_was_given():
    a = f32([1, 2])
    for cls in (chainer.Variable, chainer.Parameter):
        x = cls(a)
        assert x.array is a and x.data is a and x.array is x.array
    y = chainer.Variable(a) * 2
    assert y.array is y.array and type(y.array) is np.ndarray


def test_writing_into_the_array_is_seen_by_functions():
    x = var([1, 2])
    y = x * 3
    x.array[...] *= 10
    np.testing.assert_array_equal((x * 1).array, [10, 20])
    y.array[0] = 100
    np.testing.assert_array_equal((y * 1).array, [100, 6])


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(6, dtype=np.float32)[::-1],
        lambda: np.arange(6, dtype=np.float32)[::2],
        lambda: np.arange(6, dtype=np.float32).reshape(2, 3).T,
        lambda: np.broadcast_to(f32([1, 2, 3]), (2, 3)),
        lambda: np.frombuffer(b"\0\0\x80?" * 4, np.float32),
        lambda: np.zeros((0, 3), np.float32),
        lambda: np.array(3, np.float32),
    ],
)
def test_arrays_of_every_kind(make):
    a = make()
    x = chainer.Variable(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.array is a and x.shape == a.shape and x.dtype == a.dtype
        y = x * x
        np.testing.assert_array_equal(y.array, a * a)
        y.grad = np.ones_like(y.array)
        y.backward()
        np.testing.assert_array_equal(x.grad, 2 * a)
        if a.flags.writeable and a.size:
            a[...] = 5
            np.testing.assert_array_equal((x * 1).array, np.full(a.shape, 5))


def test_replacing_the_array():
    x = var([1, 2])
    y = x * x
    new = np.ones((2, 3), np.float64)
    x.array = new
    assert x.array is new and x.shape == (2, 3) and x.dtype == np.float64
    assert x.node.shape == (2, 3) and x.node.data is new  # the function of y has retained the data of x
    assert y.creator.inputs[0].data is new
    x.data = None
    assert x.array is None


def test_attributes_of_an_empty_variable():
    x = chainer.Variable()
    assert x.array is None and x.grad is None and x.xp is np
    for attribute in ("shape", "dtype", "ndim", "size"):
        with pytest.raises(AttributeError, match=attribute):
            getattr(x, attribute)
    assert x.node.shape is None and x.node.dtype is None


@pytest.mark.parametrize("data", [1, 1.0, np.float32(1), [1, 2], "text", (1,)])
def test_only_arrays_are_taken(data):
    with pytest.raises(TypeError, match=type(data).__name__):
        chainer.Variable(data)


def test_keywords():
    g = f32([5, 6])
    x = chainer.Variable(f32([1, 2]), name="x", grad=g, requires_grad=False)
    assert x.name == "x" and x.grad is g and not x.requires_grad
    with pytest.raises(ValueError, match="volatile"):
        chainer.Variable(f32([1]), volatile=True)
    with pytest.raises(TypeError, match="nonsense"):
        chainer.Variable(f32([1]), nonsense=1)
    with pytest.raises(TypeError):
        chainer.Variable(f32([1]), "positional")


def test_gradient_arrays():
    x = var([1, 2])
    g = f32([3, 4])
    x.grad = g
    assert x.grad is g and x.grad_var.array is g and x.grad_var is x.grad_var
    x.grad *= 2
    np.testing.assert_array_equal(g, [6, 8])
    x.grad[...] = 1
    np.testing.assert_array_equal(x.grad_var.array, [1, 1])
    x.cleargrad()
    assert x.grad is None and x.grad_var is None
    gv = var([7, 8])
    x.grad_var = gv
    assert x.grad_var is gv and x.grad is gv.array
    x.grad = None
    assert x.grad_var is None


def test_gradient_from_a_pass_can_be_written():
    x = var([1, 2])
    y = x * 3
    y.grad = f32([1, 1])
    y.backward()
    x.grad *= 0.5
    np.testing.assert_array_equal(x.grad, [1.5, 1.5])
    y.grad = f32([1, 1])
    y.backward()
    np.testing.assert_array_equal(x.grad, [4.5, 4.5])


def test_zerograd():
    x = var([1, 2])
    with pytest.warns(DeprecationWarning):
        x.zerograd()
    np.testing.assert_array_equal(x.grad, [0, 0])
    g = x.grad = f32([1, 2])
    with pytest.warns(DeprecationWarning):
        x.zerograd()
    assert x.grad is g and not g.any()


def test_copydata_and_addgrad():
    x, y = var([1, 2]), var([3, 4])
    a = x.array
    x.copydata(y)
    assert x.array is a
    np.testing.assert_array_equal(a, [3, 4])
    x.grad, y.grad = f32([1, 1]), f32([10, 20])
    x.addgrad(y)
    np.testing.assert_array_equal(x.grad, [11, 21])
    y.cleargrad()
    x.addgrad(y)
    np.testing.assert_array_equal(x.grad, [11, 21])


def test_constants_on_the_left():
    x = var([1, 2])
    for y in (f32([3, 4]) * x, np.float32(2) * x, 2 + x, np.float64(3) - x, np.array([3.0, 4.0]) / x):
        assert isinstance(y, chainer.Variable) and y.dtype == np.float32 and y.creator is not None


def test_variables_of_two_dtypes_do_not_mix():
    with pytest.raises(chainer.utils.type_check.InvalidType):
        var([1, 2]) + chainer.Variable(np.array([1.0, 2.0]))


def test_refused_protocols():
    x = var([1, 2])
    for f in (
        lambda: x == x,
        lambda: x != x,
        lambda: x < 1,
        lambda: x <= x,
        lambda: x > x,
        lambda: x >= x,
        lambda: bool(x),
        lambda: hash(x),
        lambda: not x,
    ):
        with pytest.raises(TypeError):
            f()
    with pytest.raises(TypeError):
        x[0] = 1
    with pytest.raises(TypeError):
        len(var(1.0))


def test_iteration_and_length():
    x = chainer.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))
    assert len(x) == 3
    rows = list(x)
    assert len(rows) == 3 and all(isinstance(r, chainer.Variable) for r in rows)
    np.testing.assert_array_equal(rows[2].array, [4, 5])
    a, b, c = x
    np.testing.assert_array_equal(b.array, [2, 3])


def test_numpy_sees_an_object():
    assert np.asarray(var([1.0]), dtype=object).dtype == object or ORIGINAL


def test_item_and_text():
    assert var(3.0).item() == 3.0 and type(var(3.0).item()) is float
    with pytest.raises(ValueError):
        var([1, 2]).item()
    assert repr(var([1, 2], name="w")) == "variable w([1., 2.])"
    assert str(var([[1, 2], [3, 4]])) == "variable([[1. 2.]\n          [3. 4.]])"
    assert repr(chainer.Variable()) == "variable(None)"
    assert repr(chainer.Variable(np.zeros((0, 3), np.float32))) == "variable([], shape=(0, 3))"
    assert var([1], name="w").summary() == "<variable w>"
    assert "mean=1.5" in var([1, 2]).debug_print() and "grad: None" in var([1, 2]).debug_print()
    assert var([1, 2]).label == "(2), float32" and var(1.0).label == "float32"


def test_creators():
    x = var([1, 2])
    y = x * 2
    node = y.creator_node
    assert node.inputs == (x.node,) and node.outputs[0]() is y.node and y.creator is node
    assert y.node.creator is node and x.creator is None
    y.creator_node = None
    assert y.creator is None and y.rank == 1
    y.node.creator_node = node
    assert y.creator is node
    y.set_creator(None)
    assert y.creator is None
    y.set_creator_node(node)
    assert y.creator is node and node.outputs[0]() is y.node
    chainer.functions.sum(y).backward()
    assert x.grad.tolist() == [2, 2]
    x = var([1, 2])
    y = chainer.functions.tanh(x)  # its backward reads the output
    node = y.creator_node
    y.creator_node = None
    y.creator_node = node
    chainer.functions.sum(y).backward()
    np.testing.assert_allclose(x.grad, 1 - np.tanh([1, 2]) ** 2, rtol=1e-5)
    f = chainer.Function()
    y.creator = f
    assert y.creator is f and y.creator_node is f.node and y.rank == 1


def test_nodes():
    x = var([1, 2], name="x")
    node = x.node
    assert node is x.node and node.label == "(2), float32" and node.name == "x"
    assert node.get_variable() is x and node.get_variable_or_none() is x
    x.grad = f32([3, 4])
    assert node.grad is x.grad and node.grad_var is x.grad_var
    node.name = "renamed"
    assert x.name == "renamed"
    del x
    gc.collect()
    assert node.get_variable_or_none() is None and node.grad is None and node.grad_var is None
    v = node.get_variable()
    assert v.array is None and v.node is node and v.name == "renamed"
    with pytest.raises(ValueError, match="grad"):
        chainer.variable.VariableNode(var([1]), "name", grad=None)


def test_pickles():
    x = var([1, 2], name="x", requires_grad=False)
    x.grad = f32([3, 4])
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert y.array is not x.array and y.name == "x" and not y.requires_grad
        np.testing.assert_array_equal(y.array, x.array)
        np.testing.assert_array_equal(y.grad, x.grad)
    p = chainer.Parameter(f32([1, 2]), name="p")
    for q in (pickle.loads(pickle.dumps(p)), copy.deepcopy(p)):
        assert type(q) is chainer.Parameter and q.name == "p" and q.grad is None
        np.testing.assert_array_equal(q.array, p.array)
    lazy = pickle.loads(pickle.dumps(chainer.Parameter(chainer.initializers.One())))
    lazy.initialize((2,))
    np.testing.assert_array_equal(lazy.array, [1, 1])


def test_shallow_copies():
    x = var([1, 2], name="x")
    x.grad = f32([3, 4])
    x.comment = "mine"
    y = copy.copy(x)
    assert y.array is x.array and y.grad is x.grad and y.name == "x" and y.comment == "mine"
    assert y.node is not x.node
    y.cleargrad()
    assert x.grad is not None
    y.name = "y"
    assert x.name == "x"


# ---- Parameter ----


def test_parameter_from_an_array():
    a = f32([1, 2])
    p = chainer.Parameter(a, name="p")
    assert p.array is a and p.is_initialized and p.grad is None and p.name == "p"
    q = chainer.Parameter(a, (2,))  # with a shape the array is copied
    assert q.array is not a and np.isnan(q.grad).all()


def test_parameter_with_a_shape():
    p = chainer.Parameter(chainer.initializers.Constant(3), (2, 3))
    np.testing.assert_array_equal(p.array, np.full((2, 3), 3))
    assert p.dtype == np.float32 and np.isnan(p.grad).all() and p.grad.shape == (2, 3)
    p.cleargrad()
    assert p.grad is None
    assert np.isnan(chainer.Parameter(shape=(2,)).array).all()
    np.testing.assert_array_equal(chainer.Parameter(2.0, (2,)).array, [2, 2])


def test_lazy_parameter():
    p = chainer.Parameter(chainer.initializers.One(np.float64))
    assert p.array is None and not p.is_initialized and p.dtype == np.float64
    with pytest.raises(RuntimeError):
        _ = p.grad
    with pytest.raises(AttributeError):
        _ = p.shape
    p.initialize((3, 2))
    np.testing.assert_array_equal(p.array, np.ones((3, 2)))
    assert np.isnan(p.grad).all() and p.grad.dtype == np.float64 and p.node.shape == (3, 2)
    q = chainer.Parameter()
    with pytest.raises(RuntimeError):
        _ = chainer.Parameter(lambda array: None).dtype
    q.cleargrad()
    assert q.grad is None
    q.initialize((2,))
    assert q.grad is None
    r = chainer.Parameter()
    with pytest.warns(DeprecationWarning):
        r.zerograd()
    r.initialize((2,))
    np.testing.assert_array_equal(r.grad, [0, 0])


def test_copies_of_a_lazy_parameter_are_initialised_together():
    p = chainer.Parameter(chainer.initializers.One())
    q = copy.copy(p)
    r = copy.copy(q)
    q.initialize((2,))
    assert p.array is q.array and r.array is q.array
    s = copy.deepcopy(p)
    new = f32([5, 6])
    p.array = new
    assert q.array is new and s.array is not new
    ref = weakref.ref(q)
    del q
    assert ref() is None


def test_copydata_with_lazy_parameters():
    p, q = chainer.Parameter(chainer.initializers.One()), chainer.Parameter(f32([1, 2]))
    p.copydata(q)
    np.testing.assert_array_equal(p.array, [1, 2])
    assert p.array is not q.array
    r = chainer.Parameter(chainer.initializers.Constant(7))
    q.copydata(r)
    np.testing.assert_array_equal(q.array, [7, 7])
    a, b = chainer.Parameter(), chainer.Parameter()
    a.copydata(b)
    assert a.array is None


def test_update_calls_the_rule():
    class Rule:
        is_elementwise = True
        seen = None

        def update(self, param):
            self.seen = param

    p = chainer.Parameter(f32([1]))
    p.update()
    p.update_rule = Rule()
    p.update()
    assert p.update_rule.seen is p


def test_devices():
    x = var([1, 2])
    a = x.array
    x.grad = f32([3, 4])
    for move in (x.to_cpu, lambda: x.to_device("@numpy"), lambda: x.to_device(-1)):
        move()
        assert x.array is a and x.xp is np
    assert x.device == chainer.backend.CpuDevice()
    with pytest.raises(RuntimeError):
        x.to_gpu()
    with pytest.raises(RuntimeError):
        x.to_chx()
    x.from_chx()


class Copying(chainer.backend.Device):
    xp = np
    supported_array_types = (np.ndarray,)

    def __eq__(self, other):
        return self is other

    def send_array(self, array):
        return array.copy()


@pytest.mark.parametrize("cls", [chainer.Variable, chainer.Parameter])
def test_a_device_of_the_program_is_kept(cls):
    device, a = Copying(), f32([1, 2])
    x, empty = cls(a), cls()
    for v in (x, empty):
        v.to_device(device)
        assert v.device is device and v.xp is np
    assert x.array is not a
    np.testing.assert_array_equal(x.array, a)
    assert (x * 1).device == chainer.backend.CpuDevice()
    for v in (x, empty):
        v.to_cpu()
        assert v.device == chainer.backend.CpuDevice()


def test_as_variable_and_as_array():
    a = f32([1, 2])
    v = chainer.as_variable(a)
    assert v.array is a and not v.requires_grad
    assert chainer.as_variable(v) is v and chainer.as_array(v) is a and chainer.as_array(a) is a


def test_a_node_that_is_called():
    with pytest.raises(RuntimeError, match="apply"):
        (var([1]) * 2).creator(1)
    with pytest.raises(RuntimeError, match="apply"):
        chainer.FunctionNode()(var([1]))


def test_parameter_of_a_tensor():
    t = torch.arange(3.0)
    p = chainer.Parameter(t)
    assert np.shares_memory(p.array, t.numpy()) and p.array.tolist() == [0, 1, 2]
    assert chainer.Parameter(t, (2, 3)).array.tolist() == [[0, 1, 2]] * 2
    link = chainer.links.Linear(None, 2, initialW=torch.ones(2, 3))
    assert link(np.ones((1, 3), "f")).array.tolist() == [[3, 3]]
    with pytest.raises(TypeError, match=r"torch tracks this tensor's gradient.*detach"):
        chainer.Parameter(t.requires_grad_())
