"""The native Variable."""

import copy
import gc
import weakref

import numpy as np
import pytest
import torch

import compatgrad as cg
from compatgrad import _C


def test_data_is_shared():
    t = torch.tensor([1.0, 2.0])
    x = cg.Variable(t)
    assert x.tensor is t or x.tensor.data_ptr() == t.data_ptr()
    t[0] = 5
    assert x.tensor[0] == 5
    x.array[1] = 7  # a NumPy view of the same memory
    assert t[1] == 7
    x.tensor = torch.zeros(3)
    assert x.shape == (3,) and x.node.shape == (3,)


def test_attributes():
    x = cg.Variable(torch.zeros(2, 3), name="x")
    assert (x.shape, x.ndim, x.size, x.dtype, x.name) == (torch.Size([2, 3]), 2, 6, torch.float32, "x")
    assert x.requires_grad and x.rank == 0 and x.creator is None and x.grad is None
    assert not cg.Variable(torch.zeros(2), requires_grad=False).requires_grad
    assert len(x) == 2
    with pytest.raises(TypeError):
        len(cg.Variable(torch.tensor(1.0)))


def test_empty():
    x = cg.Variable()
    assert x.tensor is None and x.array is None
    for attribute in ("shape", "dtype", "ndim", "size"):
        with pytest.raises(AttributeError, match=attribute):
            getattr(x, attribute)


@pytest.mark.parametrize("data", [1, "text", [1, 2], object()])
def test_other_data_is_refused(data):
    with pytest.raises(TypeError, match="data"):
        cg.Variable(data)


def test_a_tensor_with_torch_s_grad_is_refused_with_advice_where_its_history_would_be_cut():
    t = torch.ones(2, requires_grad=True)
    for bad in (t, t * 2):
        x = cg.Variable(torch.ones(2))
        with pytest.raises(ValueError, match="detach"):
            x.tensor = bad
        with pytest.raises(ValueError, match="detach"):
            x.grad = bad
        with pytest.raises(ValueError, match="detach"):
            _C.op("sin")(bad)
        assert x.grad is None
        # a copy without torch's history, which became a function of the graph
        assert cg.Variable(bad).tensor.requires_grad is False
    assert cg.Variable(t.detach()).tensor.requires_grad is False


def test_gradient_is_checked():
    x = cg.Variable(torch.zeros(2))
    with pytest.raises(TypeError):
        x.grad = [1.0, 2.0]
    with pytest.raises(TypeError):
        x.grad = torch.zeros(2, dtype=torch.float64)
    with pytest.raises(ValueError):
        x.grad = torch.zeros(3)
    g = x.grad = torch.ones(2)
    assert x.grad.data_ptr() == g.data_ptr()
    x.cleargrad()
    assert x.grad is None
    x.zerograd()
    assert x.grad.tolist() == [0, 0]


def test_operators():
    a, b = cg.Variable(torch.tensor([4.0, 9.0])), cg.Variable(torch.tensor([2.0, 3.0]))
    for f in (
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        lambda a, b: -a + abs(b),
        lambda a, b: a + 1 - (1 - b),
        lambda a, b: 2 * a + b * 2,
        lambda a, b: a / 2 + 2 / b,
        lambda a, b: a**2 + b**0.5,
        lambda a, b: a @ b,
        lambda a, b: a[0] * b[1:],
    ):
        torch.testing.assert_close(f(a, b).tensor, f(a.tensor, b.tensor))
        assert f(a, b).creator is not None
        assert type(f(a, b)) is cg.Variable


@pytest.mark.parametrize("number", [-(2**63), 2**63 - 1, -(2**63) - 1])
@pytest.mark.parametrize("count", [2, 10_000])
def test_subtracted_integers_at_the_limit_keep_their_sign(number, count):
    from compatgrad import chainer, mxnet, nnabla

    x = np.ones(count, "f")
    want = x - np.float32(number)
    np.testing.assert_array_equal((chainer.Variable(x) - number).array, want)
    np.testing.assert_array_equal((mxnet.nd.array(x) - number).asnumpy(), want)
    np.testing.assert_array_equal((nnabla.NdArray.from_numpy_array(x) - number).data, want)
    v = nnabla.Variable.from_numpy_array(x)
    y = v - number
    y.forward()
    np.testing.assert_array_equal(y.d, want)


