"""Modules hold their parameters in scopes of their own."""

import io

import numpy as np
import pytest

import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as F
import compatgrad.nnabla.parametric_functions as PF
from compatgrad.nnabla.core.module import Module
from compatgrad.nnabla.core.sequential import Sequential


class Dense(Module):
    def __init__(self, size):
        self.size = size

    def call(self, x):
        return F.tanh(PF.affine(x, self.size))


class Net(Module):
    def __init__(self):
        self.first = Dense(4)
        self.second = Dense(3)
        self.scale = nn.parameter.get_parameter_or_create("scale", (1, 3), np.ones((1, 3), np.float32))

    def call(self, x):
        return self.second(self.first(x)) * self.scale


@pytest.fixture(autouse=True)
def no_parameters():
    nn.clear_parameters()
    yield
    nn.clear_parameters()


def values(module, x):
    y = module(x)
    y.forward()
    return y.d.copy()


def test_paths_and_values():
    net = Net()
    assert net.training and len(net) == 2 and net.name == "net"
    x = nn.Variable.from_numpy_array(np.ones((2, 5), np.float32))
    first = values(net, x)
    assert list(net.get_parameters()) == [
        "@first/affine/W",
        "@first/affine/b",
        "@second/affine/W",
        "@second/affine/b",
        "scale",
    ]
    assert list(net.get_parameters(recursive=False)) == ["scale"]
    assert not nn.get_parameters()
    np.testing.assert_array_equal(values(net, x), first)
    assert net.first.get_path_name() == "@net/@first" and net.first.parent is net and net.is_root()
    net.training = False
    assert net.first.training is False and Dense(3).training is True


def test_shared_module_is_there_once():
    net = Net()
    net.third = net.first
    net(nn.Variable((2, 5)))
    assert len(net.get_parameters()) == 5


def test_files():
    pytest.importorskip("h5py")
    x = nn.Variable.from_numpy_array(np.ones((2, 5), np.float32))
    net, other, third = Net(), Net(), Net()
    expected = values(net, x)
    assert np.abs(values(other, x) - expected).max() > 1e-3
    for extension in (".h5", ".protobuf"):
        file = io.BytesIO()
        net.save_parameters(file, extension)
        other.load_parameters(file, extension)
        np.testing.assert_array_equal(values(other, x), expected)
    file.seek(0)
    with nn.parameter_scope("", third.parameter_scope):
        nn.load_parameters(file, extension=".protobuf")
    third.update_parameter()
    np.testing.assert_array_equal(values(third, x), expected)


def test_setting_parameters():
    net = Net()
    w = nn.Variable((5, 4), need_grad=True)
    net.set_parameter("@first/affine/W", w)
    assert net.get_parameters()["@first/affine/W"] is w
    net.set_parameter("@fifth/W", w)
    with pytest.raises(ValueError, match="no module 'fifth'"):
        net.set_parameter("@fifth/W", w, raise_if_missing=True)
    with pytest.raises(ValueError, match="'@first'"):
        net.set_parameter("@first", w)
    w.g = 3
    net.zero_grad()
    np.testing.assert_array_equal(w.g, np.zeros((5, 4)))


def test_sequential():
    net = Sequential(Dense(4), ("last", Dense(3)))
    x = nn.Variable((2, 5))
    assert net(x).shape == (2, 3)
    assert list(net.get_parameters())[::2] == ["@dense_0/affine/W", "@last/affine/W"]
    with pytest.raises(TypeError, match="function"):
        Sequential(lambda x: x)
    with pytest.raises(AttributeError, match="'nothing'"):
        _ = net.nothing
    with pytest.raises(NotImplementedError):
        Module()(x)
