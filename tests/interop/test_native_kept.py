"""`interop.to_native(keep=True)`: what cannot be written stays a call, and says why."""

import sys

import numpy as np
import pytest
import torch

import compatgrad.chainer as chainer
import compatgrad.chainer.functions as F
import compatgrad.chainer.links as L
import compatgrad.mxnet as mx
import compatgrad.nnabla as nn
import compatgrad.nnabla.functions as NF
import compatgrad.nnabla.parametric_functions as PF
from compatgrad import interop
from compatgrad.mxnet import gluon
from tests.interop.test_native_layers import Model, image, imports


class Reads(chainer.Chain):
    """Reads a value."""

    def __init__(self, size=4):
        super().__init__()
        with self.init_scope():
            self.inner = L.Linear(size, size)

    def forward(self, x):
        h = self.inner(x)
        return h * float(F.max(h).array)


class Cube(chainer.FunctionNode):
    def forward(self, inputs):
        self.retain_inputs((0,))
        return (np.asarray(inputs[0] ** 3),)

    def backward(self, indexes, grad_outputs):
        (x,) = self.get_retained_inputs()
        return (3 * x**2 * grad_outputs[0],)


class OldCube(chainer.Function):
    def forward(self, inputs):
        return (np.asarray(inputs[0] ** 3),)

    def backward(self, inputs, grad_outputs):
        return (np.asarray(3 * inputs[0] ** 2 * grad_outputs[0]),)


def network(**links):
    return Model(lambda self, x: self.b(F.dropout(self.part(F.relu(self.a(x))))), a=L.Linear(3, 4), b=L.Linear(4, 2),
                 **links)  # fmt: skip


def kept(result, *names):
    assert set(result.kept) == set(names) and len(result.parts) == len(names)
    assert all(name in result.source for name in names)
    assert imports(result.source) <= {"torch", "math", "compatgrad"}
    return result


def test_link_stays_a_call():
    link = network(part=Reads())
    result = kept(interop.to_native(link, image(5, 3), keep=True), "part")
    assert set(result.differences) == {"train", "eval"}
    assert "a value is read" in result.kept["part"] and "test_native_kept.py" in result.kept["part"]
    assert "nn.Linear(3, 4)" in result.source and "self.part = interop.as_torch_module(part)" in result.source
    assert result.legacy_names["part.inner.W"] == "part/inner/W"
    x = image(7, 3)
    with chainer.using_config("train", False):
        expected = link(x.numpy()).array
    found = result.module.eval()(x)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-4, atol=1e-5)
    found.sum().backward()
    assert float(result.module.part.inner.W.grad.abs().sum()) > 0, "gradients reach the part's parameters"
    assert float(result.module.a.weight.grad.abs().sum()) > 0, "and what is before it"


def test_training_the_module_leaves_the_network():
    link = network(part=Reads())
    result = interop.to_native(link, image(5, 3), keep=True)
    before = link.part.inner.W.array.copy()
    with torch.no_grad():
        result.module.part.inner.W.add_(1)
    result.module(image(2, 3))
    np.testing.assert_array_equal(link.part.inner.W.array, before)


def test_without_keep_the_error_names_it():
    with pytest.raises(interop.NativeError, match="keep=True"):
        interop.to_native(network(part=Reads()), image(5, 3))


@pytest.mark.parametrize("kind", [Cube, OldCube])
def test_function_stays_a_call(kind):
    def forward(self, x):
        h = self.a(x)
        y = kind().apply((h,))[0] if kind is Cube else kind()(h)
        return self.b(y)

    result = kept(
        interop.to_native(Model(forward, a=L.Linear(3, 4), b=L.Linear(4, 2)), image(5, 3), keep=True), kind.__name__
    )
    assert result.module(image(2, 3)).shape == (2, 2)