def test_methods():
    x = cg.Variable(torch.arange(6.0).reshape(2, 3))
    torch.testing.assert_close(x.T.tensor, x.tensor.T)
    torch.testing.assert_close(x.reshape(3, 2).tensor, x.tensor.reshape(3, 2))
    torch.testing.assert_close(x.reshape((3, -1)).tensor, x.tensor.reshape(3, 2))
    torch.testing.assert_close(x.transpose(1, 0).tensor, x.tensor.T)
    torch.testing.assert_close(x.sum().tensor, x.tensor.sum())
    torch.testing.assert_close(x.sum(1, keepdims=True).tensor, x.tensor.sum(1, keepdim=True))
    torch.testing.assert_close(x.mean(0).tensor, x.tensor.mean(0))
    assert x.sum().item() == 15


def test_backward_needs_a_start():
    x = cg.Variable(torch.ones(2))
    with pytest.raises(ValueError, match="no gradient"):
        (x * 2).backward()
    y = x * 2
    y.grad = torch.tensor([1.0, 10.0])
    y.backward()
    assert x.grad.tolist() == [2, 20]
    assert y.grad is None


def test_loss_scale():
    x = cg.Variable(torch.ones(2))
    (x * 3).sum().backward(loss_scale=4.0)
    assert x.grad.tolist() == [12, 12] and x._loss_scale == 4.0


def test_text():
    assert repr(cg.Variable(torch.ones(1), name="w")).startswith("variable w(")
    assert "rank=1" in repr((cg.Variable(torch.ones(1)) * 2).node)


def test_nodes_are_the_same_object_while_somebody_holds_them():
    x = cg.Variable(torch.ones(2))
    y = x * 2
    node = x.node
    assert node is x.node and y.creator.inputs == (node,) and node.get_variable() is x
    assert y.creator is y.creator_node
    assert {node: 1}[x.node] == 1


def test_weak_references_and_dict():
    x = cg.Variable(torch.ones(2))
    x.comment = "mine"
    assert x.comment == "mine"
    ref = weakref.ref(x)
    x.loop = x
    del x
    gc.collect()
    assert ref() is None


def test_unchain():
    x = cg.Variable(torch.ones(2))
    y = x * 2
    z = y * 3
    y.unchain()
    z.grad = torch.ones(2)
    z.backward()
    assert x.grad is None and y.grad.tolist() == [3, 3]
    a = x * 2
    b = a * 3
    b.unchain_backward()
    assert a.creator is None and b.creator is None


def test_subclasses_keep_their_own_constructor():
    class Named(cg.Variable):
        def __init__(self, name, *data):
            super().__init__(torch.tensor(data), name=name)

    v = Named("v", 1.0, 2.0)
    assert v.name == "v" and (v * 2).tensor.tolist() == [2, 4]


def test_copy_of_the_tensor_is_not_needed_for_numpy_constants():
    x = cg.Variable(torch.ones(2))
    y = _C.op("add")(x, torch.tensor([1.0, 2.0]))
    assert y.tensor.tolist() == [2, 3]
    with pytest.raises(TypeError):
        _C.op("sin")("text")


def test_copying():
    x = cg.Variable(torch.ones(2), name="x")
    x.grad = torch.ones(2)
    y = copy.copy(x)
    assert y.tensor.data_ptr() == x.tensor.data_ptr() and y.name == "x" and y.node is not x.node
    z = copy.deepcopy(x)
    assert z.tensor.data_ptr() != x.tensor.data_ptr() and z.tensor.tolist() == [1, 1]
    assert z.grad.tolist() == [1, 1]
