"""Rarely used functions and classes of nnabla."""

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla import function
from compatgrad.nnabla.core import graph_def
from compatgrad.nnabla.core.module import Module
from compatgrad.nnabla.grad import Grad, registry


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def test_grad_as_an_object():
    x = nn.Variable.from_numpy_array(np.float32([1, 2]))
    x.need_grad = True
    (g,) = Grad()([F.sum(x**3)], [x])
    g.forward()
    np.testing.assert_allclose(g.d, [3, 12])
    assert "Affine" in registry


def test_scope_names_and_the_training_flag():
    class Layer(Module):
        def call(self, x):
            return PF.affine(x, 2)

    class Inner(Module):
        def __init__(self):
            self.first, self.second = Layer(), Layer()

    class Outer(Module):
        def __init__(self):
            self.inner = Inner()

    net = Outer()
    assert net.get_scope_name() == "@inner/@first" and Layer().get_scope_name() == ""  # the results of nnabla 1.39
    assert isinstance(Module.training, property) and net.training
    net.training = False
    assert not net.inner.second.training and Outer().training


def test_matrix_product_called_by_the_right_operand():
    a, b = (nn.NdArray.from_numpy_array(np.random.RandomState(i).rand(2, 2).astype("f")) for i in (0, 1))
    np.testing.assert_allclose(b.__rmatmul__(a).data, a.data @ b.data, rtol=1e-6)


def test_functions_by_type_take_their_arguments_by_place():
    x = nn.Variable.from_numpy_array(np.ones((2, 3), "f"))
    with nn.auto_forward():
        assert function.Concatenate(nn.Context(), 0)(x, x).shape == (4, 3)
        assert function.Stack(nn.Context(), 2)(x, x).shape == (2, 3, 2)


def test_a_graph_as_messages_in_parts():
    with nn.graph_def.graph() as g:
        x = nn.ProtoVariable((4, 3), name="x")
        y = PF.affine(x, 2, name="a")
        with nn.parameter_scope("more"):
            F.relu(y)
    whole = g.as_proto(include_parameter=True)
    assert [n.name for n in whole.network] == ["model"] and len(whole.parameter) == 2
    alone = g.as_proto(include_parameter=True, only_parameter=True)
    assert not alone.network and {p.variable_name for p in alone.parameter} == {"a/affine/W", "a/affine/b"}
    other = g.default_graph().clone()
    other.name = "other"
    assert [n.name for n in g.as_proto(networks=[other]).network] == ["other"]
    assert g.as_proto(variable_batch_size=False).network[0].variable[0].shape.dim == [4, 3]


def test_functions_and_variables_of_networks_made_by_hand():
    f = graph_def.ProtoFunction(None, "Affine", {"base_axis": 1}, "f")
    f.inputs, f.outputs = ["x", "w"], ["y"]
    assert (f.type, f.name, f.clone(None)["inputs"]) == ("Affine", "f", ["x", "w"])
    assert f.proto.affine_param.base_axis == 1
    network = graph_def.ProtoNetwork(graph_def.ProtoGraph(), "n")
    assert network.batch_size == 0 and network.name == "n"
    x = graph_def.ProtoVariable((2, 3), "x", need_grad=True)
    assert (x.clone().shape, x.clone().name, x.clone().need_grad) == ((2, 3), "x", True)
    assert (x.proto.name, list(x.proto.shape.dim), x.proto.type) == ("x", [2, 3], "Buffer")


def test_misspelt_attributes_are_refused_and_subclasses_take_any():
    import compatgrad.nnabla as nn
    import compatgrad.nnabla.functions as F

    class Named(nn.Variable):
        pass

    x = nn.Variable((2, 3))
    for o in (x, x.data, F.relu(x).parent):
        with pytest.raises(AttributeError, match="object has no attribute 'prersistent'"):
            o.prersistent = True
    x.persistent = True
    named = Named((2, 3))
    named.label = "cat"
    assert named.label == "cat"