def test_part_called_twice_with_several_results():
    class Part(chainer.Chain):
        def forward(self, x, scale=1.0):
            h = x * float(x.array.max()) * scale
            return {"h": h, "both": (h + 1, x)}

    def forward(self, x):
        one = self.part(self.a(x))
        two = self.part(one["h"], scale=2.0)
        return one["both"][0] + two["both"][1], two["h"]

    result = kept(interop.to_native(Model(forward, a=L.Linear(3, 4), part=Part()), image(5, 3), keep=True), "part")
    assert "scale=2.0" in result.source and "['both'][1]" in result.source
    assert result.source.count("as_torch_module") == 1


def test_part_inside_a_part():
    block = Model(lambda self, x: self.two(self.noise(self.one(x))), one=L.Linear(4, 4), two=L.Linear(4, 4),
                  noise=Reads())  # fmt: skip
    link = Model(lambda self, x: self.block(self.first(x)), first=L.Linear(3, 4), block=block)
    result = kept(interop.to_native(link, image(5, 3), keep=True), "block.noise")
    assert list(result.parts) == ["block_noise"]


def test_named_parts_are_kept(tmp_path):
    link = network(part=L.Linear(4, 4))
    result = kept(interop.to_native(link, image(5, 3), keep=["part"], name="Net"), "part")
    result.save(tmp_path)
    sys.path.insert(0, str(tmp_path))
    try:
        import net
    finally:
        sys.path.pop(0)
    module = net.Net(L.Linear(4, 4)).eval()
    module.load_state_dict(torch.load(tmp_path / "net.pt"))
    result.module.eval()
    assert torch.equal(module(image(2, 3)), result.module(image(2, 3)))
    with pytest.raises(ValueError, match="no part 'other'.* a, b, part"):
        interop.to_native(link, image(5, 3), keep=["other"])


def test_network_itself_is_not_kept():
    with pytest.raises(interop.NativeError, match="a value is read"):
        interop.to_native(Model(lambda self, x: x * float(self.a(x).array.max()), a=L.Linear(3, 3)), image(5, 3),
                          keep=True)  # fmt: skip


def test_block_of_gluon_stays_a_call():
    class Clipped(gluon.Block):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            with self.name_scope():
                self.inner = gluon.nn.Dense(4, in_units=4)

        def forward(self, x):
            h = self.inner(x)
            return h * h.max().asscalar()

    net = gluon.nn.Sequential()
    net.add(gluon.nn.Dense(4, in_units=3), Clipped(), gluon.nn.Dense(2, in_units=4))
    net.initialize(mx.init.Xavier())
    result = kept(interop.to_native(net, image(5, 3), keep=True), "layer1")
    assert "Dense" not in result.source and "nn.Linear(3, 4)" in result.source
    assert result.module(image(2, 3)).shape == (2, 2)


def test_function_of_nnabla_stays_a_call():
    class Cubed(nn.function.PythonFunction):
        @property
        def name(self):
            return "Cubed"

        def min_outputs(self):
            return 1

        def setup_impl(self, inputs, outputs):
            outputs[0].reset_shape(inputs[0].shape, True)

        def forward_impl(self, inputs, outputs):
            outputs[0].data.data = inputs[0].d ** 3

        def backward_impl(self, inputs, outputs, propagate_down, accum):
            if propagate_down[0]:
                g = 3 * inputs[0].d ** 2 * outputs[0].g
                inputs[0].g = inputs[0].g + g if accum[0] else g

        def grad_depends_output_data(self, i, o):
            return False

        def grad_depends_input_data(self, i, j):
            return True

    nn.clear_parameters()
    nn.backward_functions.register("Cubed", lambda gys, xs, *rest: 3 * xs[0] ** 2 * gys[0])

    def forward(x):
        return PF.affine(Cubed()(NF.tanh(PF.affine(x, 4, name="a"))), 2, name="b")

    forward(nn.Variable((5, 3)))
    result = interop.to_native(
        forward, image(5, 3), parameters=nn.get_parameters(grad_only=False), frontend="nnabla", keep=True
    )
    kept(result, "Cubed")
    assert result.kept["Cubed"] == "it is a function written in Python"
    del nn.backward_functions.registry["Cubed"]
    nn.clear_parameters()
